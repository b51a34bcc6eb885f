//! A hash table by id, with chains of allocated nodes. The number of chains doubles when the table
//! is three quarters full.

/// See the [module](self).
pub(super) struct Ids<T> {
    chains: Vec<Option<Box<Node<T>>>>,
    len: usize,
}

struct Node<T> {
    id: i32,
    value: T,
    next: Option<Box<Node<T>>>,
}

/// The number of chains in an empty table.
const FEWEST: usize = 32;

impl<T> Ids<T> {
    pub(super) fn new() -> Self {
        Self { chains: Self::chains(FEWEST), len: 0 }
    }

    fn chains(count: usize) -> Vec<Option<Box<Node<T>>>> {
        core::iter::repeat_with(|| None).take(count).collect()
    }

    /// A mask suffices as the hash function, because the number of chains is a power of two and ids
    /// are consecutive.
    fn chain(&self, id: i32) -> usize {
        id as u32 as usize & (self.chains.len() - 1)
    }

    pub(super) fn insert(&mut self, id: i32, value: T) {
        if self.len >= self.chains.len() / 4 * 3 {
            self.grow();
        }
        let at = self.chain(id);
        let next = self.chains[at].take();
        self.chains[at] = Some(Box::new(Node { id, value, next }));
        self.len += 1;
    }

    pub(super) fn get(&self, id: i32) -> Option<&T> {
        let mut node = self.chains[self.chain(id)].as_deref();
        while let Some(found) = node {
            if found.id == id {
                return Some(&found.value);
            }
            node = found.next.as_deref();
        }
        None
    }

    pub(super) fn remove(&mut self, id: i32) {
        let at = self.chain(id);
        let mut place = &mut self.chains[at];
        while place.as_ref().is_some_and(|node| node.id != id) {
            let Some(node) = place else { return };
            place = &mut node.next;
        }
        if let Some(node) = place.take() {
            *place = node.next;
            self.len -= 1;
        }
    }

    fn grow(&mut self) {
        let twice = Self::chains(self.chains.len() * 2);
        for mut rest in core::mem::replace(&mut self.chains, twice) {
            while let Some(mut node) = rest {
                rest = node.next.take();
                let at = self.chain(node.id);
                node.next = self.chains[at].take();
                self.chains[at] = Some(node);
            }
        }
    }
}
