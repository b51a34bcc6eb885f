//! The binary heap: an array of pointers to entries. Each entry stores its own index.

use core::cell::Cell;
use std::rc::Rc;

use super::{Entry, Order};

/// See the [module](self). The children of the entry at `i` are at `2i + 1` and `2i + 2`. No child
/// is earlier than its parent.
#[derive(Default)]
pub(crate) struct Heap {
    entries: Vec<Rc<Entry<Cell<usize>>>>,
}

impl Heap {
    fn when(&self, at: usize) -> u64 {
        self.entries[at].when.get()
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.entries.swap(a, b);
        self.entries[a].place.set(a);
        self.entries[b].place.set(b);
    }

    /// Moves an entry towards the root. Returns whether the entry moved.
    fn rise(&mut self, mut at: usize) -> bool {
        let from = at;
        while at > 0 && self.when(at) < self.when((at - 1) / 2) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        at != from
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            if left >= self.entries.len() {
                return;
            }
            let right = left + 1;
            let child =
                if right < self.entries.len() && self.when(right) < self.when(left) { right } else { left };
            if self.when(child) >= self.when(at) {
                return;
            }
            self.swap(at, child);
            at = child;
        }
    }
}

impl Order for Heap {
    type Place = Cell<usize>;

    fn add(&mut self, entry: Rc<Entry<Cell<usize>>>) {
        let at = self.entries.len();
        entry.place.set(at);
        self.entries.push(entry);
        self.rise(at);
    }

    fn remove(&mut self, entry: &Rc<Entry<Cell<usize>>>) {
        let at = entry.place.get();
        let last = self.entries.len() - 1;
        if at != last {
            self.swap(at, last);
        }
        self.entries.pop();
        if at != last && !self.rise(at) {
            self.sink(at);
        }
    }

    fn first(&self) -> Option<Rc<Entry<Cell<usize>>>> {
        self.entries.first().map(Rc::clone)
    }
}
