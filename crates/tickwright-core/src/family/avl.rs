//! An AVL tree with a cached head, as [`RbTreeCached`](super::red_black::RbTreeCached) has: the two differ in their balance alone.
//!
//! # Invariants
//! 1. Every node but the root is a child of its `up`, and of no other; the root has no `up` ([`Violation::BackLink`],
//!    [`Violation::Head`] for the root). So many nodes are reachable as are pending ([`Violation::Count`]).
//! 2. In order, from left to right, expiries never decrease ([`Violation::Order`]). Equals stand in the order of their arrival,
//!    since an insert goes right of them and rotations keep the order.
//! 3. Each node's difference is the height of its right tree minus that of its left one, and is -1, 0 or 1
//!    ([`Violation::Balance`]).
//! 4. The cached head is the leftmost node ([`Violation::Head`]).
//!
//! By 3 the longest path is at most 1.44 log2(n + 2).
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
//! Bytes per timer: slab 24 + slot (8 for a `u32`), hook 48 (64-bit). It never allocates.
//!
//! # Choose when
//! - inserts are many and removals few: paths are shorter than a red-black tree's, and an insert turns at most once or twice;
//! - the longest path must be short: 1.44 log2 n instead of 2 log2 n.
//!
//! # Avoid when
//! - most timers are cancelled or expire: a removal may turn at every level, a red-black tree's at most three times;
//! - what the red-black tree's page advises to avoid: few timers, mostly expiring ones, allowed lateness.
//!
//! Worst case and adversary: chosen deadlines can make a removal turn at level after level of the sparsest tree, O(log n) times.
//!
//! # References
//! Adelson-Velsky & Landis, Doklady 1962; Knuth, The Art of Computer Programming, volume 3, 6.2.3. HelenOS kept its
//! threads in an AVL tree until 2018.

use super::bst::{self, Balance, Gap, Left, Linked, Right, Side};
use super::timer_tree::{TimerTree, TreeRecord};
use crate::contract::Violation;
use crate::storage::{Family, Handle, Nodes, Shape};

/// The AVL tree with a cached head, as the type argument of a queue.
#[derive(Clone, Copy, Debug)]
pub struct AvlTree;

impl Family for AvlTree {
    type Of<P: Handle> = TimerTree<P, Avl, true>;
    const ID: &'static str = "avl";
    const SHAPE: Shape = Shape::Tree;
}

/// Keeps a tree within 1.44 times the least height by differences of heights: right minus left, -1, 0 or 1.
#[derive(Clone, Copy, Debug)]
pub struct Avl;

const _: () = assert!(size_of::<TreeRecord<core::num::NonZeroU32, Avl>>() == 24);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<TreeRecord<core::ptr::NonNull<()>, Avl>>() == 40);

/// The difference in a node that is one higher on this side.
#[inline]
const fn heavy(side: Side) -> i8 {
    match side {
        Left => -1,
        Right => 1,
    }
}

impl bst::sealed::Sealed for Avl {}

impl Balance for Avl {
    type Mark = i8;
    const LEAF: i8 = 0;
    const TOO_DEEP: Violation = Violation::Balance;

    #[inline(never)]
    fn linked<P: Handle, R: Linked<P, Mark = i8>, N: Nodes<P, R>>(
        root: &mut Option<P>,
        nodes: &mut N,
        p: P,
        parent: Option<P>,
    ) {
        let (mut node, mut parent) = (p, parent);
        // The tree below `node` has become one higher and is balanced; differences from `parent` upwards do not know that yet.
        while let Some(at) = parent {
            let links = bst::links_mut(nodes, at);
            let side = links.side_of(node);
            let difference = links.mark;
            if difference == heavy(side) {
                turn_up(root, nodes, at, side);
                return;
            }
            links.mark = difference + heavy(side);
            if difference != 0 {
                return;
            }
            (node, parent) = (at, links.up);
        }
    }

    #[inline(never)]
    fn unlinked<P: Handle, R: Linked<P, Mark = i8>, N: Nodes<P, R>>(
        root: &mut Option<P>,
        nodes: &mut N,
        gap: Gap<P, i8>,
    ) {
        let (mut parent, mut side) = (gap.parent, gap.side);
        // The tree on `side` of `parent` has become one lower and is balanced; differences from `parent` upwards do not know that yet.
        while let Some(at) = parent {
            let links = bst::links_mut(nodes, at);
            let difference = links.mark;
            let top = if difference == heavy(side.other()) {
                let Some(top) = turn_up(root, nodes, at, side.other()) else { return };
                top
            } else {
                links.mark = difference - heavy(side);
                if difference == 0 {
                    return;
                }
                at
            };
            parent = bst::links(nodes, top).up;
            if let Some(parent) = parent {
                side = bst::links(nodes, parent).side_of(top);
            }
        }
    }

    fn check_root(_: i8) -> Result<(), Violation> {
        Ok(())
    }

    /// How many nodes the longest path down passes.
    fn height(mark: i8, [left, right]: [Option<(i8, u32)>; 2]) -> Result<u32, Violation> {
        let left = left.map_or(0, |(_, height)| height);
        let right = right.map_or(0, |(_, height)| height);
        let difference = i64::from(right) - i64::from(left);
        if difference != i64::from(mark) || difference.abs() > 1 {
            return Err(Violation::Balance);
        }
        Ok(left.max(right) + 1)
    }
}

/// Restores the balance of `top`, whose tree on `side` is two higher. Answers the node that took its place when
/// the whole has become one lower for it; after an insertion that means: as high as it was before.
///
/// ```text
/// the child leans outwards or not at all           the child leans inwards
///       top            child                        top           top            grand
///      /   \          /     \                      /   \         /   \          /     \
///   child   c  ->    a      top                child    d  -> grand   d  ->  child    top
///   /   \           / \    /   \               /   \          /   \          /  \     /  \
///  a     b                b     c             a   grand    child   c        a    b   c    d
/// / \                                              / \      / \
///                                                 b   c    a   b
/// ```
fn turn_up<P: Handle, R: Linked<P, Mark = i8>, N: Nodes<P, R>>(
    root: &mut Option<P>,
    nodes: &mut N,
    top: P,
    side: Side,
) -> Option<P> {
    let other = side.other();
    let child = bst::links(nodes, top).at(side)?;
    let leaning = bst::links(nodes, child).mark;
    if leaning == heavy(other) {
        let grand = bst::links(nodes, child).at(other)?;
        let inner = bst::links(nodes, grand).mark;
        bst::rotate(root, nodes, child, grand, side);
        bst::rotate(root, nodes, top, grand, other);
        bst::links_mut(nodes, top).mark = if inner == heavy(side) { heavy(other) } else { 0 };
        bst::links_mut(nodes, child).mark = if inner == heavy(other) { heavy(side) } else { 0 };
        bst::links_mut(nodes, grand).mark = 0;
        return Some(grand);
    }
    bst::rotate(root, nodes, top, child, other);
    // A child that did not lean has lifted both of its trees: the height stays. That is met after a removal alone.
    let level = leaning == 0;
    bst::links_mut(nodes, top).mark = if level { heavy(side) } else { 0 };
    bst::links_mut(nodes, child).mark = if level { heavy(other) } else { 0 };
    (!level).then_some(child)
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
