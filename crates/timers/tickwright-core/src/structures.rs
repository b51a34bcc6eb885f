//! The structures, one file each. To add a structure: add a file here, a `mod`, the type's name in
//! the crate's root, and a line in [`for_each_family!`](crate::for_each_family). A structure that
//! works only in slabs has its line in
//! [`for_each_slab_only_family!`](crate::for_each_slab_only_family) instead. Suites, benchmarks and
//! the command line read both lists.
//!
//! Every type has a page with the same headings: choose and avoid when, layout, costs, invariants,
//! references. This module names the parts of structures for code that builds on them.

pub(crate) mod coarse_wheel;
pub(crate) mod dary_heap;
mod digits;
#[cfg(feature = "alloc")]
pub(crate) mod fixed_delay;
pub(crate) mod flat;
#[cfg(test)]
mod headings;
#[cfg(feature = "alloc")]
pub(crate) mod ladder;
pub(crate) mod red_black;
pub(crate) mod sorted_list;
#[cfg(all(test, feature = "alloc"))]
pub(crate) mod testing;
mod timer_tree;
pub(crate) mod wheel;

pub use coarse_wheel::{Coarse, CoarseRecord, Geometry};
pub use dary_heap::{Arity, Degree, Group, MOST, groups_for};

/// The family with which a scheduler of the crate `tickwright` begins: the 4-ary heap, on every
/// target. A [`DefaultQueue`] begins with the ladder instead. A scheduler does not, because the
/// [`next_wake`](crate::TimerQueue::next_wake) of a ladder can be too early after a cancel, and
/// then wakes the scheduler's driver in vain. The `next_wake` of the heap is exact, and the heap
/// takes half as much memory.
///
/// A [`HookQueue`](crate::HookQueue) has no default: its type names the family. If its memory is
/// allowed to grow, the heap is a good choice before you have measured.
///
/// The choice rests on the results of `tickwright latency crossover` on x86-64
/// (`records/latency-crossover`). The measured work is one tick of the handler: read the head,
/// remove it, re-arm it, read the head. With periods from 1 to 10 ms the heap overtakes the list
/// before the other structures do. That happens between 12 and 16 timers in a slab, and between 32
/// and 48 with hooks. At 512 timers the heap is 5 to 8 times as fast as the list; the trees are
/// only 2 to 4 times as fast. With hooks, the trees run fewer instructions than the heap, down to
/// half as many. But jumps and cache misses cost the trees more than the fewer instructions save.
///
/// Choose instead:
///
/// - [`SortedList`](crate::SortedList): the population never exceeds one or two dozen timers. The
///   list is the fastest structure for up to 16 timers, and with hooks for up to 32. Its worst
///   insert walks the whole list.
/// - [`RbTreeCached`](crate::RbTreeCached): no array is allowed to grow, and the caller owns the
///   nodes. With few timers it costs less than a heap, and an insert is O(log n) without a buffer.
/// - [`Wheel`](crate::Wheel), [`CoarseWheel`](crate::CoarseWheel): thousands of time-outs that are
///   mostly moved or cancelled, in ticks of about a millisecond.
/// - [`FixedDelay`](crate::FixedDelay): most timers have one of a few delays, counted from the
///   queue's `now`.
/// - [`BoundedHeap`](crate::BoundedHeap): no allocator is available. The 4-ary heap needs the
///   feature `alloc`.
/// - On a microcontroller use [`SortedList`](crate::SortedList), or for more than about thirty
///   timers [`RbTreeCached`](crate::RbTreeCached).
///
/// The figures are from an emulated Cortex-M3 (`records/microcontroller`, opt-level "s";
/// instructions, not cycles). The worst call is the longest time for which a queue masks
/// interrupts:
///
/// - The list is the cheapest structure in every operation with up to 16 timers. The list's worst
///   call takes 177 instructions with 16 timers and 560 with 64. Its code takes 1,048 bytes of
///   flash.
/// - The worst call of `RbTreeCached` takes 332 instructions with 16 timers and 392 with 64. Its
///   code takes 1,944 bytes.
/// - The worst call of a bounded heap takes 450 instructions with 64 timers, and its code 5,756
///   bytes. The heap needs 28 bytes of RAM per timer, and the tree 40.
/// - A wheel's worst call grows with the timers of a bucket, up to 2,700 instructions with 64
///   timers in `Wheel`.
///
/// The default is one type for all targets. Xenomai's default is the list, except on x86-64. In
/// Xenomai, a structure that was no target's default stayed broken for six years. On another
/// processor the costs can cross at other populations: measure on your processor.
#[cfg(feature = "alloc")]
pub type SchedulerFamily = dary_heap::DaryHeap<4>;

/// The queue to begin with: a slab over the [`LadderQueue`](crate::LadderQueue), which suits two
/// timers as well as a million. A scheduler begins with [`SchedulerFamily`] instead, whose exact
/// `next_wake` saves wake-ups.
///
/// ```
/// use tickwright_core::DefaultQueue;
///
/// let mut queue: DefaultQueue<&str> = DefaultQueue::new();
/// queue.insert(10, "tea")?;
/// assert_eq!(queue.pop_expired(10).map(|expired| expired.value), Some("tea"));
/// # Ok::<(), tickwright_core::Reject>(())
/// ```
#[cfg(feature = "alloc")]
pub type DefaultQueue<T> = crate::SlabQueue<ladder::LadderQueue, T>;

/// The only list of structures. Calls `$callback!` once, with the tokens in the brackets and then a
/// row per structure: its identifier (the family's `ID`) and its family type.
///
/// ```
/// macro_rules! names {
///     ([] $($id:literal => $family:ty;)+) => { [$($id),+] };
/// }
/// let names = tickwright_core::for_each_family!(names []);
/// assert!(names.contains(&"list"));
/// ```
///
/// The macro needs the feature `alloc`, as some of the structures do.
/// [`for_each_slab_only_family!`](crate::for_each_slab_only_family) lists the structures that work
/// only in slabs.
#[cfg(feature = "alloc")]
#[macro_export]
macro_rules! for_each_family {
    ($callback:ident [$($args:tt)*]) => {
        $callback! { [$($args)*]
            "list" => $crate::SortedList;
            "flat" => $crate::FlatQueue;
            "heap2" => $crate::DaryHeap<2>;
            "heap4" => $crate::DaryHeap<4>;
            "fixed-delay" => $crate::FixedDelay;
            "rb" => $crate::RbTree;
            "rb-cached" => $crate::RbTreeCached;
            "wheel" => $crate::Wheel;
            "coarse" => $crate::CoarseWheel;
        }
    };
}

/// Lists the structures that work only in slabs, in the form of
/// [`for_each_family!`](crate::for_each_family).
#[cfg(feature = "alloc")]
#[macro_export]
macro_rules! for_each_slab_only_family {
    ($callback:ident [$($args:tt)*]) => {
        $callback! { [$($args)*]
            "ladder" => $crate::LadderQueue;
        }
    };
}
