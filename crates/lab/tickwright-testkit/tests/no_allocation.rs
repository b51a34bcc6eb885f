//! Clauses 12 and 13, with an allocator that counts its calls and refuses on demand.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ops::Bound;
use std::alloc::System;

use tickwright_collections::{
    Avl, BPlusDict, Balance, By, DictError, Dictionary, HookDict, RedBlack, SlabDict,
};
use tickwright_core::{
    Family, HookQueue, Reject, SlabQueue, SortedList, Timer, for_each_family, for_each_slab_only_family,
};
use tickwright_testkit::clauses::{self, Tools, Verdict};
use tickwright_testkit::dictionary::{ByKey, Object, SEEKS};
use tickwright_testkit::ours::{NoWalk, Slab, SlabSubject};
#[cfg(feature = "foreign")]
use tickwright_testkit::registry::foreign;
use tickwright_testkit::registry::{Kind, inline, kept, ours};
use tickwright_testkit::subject::{Fired, Full, Make, Offers, Stale, Subject};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static REFUSE: Cell<bool> = const { Cell::new(false) };
}

/// Counts an allocation of this thread. Returns whether to refuse the allocation.
fn refuse() -> bool {
    COUNT.set(COUNT.get() + 1);
    REFUSE.get()
}

// SAFETY:
// 1. every block is the system allocator's, passed through unchanged with the layout that the
//    caller gave;
// 2. A refusal is a null pointer, which the trait allows. 3. The thread-locals start as constants
//    and have no destructor, so using them allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuse() {
            return core::ptr::null_mut();
        }
        // SAFETY: the caller's promise on `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `System` with this layout, by the caller's promise and fact 1
        // above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if refuse() {
            return core::ptr::null_mut();
        }
        // SAFETY: as for `dealloc`; the caller's promise on `size` is passed on.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TOOLS: Tools = Tools { allocations: Some(|| COUNT.get()) };

fn verdict(kind: &Kind) -> Verdict {
    let clause = kind.clauses.iter().find(|clause| clause.name == "no_allocation_after_reserve");
    clause.map_or(Verdict::NotOffered, |clause| (clause.verdict)(&TOOLS))
}

#[test]
fn no_allocation_after_reserve() {
    for kind in ours().into_iter().chain(kept()).chain(inline()) {
        assert_eq!(verdict(&kind), Verdict::Kept, "{}", kind.name);
    }
}

#[cfg(feature = "foreign")]
#[test]
fn foreign_queues_allocate_or_not() {
    let verdicts: Vec<_> = foreign().iter().map(|kind| (kind.name.clone(), verdict(kind))).collect();
    println!("{verdicts:?}");
    let of = |name: &str| verdicts.iter().find(|(kind, _)| kind.contains(name)).map(|(_, verdict)| verdict);
    // The `DelayQueue` boxes a sleep for every new head.
    assert!(of("DelayQueue").is_some_and(Verdict::is_broken), "{verdicts:?}");
    assert_eq!(of("BinaryHeap"), Some(&Verdict::Kept));
    assert_eq!(of("BTreeMap"), Some(&Verdict::NotOffered));
}

/// A queue that allocates for every insert.
struct Boxing;

struct BoxingQueue {
    inner: SlabSubject<SortedList, NoWalk>,
    boxed: Option<Box<u32>>,
}

impl Make for Boxing {
    type Arena = ();
    type Subject<'a> = BoxingQueue;
    const OFFERS: Offers = Offers { reserve: true, ..Offers::NONE };
    const EXACT: bool = true;

    fn name() -> String {
        "boxing".into()
    }

    fn arena(_: usize) {}

    fn make((): &(), capacity: usize) -> BoxingQueue {
        BoxingQueue { inner: Slab::<SortedList>::make(&(), capacity), boxed: None }
    }
}

impl Subject for BoxingQueue {
    type Key = <SlabSubject<SortedList, NoWalk> as Subject>::Key;

    fn now(&self) -> u64 {
        self.inner.now()
    }

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(Self::Key, bool), Full> {
        self.boxed = Some(Box::new(value));
        self.inner.insert(deadline, core::hint::black_box(self.boxed.as_deref().copied().unwrap_or(0)))
    }

    fn remove(&mut self, key: Self::Key) -> Result<(u32, bool), Stale> {
        self.inner.remove(key)
    }

