//! The balanced tree, and the list that links its nodes in order. The tree does not know keys, so
//! the caller of a search passes a rule.
//!
//! A rule is a closure that returns whether the place that is searched for is to the right of a
//! given node. Even if the rule contradicts itself, a search follows a path of the tree and ends
//! where a child is missing. The rule runs before the first link write, so it is allowed to panic.

use core::hint::select_unpredictable;
use core::marker::PhantomData;

use tickwright_nodes::Violation;
use tickwright_nodes::chain::{self, Chain, Chained};
use tickwright_nodes::tree::{self as bst, Balance, Left, Linked, Right, Side};
use tickwright_nodes::{Handle, Nodes, Record};

/// The record of a node of a dictionary: the node's links in the tree and in the list.
#[derive(Debug)]
pub struct DictRecord<P, B: Balance> {
    tree: bst::Links<P, B::Mark>,
    list: chain::Links<P>,
}

impl<P: Handle, B: Balance> Record<P> for DictRecord<P, B> {
    const IDLE: Self = Self { tree: bst::Links::leaf(None, B::LEAF), list: chain::Links::NONE };

    fn vacant(next: Option<P>) -> Self {
        Self { tree: bst::Links::leaf(next, B::LEAF), list: chain::Links::NONE }
    }

    fn next_vacant(&self) -> Option<P> {
        self.tree.up
    }
}

impl<P: Handle, B: Balance> Linked<P> for DictRecord<P, B> {
    type Mark = B::Mark;

    #[inline]
    fn links(&self) -> &bst::Links<P, B::Mark> {
        &self.tree
    }

    #[inline]
    fn links_mut(&mut self) -> &mut bst::Links<P, B::Mark> {
        &mut self.tree
    }
}

impl<P: Handle, B: Balance> Chained<P> for DictRecord<P, B> {
    #[inline]
    fn links(&self) -> &chain::Links<P> {
        &self.list
    }

    #[inline]
    fn links_mut(&mut self) -> &mut chain::Links<P> {
        &mut self.list
    }
}

/// Where a leaf can be linked: the side of `parent` that has no child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<P> {
    parent: P,
    side: Side,
}

/// A tree with any [`Balance`], and an ordered list of its nodes.
pub(crate) struct Tree<P, B> {
    root: Option<P>,
    pub(crate) list: Chain<P>,
    balance: PhantomData<fn() -> B>,
}

impl<P: Handle, B: Balance> Tree<P, B> {
    pub(crate) const NEW: Self = Self { root: None, list: Chain::EMPTY, balance: PhantomData };

    /// Returns the neighbor of a node in the list.
    #[inline]
    pub(crate) fn beside<N: Nodes<P, DictRecord<P, B>>>(nodes: &N, p: P, side: Side) -> Option<P> {
        let list = &nodes.record(p).list;
        match side {
            Left => list.prev,
            Right => list.next,
        }
    }

    /// Returns the node that is directly before or after a place, depending on `side`.
    #[inline]
    pub(crate) fn neighbour<N: Nodes<P, DictRecord<P, B>>>(
        nodes: &N,
        place: Place<P>,
        side: Side,
    ) -> Option<P> {
        let beyond = Self::beside(nodes, place.parent, side);
        select_unpredictable(place.side != side, Some(place.parent), beyond)
    }

    /// Returns the place after `p`, or the place before all nodes if `p` is `None`. Returns `None`
    /// in an empty tree.
    pub(crate) fn place_behind<N: Nodes<P, DictRecord<P, B>>>(
        &self,
        nodes: &N,
        p: Option<P>,
    ) -> Option<Place<P>> {
        match p {
            Some(p) => Self::gap(nodes, p, Right),
            None => self.list.head.map(|parent| Place { parent, side: Left }),
        }
    }

    /// Returns the place directly before or after `p`, depending on `side`. If two nodes are
    /// neighbors in the list, the node that is deeper in the tree has no child on the side of the
    /// other node.
    #[inline]
    fn gap<N: Nodes<P, DictRecord<P, B>>>(nodes: &N, p: P, side: Side) -> Option<Place<P>> {
        match bst::links(nodes, p).at(side) {
            None => Some(Place { parent: p, side }),
            Some(_) => Self::beside(nodes, p, side).map(|parent| Place { parent, side: side.other() }),
        }
    }

    /// Returns the place to which the rule `right` leads, or `None` in an empty tree. The search
    /// starts at `hint`, a node of this tree, if there is one. A search takes O(1) if the place is
    /// next to the hint, and O(log n) in the worst case. The nearer the hint is to the place, the
    /// fewer nodes are compared on average.
    #[inline]
    pub(crate) fn place<N: Nodes<P, DictRecord<P, B>>>(
        &self,
        nodes: &N,
        hint: Option<P>,
        mut right: impl FnMut(P) -> bool,
    ) -> Option<Place<P>> {
        match hint {
            Some(hint) => Self::place_near(nodes, hint, right),
            None => self.root.map(|root| Self::descend(nodes, root, &mut right)),
        }
    }

