//! Keys on top of the [`Tree`]: what every shell does with the user's order. Each function asks it
//! first and writes links last.

use core::cmp::Ordering;
use core::fmt;

use super::tree::{DictRecord, Place, Tree};
use super::{DictError, KeyOrder, Seek};
use tickwright_nodes::Violation;
use tickwright_nodes::tree::Balance;
use tickwright_nodes::{Handle, Nodes};

/// Records, and the objects that they belong to.
pub(crate) trait Objects<P: Handle, B: Balance>: Nodes<P, DictRecord<P, B>> {
    type Object;

    /// The object of a linked node.
    fn object(&self, p: P) -> &Self::Object;
}

/// A tree whose nodes stand in a user's order.
pub(crate) struct Sorted<P, B, O> {
    pub(crate) tree: Tree<P, B>,
    pub(crate) order: O,
}

impl<P: Handle, B, O> fmt::Debug for Sorted<P, B, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sorted").field("tree", &self.tree).finish_non_exhaustive()
    }
}

impl<P: Handle, B: Balance, O> Sorted<P, B, O> {
    pub(crate) const fn new(order: O) -> Self {
        Self { tree: Tree::NEW, order }
    }

    #[inline]
    fn compare<N>(&self, nodes: &N, key: &O::Key<'_>, p: P) -> Ordering
    where
        N: Objects<P, B>,
        O: KeyOrder<N::Object>,
    {
        self.order.compare(key, &self.order.key(nodes.object(p)))
    }

    /// The place in front of all nodes with this key, or behind them.
    #[inline]
    fn place<N>(&self, nodes: &N, hint: Option<P>, key: &O::Key<'_>, behind: bool) -> Option<Place<P>>
    where
        N: Objects<P, B>,
        O: KeyOrder<N::Object>,
    {
        self.tree.place(nodes, hint, |p| match self.compare(nodes, key, p) {
            Ordering::Less => false,
            Ordering::Equal => behind,
            Ordering::Greater => true,
        })
    }

    /// Where to insert `object`: behind its equals.
    #[inline]
    pub(crate) fn place_of<N>(&self, nodes: &N, hint: Option<P>, object: &N::Object) -> Option<Place<P>>
    where
        N: Objects<P, B>,
        O: KeyOrder<N::Object>,
    {
        self.place(nodes, hint, &self.order.key(object), true)
    }

    /// The place at one end, when `object` belongs there.
    ///
    /// # Errors
    /// [`DictError::OutOfOrder`] when it belongs elsewhere.
    #[inline]
    pub(crate) fn place_at<N>(
        &self,
        nodes: &N,
        end: End,
        object: &N::Object,
    ) -> Result<Option<Place<P>>, DictError>
    where
        N: Objects<P, B>,
        O: KeyOrder<N::Object>,
    {
        let (p, before) = match end {
            End::First => (self.tree.first(), None),
            End::Last => (self.tree.last(), self.tree.last()),
        };
        if let Some(p) = p {
            let less = self.compare(nodes, &self.order.key(object), p) == Ordering::Less;
            if less != (end == End::First) {
                return Err(DictError::OutOfOrder);
            }
        }
        Ok(self.tree.place_behind(nodes, before))
    }

    #[inline]
    pub(crate) fn seek<N>(&self, nodes: &N, seek: Seek, key: &O::Key<'_>, hint: Option<P>) -> Option<P>
    where
        N: Objects<P, B>,
        O: KeyOrder<N::Object>,
    {
        let behind = matches!(seek, Seek::LastEqual | Seek::Leq | Seek::Gt);
        let place = self.place(nodes, hint, key, behind)?;
        let found = match seek {
            Seek::Equal | Seek::Geq | Seek::Gt => Tree::after(nodes, place),
            Seek::LastEqual | Seek::Leq | Seek::Lt => Tree::before(nodes, place),
        };
        match seek {
            Seek::Equal | Seek::LastEqual => {
                found.filter(|&p| self.compare(nodes, key, p) == Ordering::Equal)
            }
            _ => found,
        }
    }

    /// Moves the linked `p` behind the equals of the key that it has by now. Answers whether it had
    /// to move.
    pub(crate) fn rekeyed<N>(&mut self, nodes: &mut N, p: P) -> bool
    where
        N: Objects<P, B>,
        O: KeyOrder<N::Object>,
    {
        let Some(behind) = self.new_neighbour(nodes, p) else { return false };
        self.tree.unlink(nodes, p);
        let place = self.tree.place_behind(nodes, behind);
        self.tree.link(nodes, p, place);
        true
    }

    /// Behind whom the linked `p` belongs by its key; none when it stands there already.
    fn new_neighbour<N>(&self, nodes: &N, p: P) -> Option<Option<P>>
    where
        N: Objects<P, B>,
        O: KeyOrder<N::Object>,
    {
        let key = self.order.key(nodes.object(p));
        let less = |q| self.compare(nodes, &key, q) == Ordering::Less;
        let earlier = Tree::prev(nodes, p).is_some_and(less);
        if !earlier && Tree::next(nodes, p).is_none_or(less) {
            return None;
        }
        // While it is searched for, `p` stands where it was. To either side of it all others are in
        // order.
        let place = self.tree.place(nodes, Some(p), |q| if q == p { !earlier } else { !less(q) })?;
        let before = Tree::before(nodes, place);
        // An order that contradicts itself may lead back to where `p` is.
        let stays = before == Some(p) || Tree::after(nodes, place) == Some(p);
        (!stays).then_some(before)
    }

    #[inline]
    pub(crate) fn next<N: Nodes<P, DictRecord<P, B>>>(&self, nodes: &N, p: P) -> Option<P> {
        Tree::next(nodes, p)
    }

    #[inline]
    pub(crate) fn prev<N: Nodes<P, DictRecord<P, B>>>(&self, nodes: &N, p: P) -> Option<P> {
        Tree::prev(nodes, p)
    }

    /// Verifies tree, list and order; `own` verifies that a node is the storage's.
    pub(crate) fn check<N>(
        &self,
        nodes: &N,
        len: usize,
        own: impl Fn(P) -> Result<(), Violation>,
    ) -> Result<(), Violation>
    where
        N: Objects<P, B>,
        O: KeyOrder<N::Object>,
    {
        self.tree.check(nodes, len, |before, p| {
            own(p)?;
            let key = before.map(|before| self.order.key(nodes.object(before)));
            match key.map(|key| self.compare(nodes, &key, p)) {
                Some(Ordering::Greater) => Err(Violation::Order),
                _ => Ok(()),
            }
        })
    }
}

/// An end of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    First,
    Last,
}