    fn advance(
        &mut self,
        now: u64,
        budget: usize,
        sink: &mut dyn FnMut(Fired),
    ) -> tickwright_testkit::subject::Advanced {
        self.inner.advance(now, budget, sink)
    }
}

#[test]
fn a_queue_that_allocates_is_found() {
    assert!(clauses::no_allocation_after_reserve::<Boxing>(&TOOLS).is_broken());
}

/// Runs `f` while the allocator refuses all memory.
fn without_memory<T>(f: impl FnOnce() -> T) -> T {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            REFUSE.set(false);
        }
    }
    let _restore = Restore;
    REFUSE.set(true);
    f()
}

fn slab_without_memory<F: Family>() {
    let mut queue: SlabQueue<F, String> = SlabQueue::new();
    let value = String::from("tea");
    let at = value.as_ptr();
    let rejected = without_memory(|| queue.insert_at(5, value, 0)).map(drop).expect_err("there is no memory");
    assert_eq!(rejected.reason, Reject::Full, "{}/slab", F::ID);
    assert_eq!(rejected.value.as_ptr(), at, "{}/slab hands the value itself back", F::ID);
    assert_eq!(without_memory(|| queue.reserve(1000)), Err(Reject::Full), "{}/slab", F::ID);
    assert_eq!((queue.len(), queue.check()), (0, Ok(())), "{}/slab", F::ID);
    // Grows the queue step by step, alternately with and without memory. A refusal changes nothing.
    let mut refused = 0;
    for n in 0..200 {
        let value = n.to_string();
        match without_memory(|| queue.insert_at(1000 - n, value, 0)) {
            Ok(_) => {}
            Err(rejected) => {
                refused += 1;
                assert_eq!(rejected.value, n.to_string(), "{}/slab", F::ID);
                assert_eq!(queue.check(), Ok(()), "{}/slab", F::ID);
                // A bounded family is full, and stays full.
                if queue.insert_at(1000 - n, rejected.value, 0).is_err() {
                    break;
                }
            }
        }
    }
    assert!(refused > 0, "{}/slab never grew", F::ID);
    let left: Vec<u64> = core::iter::from_fn(|| queue.pop_expired(2000)).map(|timer| timer.expiry).collect();
    assert!(left.is_sorted(), "{}/slab", F::ID);
    assert_eq!(queue.check(), Ok(()), "{}/slab", F::ID);
}

fn hook_without_memory<F: Family>() {
    let nodes: Vec<Timer<F, u64>> = (0..200).map(Timer::new).collect();
    let mut queue: HookQueue<'_, F, u64> = HookQueue::new();
    for node in &nodes {
        if let Err(rejected) = without_memory(|| queue.insert_at(1000 - node.payload, node, 0)) {
            assert_eq!(rejected.reason, Reject::Full, "{}/hook", F::ID);
            assert!(core::ptr::eq(rejected.value, node), "{}/hook hands the node itself back", F::ID);
            assert!(!node.is_linked(), "{}/hook", F::ID);
            assert_eq!(queue.check(), Ok(()), "{}/hook", F::ID);
            if queue.insert_at(1000 - node.payload, node, 0).is_err() {
                break;
            }
        }
    }
    let left: Vec<u64> = core::iter::from_fn(|| queue.pop_expired(2000)).map(|timer| timer.expiry).collect();
    assert!(left.is_sorted() && !left.is_empty(), "{}/hook", F::ID);
}

/// A queue that must grow and gets no memory refuses the insert, returns the value, and stays
/// usable.
#[test]
fn no_memory_hands_the_value_back() {
    macro_rules! all {
        ([] $($id:literal => $family:ty;)+) => {$(
            slab_without_memory::<$family>();
            hook_without_memory::<$family>();
        )+};
    }
    macro_rules! slabs {
        ([] $($id:literal => $family:ty;)+) => {$(slab_without_memory::<$family>();)+};
    }
    for_each_family!(all []);
    for_each_slab_only_family!(slabs []);
}

