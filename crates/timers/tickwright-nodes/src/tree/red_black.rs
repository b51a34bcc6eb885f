//! The red-black balance: no path is more than twice as long as another path.
//!
//! Insertion and removal follow Cormen et al., Introduction to Algorithms, chapter 13.

use crate::tree::{self, Balance, Gap, Linked, Links, Side};
use crate::{Handle, Nodes, Violation};

/// The color of a node. A missing child counts as black.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// A red node has no red child and is not the root.
    Red,
    /// A black node counts for the black height.
    Black,
}

use Color::{Black, Red};

/// Keeps the height of a tree at most twice as great as the least possible height, by means of
/// colors.
#[derive(Clone, Copy, Debug)]
pub struct RedBlack;

#[inline]
fn paint<P: Handle, R: Linked<P, Mark = Color>, N: Nodes<P, R>>(nodes: &mut N, p: P, color: Color) {
    tree::links_mut(nodes, p).mark = color;
}

impl super::sealed::Sealed for RedBlack {}

impl Balance for RedBlack {
    type Mark = Color;
    const LEAF: Color = Red;
    const TOO_DEEP: Violation = Violation::BlackHeight;

    #[inline]
    fn linked<P: Handle, R: Linked<P, Mark = Color>, N: Nodes<P, R>>(
        root: &mut Option<P>,
        nodes: &mut N,
        p: P,
        parent: Option<P>,
    ) {
        match parent {
            Some(parent) if tree::links(nodes, parent).mark == Red => part_reds(root, nodes, p, parent),
            Some(_) => {}
            None => paint(nodes, p, Black),
        }
    }

    #[inline]
    fn unlinked<P: Handle, R: Linked<P, Mark = Color>, N: Nodes<P, R>>(
        root: &mut Option<P>,
        nodes: &mut N,
        Gap { parent, side, child, mark }: Gap<P, Color>,
    ) {
        match (child, parent) {
            // An only child is red, so the removed parent was black.
            (Some(child), _) => paint(nodes, child, Black),
            (None, Some(parent)) if mark == Black => refill(root, nodes, parent, side),
            _ => {}
        }
    }

    fn check_root(mark: Color) -> Result<(), Violation> {
        if mark == Red { Err(Violation::RedRed) } else { Ok(()) }
    }

    /// Returns the number of black nodes on each path down from the node.
    fn height(mark: Color, [left, right]: [Option<(Color, u32)>; 2]) -> Result<u32, Violation> {
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

/// Recolors and rotates if a new leaf and its parent are both red, until no red node has a red
/// parent. In the pictures, upper case means black:
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
fn part_reds<P: Handle, R: Linked<P, Mark = Color>, N: Nodes<P, R>>(
    root: &mut Option<P>,
    nodes: &mut N,
    node: P,
    parent: P,
) {
    let (mut node, mut parent) = (node, parent);
    // Invariant: `node` and `parent` are both red, and no other rule of the balance is violated.
    loop {
        let Some(grand) = tree::links(nodes, parent).up else {
            return paint(nodes, parent, Black);
        };
        let &Links { up, child, .. } = tree::links(nodes, grand);
        let side = Side::right_when(child[0] != Some(parent));
        if let Some(uncle) = child[side.other() as usize]
            && tree::links(nodes, uncle).mark == Red
        {
            paint(nodes, parent, Black);
            paint(nodes, uncle, Black);
            let Some(up) = up else { return };
            paint(nodes, grand, Red);
            if tree::links(nodes, up).mark == Black {
                return;
            }
            (node, parent) = (grand, up);
            continue;
        }
        if tree::links(nodes, parent).at(side) != Some(node) {
            tree::rotate(root, nodes, parent, node, side);
            parent = node;
        }
        tree::rotate(root, nodes, grand, parent, side.other());
        paint(nodes, parent, Black);
        return paint(nodes, grand, Red);
    }
}

/// Restores the black height if paths on one side of a node have one black node too few. In the
/// pictures, upper case means black, `?` means either color, and `x` marks the side with too few
/// black nodes (here the left side):
///
/// ```text
/// 1. red sibling: turn it up, then 2., 3. or 4.   2. no red nephew: repaint; a black p is short
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
fn refill<P: Handle, R: Linked<P, Mark = Color>, N: Nodes<P, R>>(
    root: &mut Option<P>,
    nodes: &mut N,
    parent: P,
    side: Side,
) {
    let (mut parent, mut side) = (parent, side);
    // Invariant: paths through the child of `parent` on `side` pass one black node too few, and all
    // other paths pass the correct number. The other side therefore has a black height of at least
    // one, so `parent` has a child on that side.
    loop {
        let other = side.other();
        let Some(mut sibling) = tree::links(nodes, parent).at(other) else { return };
        if tree::links(nodes, sibling).mark == Red {
            paint(nodes, sibling, Black);
            paint(nodes, parent, Red);
            tree::rotate(root, nodes, parent, sibling, side);
            let Some(nephew) = tree::links(nodes, parent).at(other) else { return };
            sibling = nephew;
        }
        let &Links { child, .. } = tree::links(nodes, sibling);
        let (inner, outer) = (child[side as usize], child[other as usize]);
        let (rise, end) = match (inner, outer) {
            (_, Some(outer)) if tree::links(nodes, outer).mark == Red => (sibling, outer),
            (Some(inner), _) if tree::links(nodes, inner).mark == Red => {
                tree::rotate(root, nodes, sibling, inner, other);
                (inner, sibling)
            }
            _ => {
                paint(nodes, sibling, Red);
                let &Links { up, mark, .. } = tree::links(nodes, parent);
                if mark == Red {
                    return paint(nodes, parent, Black);
                }
                let Some(up) = up else { return };
                side = tree::links(nodes, up).side_of(parent);
                parent = up;
                continue;
            }
        };
        let mark = tree::links(nodes, parent).mark;
        tree::rotate(root, nodes, parent, rise, side);
        paint(nodes, rise, mark);
        paint(nodes, parent, Black);
        return paint(nodes, end, Black);
    }
}
