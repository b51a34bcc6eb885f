//! The sorted doubly linked list. An add starts from the end that is nearer in time. Among equals
//! it comes last when it walks forward, and first when it walks backward.
#![allow(unsafe_code, reason = "removal by node is an unsafe function of the crate that links the nodes")]

use std::rc::Rc;

use intrusive_collections::{LinkedList, LinkedListLink, intrusive_adapter};

use super::{Entry, Moment, Order};

intrusive_adapter!(ByTime<K> = Rc<Entry<K, LinkedListLink>>: Entry<K, LinkedListLink> { place => LinkedListLink } where K: Copy);

/// See the [module](self).
pub(crate) struct List<K: Copy> {
    entries: LinkedList<ByTime<K>>,
    len: usize,
}

impl<K: Copy> Default for List<K> {
    fn default() -> Self {
        Self { entries: LinkedList::new(ByTime::new()), len: 0 }
    }
}

impl<K: Moment> List<K> {
    /// Whether the front is nearer to `when` than the back.
    fn nearer_front(&self, when: K) -> bool {
        let ends = (self.entries.front().get(), self.entries.back().get());
        let (Some(first), Some(last)) = ends else { return true };
        let (first, last) = (first.when.get(), last.when.get());
        when <= first || (when < last && when - first < last - when)
    }
}

impl<K: Moment> Order<K> for List<K> {
    type Place = LinkedListLink;

    fn add(&mut self, entry: Rc<Entry<K, LinkedListLink>>) {
        self.len += 1;
        let when = entry.when.get();
        if self.nearer_front(when) {
            let mut at = self.entries.front_mut();
            while at.get().is_some_and(|other| other.when.get() <= when) {
                at.move_next();
            }
            at.insert_before(entry);
        } else {
            let mut at = self.entries.back_mut();
            while at.get().is_some_and(|other| other.when.get() >= when) {
                at.move_prev();
            }
            at.insert_after(entry);
        }
    }

    fn remove(&mut self, entry: &Rc<Entry<K, LinkedListLink>>) {
        if entry.place.is_linked() {
            // SAFETY: 1. the entry is linked (checked above); 2. entries do not leave their
            // context, and a context has one list, so the list is this one.
            unsafe { self.entries.cursor_mut_from_ptr(Rc::as_ptr(entry)) }.remove();
            self.len -= 1;
        }
    }

    fn first(&self) -> Option<Rc<Entry<K, LinkedListLink>>> {
        self.entries.front().clone_pointer()
    }

    fn find(&self, id: i32) -> Option<Rc<Entry<K, LinkedListLink>>> {
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
