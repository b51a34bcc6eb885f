//! The AVL balance: the heights of two siblings differ by at most one.
//!
//! Insertion and removal follow Knuth, The Art of Computer Programming, volume 3, 6.2.3.

use crate::tree::{self, Balance, Gap, Left, Linked, Right, Side};
use crate::{Handle, Nodes, Violation};

/// Keeps the height of a tree at most 1.44 times as great as the least possible height. The mark of
/// a node is the height of its right subtree minus the height of its left subtree: -1, 0 or 1.
#[derive(Clone, Copy, Debug)]
pub struct Avl;

/// Returns the mark of a node whose subtree on this side is higher by one than the other subtree.
#[inline]
const fn heavy(side: Side) -> i8 {
    match side {
        Left => -1,
        Right => 1,
    }
}

impl super::sealed::Sealed for Avl {}

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
        // Invariant: the subtree of `node` has become higher by one and is balanced. The marks from
        // `parent` upwards have not been updated.
        while let Some(at) = parent {
            let links = tree::links_mut(nodes, at);
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
        // Invariant: the subtree on `side` of `parent` has become lower by one and is balanced. The
        // marks from `parent` upwards have not been updated.
        while let Some(at) = parent {
            let links = tree::links_mut(nodes, at);
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
            parent = tree::links(nodes, top).up;
            if let Some(parent) = parent {
                side = tree::links(nodes, parent).side_of(top);
            }
        }
    }

    fn check_root(_: i8) -> Result<(), Violation> {
        Ok(())
    }

    /// Returns the number of nodes on the longest path down from the node.
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

/// Restores the balance of `top`, whose subtree on `side` is higher by two than the other subtree.
/// If rebalancing makes the whole subtree of `top` lower by one, the function returns the node that
/// has replaced `top`. After an insertion, the subtree is then as high as before the insertion.
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
    let child = tree::links(nodes, top).at(side)?;
    let leaning = tree::links(nodes, child).mark;
    if leaning == heavy(other) {
        let grand = tree::links(nodes, child).at(other)?;
        let inner = tree::links(nodes, grand).mark;
        tree::rotate(root, nodes, child, grand, side);
        tree::rotate(root, nodes, top, grand, other);
        tree::links_mut(nodes, top).mark = if inner == heavy(side) { heavy(other) } else { 0 };
        tree::links_mut(nodes, child).mark = if inner == heavy(other) { heavy(side) } else { 0 };
        tree::links_mut(nodes, grand).mark = 0;
        return Some(grand);
    }
    tree::rotate(root, nodes, top, child, other);
    // If the child's mark is 0, its two subtrees are equally high, so the height of the whole
    // subtree stays the same. This happens only after a removal.
    let level = leaning == 0;
    tree::links_mut(nodes, top).mark = if level { heavy(side) } else { 0 };
    tree::links_mut(nodes, child).mark = if level { heavy(other) } else { 0 };
    (!level).then_some(child)
}
