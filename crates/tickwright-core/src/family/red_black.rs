//! A red-black tree, with and without a cached head.
//!
//! # Invariants
//! 1. Every node but the root is a child of its `up`, and of no other; the root has no `up` ([`Violation::BackLink`],
//!    [`Violation::Head`] for the root). So many nodes are reachable as are pending ([`Violation::Count`]).
//! 2. In order, from left to right, expiries never decrease ([`Violation::Order`]). Equals stand in the order of their arrival,
//!    since an insert goes right of them and rotations keep the order.
//! 3. The root is black, and no red node has a red child ([`Violation::RedRed`]).
//! 4. From any node, each path down to a missing child passes the same number of black nodes
//!    ([`Violation::BlackHeight`]).
//! 5. A cached head is the leftmost node; without caching the field stays empty ([`Violation::Head`]).
//!
//! By 3 and 4 the longest path is at most twice the shortest, so at most 2 log2(n + 1).
//!
//! # Layout
//! ```text
//!   record (slab, 24 bytes): [ expiry 8 | left 4 | right 4 | up 4 | colour 1 | unused 3 ]
//!
//!              root
//!               |
//!              (30)            upper links omitted; [ ] is red, ( ) black
//!             /    \
//!   head   [12]    (40)        insert(12): right of the equal 12
//!     |    /  \       \        insert(5):  cached: 5 < 10, left of the head without a way down
//!     +->(10)  (12)   [97]
//! ```
//!
//! # Costs
//! | operation | worst | usual | cache lines |
//! |---|---|---|---|
//! | insert | O(log n) | O(log n) down, O(1) links | one or two per level, 2 to 6 written |
//! | insert as the new head, cached | O(log n) | O(1) | 2 to 4 |
//! | remove | O(log n), at most 3 rotations | O(1) links | 3 to 8 |
//! | reschedule | O(log n) | O(log n) | as remove + insert |
//! | peek, next_expiry, next_wake | O(log n), cached O(1) | the same | one per level, cached 1 |
//! | second | O(log n), cached O(1) | the same | one or two more than peek |
//! | pop | O(log n) | O(log n), cached O(1) | one per level, cached 3 to 6 |
//! | advance, k expired | O(k log n) | as k pops | as k pops |
//!
//! Rebalancing after an insert or a remove climbs O(1) levels on average. A head-change report costs nothing when the head is
//! cached; without, an insert notes whether it only went left, and a remove climbs until it is a right child.
//!
//! Bytes per timer: slab 24 + slot (8 for a `u32`), hook 48 (64-bit). It never allocates.
//!
//! # Choose when
//! - many timers are pending, deadlines are random, and most are cancelled or moved: removal by key is cheap;
//! - nodes must live in the caller's own structs, nothing may allocate, and no operation may take O(n);
//! - `peek` runs far more often than `insert`: take the cached head. It costs one word per queue.
//!
//! # Avoid when
//! - timers mostly expire and few are cancelled: a heap's levels are fewer and its entries closer together;
//! - some ten are pending at most: a sorted list needs no rebalancing;
//! - lateness within a bucket is allowed: a wheel has no levels to walk down.
//!
//! Worst case and adversary: chosen deadlines can make every insert walk the longest path, 2 log2(n + 1) nodes, and no more.
//!
//! # References
//! Guibas & Sedgewick, FOCS 1978; Cormen et al., Introduction to Algorithms, chapter 13, for the cases. Xenomai's timer
//! queue (red-black with a head pointer), Linux `timerqueue` (cached leftmost); HelenOS `odict`.

use super::bst::{self, Balance, Gap, Linked, Links, Side};
use super::timer_tree::{TimerTree, TreeRecord};
use crate::contract::Violation;
use crate::storage::{Family, Handle, Nodes, Shape};

/// The red-black tree that finds its head by walking down, as the type argument of a queue.
#[derive(Clone, Copy, Debug)]
pub struct RbTree;

