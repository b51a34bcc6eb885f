//! The structures, one file each. A new one is a file here, a `pub mod`, a line in
//! [`for_each_family!`](crate::for_each_family) and the type's name in the crate's root; suites, benchmarks and the command
//! line take it from there.
//!
//! Every module documents, under the same headings: invariants, layout, costs, choose and avoid when, references.

pub mod avl;
pub(crate) mod bst;
pub(crate) mod chain;
pub mod coarse_wheel;
pub mod dary_heap;
pub mod red_black;
pub mod sorted_list;
#[cfg(all(test, feature = "alloc"))]
pub(crate) mod testing;
mod timer_tree;
pub mod wheel;

/// The one list of structures. Calls `$callback!` once, with whatever stands in the brackets and then a row per structure:
/// its identifier (the family's `ID`) and its family type.
///
/// ```
/// macro_rules! names {
///     ([] $($id:literal => $family:ty;)+) => { [$($id),+] };
/// }
/// let names = tickwright_core::for_each_family!(names []);
/// assert!(names.contains(&"list"));
/// ```
///
/// It needs the feature `alloc`, as some of the structures do.
#[cfg(feature = "alloc")]
#[macro_export]
macro_rules! for_each_family {
    ($callback:ident [$($args:tt)*]) => {
        $callback! { [$($args)*]
            "list" => $crate::SortedList;
            "heap2" => $crate::DaryHeap<2>;
            "heap4" => $crate::DaryHeap<4>;
            "rb" => $crate::RbTree;
            "rb-cached" => $crate::RbTreeCached;
            "avl" => $crate::AvlTree;
            "wheel" => $crate::Wheel;
            "coarse" => $crate::CoarseWheel;
        }
    };
}
