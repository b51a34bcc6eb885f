//! The structures that need no allocator, under the names of the lab.

use tickwright_core::{BoundedFlat, BoundedHeap, CoarseWheel};

/// The capacity of a bounded structure in the conformance machine.
pub const BOUND: usize = 12;

/// A binary heap in a static.
pub type Heap2 = BoundedHeap<2, BOUND>;
/// A 4-ary heap in a static.
pub type Heap4 = BoundedHeap<4, BOUND>;
/// A sorted array in a static.
pub type Flat = BoundedFlat<BOUND>;
/// The coarse wheel with sixteen buckets per level.
pub type SmallCoarse = CoarseWheel<16, 2, 12>;

/// Calls `$callback!` once, with a row for each structure: its name, its type, and the largest
/// number of timers that it can hold.
#[macro_export]
macro_rules! for_each_static_family {
    ($callback:ident) => {
        $callback! {
            "list" => tickwright_core::SortedList, usize::MAX;
            "flat-bounded" => $crate::families::Flat, $crate::families::BOUND;
            "heap2-bounded" => $crate::families::Heap2, $crate::families::BOUND;
            "heap4-bounded" => $crate::families::Heap4, $crate::families::BOUND;
            "rb" => tickwright_core::RbTree, usize::MAX;
            "rb-cached" => tickwright_core::RbTreeCached, usize::MAX;
        }
    };
}

/// The wheels of a few kilobytes, in the form of
/// [`for_each_static_family!`](crate::for_each_static_family).
#[macro_export]
macro_rules! for_each_small_wheel {
    ($callback:ident) => {
        $callback! {
            "wheel-tiny" => tickwright_core::TinyWheel, usize::MAX;
            "wheel-small" => tickwright_core::SmallWheel, usize::MAX;
            "coarse-small" => $crate::families::SmallCoarse, usize::MAX;
        }
    };
}

/// The structures that take ten kilobytes, in the form of
/// [`for_each_static_family!`](crate::for_each_static_family).
#[macro_export]
macro_rules! for_each_large_family {
    ($callback:ident) => {
        $callback! {
            "wheel" => tickwright_core::Wheel, usize::MAX;
            "coarse" => tickwright_core::CoarseWheel, usize::MAX;
        }
    };
}
