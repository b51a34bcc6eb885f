//! The structures, one file each. To add a structure: add a file here, a `mod`, the type's name in
//! the crate's root, and a line in [`for_each_family!`](crate::for_each_family). For a structure
//! that works only in slabs, add the line to
//! [`for_each_slab_only_family!`](crate::for_each_slab_only_family) instead. Test suites,
//! benchmarks and the command line use both lists.
//!
//! The documentation of every type has the same headings: choose when, avoid when, layout, costs,
//! invariants, references. This module exports the parts of structures for code that is built on
//! them.

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
/// (`records/latency-crossover`). The measured work is one call of a tick handler: read the head,
/// remove it, re-arm it, read the new head. With periods from 1 to 10 ms, the heap becomes faster
/// than the list between 12 and 16 timers in a slab, and between 32 and 48 timers with hooks. Every
/// other structure needs more timers to become faster than the list. At 512 timers the heap is 5 to
/// 8 times as fast as the list, whereas the trees are only 2 to 4 times as fast as the list. With
/// hooks, the trees run fewer instructions than the heap, down to half as many, but lose more time
/// by jumps and cache misses than they save by fewer instructions.
///
/// Choose another structure in these cases:
///
/// - [`SortedList`](crate::SortedList): there are never more than one or two dozen pending timers.
///   The list is the fastest structure for up to 16 timers (with hooks for up to 32). In the worst
///   case an insert walks the whole list.
/// - [`RbTreeCached`](crate::RbTreeCached): no array is allowed to grow, and the caller owns the
///   nodes. With few timers its operations cost less than those of a heap, and an insert is O(log
///   n) without a buffer.
/// - [`Wheel`](crate::Wheel), [`CoarseWheel`](crate::CoarseWheel): there are thousands of
///   time-outs, most of which are moved or cancelled, and ticks are about a millisecond long.
/// - [`FixedDelay`](crate::FixedDelay): most timers have one of a few delays, counted from the
///   queue's `now`.
/// - [`BoundedHeap`](crate::BoundedHeap): no allocator is available. The 4-ary heap needs the
///   feature `alloc`.
/// - The program runs on a microcontroller: use [`SortedList`](crate::SortedList) for up to about
///   thirty timers, and [`RbTreeCached`](crate::RbTreeCached) for more.
///
/// The following figures are counts of instructions (not cycles) on an emulated Cortex-M3, compiled
/// with opt-level "s" (`records/microcontroller`). The most expensive call determines how long a
/// queue masks interrupts:
///
/// - With up to 16 timers, every operation of the list is cheaper than in any other structure. The
///   list's most expensive call takes 177 instructions with 16 timers and 560 with 64. Its code
///   takes 1,048 bytes of flash.
/// - The most expensive call of `RbTreeCached` takes 332 instructions with 16 timers and 392
///   with 64. Its code takes 1,944 bytes.
/// - The most expensive call of a bounded heap takes 450 instructions with 64 timers. The heap's
///   code takes 5,756 bytes. The heap needs 28 bytes of RAM per timer, and the tree needs 40.
/// - The cost of a wheel's most expensive call grows with the number of timers in a bucket, up to
///   2,700 instructions with 64 timers in `Wheel`.
///
/// The default is the same type on all targets, because a structure that is not the default of any
/// target is little tested. In Xenomai, such a structure stayed broken for six years. (Xenomai's
/// default is the list, except on x86-64.) On another processor, the heap can become faster than
/// the list at another number of timers, so measure on your processor.
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

/// The only list of structures. Calls `$callback!` once, with the tokens in the brackets followed
/// by a row per structure. A row has the structure's identifier (the family's `ID`) and its family
/// type.
///
/// ```
/// macro_rules! names {
///     ([] $($id:literal => $family:ty;)+) => { [$($id),+] };
/// }
/// let names = tickwright_core::for_each_family!(names []);
/// assert!(names.contains(&"list"));
/// ```
///
/// The macro needs the feature `alloc`, because some of the structures need it.
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
