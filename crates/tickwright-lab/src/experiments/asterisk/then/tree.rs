//! A red-black tree under the context of 2009: a reviewer's question.
#![allow(unsafe_code, reason = "removal by node is an unsafe function of the crate that links the nodes")]

use std::rc::Rc;

use intrusive_collections::{KeyAdapter, RBTree, RBTreeLink, intrusive_adapter};

use super::{Entry, Moment, Order};

intrusive_adapter!(ByTime<K> = Rc<Entry<K, RBTreeLink>>: Entry<K, RBTreeLink> { place => RBTreeLink } where K: Copy);

impl<'a, K: Moment> KeyAdapter<'a> for ByTime<K> {
    type Key = K;

    #[inline]
    fn get_key(&self, entry: &'a Entry<K, RBTreeLink>) -> K {
        entry.when.get()
    }
}

/// See the [module](self).
pub(crate) struct Tree<K: Copy> {
    entries: RBTree<ByTime<K>>,
    len: usize,
}

impl<K: Copy> Default for Tree<K> {
    fn default() -> Self {
        Self { entries: RBTree::new(ByTime::new()), len: 0 }
    }
}

impl<K: Moment> Order<K> for Tree<K> {
    type Place = RBTreeLink;

    fn add(&mut self, entry: Rc<Entry<K, RBTreeLink>>) {
        self.entries.insert(entry);
        self.len += 1;
    }

    fn remove(&mut self, entry: &Rc<Entry<K, RBTreeLink>>) {
        if entry.place.is_linked() {
            // SAFETY: 1. the entry is linked (checked above); 2. entries do not leave their
            // context, and a context has one tree, so the tree is this one.
            unsafe { self.entries.cursor_mut_from_ptr(Rc::as_ptr(entry)) }.remove();
            self.len -= 1;
        }
    }

    fn first(&self) -> Option<Rc<Entry<K, RBTreeLink>>> {
        self.entries.front().clone_pointer()
    }

    fn find(&self, id: i32) -> Option<Rc<Entry<K, RBTreeLink>>> {
        let mut at = self.entries.front();
        while at.get().is_some_and(|entry| entry.id.get() != id) {
            at.move_next();
        }
        at.clone_pointer()
    }

    fn len(&self) -> usize {
        self.len
    }
}
