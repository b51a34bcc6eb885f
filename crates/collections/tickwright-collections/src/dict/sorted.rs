//! A [`Tree`] with keys: the code that all dictionaries over this tree share. Each function first
//! calls the user's order, and then writes links.

use core::cmp::Ordering;

use super::tree::{DictRecord, Place, Tree};
use super::{DictError, KeyOrder, Seek};
use tickwright_nodes::Violation;
use tickwright_nodes::tree::{Balance, Left, Right};
use tickwright_nodes::{Handle, Nodes};

/// The position at which a dictionary inserts an object.
/// [`HookDict::insert_pinned`](super::HookDict::insert_pinned) takes a position as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position<E> {
    /// After all entries with an equal key. The search starts at the given entry, if there is one.
    Sorted(Option<E>),
    /// Before all entries. [`Dictionary::prepend`](super::Dictionary::prepend) inserts there.
    First,
    /// After all entries. [`Dictionary::append`](super::Dictionary::append) inserts there.
    Last,
}

impl<E> Position<E> {
    /// Returns the same position, in which the entry is replaced by the node that `find` returns
    /// for it.
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

/// The storage of records, and of the objects to which the records belong.
pub(crate) trait Objects<P: Handle, B: Balance>: Nodes<P, DictRecord<P, B>> {
    type Object;

    /// Returns the object of a linked node.
    fn object(&self, p: P) -> &Self::Object;
}

/// A tree of nodes in the user's order, and the storage of these nodes.
pub(crate) struct Sorted<P, B, O, N> {
    pub(crate) tree: Tree<P, B>,
    pub(crate) order: O,
    pub(crate) nodes: N,
}

impl<P: Handle, B: Balance, O, N> Sorted<P, B, O, N> {
    pub(crate) const fn new(order: O, nodes: N) -> Self {
        Self { tree: Tree::NEW, order, nodes }
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<P> {
        self.tree.list.head
    }

    #[inline]
    pub(crate) fn last(&self) -> Option<P> {
        self.tree.list.tail
    }
}

impl<P: Handle, B: Balance, O: KeyOrder<N::Object>, N: Objects<P, B>> Sorted<P, B, O, N> {
    #[inline]
    fn compare(&self, key: &O::Key<'_>, p: P) -> Ordering {
        self.order.compare(key, &self.order.key(self.nodes.object(p)))
    }

    /// Returns the place after all nodes with this key if `behind` is true, otherwise the place
    /// before them.
    #[inline]
    fn place(&self, hint: Option<P>, key: &O::Key<'_>, behind: bool) -> Option<Place<P>> {
        self.tree.place(&self.nodes, hint, |p| match self.compare(key, p) {
            Ordering::Less => false,
            Ordering::Equal => behind,
            Ordering::Greater => true,
        })
    }

    /// Returns the place at which to link `object` for this position.
    ///
    /// # Errors
    /// [`DictError::OutOfOrder`] when the position is an end to which the object does not belong.
    #[inline]
    pub(crate) fn place_of(
        &self,
        position: Position<P>,
        object: &N::Object,
    ) -> Result<Option<Place<P>>, DictError> {
        let less = |p| self.compare(&self.order.key(object), p) == Ordering::Less;
        let (fits, before) = match position {
            Position::Sorted(hint) => return Ok(self.place(hint, &self.order.key(object), true)),
            Position::First => (self.first().is_none_or(less), None),
            Position::Last => (!self.last().is_some_and(less), self.last()),
        };
        if fits { Ok(self.tree.place_behind(&self.nodes, before)) } else { Err(DictError::OutOfOrder) }
    }

    #[inline]
    pub(crate) fn seek(&self, seek: Seek, key: &O::Key<'_>, hint: Option<P>) -> Option<P> {
        let behind = matches!(seek, Seek::LastEqual | Seek::Leq | Seek::Gt);
        let place = self.place(hint, key, behind)?;
        let found = match seek {
            Seek::Equal | Seek::Geq | Seek::Gt => Tree::neighbour(&self.nodes, place, Right),
            Seek::LastEqual | Seek::Leq | Seek::Lt => Tree::neighbour(&self.nodes, place, Left),
        };
        match seek {
            Seek::Equal | Seek::LastEqual => found.filter(|&p| self.compare(key, p) == Ordering::Equal),
            _ => found,
        }
    }

    /// Moves the linked node `p` after all nodes whose key equals the current key of `p`. Returns
    /// whether `p` had to move. The function never returns an error.
    pub(crate) fn rekeyed(&mut self, p: P) -> Result<bool, DictError> {
        let Some(behind) = self.new_neighbour(p) else { return Ok(false) };
        self.tree.unlink(&mut self.nodes, p);
        let place = self.tree.place_behind(&self.nodes, behind);
        self.tree.link(&mut self.nodes, p, place);
        Ok(true)
    }

    /// Returns the node after which the linked node `p` belongs by its key, or `Some(None)` if `p`
    /// belongs before all nodes. Returns `None` if `p` is already there.
    fn new_neighbour(&self, p: P) -> Option<Option<P>> {
        let key = self.order.key(self.nodes.object(p));
        let less = |q| self.compare(&key, q) == Ordering::Less;
        let earlier = Tree::beside(&self.nodes, p, Left).is_some_and(less);
        if !earlier && Tree::beside(&self.nodes, p, Right).is_none_or(less) {
            return None;
        }
        // During the search, `p` is still at its old place, and all other entries are in order.
        let right = |q| if q == p { !earlier } else { !less(q) };
        let place = self.tree.place(&self.nodes, Some(p), right)?;
        let before = Tree::neighbour(&self.nodes, place, Left);
        // If the comparator contradicts itself, the search can lead back to the place of `p`.
        let stays = before == Some(p) || Tree::neighbour(&self.nodes, place, Right) == Some(p);
        (!stays).then_some(before)
    }

    /// Returns the node after the linked node `p`. The function never returns an error.
    #[inline]
    pub(crate) fn next(&self, p: P) -> Result<Option<P>, DictError> {
        Ok(Tree::beside(&self.nodes, p, Right))
    }

    /// Returns the node before the linked node `p`. The function never returns an error.
    #[inline]
    pub(crate) fn prev(&self, p: P) -> Result<Option<P>, DictError> {
        Ok(Tree::beside(&self.nodes, p, Left))
    }

    /// Verifies the tree, the list and the order. `own` verifies that a node belongs to the
    /// storage.
    pub(crate) fn check(
        &self,
        len: usize,
        own: impl Fn(P) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.tree.check(&self.nodes, len, |before, p| {
            own(p)?;
            let key = before.map(|before| self.order.key(self.nodes.object(before)));
            match key.map(|key| self.compare(&key, p)) {
                Some(Ordering::Greater) => Err(Violation::Order),
                _ => Ok(()),
            }
        })
    }
}
