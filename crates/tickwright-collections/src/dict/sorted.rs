//! Keys on top of the [`Tree`]: what every shell does with the user's order. Each function asks it
//! first and writes links last.

use core::cmp::Ordering;

use super::tree::{DictRecord, Place, Tree};
use super::{DictError, KeyOrder, Seek};
use tickwright_nodes::Violation;
use tickwright_nodes::tree::Balance;
use tickwright_nodes::{Handle, Nodes};

/// Where a dictionary puts an object: [`HookDict::insert_pinned`](super::HookDict::insert_pinned)
/// takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position<E> {
    /// Behind its equals; the search starts at the entry, if there is one.
    Sorted(Option<E>),
    /// In front of all, as [`Dictionary::prepend`](super::Dictionary::prepend).
    First,
    /// Behind all, as [`Dictionary::append`](super::Dictionary::append).
    Last,
}

impl<E> Position<E> {
    /// The position with the node of its entry.
    #[inline]
    pub(super) fn try_map<P>(
        self,
        find: impl FnOnce(E) -> Result<P, DictError>,
    ) -> Result<Position<P>, DictError> {
        Ok(match self {
            Self::Sorted(hint) => Position::Sorted(hint.map(find).transpose()?),
            Self::First => Position::First,
            Self::Last => Position::Last,
        })
    }
}

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

    /// The place for `object`, when it belongs at this position: behind its equals, or at an end.
    ///
    /// # Errors
    /// [`DictError::OutOfOrder`] when it does not belong at that end.
    #[inline]
    pub(crate) fn place_of<N>(
        &self,
        nodes: &N,
        position: Position<P>,
        object: &N::Object,
    ) -> Result<Option<Place<P>>, DictError>
    where
        N: Objects<P, B>,
        O: KeyOrder<N::Object>,
    {
        let less = |p| self.compare(nodes, &self.order.key(object), p) == Ordering::Less;
        let (fits, before) = match position {
            Position::Sorted(hint) => return Ok(self.place(nodes, hint, &self.order.key(object), true)),
            Position::First => (self.first().is_none_or(less), None),
            Position::Last => (!self.last().is_some_and(less), self.last()),
        };
        if fits { Ok(self.tree.place_behind(nodes, before)) } else { Err(DictError::OutOfOrder) }
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

    /// Moves the linked `p` behind the equals of the key that it has by now. Returns whether it had
    /// to move; no error.
    pub(crate) fn rekeyed<N>(&mut self, nodes: &mut N, p: P) -> Result<bool, DictError>
    where
        N: Objects<P, B>,
        O: KeyOrder<N::Object>,
    {
        let Some(behind) = self.new_neighbour(nodes, p) else { return Ok(false) };
        self.tree.unlink(nodes, p);
        let place = self.tree.place_behind(nodes, behind);
        self.tree.link(nodes, p, place);
        Ok(true)
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
    pub(crate) fn first(&self) -> Option<P> {
        self.tree.list.head
    }

    #[inline]
    pub(crate) fn last(&self) -> Option<P> {
        self.tree.list.tail
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
