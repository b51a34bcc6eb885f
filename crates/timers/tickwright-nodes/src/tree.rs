//! The operations that binary search trees share: linking, unlinking, rotating, walking and
//! verifying. No operation compares keys.
//!
//! A tree searches for a place by its own rule. The tree then calls [`attach`] to link a leaf at
//! this place, or [`detach`] to unlink a node, and the tree's [`Balance`] restores the heights.
//! Timer trees and dictionaries use these operations. A new node must be linked to the right of all
//! nodes with an equal key, so that nodes with equal keys are in the order of their arrival.
//! Rotations do not change this order.
//!
//! ```text
//!            up                       child[Left] < = the node < = child[Right]
//!            |
//!          node { mark }              mark: the balance's own: a color or a difference of heights
//!         /    \
//!  child[Left]  child[Right]
//! ```

use core::fmt::Debug;

use crate::{Handle, Nodes, Violation};

mod avl;
mod red_black;

pub use avl::Avl;
pub use red_black::{Color, RedBlack};

/// One of the two directions from a node to its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Towards earlier nodes.
    Left = 0,
    /// Towards later nodes.
    Right = 1,
}

pub use Side::{Left, Right};

impl Side {
    /// Returns `Right` if `right` is true.
    #[inline]
    #[must_use]
    pub const fn right_when(right: bool) -> Self {
        if right { Right } else { Left }
    }

    /// Returns the other side.
    #[inline]
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Left => Right,
            Right => Left,
        }
    }
}

/// The parent and the children of a node, and the mark that the balance stores in the node.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Links<P, M> {
    /// The left and the right child.
    pub child: [Option<P>; 2],
    /// The parent, or `None` for the root.
    pub up: Option<P>,
    /// The mark of the balance.
    pub mark: M,
}

impl<P: Handle, M> Links<P, M> {
    /// Returns the links of a node without children.
    #[inline]
    pub const fn leaf(up: Option<P>, mark: M) -> Self {
        Self { up, child: [None, None], mark }
    }

    /// Returns the child on one side.
    #[inline]
    pub fn at(&self, side: Side) -> Option<P> {
        self.child[side as usize]
    }

    /// Sets the child on one side.
    #[inline]
    pub fn set(&mut self, side: Side, child: Option<P>) {
        self.child[side as usize] = child;
    }

    /// Returns the side of this node on which `child` is linked.
    #[inline]
    pub fn side_of(&self, child: P) -> Side {
        Side::right_when(self.at(Left) != Some(child))
    }
}

/// A record that contains [`Links`], and the key by which its tree is ordered.
pub trait Linked<P: Handle> {
    /// The mark of the balance.
    type Mark: Copy + PartialEq + Debug;

    /// Returns a shared reference to the links.
    fn links(&self) -> &Links<P, Self::Mark>;

    /// Returns a mutable reference to the links.
    fn links_mut(&mut self) -> &mut Links<P, Self::Mark>;
}

/// Seals `Balance`: only this crate implements it. Over hooks a wrong balance would lead to
/// dangling pointers.
mod sealed {
    pub trait Sealed {}
}

