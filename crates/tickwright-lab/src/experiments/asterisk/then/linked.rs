//! Orders whose entries contain the links: the sorted list, and a red-black tree.
#![allow(unsafe_code, reason = "removal by node is an unsafe function of the crate that links the nodes")]

use std::rc::Rc;

use intrusive_collections::{KeyAdapter, LinkedList, LinkedListLink, RBTree, RBTreeLink, intrusive_adapter};

use super::{Entry, Moment, Order};

macro_rules! linked {
    ($(#[$doc:meta])* $name:ident, a $collection:ident by $link:ident of $adapter:ident) => {
        intrusive_adapter!($adapter<K> = Rc<Entry<K, $link>>: Entry<K, $link> { place => $link } where K: Copy);

        $(#[$doc])*
        pub(crate) struct $name<K: Copy>($collection<$adapter<K>>);

        impl<K: Copy> Default for $name<K> {
            fn default() -> Self {
                Self($collection::new($adapter::new()))
            }
        }

        impl<K: Moment> Order<K> for $name<K> {
            type Place = $link;

            fn add(&mut self, entry: Rc<Entry<K, $link>>) {
                self.insert(entry);
            }

            fn remove(&mut self, entry: &Rc<Entry<K, $link>>) {
                if entry.place.is_linked() {
                    // SAFETY: 1. The entry is linked (checked above). 2. Entries do not leave their
                    // context, and a context has one order, so the entry is in this collection.
                    unsafe { self.0.cursor_mut_from_ptr(Rc::as_ptr(entry)) }.remove();
                }
            }

            fn first(&self) -> Option<Rc<Entry<K, $link>>> {
                self.0.front().clone_pointer()
            }
        }
    };
}

linked! {
    /// The sorted doubly linked list. An add starts from the end that is nearer in time. A forward
    /// walk puts the entry behind its equals; a backward walk puts the entry before them.
    List, a LinkedList by LinkedListLink of ListByTime
}

linked! {
    /// A red-black tree under the context of 2009. A reviewer asked for the tree.
    Tree, a RBTree by RBTreeLink of TreeByTime
}

impl<K: Moment> List<K> {
    /// Whether the front is nearer to `when` than the back.
    fn nearer_front(&self, when: K) -> bool {
        let (Some(first), Some(last)) = (self.0.front().get(), self.0.back().get()) else { return true };
        let (first, last) = (first.when.get(), last.when.get());
        when <= first || (when < last && when - first < last - when)
    }

    fn insert(&mut self, entry: Rc<Entry<K, LinkedListLink>>) {
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
}

impl<'a, K: Moment> KeyAdapter<'a> for TreeByTime<K> {
    type Key = K;

    #[inline]
    fn get_key(&self, entry: &'a Entry<K, RBTreeLink>) -> K {
        entry.when.get()
    }
}

impl<K: Moment> Tree<K> {
    fn insert(&mut self, entry: Rc<Entry<K, RBTreeLink>>) {
        self.0.insert(entry);
    }
}
