//! Makes each allocation fail in turn. The queue must then return the value and be unchanged, and
//! must work again when there is memory.
#![cfg(feature = "alloc")]

#[macro_use]
mod common;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

use common::due;
use tickwright_core::{
    Family, HookQueue, Reject, SlabQueue, Timer, for_each_family, for_each_slab_only_family,
};

thread_local! {
    /// The number of allocations of this thread that will still succeed.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

struct Failing;

fn granted() -> bool {
    LEFT.try_with(|left| {
        let before = left.get();
        left.set(if before == usize::MAX { before } else { before.saturating_sub(1) });
        before > 0
    })
    .unwrap_or(true)
}

// SAFETY: 1. every request goes to `System` unchanged or is refused with null, as the trait allows;
// 2. nothing here allocates or panics.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        if granted() { unsafe { System.alloc(layout) } } else { core::ptr::null_mut() }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise, passed on.
        if granted() { unsafe { System.realloc(at, layout, size) } } else { core::ptr::null_mut() }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// Runs `f`. The first `grants` allocations succeed, and later allocations fail.
fn with_grants<R>(grants: usize, f: impl FnOnce() -> R) -> R {
    LEFT.set(grants);
    let result = f();
    LEFT.set(usize::MAX);
    result
}

/// The number of timers that a test tries to insert. Families that are bounded to fewer timers
/// refuse the others in the same way.
const MANY: u64 = if cfg!(miri) { 20 } else { 200 };

fn an_insert_without_memory_hands_the_value_back<F: Family>() {
    for grants in 0..30 {
        let mut queue = SlabQueue::<F, u64>::new();
        let mut keys = Vec::with_capacity(MANY as usize);
        let refused = with_grants(grants, || {
            (0..MANY).find_map(|at| match queue.insert_at(MANY - at, at, 0) {
                Ok(key) => {
                    keys.push(key);
                    None
                }
                Err(refused) => Some((at, refused)),
            })
        });
        assert_eq!(queue.check(), Ok(()));
        assert_eq!(queue.len(), keys.len());
        let Some((at, refused)) = refused else {
            assert!(grants > 0);
            return;
        };
        assert_eq!((refused.reason, refused.value), (Reject::Full, at));
        let first = due::<F>(0, MANY + 1 - at);
        assert_eq!(queue.next_expiry(), keys.last().map(|_| first));
        assert!(keys.iter().zip(0..).all(|(&key, value)| queue.get(key) == Some(&value)));
        // Operations that need no memory still work. When there is memory, the queue accepts timers
        // again.
        if let Some(&key) = keys.first() {
            with_grants(0, || queue.reschedule_at(key, 0, 0).unwrap());
            with_grants(0, || queue.remove(key).unwrap());
            with_grants(0, || queue.insert_at(3, 3, 0).unwrap());
            assert_eq!(queue.peek().map(|head| head.expiry), Some(due::<F>(0, 3).min(first)));
        } else {
            queue.insert_at(3, 3, 0).unwrap();
        }
        assert_eq!(queue.check(), Ok(()));
    }
}

fn a_reserve_without_memory_changes_nothing<F: Family>() {
    for grants in 0..10 {
        let mut queue = SlabQueue::<F, u64>::new();
        queue.insert_at(1, 1, 0).unwrap();
        let reserved = with_grants(grants, || queue.reserve(5));
        assert_eq!((queue.len(), queue.next_expiry(), queue.check()), (1, Some(due::<F>(0, 1)), Ok(())));
        if reserved.is_ok() {
            let inserted = with_grants(0, || (0..5).all(|at| queue.insert_at(at, at, 0).is_ok()));
            assert!(inserted, "what was reserved is there");
            return;
        } else {
            assert_eq!(reserved, Err(Reject::Full));
        }
    }
    unreachable!("ten allocations are enough for a reserve");
}

fn a_bounded_queue_never_allocates<F: Family>() {
    let mut queue = SlabQueue::<F, u64>::bounded(5).unwrap();
    with_grants(0, || {
        for round in 0..50 {
            while queue.insert_at(round % 7, round, 0).is_ok() {}
            assert_eq!(queue.len(), 5);
            queue.pop_and_reinsert(round, |expiry, _| expiry + 1);
            let _ = queue.advance_within(round, 3, |_| ());
            queue.clear();
        }
    });
    assert_eq!(queue.check(), Ok(()));
}

fn hooks_without_memory_release_the_node<F: Family>() {
    let timers: Vec<Timer<F, u32>> = (0..MANY as u32).map(Timer::new).collect();
    for grants in 0..30 {
        let mut queue = HookQueue::new();
        let refused = with_grants(grants, || {
            timers.iter().find_map(|timer| queue.insert_at(u64::from(timer.payload), timer, 0).err())
        });
        assert_eq!(queue.check(), Ok(()));
        let Some(refused) = refused else { return };
        assert_eq!(refused.reason, Reject::Full);
        assert!(!refused.value.is_linked());
        if let Some(head) = queue.peek() {
            let again = with_grants(0, || queue.insert_at(0, head.key.get(), 0).unwrap_err().reason);
            assert_eq!(again, Reject::AlreadyLinked, "the truer reason, also when there is no memory");
        }
    }
}

for_each_family! { suite [
    an_insert_without_memory_hands_the_value_back
    a_reserve_without_memory_changes_nothing
    a_bounded_queue_never_allocates
    hooks_without_memory_release_the_node
] }

mod slab_only {
    use super::*;

    for_each_slab_only_family! { suite [
        an_insert_without_memory_hands_the_value_back
        a_reserve_without_memory_changes_nothing
        a_bounded_queue_never_allocates
    ] }
}