/// Keeps a tree shallow, in whatever order keys are inserted and removed. This trait is sealed: its
/// implementations are [`RedBlack`] and [`Avl`].
///
/// ```compile_fail,E0277
/// #[derive(Debug)]
/// struct Mine;
/// impl tickwright_nodes::tree::Balance for Mine {}
/// ```
pub trait Balance: sealed::Sealed + Debug + Sized + 'static {
    /// The mark that the balance stores in each node.
    type Mark: Copy + PartialEq + Debug + Send + Sync;

    /// The mark of a new leaf.
    const LEAF: Self::Mark;

    /// The violation that is reported for a path that is longer than this balance allows in a tree
    /// of 2^64 nodes.
    const TOO_DEEP: Violation;

    /// Restores the balance after the leaf `p` was linked as a child of `parent`, or as the root.
    fn linked<P: Handle, R: Linked<P, Mark = Self::Mark>, N: Nodes<P, R>>(
        root: &mut Option<P>,
        nodes: &mut N,
        p: P,
        parent: Option<P>,
    );

    /// Restores the balance after a node was unlinked.
    fn unlinked<P: Handle, R: Linked<P, Mark = Self::Mark>, N: Nodes<P, R>>(
        root: &mut Option<P>,
        nodes: &mut N,
        gap: Gap<P, Self::Mark>,
    );

    /// Verifies that a node with this mark is allowed to be the root.
    ///
    /// # Errors
    /// The violated rule of the balance.
    fn check_root(mark: Self::Mark) -> Result<(), Violation>;

    /// Returns the height of a node with this mark and these children. Each balance defines what it
    /// counts as the height. Each child is given by its mark and its height. A missing child has
    /// height 0.
    ///
    /// # Errors
    /// The violated rule of the balance.
    fn height(mark: Self::Mark, children: [Option<(Self::Mark, u32)>; 2]) -> Result<u32, Violation>;
}

/// The place at which [`detach`] has removed a node from the tree. Paths through this place are now
/// shorter by one node.
#[derive(Clone, Copy, Debug)]
pub struct Gap<P, M> {
    /// The parent of the place, or `None` if the place is the root.
    pub parent: Option<P>,
    /// The side of the parent on which the place is.
    pub side: Side,
    /// The child that now is at the place, if there is one.
    pub child: Option<P>,
    /// The mark of the node that was at the place.
    pub mark: M,
}

/// Returns the links of `p`.
#[inline]
pub fn links<'n, P: Handle, R: Linked<P> + 'n, N: Nodes<P, R>>(nodes: &'n N, p: P) -> &'n Links<P, R::Mark> {
    nodes.record(p).links()
}

/// Returns a mutable reference to the links of `p`.
#[inline]
pub fn links_mut<'n, P: Handle, R: Linked<P> + 'n, N: Nodes<P, R>>(
    nodes: &'n mut N,
    p: P,
) -> &'n mut Links<P, R::Mark> {
    nodes.record_mut(p).links_mut()
}

/// Makes `p` the child of `parent`, or the root. The caller must have set the links in the record
/// of `p`.
#[inline]
fn hang<P: Handle, R: Linked<P>, N: Nodes<P, R>>(
    root: &mut Option<P>,
    nodes: &mut N,
    parent: Option<P>,
    side: Side,
    p: Option<P>,
) {
    match parent {
        Some(parent) => links_mut(nodes, parent).set(side, p),
        None => *root = p,
    }
}

/// Makes the leaf `p` a child of `parent`, or the root, and restores the balance. The caller must
/// have set the links in the record of `p`.
#[inline]
pub fn attach<P, R, N, B>(root: &mut Option<P>, nodes: &mut N, parent: Option<P>, side: Side, p: P)
where
    P: Handle,
    R: Linked<P, Mark = B::Mark>,
    N: Nodes<P, R>,
    B: Balance,
{
    hang(root, nodes, parent, side, Some(p));
    B::linked(root, nodes, p, parent);
}

/// Unlinks `p` from the tree and restores the balance.
#[inline]
pub fn detach<P, R, N, B>(root: &mut Option<P>, nodes: &mut N, p: P)
where
    P: Handle,
    R: Linked<P, Mark = B::Mark>,
    N: Nodes<P, R>,
    B: Balance,
{
    let gap = unlink(root, nodes, p);
    B::unlinked(root, nodes, gap);
}

/// Returns the outermost node on one side of the subtree of `top`. On the left side this is the
/// earliest node.
#[inline]
pub fn outermost<P: Handle, R: Linked<P>, N: Nodes<P, R>>(nodes: &N, top: P, side: Side) -> P {
    let mut at = top;
    // Invariant: every node in the subtree of `top` that is further out on this side than `at` is
    // in the subtree of `at`.
    while let Some(child) = links(nodes, at).at(side) {
        at = child;
    }
    at
}

