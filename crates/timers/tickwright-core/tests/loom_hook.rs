//! Moves nodes from one queue or dictionary to another, on two threads, in all schedules. Records
//! are in loom's cells, so the model fails if two accesses to a record are not ordered by the owner
//! word.
#![cfg(loom)]

use core::cmp::Ordering;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tickwright_collections::{DictError, Dictionary, HookDict, KeyOrder, Link, Membership};
use tickwright_core::{Family, HookQueue, RbTreeCached, Reject, SortedList, Timer};

/// Leaks a value, so that the returned reference is valid until the process ends.
fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Explores every schedule of `scene`, which returns whether the state under test occurred. `scene`
/// must return true in at least one schedule.
fn explore(scene: impl Fn() -> bool + Send + Sync + 'static) {
    let seen = leak(AtomicBool::new(false));
    loom::model(move || {
        if scene() {
            seen.store(true, Relaxed);
        }
    });
    assert!(seen.load(Relaxed), "no schedule shows what the model is about");
}

/// Tries to insert the node into a new queue, and removes it again. Returns false if the node was
/// not free.
fn passes_through<F: Family>(node: &'static Timer<F, u32>) -> bool {
    let mut queue: HookQueue<'static, F, u32> = HookQueue::new();
    match queue.insert_at(5, node, 0) {
        Ok(key) => {
            assert_eq!((queue.expiry(node), queue.check()), (Some(5), Ok(())));
            assert!(queue.remove(key).is_ok());
            true
        }
        Err(rejected) => {
            assert_eq!(rejected.reason, Reject::WrongQueue);
            false
        }
    }
}

fn two_queues_race_for_a_node<F: Family>() {
    explore(|| {
        let node = leak(Timer::<F, u32>::new(0));
        let other = loom::thread::spawn(move || passes_through(node));
        let here = passes_through(node);
        let there = other.join().unwrap();
        assert!(here || there, "one of them was first");
        assert!(!node.is_linked());
        here && there
    });
}

#[test]
fn two_lists_race_for_a_node() {
    two_queues_race_for_a_node::<SortedList>();
}

#[test]
fn two_trees_race_for_a_node() {
    two_queues_race_for_a_node::<RbTreeCached>();
}

/// One queue releases its nodes one by one, and another queue claims each node as soon as it is
/// free.
fn a_queue_takes_what_another_releases<F: Family>(release: fn(HookQueue<'static, F, u32>)) {
    explore(move || {
        let nodes = leak([1, 2].map(Timer::<F, u32>::new));
        let mut full: HookQueue<'static, F, u32> = HookQueue::new();
        for node in nodes {
            assert!(full.insert_at(u64::from(node.payload), node, 0).is_ok());
        }
        let other = loom::thread::spawn(move || release(full));
        let mut queue: HookQueue<'static, F, u32> = HookQueue::new();
        let taken = nodes.iter().filter(|node| queue.insert_at(7, node, 0).is_ok()).count();
        assert_eq!((queue.len(), queue.check()), (taken, Ok(())));
        other.join().unwrap();
        assert_eq!(queue.check(), Ok(()));
        taken > 0
    });
}

#[test]
fn a_list_is_cleared() {
    a_queue_takes_what_another_releases::<SortedList>(|mut queue| queue.clear());
}

#[test]
fn a_tree_is_dropped() {
    a_queue_takes_what_another_releases::<RbTreeCached>(drop);
}

#[test]
fn a_list_delivers() {
    a_queue_takes_what_another_releases::<SortedList>(|mut queue| {
        assert_eq!(queue.advance(9, |_| ()), 2);
    });
}

struct Object {
    key: u32,
    link: Link,
}

struct InOrder;

impl KeyOrder<Object> for InOrder {
    type Key<'k> = u32;

    fn key<'k>(&'k self, object: &'k Object) -> u32 {
        object.key
    }

    fn compare(&self, a: &u32, b: &u32) -> Ordering {
        a.cmp(b)
    }
}

impl Membership<Object> for InOrder {
    fn link<'t>(&self, object: &'t Object) -> &'t Link {
        &object.link
    }
}

#[test]
fn a_dictionary_takes_what_another_releases() {
    explore(|| {
        let objects = leak([1, 2].map(|key| Object { key, link: Link::new() }));
        let mut full = HookDict::new(InOrder);
        for object in objects {
            assert!(full.insert(object).is_ok());
        }
        let other = loom::thread::spawn(move || drop(full));
        let mut dictionary = HookDict::new(InOrder);
        let mut taken = 0;
        for object in objects {
            match dictionary.insert(object) {
                Ok(_) => taken += 1,
                Err(refused) => assert_eq!(refused.reason, DictError::WrongDictionary),
            }
        }
        assert_eq!((dictionary.len(), dictionary.check()), (taken, Ok(())));
        other.join().unwrap();
        taken > 0
    });
}
