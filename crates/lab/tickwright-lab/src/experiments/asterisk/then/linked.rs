//! The sorted list, whose entries contain the links.
#![allow(unsafe_code, reason = "removal by node is an unsafe function of the crate that links the nodes")]

use std::rc::Rc;

use intrusive_collections::{LinkedList, LinkedListLink, intrusive_adapter};

use super::{Entry, Order};

intrusive_adapter!(ByTime = Rc<Entry<LinkedListLink>>: Entry<LinkedListLink> { place => LinkedListLink });

/// The sorted doubly linked list. An add starts from the end that is nearer in time. A forward walk
/// puts the entry after the entries of equal time, and a backward walk puts it before them.
#[derive(Default)]
pub(crate) struct List(LinkedList<ByTime>);

impl List {
    /// Returns whether the front's time is nearer to `when` than the back's time.
    fn nearer_front(&self, when: u64) -> bool {
        let (Some(first), Some(last)) = (self.0.front().get(), self.0.back().get()) else { return true };
        let (first, last) = (first.when.get(), last.when.get());
        when <= first || (when < last && when - first < last - when)
    }
}

impl Order for List {
    type Place = LinkedListLink;

    fn add(&mut self, entry: Rc<Entry<LinkedListLink>>) {
        let when = entry.when.get();
        if self.nearer_front(when) {
            let mut at = self.0.front_mut();
            while at.get().is_some_and(|other| other.when.get() <= when) {
                at.move_next();
            }
            at.insert_before(entry);
        } else {
            let mut at = self.0.back_mut();
            while at.get().is_some_and(|other| other.when.get() >= when) {
                at.move_prev();
            }
            at.insert_after(entry);
        }
    }

    fn remove(&mut self, entry: &Rc<Entry<LinkedListLink>>) {
        if entry.place.is_linked() {
            // SAFETY: 1. The entry is linked (checked above). 2. Entries do not leave their
            // context, and a context has one order, so the entry is in this collection.
            unsafe { self.0.cursor_mut_from_ptr(Rc::as_ptr(entry)) }.remove();
        }
    }

    fn first(&self) -> Option<Rc<Entry<LinkedListLink>>> {
        self.0.front().clone_pointer()
    }
}