    #[inline]
    fn descend<N: Nodes<P, DictRecord<P, B>>>(
        nodes: &N,
        from: P,
        right: &mut impl FnMut(P) -> bool,
    ) -> Place<P> {
        let mut parent = from;
        // Invariant: the place is in the subtree of `parent`.
        loop {
            // The processor cannot predict the direction of a step. Both children are therefore
            // read while the key is being read, and a conditional move selects one child, so the
            // next read does not have to wait for a branch or an index.
            let links = bst::links(nodes, parent);
            let (less, greater) = (links.at(Left), links.at(Right));
            nodes.prefetch(less);
            nodes.prefetch(greater);
            let goes_right = right(parent);
            match select_unpredictable(goes_right, greater, less) {
                Some(child) => parent = child,
                None => return Place { parent, side: Side::right_when(goes_right) },
            }
        }
    }

    /// First compares with the neighbor of the hint, then climbs until the place is certain to be
    /// below, and then descends.
    ///
    /// ```text
    ///          bound       The place is right of the hint, so on the way up only nodes
    ///         /            further right are compared. `near` is the last one that is known
    ///     near             to be left of the place, `bound` the first one right of it.
    ///    /    \            Between them lies the right tree of `near`.
    ///  hint    (place)
    /// ```
    #[inline]
    fn place_near<N: Nodes<P, DictRecord<P, B>>>(
        nodes: &N,
        hint: P,
        mut right: impl FnMut(P) -> bool,
    ) -> Option<Place<P>> {
        let side = Side::right_when(right(hint));
        let mut beyond = |p: P| Side::right_when(right(p)) == side;
        let Some(mut near) = Self::beside(nodes, hint, side).filter(|&p| beyond(p)) else {
            return Self::gap(nodes, hint, side);
        };
        let mut at = near;
        while let Some(up) = bst::links(nodes, at).up {
            if bst::links(nodes, up).at(side.other()) == Some(at) {
                if !beyond(up) {
                    break;
                }
                near = up;
            }
            at = up;
        }
        match bst::links(nodes, near).at(side) {
            Some(child) => Some(Self::descend(nodes, child, &mut right)),
            None => Some(Place { parent: near, side }),
        }
    }

    /// Links `p`, which must not be in a tree, at `place`. `place` must be a place of the current
    /// tree, or `None` if the tree is empty.
    #[inline]
    pub(crate) fn link<N: Nodes<P, DictRecord<P, B>>>(
        &mut self,
        nodes: &mut N,
        p: P,
        place: Option<Place<P>>,
    ) {
        let list = match place {
            Some(Place { parent, side: Left }) => self.list.push_before(nodes, p, parent),
            Some(Place { parent, side: Right }) => self.list.push_after(nodes, p, parent),
            None => self.list.push_back(nodes, p),
        };
        let (parent, side) = place.map_or((None, Left), |place| (Some(place.parent), place.side));
        *nodes.record_mut(p) = DictRecord { tree: bst::Links::leaf(parent, B::LEAF), list };
        bst::attach::<P, DictRecord<P, B>, N, B>(&mut self.root, nodes, parent, side, p);
    }

    /// Unlinks `p`, which must be in this tree.
    #[inline]
    pub(crate) fn unlink<N: Nodes<P, DictRecord<P, B>>>(&mut self, nodes: &mut N, p: P) {
        let list = nodes.record(p).list;
        self.list.unlink(nodes, list);
        bst::detach::<P, DictRecord<P, B>, N, B>(&mut self.root, nodes, p);
    }

    /// Verifies the tree and the list. `visit` is called in order with each node and the node
    /// before it.
    ///
    /// # Errors
    /// The first violation found, or the error of `visit`.
    pub(crate) fn check<N: Nodes<P, DictRecord<P, B>>>(
        &self,
        nodes: &N,
        len: usize,
        mut visit: impl FnMut(Option<P>, P) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let mut last = None;
        let mut list = Ok(());
        let mut in_list = |before: Option<P>, p: Option<P>| {
            let next = before.map_or(self.list.head, |before| Self::beside(nodes, before, Right));
            let prev = p.map_or(self.list.tail, |p| Self::beside(nodes, p, Left));
            if next != p || prev != before {
                let end = before.is_none() || p.is_none();
                let broken = if end { Violation::Head } else { Violation::BackLink };
                list = list.and(Err(broken));
            }
        };
        let visit = |p| {
            in_list(last, Some(p));
            visit(last.replace(p), p)
        };
        bst::check::<P, DictRecord<P, B>, N, B>(self.root, nodes, len, visit)?;
        in_list(last, None);
        list
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