impl Family for RbTree {
    type Of<P: Handle> = TimerTree<P, RedBlack, false>;
    const ID: &'static str = "rb";
    const SHAPE: Shape = Shape::Tree;
}

/// The red-black tree with a cached head, as the type argument of a queue.
#[derive(Clone, Copy, Debug)]
pub struct RbTreeCached;

impl Family for RbTreeCached {
    type Of<P: Handle> = TimerTree<P, RedBlack, true>;
    const ID: &'static str = "rb-cached";
    const SHAPE: Shape = Shape::Tree;
}

/// The colour of a node. A missing child counts as black.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// May not have a red child, nor be the root.
    Red,
    /// Counts for the black height.
    Black,
}

use Colour::{Black, Red};

/// Keeps a tree within twice the least height by colours.
#[derive(Clone, Copy, Debug)]
pub struct RedBlack;

const _: () = assert!(size_of::<TreeRecord<core::num::NonZeroU32, RedBlack>>() == 24);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<TreeRecord<core::ptr::NonNull<()>, RedBlack>>() == 40);

#[inline]
fn paint<P: Handle, R: Linked<P, Mark = Colour>, N: Nodes<P, R>>(nodes: &mut N, p: P, colour: Colour) {
    bst::links_mut(nodes, p).mark = colour;
}

impl bst::sealed::Sealed for RedBlack {}

impl Balance for RedBlack {
    type Mark = Colour;
    const LEAF: Colour = Red;
    const TOO_DEEP: Violation = Violation::BlackHeight;

    #[inline]
    fn linked<P: Handle, R: Linked<P, Mark = Colour>, N: Nodes<P, R>>(
        root: &mut Option<P>,
        nodes: &mut N,
        p: P,
        parent: Option<P>,
    ) {
        match parent {
            Some(parent) if bst::links(nodes, parent).mark == Red => part_reds(root, nodes, p, parent),
            Some(_) => {}
            None => paint(nodes, p, Black),
        }
    }

    #[inline]
    fn unlinked<P: Handle, R: Linked<P, Mark = Colour>, N: Nodes<P, R>>(
        root: &mut Option<P>,
        nodes: &mut N,
        Gap { parent, side, child, mark }: Gap<P, Colour>,
    ) {
        match (child, parent) {
            // An only child is red, and so its parent was black.
            (Some(child), _) => paint(nodes, child, Black),
            (None, Some(parent)) if mark == Black => refill(root, nodes, parent, side),
            _ => {}
        }
    }

    fn check_root(mark: Colour) -> Result<(), Violation> {
        if mark == Red { Err(Violation::RedRed) } else { Ok(()) }
    }

    /// How many black nodes a path down passes.
    fn height(mark: Colour, [left, right]: [Option<(Colour, u32)>; 2]) -> Result<u32, Violation> {
        let (left_mark, left) = left.unwrap_or((Black, 0));
        let (right_mark, right) = right.unwrap_or((Black, 0));
        if mark == Red && (left_mark == Red || right_mark == Red) {
            return Err(Violation::RedRed);
        }
        if left != right {
            return Err(Violation::BlackHeight);
        }
        Ok(left + u32::from(mark == Black))
    }
}

