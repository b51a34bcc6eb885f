//! The queue of a timer set. It is a structure, chosen when the set is made, and one slab. The
//! slab holds the structure's records and the set's own entries.
//!
//! ```text
//!   slot      0          1           2             3
//!   cell   [ unused | record      | record     | vacant -> 1 ]     what the structure walks
//!          [        | gen, entry  | gen, entry | gen, free   ]     what the set notes
//! ```
//! A record and its entry are at most 64 bytes for every family of the library. So a re-arm reads
//! one or two cache lines of the timer's own, beside those of the structure and the neighbors.

use core::num::NonZeroU32;

use tickwright_core::structure::{Discipline, Due, Family, Nodes as _};
use tickwright_core::{Tick, Violation};
use tickwright_nodes::arena::{Arena, Columns, Full, Idx, Slot, SlotId, Together};

use super::timer::Entry;

/// The record that family `F` keeps for each slot.
pub(super) type RecordOf<F> = <<F as Family>::Of<Idx> as Discipline<Idx>>::Record;

/// A structure and the slots of its timers, whatever its family.
pub(super) trait Queue: Send {
    /// Takes a slot for a timer that is not linked. Returns `None` if there is no memory, or no
    /// slot number left.
    fn occupy(&mut self, entry: Entry) -> Option<SlotId>;
    /// Gives back a slot that is not linked, and returns whether it was live.
    fn vacate(&mut self, slot: Idx) -> bool;
    /// Gets memory for `additional` more slots.
    fn reserve_slots(&mut self, additional: usize) -> Result<(), Full>;
    /// Makes room for `additional` more linked slots: that many inserts then cannot fail.
    fn reserve(&mut self, additional: usize) -> Result<(), Full>;
    fn heap_bytes(&self) -> usize;

    /// How many slots there are, live or not, including slot 0.
    fn slots(&self) -> usize;
    /// The number of slots for which there is memory.
    fn slot_capacity(&self) -> usize;
    /// How many slots are live.
    fn live(&self) -> usize;
    /// The generation and the entry of a live slot.
    fn get(&self, slot: Idx) -> Option<(NonZeroU32, &Entry)>;
    /// Like [`get`](Self::get), but the caller may change the entry.
    fn get_mut(&mut self, slot: Idx) -> Option<(NonZeroU32, &mut Entry)>;
    /// The generations of unused slots begin after `last`: for tests of retirement.
    #[cfg(test)]
    fn start_after(&mut self, last: u32);

    /// How many slots are linked.
    fn len(&self) -> usize;
    /// Links a slot that is not linked. The caller has reserved room for it.
    fn insert(&mut self, slot: Idx, deadline: Tick);
    /// Unlinks a linked slot.
    fn remove(&mut self, slot: Idx);
    /// Moves a linked slot.
    fn reschedule(&mut self, slot: Idx, deadline: Tick);
    /// Unlinks the first due slot, and returns its expiry. It moves at most `*moves` slots inside
    /// the queue; with no moves left it may return `None` although a slot is due.
    fn pop(&mut self, now: Tick, moves: &mut usize) -> Option<(Idx, Tick)>;
    /// Moves the queue's clock forward.
    fn touch(&mut self, now: Tick);
    fn next_expiry(&self) -> Option<Tick>;
    /// A lower bound of [`next_expiry`](Self::next_expiry); it looks at no timer of a bucket.
    fn next_wake(&self) -> Option<Tick>;
    fn head(&self) -> Option<Idx>;
    /// Begins to fetch the slot of the head from memory, if the head may be due at `now`, and
    /// returns the slot.
    fn fetch_head(&self, now: Tick) -> Option<Idx>;
    fn second(&self) -> Option<Idx>;
    /// The tick at which a linked slot is due.
    fn expiry(&self, slot: Idx) -> Tick;
    fn clear(&mut self);
    fn for_each(&self, visit: &mut dyn FnMut(Idx));
    fn check(&self) -> Result<(), Violation>;
}

/// A structure over the slab.
struct Linked<F: Family> {
    order: F::Of<Idx>,
    arena: Arena<Together<RecordOf<F>, Entry>>,
    now: Tick,
    /// How many slots are linked.
    len: usize,
}

