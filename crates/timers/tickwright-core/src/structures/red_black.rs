//! `RbTree` and `RbTreeCached`: a red-black tree, without a cached head and with it.

use super::timer_tree::{TimerTree, TreeRecord};
use crate::contract::Exact;
#[cfg(doc)]
use crate::contract::Violation;
use crate::layout::Apart;
use crate::structure::{Family, Handle, Shape};

/// The red-black tree without a cached head, as the type argument of a queue. The tree finds its
/// head by a walk down from the root.
///
/// A red-black tree, with and without a cached head.
///
/// # Choose when
/// - many timers are pending, deadlines are random, and most are cancelled or moved: removal by key
///   is cheap in this structure;
/// - nodes must be part of the caller's own structs, and neither allocations nor operations in O(n)
///   are acceptable;
/// - `peek` runs far more often than `insert`: use `RbTreeCached`, whose cached head takes one word
///   per queue.
///
/// # Avoid when
/// - most timers expire and few are cancelled: a heap has fewer levels than the tree, and the
///   heap's entries are adjacent in memory;
/// - at most about ten timers are pending: a sorted list needs no rebalancing;
/// - timers are allowed to be late by the width of a bucket: an insert into a [coarse
///   wheel](crate::CoarseWheel) walks no path.
///
/// In the worst case, an adversary chooses the deadlines so that every insert walks down the
/// longest path, which has at most 2 log2(n + 1) nodes.
///
/// # Layout
/// ```text
///   record (slab, 24 bytes): [ expiry 8 | left 4 | right 4 | up 4 | color 1 | unused 3 ]
///
///              root
///               |
///              (30)            upper links omitted; [ ] is red, ( ) black
///             /    \
///   head   [12]    (40)        insert(12): right of the equal 12
///     |    /  \       \        insert(5):  cached: 5 < 10, left of the head without a way down
///     +->(10)  (12)   [97]
/// ```
///
/// # Costs
/// | operation | worst | usual | cache lines |
/// |---|---|---|---|
/// | insert | O(log n) | O(log n) down, O(1) links | one or two per level, 2 to 6 written |
/// | insert as the new head, cached | O(log n) | O(1) | 2 to 4 |
/// | remove | O(log n), at most 3 rotations | O(1) links | 3 to 8 |
/// | reschedule | O(log n) | O(log n) | as remove + insert |
/// | peek, next_expiry, next_wake | O(log n), cached O(1) | the same | one per level, cached 1 |
/// | second | O(log n), cached O(1) | the same | one or two more than peek |
/// | pop | O(log n) | O(log n), cached O(1) | one per level, cached 3 to 6 |
/// | advance, k expired | O(k log n) | as k pops | as k pops |
///
/// Rebalancing after an insert or a remove climbs O(1) levels on average. Each insert and remove
/// reports whether the head changed. A cached head makes this report free of cost. Without a cached
/// head, an insert records whether its path went only left, and a remove climbs until it reaches a
/// right child.
///
/// A timer takes 24 bytes plus its slot (8 for a `u32`) in a slab, and 48 bytes over hooks (32 on
/// 32-bit targets). The tree never allocates.
///
/// # Invariants
/// 1. Every node except the root is a child of exactly one node, its `up`; the root has no `up`
///    ([`Violation::BackLink`], [`Violation::Head`] for the root). The number of nodes that can be
///    reached from the root is the number of pending timers ([`Violation::Count`]).
/// 2. From left to right, expiries never decrease ([`Violation::Order`]). Nodes of equal expiry are
///    in the order of their arrival, because an insert places a node to the right of the nodes with
///    the same expiry, and rotations do not change the order.
/// 3. The root is black, and no red node has a red child ([`Violation::RedRed`]).
/// 4. All paths from a node down to a missing child pass the same number of black nodes
///    ([`Violation::BlackHeight`]).
/// 5. A cached head is the leftmost node; in a tree without a cached head the field stays empty
///    ([`Violation::Head`]).
///
/// By invariants 3 and 4 the longest path is at most twice as long as the shortest path, so the
/// longest path has at most 2 log2(n + 1) nodes.
///
/// # References
/// Guibas & Sedgewick, FOCS 1978; Cormen et al., Introduction to Algorithms, chapter 13, for the
/// cases of rebalancing. Xenomai's timer queue (a red-black tree with a head pointer), Linux
/// `timerqueue` (with a cached leftmost node); HelenOS `odict`.
#[derive(Clone, Copy, Debug)]
pub struct RbTree;

impl Exact for RbTree {}

impl Family for RbTree {
    type Of<P: Handle> = TimerTree<P, false>;
    type Layout = Apart;
    const ID: &'static str = "rb";
    const SHAPE: Shape = Shape::Tree;
}

/// The red-black tree with a cached head, as the type argument of a queue.
#[derive(Clone, Copy, Debug)]
pub struct RbTreeCached;

impl Exact for RbTreeCached {}

impl Family for RbTreeCached {
    type Of<P: Handle> = TimerTree<P, true>;
    type Layout = Apart;
    const ID: &'static str = "rb-cached";
    const SHAPE: Shape = Shape::Tree;
}

const _: () = assert!(size_of::<TreeRecord<core::num::NonZeroU32>>() == 24);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<TreeRecord<core::ptr::NonNull<()>>>() == 40);

#[cfg(all(test, feature = "alloc"))]
mod tests;