/// Ends the one pair of a red node and a red parent that a new leaf may make. Upper case is black:
///
/// ```text
/// 1. red uncle: repaint, go on two levels up     2. inner child: turn it outwards, then 3.
///        G                g                            G                 G
///       / \              / \                          / \               / \
///      p   u     ->     P   U                        p   U     ->      n   U
///     /                /                              \               /
///    n                n                                n             p
///
/// 3. outer child: turn the grandparent down
///        G                P
///       / \              / \
///      p   U     ->     n   g
///     /                      \
///    n                        U
/// ```
#[inline(never)]
fn part_reds<P: Handle, R: Linked<P, Mark = Colour>, N: Nodes<P, R>>(
    root: &mut Option<P>,
    nodes: &mut N,
    node: P,
    parent: P,
) {
    let (mut node, mut parent) = (node, parent);
    // `node` and `parent` are red. No other rule is broken anywhere.
    loop {
        let Some(grand) = bst::links(nodes, parent).up else {
            return paint(nodes, parent, Black);
        };
        let &Links { up, child, .. } = bst::links(nodes, grand);
        let side = Side::right_when(child[0] != Some(parent));
        if let Some(uncle) = child[side.other() as usize]
            && bst::links(nodes, uncle).mark == Red
        {
            paint(nodes, parent, Black);
            paint(nodes, uncle, Black);
            let Some(up) = up else { return };
            paint(nodes, grand, Red);
            if bst::links(nodes, up).mark == Black {
                return;
            }
            (node, parent) = (grand, up);
            continue;
        }
        if bst::links(nodes, parent).at(side) != Some(node) {
            bst::rotate(root, nodes, parent, node, side);
            parent = node;
        }
        bst::rotate(root, nodes, grand, parent, side.other());
        paint(nodes, parent, Black);
        return paint(nodes, grand, Red);
    }
}

/// Makes up for a black node that is missing on one side. Upper case is black, `?` either; `x` marks the short side, here the left:
///
/// ```text
/// 1. red sibling: turn it up, then 2., 3. or 4.   2. no red nephew: repaint; a black p is short itself
///      P               S                              p?              P
///     / \             / \                            / \             / \
///    x   s     ->    p   D                          x   S     ->        s
///       / \         / \                                / \             / \
///      C   D       x   C                              C   D           C   D
///
/// 3. inner nephew red: turn it up, then 4.        4. outer nephew red: turn the sibling up
///      p?              p?                             p?              s?
///     / \             / \                            / \             / \
///    x   S     ->    x   C                          x   S     ->    P   D
///       / \               \                            / \           \
///      c   D               s                          c?  d           c?
///                           \
///                            D
/// ```
#[inline(never)]
fn refill<P: Handle, R: Linked<P, Mark = Colour>, N: Nodes<P, R>>(
    root: &mut Option<P>,
    nodes: &mut N,
    parent: P,
    side: Side,
) {
    let (mut parent, mut side) = (parent, side);
    // Paths through the child of `parent` on `side` pass one black node too few, all others the right number.
    // So the other side is at least one black node high: `parent` has a sibling of the gap there.
    loop {
        let other = side.other();
        let Some(mut sibling) = bst::links(nodes, parent).at(other) else { return };
        if bst::links(nodes, sibling).mark == Red {
            paint(nodes, sibling, Black);
            paint(nodes, parent, Red);
            bst::rotate(root, nodes, parent, sibling, side);
            let Some(nephew) = bst::links(nodes, parent).at(other) else { return };
            sibling = nephew;
        }
        let &Links { child, .. } = bst::links(nodes, sibling);
        let (inner, outer) = (child[side as usize], child[other as usize]);
        let (rise, end) = match (inner, outer) {
            (_, Some(outer)) if bst::links(nodes, outer).mark == Red => (sibling, outer),
            (Some(inner), _) if bst::links(nodes, inner).mark == Red => {
                bst::rotate(root, nodes, sibling, inner, other);
                (inner, sibling)
            }
            _ => {
                paint(nodes, sibling, Red);
                let &Links { up, mark, .. } = bst::links(nodes, parent);
                if mark == Red {
                    return paint(nodes, parent, Black);
                }
                let Some(up) = up else { return };
                side = bst::links(nodes, up).side_of(parent);
                parent = up;
                continue;
            }
        };
        let mark = bst::links(nodes, parent).mark;
        bst::rotate(root, nodes, parent, rise, side);
        paint(nodes, rise, mark);
        paint(nodes, parent, Black);
        return paint(nodes, end, Black);
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