/// An array of one element: a vector of one element becomes a box of it, and a vector reports a
/// failed allocation.
impl<F: Family> Queue for [Linked<F>; 1]
where
    F::Of<Idx>: Discipline<Idx, Record: Send> + Send,
{
    fn occupy(&mut self, entry: Entry) -> Option<SlotId> {
        self[0].arena.occupy(entry).ok()
    }

    fn vacate(&mut self, slot: Idx) -> bool {
        self[0].arena.vacate(slot).is_some()
    }

    fn reserve_slots(&mut self, additional: usize) -> Result<(), Full> {
        self[0].arena.reserve(additional)
    }

    fn reserve(&mut self, additional: usize) -> Result<(), Full> {
        self[0].order.reserve(self[0].len, additional).map_err(|_| Full)
    }

    fn heap_bytes(&self) -> usize {
        self[0].arena.columns.heap_bytes() + self[0].order.heap_bytes()
    }

    fn slots(&self) -> usize {
        self[0].arena.columns.len()
    }

    fn slot_capacity(&self) -> usize {
        self[0].arena.columns.capacity()
    }

    fn live(&self) -> usize {
        self[0].arena.len()
    }

    fn get(&self, slot: Idx) -> Option<(NonZeroU32, &Entry)> {
        self[0].arena.live(slot).map(|(id, entry)| (id.generation, entry))
    }

    fn get_mut(&mut self, slot: Idx) -> Option<(NonZeroU32, &mut Entry)> {
        match self[0].arena.columns.slot_mut(slot.at()) {
            Some(Slot::Live { generation, value }) => Some((*generation, value)),
            _ => None,
        }
    }

    #[cfg(test)]
    fn start_after(&mut self, last: u32) {
        self[0].arena.first_generation = last;
    }

    fn len(&self) -> usize {
        self[0].len
    }

    fn insert(&mut self, slot: Idx, deadline: Tick) {
        // The returned head change is about `next_wake`. The set sets the alarm by the exact
        // expiry, so it does not need the report.
        let _ = self[0].order.insert(&mut self[0].arena.columns, slot, deadline, self[0].now);
        self[0].len += 1;
    }

    fn remove(&mut self, slot: Idx) {
        let _ = self[0].order.remove(&mut self[0].arena.columns, slot);
        self[0].len -= 1;
    }

    fn reschedule(&mut self, slot: Idx, deadline: Tick) {
        let _ = self[0].order.reschedule(&mut self[0].arena.columns, slot, deadline, self[0].now);
    }

    fn pop(&mut self, now: Tick, moves: &mut usize) -> Option<(Idx, Tick)> {
        self[0].now = self[0].now.max(now);
        let Due { handle, expiry, .. } = self[0].order.pop(&mut self[0].arena.columns, self[0].now, moves)?;
        self[0].len -= 1;
        Some((handle, expiry))
    }

    fn touch(&mut self, now: Tick) {
        self[0].now = self[0].now.max(now);
    }

    fn next_expiry(&self) -> Option<Tick> {
        self[0].order.next_expiry(&self[0].arena.columns)
    }

    fn next_wake(&self) -> Option<Tick> {
        self[0].order.next_wake(&self[0].arena.columns)
    }

    fn head(&self) -> Option<Idx> {
        self[0].order.head(&self[0].arena.columns)
    }

    fn fetch_head(&self, now: Tick) -> Option<Idx> {
        let head = self.next_wake().filter(|&at| at <= now).and_then(|_| self.head());
        self[0].arena.columns.prefetch(head);
        head
    }

    fn second(&self) -> Option<Idx> {
        self[0].order.second(&self[0].arena.columns)
    }

    fn expiry(&self, slot: Idx) -> Tick {
        self[0].order.expiry(&self[0].arena.columns, slot)
    }

    fn clear(&mut self) {
        self[0].order.clear();
        self[0].arena.columns.forget();
        self[0].len = 0;
    }

    fn for_each(&self, visit: &mut dyn FnMut(Idx)) {
        self[0].order.for_each(&self[0].arena.columns, visit);
    }

    fn check(&self) -> Result<(), Violation> {
        self[0].arena.check()?;
        self[0].order.check(&self[0].arena.columns, self[0].len)
    }
}

/// Makes an empty queue of family `F`. Returns `None` if there is no memory for it.
pub(super) fn boxed<F: Family>() -> Option<Box<dyn Queue>>
where
    F::Of<Idx>: Discipline<Idx, Record: Send> + Send,
{
    let order = <F::Of<Idx> as Discipline<Idx>>::NEW;
    let arena = Arena::starting_after(0, Columns::EMPTY);
    let queue = Linked::<F> { order, arena, now: 0, len: 0 };
    let mut one = Vec::new();
    one.try_reserve_exact(1).ok()?;
    one.push(queue);
    let one: Box<[_; 1]> = one.into_boxed_slice().try_into().ok()?;
    Some(one)
}