/// Moves each timer to a different delay, while the allocator refuses all memory.
fn reschedules_without_memory<F: Family>() {
    let mut queue: SlabQueue<F, u64> = SlabQueue::new();
    let keys: Vec<_> = (0..200).map(|n| queue.insert_at(500, n, 0).expect("room")).collect();
    for (n, &key) in (0..).zip(&keys) {
        let deadline = 1 + n * 37 % 200 * 5;
        without_memory(|| queue.reschedule_at(key, deadline, 0)).expect("a reschedule needs no memory");
        assert_eq!(queue.check(), Ok(()), "{}/slab", F::ID);
    }
    let left = core::iter::from_fn(|| queue.pop_expired(9000));
    let mut left: Vec<_> = left.map(|timer| (timer.expiry, timer.deadline)).collect();
    assert!(left.is_sorted_by_key(|(expiry, _)| *expiry), "{}/slab", F::ID);
    left.sort_unstable_by_key(|(_, deadline)| *deadline);
    assert!(left.into_iter().map(|(_, deadline)| deadline).eq((0..200).map(|n| 1 + n * 5)), "{}/slab", F::ID);
}

/// A queue that gets no memory for a reschedule still moves the timer, and keeps the order.
#[test]
fn a_reschedule_needs_no_memory() {
    macro_rules! all {
        ([] $($id:literal => $family:ty;)+) => {$(reschedules_without_memory::<$family>();)+};
    }
    for_each_family!(all []);
    for_each_slab_only_family!(all []);
}

/// Runs all operations on a hook dictionary; returns the number of entries that were ever in the
/// dictionary.
fn whole_life<B: Balance>(objects: &[Object<B>]) -> usize {
    let mut dictionary = HookDict::<_, _, B>::balanced(ByKey);
    let mut hint = None;
    for object in objects {
        object.key.set(object.number as u64 * 7 % 50);
        hint = dictionary.insert_near(hint, object).ok();
    }
    for seek in SEEKS {
        let _ = dictionary.seek(seek, &20, hint);
    }
    let walked =
        dictionary.range(Bound::Included(&5), Bound::Unbounded).count() + dictionary.iter().rev().count();
    for object in objects {
        object.key.set(60);
        let _ = dictionary.rekeyed(object.into());
    }
    if let Some(first) = dictionary.first() {
        let _ = dictionary.remove(first).map(|object| dictionary.append(object).is_ok());
    }
    assert_eq!(dictionary.check(), Ok(()));
    dictionary.clear();
    walked
}

fn dictionaries<B: Balance>() {
    let objects: Vec<Object<B>> = (0..100).map(|number| Object::new(number, 0)).collect();
    let before = COUNT.get();
    let walked = without_memory(|| whole_life(&objects));
    assert_eq!((COUNT.get() - before, walked), (0, 190), "a hook dictionary never allocates");

    let mut slab = SlabDict::<_, _, B>::balanced(By(|text: &String| text.len()));
    slab.reserve(10).unwrap();
    let text = || String::from("some");
    let mut texts: Vec<String> = (0..200).map(|_| text()).collect();
    let before = COUNT.get();
    let mut inserted = Vec::with_capacity(200);
    without_memory(|| {
        while let Some(entry) = texts.pop().and_then(|text| slab.insert(text).ok()) {
            inserted.push(entry);
        }
    });
    assert!(inserted.len() >= 10, "room for ten was made");
    assert_eq!(COUNT.get() - before, 2, "one for the entries of this test, one that was refused");
    let last = text();
    let refused = without_memory(|| slab.insert(last).unwrap_err());
    assert_eq!((refused.reason, refused.value.as_str()), (DictError::Full, "some"));
    assert_eq!((without_memory(|| slab.reserve(1000)), slab.check()), (Err(DictError::Full), Ok(())));
    assert_eq!(slab.len(), inserted.len());
}

#[test]
fn dictionaries_allocate_when_a_slab_grows_and_never_else() {
    dictionaries::<RedBlack>();
    dictionaries::<Avl>();
}

type ByNumber = By<fn(&u64) -> u64>;

#[test]
fn a_pooled_b_plus_tree_never_allocates() {
    let mut tree = BPlusDict::pooled(By(|&n: &u64| n), BPlusDict::<ByNumber, u64>::nodes_for(400)).unwrap();
    let before = COUNT.get();
    without_memory(|| {
        for round in 0..3 {
            for n in 0..400 {
                tree.insert(n * 7 % 400).unwrap();
            }
            while let Some(first) = tree.first().filter(|_| tree.len() > 100 * round) {
                let _ = tree.update(first, |n| *n += 200);
                let middle = tree.find_leq(&250).or(tree.last()).unwrap();
                tree.remove(middle).unwrap();
            }
            tree.clear();
        }
    });
    assert_eq!((COUNT.get() - before, tree.check()), (0, Ok(())));
}
