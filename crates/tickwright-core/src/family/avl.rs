//! An AVL tree with a cached head, like [`RbTreeCached`](super::red_black::RbTreeCached): the two
//! differ only in their balance.
//!
//! # Invariants
//! 1. Every node but the root is a child of its `up`, and of no other; the root has no `up`
//!    ([`Violation::BackLink`], [`Violation::Head`] for the root). The number of reachable nodes is
//!    the number of pending timers ([`Violation::Count`]).
//! 2. In order, from left to right, expiries never decrease ([`Violation::Order`]). Equals stand in
//!    the order of their arrival, since an insert goes right of them and rotations keep the order.
//! 3. Each node's balance factor is the height of its right tree minus that of its left tree, and
//!    is -1, 0 or 1 ([`Violation::Balance`]).
//! 4. The cached head is the leftmost node ([`Violation::Head`]).
//!
//! By invariant 3 the longest path is at most 1.44 log2(n + 2).
//!
//! # Layout
//! ```text
//!   record (slab, 24 bytes): [ expiry 8 | left 4 | right 4 | up 4 | difference 1 | unused 3 ]
//!
//!              root
//!               |
//!             (30, -1)              upper links omitted; the second number is the difference
//!             /      \
//!   head  (12, 0)    (40, 0)        insert(12): right of the equal 12
//!     |   /     \                   insert(5):  5 < 10, left of the head without a way down
//!     +>(10, 0) (12, 0)
//! ```
//!
//! # Costs
//! | operation | worst | usual | cache lines |
//! |---|---|---|---|
//! | insert | O(log n), at most 2 rotations | O(log n) down, O(1) links | one or two per level, 2 to 6 written |
//! | insert as the new head | O(log n) | O(1) | 2 to 5 |
//! | remove | O(log n) rotations | O(1) links | 3 to 8 |
//! | reschedule | O(log n) | O(log n) | as remove + insert |
//! | peek, next_expiry, next_wake | O(1) | O(1) | 1 |
//! | second | O(1) | O(1) | 2 |
//! | pop | O(log n) | O(1) links | 3 to 6 |
//! | advance, k expired | O(k log n) | as k pops | as k pops |
//!
//! Bytes per timer: slab 24 + slot (8 for a `u32`), hook 48 (on 32-bit targets 32). It never
//! allocates.
//!
//! # Choose when
//! - inserts are many and removals few: paths are shorter than a red-black tree's, and an insert
//!   turns at most once or twice;
//! - the longest path must be short: 1.44 log2 n instead of 2 log2 n.
//!
//! # Avoid when
//! - most timers are cancelled or expire: a removal may turn at every level, a red-black tree's at
//!   most three times;
//! - the reasons to avoid the red-black tree apply too: few timers, mostly expiring ones, allowed
//!   lateness.
//!
//! Worst case and adversary: chosen deadlines can make a removal rotate at level after level of the
//! sparsest tree, O(log n) times.
//!
//! # References
//! Adelson-Velsky & Landis, Doklady 1962; Knuth, The Art of Computer Programming, volume 3, 6.2.3.
//! HelenOS kept its threads in an AVL tree until 2018.

use tickwright_nodes::tree::Avl;

use super::timer_tree::{TimerTree, TreeRecord};
use crate::contract::Exact;
#[cfg(doc)]
use crate::contract::Violation;
use crate::storage::layout::Apart;
use crate::storage::{Family, Handle, Shape};

/// The AVL tree with a cached head, as the type argument of a queue.
#[derive(Clone, Copy, Debug)]
pub struct AvlTree;

impl Exact for AvlTree {}

impl Family for AvlTree {
    type Of<P: Handle> = TimerTree<P, Avl, true>;
    type Layout = Apart;
    const ID: &'static str = "avl";
    const SHAPE: Shape = Shape::Tree;
}

const _: () = assert!(size_of::<TreeRecord<core::num::NonZeroU32, Avl>>() == 24);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<TreeRecord<core::ptr::NonNull<()>, Avl>>() == 40);

#[cfg(all(test, feature = "alloc"))]
mod tests;
