//! The red-black tree of `intrusive-collections`: the caller owns the nodes, the key is stored next
//! to the link, and equal keys go to the right. The safe interface of the tree cannot start at a
//! node, so each operation that does so makes an unsafe call.

use core::cell::Cell;
use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use intrusive_collections::Bound::{Excluded, Included};
use intrusive_collections::{KeyAdapter, RBTree, RBTreeLink, intrusive_adapter};
use tickwright_collections::{Balance, DictError, Dictionary, KeyOf, NotInserted, PlainKey, Seek};
use tickwright_core::Violation;

use crate::dictionary::{AsObject, Object};

/// A node that the caller owns: an object, its key while it is linked, and the number of its
/// dictionary.
pub struct Node<K, T> {
    link: RBTreeLink,
    key: Cell<K>,
    owner: Cell<u32>,
    /// The object.
    pub object: T,
}

impl<K: Default, T> Node<K, T> {
    /// Creates a node that is in no dictionary.
    pub fn new(object: T) -> Self {
        Self { link: RBTreeLink::new(), key: Cell::default(), owner: Cell::new(0), object }
    }
}

impl<K, T: fmt::Debug> fmt::Debug for Node<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("object", &self.object).finish_non_exhaustive()
    }
}

/// An entry: the node.
pub struct NodeRef<'a, K, T>(&'a Node<K, T>);

impl<K, T> Clone for NodeRef<'_, K, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, T> Copy for NodeRef<'_, K, T> {}

impl<K, T> PartialEq for NodeRef<'_, K, T> {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl<K, T> Eq for NodeRef<'_, K, T> {}

impl<K, T> fmt::Debug for NodeRef<'_, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeRef({:p})", self.0)
    }
}

intrusive_adapter!(Keyed<'a, K, T> = &'a Node<K, T>: Node<K, T> { link => RBTreeLink });

impl<'k, K: Copy + Ord, T> KeyAdapter<'k> for Keyed<'_, K, T> {
    type Key = K;

    #[inline]
    fn get_key(&self, node: &'k Node<K, T>) -> K {
        node.key.get()
    }
}

/// The dictionary. Hints are checked but not used.
pub struct IntrusiveDict<'a, O: PlainKey<T>, T> {
    order: O,
    tree: RBTree<Keyed<'a, O::Plain, T>>,
    len: usize,
    identity: u32,
}

impl<'a, O: PlainKey<T>, T> IntrusiveDict<'a, O, T> {
    /// Creates an empty dictionary.
    #[must_use]
    pub fn new(order: O) -> Self {
        static IDENTITIES: AtomicU32 = AtomicU32::new(1);
        let identity = IDENTITIES.fetch_add(1, Ordering::Relaxed);
        Self { order, tree: RBTree::new(Keyed::new()), len: 0, identity }
    }

    #[inline]
    fn known(&self, entry: NodeRef<'a, O::Plain, T>) -> Result<(), DictError> {
        match entry.0.owner.get() {
            _ if !entry.0.link.is_linked() => Err(DictError::Stale),
            owner if owner == self.identity => Ok(()),
            _ => Err(DictError::WrongDictionary),
        }
    }

    /// Claims a node that is in no dictionary, and stores its key in it.
    #[inline]
    fn claim(&mut self, node: &'a Node<O::Plain, T>) -> Result<O::Plain, NotInserted<&'a Node<O::Plain, T>>> {
        if node.link.is_linked() {
            let own = node.owner.get() == self.identity;
            let reason = if own { DictError::AlreadyLinked } else { DictError::WrongDictionary };
            return Err(NotInserted { reason, value: node });
        }
        let key = self.order.plain(&self.order.key(&node.object));
        node.key.set(key);
        node.owner.set(self.identity);
        Ok(key)
    }

    /// Returns the node on one side of an entry of this dictionary.
    #[inline]
    fn beside(
        &self,
        entry: NodeRef<'a, O::Plain, T>,
        next: bool,
    ) -> Result<Option<NodeRef<'a, O::Plain, T>>, DictError> {
        self.known(entry)?;
        // SAFETY: 1. the node is linked; 2. its owner is this dictionary, which alone links nodes
        // that it claimed.
        let mut cursor = unsafe { self.tree.cursor_from_ptr(entry.0) };
        if next {
            cursor.move_next()
        } else {
            cursor.move_prev()
        }
        Ok(cursor.clone_pointer().map(NodeRef))
    }