/// Returns the node after `p` in order.
#[inline]
pub fn next<P: Handle, R: Linked<P>, N: Nodes<P, R>>(nodes: &N, p: P) -> Option<P> {
    if let Some(right) = links(nodes, p).at(Right) {
        return Some(outermost(nodes, right, Left));
    }
    let mut at = p;
    // Invariant: `p` is the latest node in the subtree of `at`.
    while let Some(up) = links(nodes, at).up {
        if links(nodes, up).at(Left) == Some(at) {
            return Some(up);
        }
        at = up;
    }
    None
}

/// Returns whether no node comes before `p`.
#[inline]
pub fn is_first<P: Handle, R: Linked<P>, N: Nodes<P, R>>(nodes: &N, p: P) -> bool {
    let mut at = p;
    let mut up = links(nodes, p).up;
    if links(nodes, p).at(Left).is_some() {
        return false;
    }
    // Invariant: `p` is the earliest node in the subtree of `at`.
    while let Some(parent) = up {
        let links = links(nodes, parent);
        if links.at(Left) != Some(at) {
            return false;
        }
        at = parent;
        up = links.up;
    }
    true
}

/// Rotates: moves `down` towards `side`, so that its child on the other side, `rise`, takes the
/// place of `down`.
///
/// ```text
///        down                  rise
///       /    \     side =     /    \
///      a     rise  Left ->  down    c
///           /    \         /    \
///       inner     c       a    inner
/// ```
#[inline]
pub fn rotate<P: Handle, R: Linked<P>, N: Nodes<P, R>>(
    root: &mut Option<P>,
    nodes: &mut N,
    down: P,
    rise: P,
    side: Side,
) {
    let up = links(nodes, down).up;
    let links_rise = links_mut(nodes, rise);
    let inner = links_rise.at(side);
    links_rise.up = up;
    links_rise.set(side, Some(down));
    let links_down = links_mut(nodes, down);
    links_down.up = Some(rise);
    links_down.set(side.other(), inner);
    if let Some(inner) = inner {
        links_mut(nodes, inner).up = Some(down);
    }
    let side_above = up.map_or(Left, |up| links(nodes, up).side_of(down));
    hang(root, nodes, up, side_above, Some(rise));
}

/// Unlinks a node that has no left child. Its right child takes its place.
#[inline]
fn unlink_half<P: Handle, R: Linked<P>, N: Nodes<P, R>>(
    root: &mut Option<P>,
    nodes: &mut N,
    parent: Option<P>,
    side: Side,
    child: Option<P>,
    mark: R::Mark,
) -> Gap<P, R::Mark> {
    if let Some(child) = child {
        links_mut(nodes, child).up = parent;
    }
    hang(root, nodes, parent, side, child);
    Gap { parent, side, child, mark }
}

/// Unlinks the earliest node of the tree. That node has no left child, and is itself a left child
/// or the root.
#[inline]
pub fn unlink_first<P: Handle, R: Linked<P>, N: Nodes<P, R>>(
    root: &mut Option<P>,
    nodes: &mut N,
    p: P,
) -> Gap<P, R::Mark> {
    let &Links { up, child: [_, right], mark } = links(nodes, p);
    unlink_half(root, nodes, up, Left, right, mark)
}

