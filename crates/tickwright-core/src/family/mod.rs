//! The structures, one file each. A new one is a file here, a `pub mod`, a line in
//! [`for_each_family!`](crate::for_each_family) and the type's name in the crate's root. Suites,
//! benchmarks and the command line take it from there.
//!
//! Every module documents, under the same headings: invariants, layout, costs, choose and avoid
//! when, references.

#[cfg(feature = "alloc")]
pub mod adaptive;
pub mod avl;
pub mod coarse_wheel;
pub mod dary_heap;
mod digits;
#[cfg(feature = "alloc")]
pub mod fixed_delay;
pub mod flat;
#[cfg(feature = "alloc")]
pub mod ladder;
pub mod red_black;
pub mod sorted_list;
#[cfg(all(test, feature = "alloc"))]
pub(crate) mod testing;
mod timer_tree;
pub mod wheel;

/// The family to take before you have measured, over hooks and for services: the 4-ary heap, on
/// every target. In a slab of its own, [`DefaultQueue`] adapts to its timers instead.
///
/// Chosen from what `tickwright latency crossover` found on x86-64 (`records/latency-crossover`).
/// The measured work is one tick of the handler: read the head, take it, re-arm it, read the head.
/// With periods from 1 to 10 ms the heap overtakes the list before the other structures do. That is
/// between 12 and 16 timers in a slab, and between 32 and 48 by hooks. At 512 timers it is 5 to 8
/// times as fast as the list, where the trees are 2 to 4 times. By instructions the trees are
/// cheaper by hooks, up to a half. What they save there they lose to jumps and cache lines.
///
/// Choose instead:
///
/// - [`SortedList`](crate::SortedList): at most a dozen or two timers for ever. With up to 16 it is
///   the fastest, by hooks up to 32. Its worst insert walks all.
/// - [`RbTreeCached`](crate::RbTreeCached): no array may grow, and nodes are the caller's. Few
///   timers cost less than over a heap, and an insert is O(log n) without a buffer.
/// - [`Wheel`](crate::Wheel), [`CoarseWheel`](crate::CoarseWheel): time-outs by the thousand that
///   are mostly moved or cancelled, in ticks of about a millisecond.
/// - [`FixedDelay`](crate::FixedDelay): most timers have one of a few delays, counted from the
///   queue's `now`.
/// - [`BoundedHeap`](crate::BoundedHeap): without an allocator. This default needs the feature
///   `alloc`.
/// - On a microcontroller [`SortedList`](crate::SortedList), and from some thirty timers on
///   [`RbTreeCached`](crate::RbTreeCached).
///
/// The figures are from an emulated Cortex-M3 (`records/microcontroller`, opt-level "s";
/// instructions, not cycles). There the list is cheapest in every operation with up to 16 timers.
/// Its worst call takes 178, and its code 1,096 bytes of flash. The worst call of `RbTreeCached`
/// takes 332 with 16 timers and 392 with 64, where the list's takes 561; its code takes 1,948
/// bytes. A bounded heap of 64 takes 435 and 6,072 bytes, and less RAM: 28 bytes a timer where the
/// tree takes 40. The worst call is the longest time for which a queue masks interrupts. A wheel's
/// grows with the timers of a bucket, to 2,358 with 64 in `Wheel`.
///
/// One type for all targets, unlike Xenomai, whose default is the list except on x86-64. There a
/// structure that was nobody's default stayed broken for six years. Another processor may well
/// cross elsewhere: ask it.
#[cfg(feature = "alloc")]
pub type DefaultFamily = dary_heap::DaryHeap<4>;

/// The queue to begin with: a slab over the [`AdaptiveQueue`](crate::AdaptiveQueue), which serves
/// two timers as it serves a million.
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
pub type DefaultQueue<T> = crate::SlabQueue<adaptive::AdaptiveQueue, T>;

/// The one list of structures. Calls `$callback!` once, with whatever stands in the brackets and
/// then a row per structure: its identifier (the family's `ID`) and its family type.
///
/// ```
/// macro_rules! names {
///     ([] $($id:literal => $family:ty;)+) => { [$($id),+] };
/// }
/// let names = tickwright_core::for_each_family!(names []);
/// assert!(names.contains(&"list"));
/// ```
///
/// It needs the feature `alloc`, as some of the structures do. Those that work in slabs alone are
/// in [`for_each_slab_only_family!`](crate::for_each_slab_only_family).
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
            "avl" => $crate::AvlTree;
            "wheel" => $crate::Wheel;
            "coarse" => $crate::CoarseWheel;
        }
    };
}

/// The structures that work in slabs alone, in the form of
/// [`for_each_family!`](crate::for_each_family).
#[cfg(feature = "alloc")]
#[macro_export]
macro_rules! for_each_slab_only_family {
    ($callback:ident [$($args:tt)*]) => {
        $callback! { [$($args)*]
            "ladder" => $crate::LadderQueue;
            "adaptive" => $crate::AdaptiveQueue;
        }
    };
}