    #[inline]
    fn unlink(&mut self, entry: NodeRef<'a, O::Plain, T>) -> Result<&'a Node<O::Plain, T>, DictError> {
        self.known(entry)?;
        // SAFETY: as in `beside`.
        let node = unsafe { self.tree.cursor_mut_from_ptr(entry.0) }.remove().ok_or(DictError::Stale)?;
        self.len -= 1;
        Ok(node)
    }
}

impl<'a, O: PlainKey<T>, T> Dictionary for IntrusiveDict<'a, O, T> {
    type Object = T;
    type Order = O;
    type Entry = NodeRef<'a, O::Plain, T>;
    type Value = &'a Node<O::Plain, T>;

    fn order(&self) -> &O {
        &self.order
    }

    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn get(&self, entry: Self::Entry) -> Result<&T, DictError> {
        self.known(entry)?;
        Ok(&entry.0.object)
    }

    #[inline]
    fn insert_near(
        &mut self,
        hint: Option<Self::Entry>,
        value: Self::Value,
    ) -> Result<Self::Entry, NotInserted<Self::Value>> {
        if let Some(reason) = hint.and_then(|hint| self.known(hint).err()) {
            return Err(NotInserted { reason, value });
        }
        self.claim(value)?;
        self.tree.insert(value);
        self.len += 1;
        Ok(NodeRef(value))
    }

    fn append(&mut self, value: Self::Value) -> Result<Self::Entry, NotInserted<Self::Value>> {
        let key = self.claim(value)?;
        let mut last = self.tree.back_mut();
        if last.get().is_some_and(|last| key < last.key.get()) {
            return Err(NotInserted { reason: DictError::OutOfOrder, value });
        }
        last.insert_after(value);
        self.len += 1;
        Ok(NodeRef(value))
    }

    fn prepend(&mut self, value: Self::Value) -> Result<Self::Entry, NotInserted<Self::Value>> {
        let key = self.claim(value)?;
        let mut first = self.tree.front_mut();
        if first.get().is_some_and(|first| key >= first.key.get()) {
            return Err(NotInserted { reason: DictError::OutOfOrder, value });
        }
        first.insert_before(value);
        self.len += 1;
        Ok(NodeRef(value))
    }

    #[inline]
    fn remove(&mut self, entry: Self::Entry) -> Result<Self::Value, DictError> {
        self.unlink(entry)
    }

    fn rekeyed(&mut self, entry: Self::Entry) -> Result<bool, DictError> {
        let before = self.beside(entry, false)?;
        let node = self.unlink(entry)?;
        let entry = self.insert(node)?;
        Ok(self.beside(entry, false)? != before)
    }

    #[inline]
    fn first(&self) -> Option<Self::Entry> {
        self.tree.front().clone_pointer().map(NodeRef)
    }

    #[inline]
    fn last(&self) -> Option<Self::Entry> {
        self.tree.back().clone_pointer().map(NodeRef)
    }

    #[inline]
    fn next(&self, entry: Self::Entry) -> Result<Option<Self::Entry>, DictError> {
        self.beside(entry, true)
    }

    #[inline]
    fn prev(&self, entry: Self::Entry) -> Result<Option<Self::Entry>, DictError> {
        self.beside(entry, false)
    }

    #[inline]
    fn seek(
        &self,
        seek: Seek,
        key: &KeyOf<'_, Self>,
        hint: Option<Self::Entry>,
    ) -> Result<Option<Self::Entry>, DictError> {
        if let Some(hint) = hint {
            self.known(hint)?;
        }
        let key = self.order.plain(key);
        let found = match seek {
            Seek::Equal | Seek::Geq => self.tree.lower_bound(Included(&key)),
            Seek::Gt => self.tree.lower_bound(Excluded(&key)),
            Seek::LastEqual | Seek::Leq => self.tree.upper_bound(Included(&key)),
            Seek::Lt => self.tree.upper_bound(Excluded(&key)),
        };
        let found = found.clone_pointer();
        let exact = matches!(seek, Seek::Equal | Seek::LastEqual);
        Ok(found.filter(|node| !exact || node.key.get() == key).map(NodeRef))
    }

    fn clear(&mut self) {
        self.tree.clear();
        self.len = 0;
    }

    /// Verifies the order and the count. No other property is visible from outside the crate.
    fn check(&self) -> Result<(), Violation> {
        let own = |node: &Node<O::Plain, T>| self.order.plain(&self.order.key(&node.object));
        if self.tree.iter().count() != self.len {
            return Err(Violation::Count);
        }
        let sorted = self.tree.iter().map(|node| node.key.get()).is_sorted();
        if sorted && self.tree.iter().all(|node| node.key.get() == own(node)) {
            Ok(())
        } else {
            Err(Violation::Order)
        }
    }
}

impl<O: PlainKey<T>, T> fmt::Debug for IntrusiveDict<'_, O, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntrusiveDict").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<B: Balance> AsObject<B> for &Node<u64, Object<B>> {
    const OWN: bool = true;

    fn object(&self) -> &Object<B> {
        &self.object
    }
}