/// Unlinks `p` from the tree. If `p` has two children, the node after `p` takes over the place and
/// the mark of `p`:
///
/// ```text
///        p                 s
///       / \               / \
///      a   b      ->     a   b
///         / \               / \
///        s   d             c   d      the gap is where s was: child c, the mark of s
///         \
///          c
/// ```
fn unlink<P: Handle, R: Linked<P>, N: Nodes<P, R>>(
    root: &mut Option<P>,
    nodes: &mut N,
    p: P,
) -> Gap<P, R::Mark> {
    let &Links { up, child: [left, right], mark } = links(nodes, p);
    let side = up.map_or(Left, |up| links(nodes, up).side_of(p));
    let (Some(left), Some(right)) = (left, right) else {
        return unlink_half(root, nodes, up, side, left.or(right), mark);
    };
    let heir = outermost(nodes, right, Left);
    let &Links { up: above, child: [_, child], mark: gone } = links(nodes, heir);
    let gap = match above {
        Some(above) if heir != right => {
            let gap = unlink_half(root, nodes, Some(above), Left, child, gone);
            links_mut(nodes, heir).set(Right, Some(right));
            links_mut(nodes, right).up = Some(heir);
            gap
        }
        _ => Gap { parent: Some(heir), side: Right, child, mark: gone },
    };
    let links_heir = links_mut(nodes, heir);
    links_heir.up = up;
    links_heir.set(Left, Some(left));
    links_heir.mark = mark;
    links_mut(nodes, left).up = Some(heir);
    hang(root, nodes, up, side, Some(heir));
    gap
}

/// The greatest number of nodes on a path in a balanced tree of fewer than 2^64 nodes. The bound
/// comes from red-black trees, whose longest path has at most 2 log2(n + 1) nodes.
const DEEPEST: u32 = 128;

/// Verifies the shape and the balance of a tree. `visit` is called with each node in order, so that
/// it can verify the order of the keys.
///
/// If both a link and the balance are wrong, the link is reported, because a wrong link usually
/// makes the balance wrong too. Recursion is limited to 128 levels. The walk enters a child only if
/// the child's `up` is correct, so it visits every node at most once, even if links form a cycle.
///
/// # Errors
/// The first violation found, or the error of `visit`.
pub fn check<P, R, N, B>(
    root: Option<P>,
    nodes: &N,
    len: usize,
    visit: impl FnMut(P) -> Result<(), Violation>,
) -> Result<(), Violation>
where
    P: Handle,
    R: Linked<P, Mark = B::Mark>,
    N: Nodes<P, R>,
    B: Balance,
{
    let mut checker = Checker { nodes, visit, missing: len, balance: Ok(()) };
    if let Some(root) = root {
        if links(nodes, root).up.is_some() {
            return Err(Violation::Head);
        }
        let (mark, _) = checker.below::<P, R, B>(root, DEEPEST)?;
        checker.balance = checker.balance.and(B::check_root(mark));
    }
    if checker.missing > 0 {
        return Err(Violation::Count);
    }
    checker.balance
}

struct Checker<'q, N, V> {
    nodes: &'q N,
    visit: V,
    /// The number of nodes that have not been visited yet.
    missing: usize,
    /// The first violation of the balance found so far.
    balance: Result<(), Violation>,
}

impl<N, V> Checker<'_, N, V> {
    /// Verifies the subtree of `p`, whose `up` must be correct. Returns the mark and the height of
    /// `p`.
    fn below<P, R, B>(&mut self, p: P, depth: u32) -> Result<(B::Mark, u32), Violation>
    where
        P: Handle,
        R: Linked<P, Mark = B::Mark>,
        N: Nodes<P, R>,
        V: FnMut(P) -> Result<(), Violation>,
        B: Balance,
    {
        self.missing = self.missing.checked_sub(1).ok_or(Violation::Count)?;
        let depth = depth.checked_sub(1).ok_or(B::TOO_DEEP)?;
        let &Links { child, mark, .. } = links(self.nodes, p);
        if child[0].is_some() && child[0] == child[1] {
            return Err(Violation::BackLink);
        }
        let mut heights = [None, None];
        for side in [Left, Right] {
            if let Some(child) = child[side as usize] {
                if links(self.nodes, child).up != Some(p) {
                    return Err(Violation::BackLink);
                }
                heights[side as usize] = Some(self.below::<P, R, B>(child, depth)?);
            }
            if side == Left {
                (self.visit)(p)?;
            }
        }
        let height = B::height(mark, heights).unwrap_or_else(|broken| {
            self.balance = self.balance.and(Err(broken));
            0
        });
        Ok((mark, height))
    }
}
