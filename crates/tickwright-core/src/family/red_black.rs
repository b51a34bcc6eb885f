//! DOCS
use super::bst::{self, Balance, Gap, Linked, Links, Side};
use super::timer_tree::{TimerTree, TreeRecord};
use crate::contract::Violation;
use crate::storage::{Family, Handle, Nodes};

/// The red-black tree that finds its head by walking down, as the type argument of a queue.
#[derive(Clone, Copy, Debug)]
pub struct RbTree;

impl Family for RbTree {
    type Of<P: Handle> = TimerTree<P, RedBlack, false>;
    const ID: &'static str = "rb";
}

/// The red-black tree with a cached head, as the type argument of a queue.
#[derive(Clone, Copy, Debug)]
pub struct RbTreeCached;

impl Family for RbTreeCached {
    type Of<P: Handle> = TimerTree<P, RedBlack, true>;
    const ID: &'static str = "rb-cached";
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
fn is_red<P: Handle, R: Linked<P, Mark = Colour>, N: Nodes<P, R>>(nodes: &N, p: Option<P>) -> bool {
    p.is_some_and(|p| bst::links(nodes, p).mark == Red)
}

#[inline]
fn paint<P: Handle, R: Linked<P, Mark = Colour>, N: Nodes<P, R>>(nodes: &mut N, p: P, colour: Colour) {
    bst::links_mut(nodes, p).mark = colour;
}

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
            bst::rotate(root, nodes, parent, side);
            parent = node;
        }
        bst::rotate(root, nodes, grand, side.other());
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
            bst::rotate(root, nodes, parent, side);
            let Some(nephew) = bst::links(nodes, parent).at(other) else { return };
            sibling = nephew;
        }
        let &Links { child, .. } = bst::links(nodes, sibling);
        let (inner, outer) = (child[side as usize], child[other as usize]);
        if is_red(nodes, outer) {
            // Case 4 as it stands.
        } else if let Some(inner) = inner
            && is_red(nodes, Some(inner))
        {
            bst::rotate(root, nodes, sibling, other);
            paint(nodes, sibling, Red);
            sibling = inner;
        } else {
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
        let mark = bst::links(nodes, parent).mark;
        bst::rotate(root, nodes, parent, side);
        paint(nodes, sibling, mark);
        paint(nodes, parent, Black);
        if let Some(outer) = bst::links(nodes, sibling).at(other) {
            paint(nodes, outer, Black);
        }
        return;
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
