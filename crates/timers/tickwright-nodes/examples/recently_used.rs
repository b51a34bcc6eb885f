//! A cache that evicts the least recently used value: the values are in an arena, and a chain links
//! their records.
//!
//! ```text
//! cargo run -p tickwright-nodes --example recently_used
//! ```

use tickwright_nodes::arena::{ApartColumns, Arena, Columns as _, Idx, SlotId};
use tickwright_nodes::chain::{Chain, Chained, Links};
use tickwright_nodes::{Nodes, Record, Violation};

/// The record of a slot, which has the slot's links in the chain. The `next` of a free slot's
/// record is the next free slot.
struct Neighbours(Links<Idx>);

impl Record<Idx> for Neighbours {
    const IDLE: Self = Self(Links::NONE);

    fn vacant(next: Option<Idx>) -> Self {
        Self(Links { next, prev: None })
    }

    fn next_vacant(&self) -> Option<Idx> {
        self.0.next
    }
}

impl Chained<Idx> for Neighbours {
    fn links(&self) -> &Links<Idx> {
        &self.0
    }

    fn links_mut(&mut self) -> &mut Links<Idx> {
        &mut self.0
    }
}

struct Cache<T> {
    /// The chain of the values, in the order of their last use. The tail is the value that was used
    /// last.
    by_use: Chain<Idx>,
    arena: Arena<ApartColumns<Neighbours, T>>,
}

impl<T> Cache<T> {
    fn new(capacity: usize) -> Self {
        let mut arena = Arena::starting_after(0, ApartColumns::EMPTY);
        arena.bound(capacity);
        // If there is no memory, every `put` is refused.
        let _ = arena.reserve(capacity);
        Self { by_use: Chain::EMPTY, arena }
    }

    fn put(&mut self, value: T) -> Result<SlotId, T> {
        if self.arena.is_full() {
            self.forget_oldest();
        }
        let id = self.arena.occupy(value)?;
        self.append(id.index);
        Ok(id)
    }

    /// Returns the value, if the cache still holds it. The look-up counts as a use.
    fn get(&mut self, id: SlotId) -> Option<&T> {
        self.arena.get(id)?;
        self.unlink(id.index);
        self.append(id.index);
        self.arena.get(id)
    }

    fn append(&mut self, p: Idx) {
        let records = &mut self.arena.columns.records;
        let links = self.by_use.push_back(records, p);
        *records.record_mut(p) = Neighbours(links);
    }

    fn unlink(&mut self, p: Idx) {
        let records = &mut self.arena.columns.records;
        let Neighbours(links) = *records.record(p);
        self.by_use.unlink(records, links);
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.by_use.head {
            self.unlink(oldest);
            self.arena.vacate(oldest);
        }
    }

    fn check(&self) -> Result<(), Violation> {
        let mut left = self.arena.len();
        self.by_use.check(&self.arena.columns.records, &mut left, |_| Ok(()))?;
        self.arena.check()
    }
}

fn main() {
    let mut cache = Cache::new(3);
    let ids = ["a", "b", "c"].map(|name| cache.put(name).expect("there is room"));
    assert_eq!(cache.get(ids[0]), Some(&"a"), "used again");
    cache.put("d").expect("room is made");
    let left: Vec<_> = ids.iter().filter_map(|&id| cache.get(id).copied()).collect();
    println!("d pushed out what was not used for the longest time: {left:?} are left");
    assert_eq!((left, cache.check()), (vec!["a", "c"], Ok(())));
}
