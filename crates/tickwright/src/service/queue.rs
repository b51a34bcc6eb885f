//! The queue of a service: a structure, chosen when the service is made, over the slots of the
//! service's own arena.

use tickwright_core::storage::{Discipline, Family, Nodes, Popped, Record};
use tickwright_core::{Tick, Violation};
use tickwright_nodes::arena::{Full, Idx, Records};

/// The record that family `F` keeps for each slot.
pub(super) type RecordOf<F> = <<F as Family>::Of<Idx> as Discipline<Idx>>::Record;

/// A structure and the records of its slots, whatever its family. The first methods are about
/// memory; a slot that is passed to the others has a record.
pub(super) trait Queue: Send {
    /// Appends idle records until there are `records`.
    fn grow(&mut self, records: usize) -> Result<(), Full>;
    /// The successor of a slot on the free list of the arena.
    fn next_vacant(&self, slot: Idx) -> Option<Idx>;
    fn set_vacant(&mut self, slot: Idx, next: Option<Idx>);
    fn set_idle(&mut self, slot: Idx);
    /// Makes room for `additional` more linked slots, so that as many inserts cannot fail.
    fn reserve(&mut self, additional: usize) -> Result<(), Full>;
    fn heap_bytes(&self) -> usize;

    /// How many slots are linked.
    fn len(&self) -> usize;
    /// Links a slot that is not. There is room.
    fn insert(&mut self, slot: Idx, deadline: Tick);
    /// Unlinks a slot that is linked.
    fn remove(&mut self, slot: Idx);
    /// Moves a slot that is linked.
    fn reschedule(&mut self, slot: Idx, deadline: Tick);
    /// Unlinks the first that is due, and answers its expiry. Moves at most `moves` inside; with
    /// none of them left it may answer `None` too early.
    fn pop(&mut self, now: Tick, moves: &mut usize) -> Option<(Idx, Tick)>;
    /// Moves the queue's clock forward.
    fn touch(&mut self, now: Tick);
    fn next_expiry(&self) -> Option<Tick>;
    /// A lower bound of [`next_expiry`](Self::next_expiry): looks at no timer of a bucket.
    fn next_wake(&self) -> Option<Tick>;
    fn head(&self) -> Option<Idx>;
    fn second(&self) -> Option<Idx>;
    /// The tick at which a linked slot is due.
    fn expiry(&self, slot: Idx) -> Tick;
    fn clear(&mut self);
    fn for_each(&self, visit: &mut dyn FnMut(Idx));
    fn check(&self) -> Result<(), Violation>;
}

/// A structure over slots that somebody else owns.
struct Linked<F: Family> {
    order: F::Of<Idx>,
    records: Records<RecordOf<F>>,
    now: Tick,
    len: usize,
}

/// An array of one: a vector of one becomes a box of that, and the allocation of a vector may be
/// refused.
impl<F: Family> Queue for [Linked<F>; 1]
where
    F::Of<Idx>: Discipline<Idx, Record: Send> + Send,
{
    fn grow(&mut self, records: usize) -> Result<(), Full> {
        self[0].records.grow(records)
    }

    fn next_vacant(&self, slot: Idx) -> Option<Idx> {
        self[0].records.record(slot).next_vacant()
    }

    fn set_vacant(&mut self, slot: Idx, next: Option<Idx>) {
        self[0].records.record_mut(slot).set_vacant(next);
    }

    fn set_idle(&mut self, slot: Idx) {
        *self[0].records.record_mut(slot) = Record::IDLE;
    }

    fn reserve(&mut self, additional: usize) -> Result<(), Full> {
        self[0].order.reserve(self[0].len, additional).map_err(|_| Full)
    }

    fn heap_bytes(&self) -> usize {
        self[0].records.heap_bytes() + self[0].order.heap_bytes()
    }

    fn len(&self) -> usize {
        self[0].len
    }

    fn insert(&mut self, slot: Idx, deadline: Tick) {
        // What it says of its head is about `next_wake`; the alarm is set by what is exact.
        let _ = self[0].order.insert(&mut self[0].records, slot, deadline, self[0].now);
        self[0].len += 1;
    }

    fn remove(&mut self, slot: Idx) {
        let _ = self[0].order.remove(&mut self[0].records, slot);
        self[0].len -= 1;
    }

    fn reschedule(&mut self, slot: Idx, deadline: Tick) {
        let _ = self[0].order.reschedule(&mut self[0].records, slot, deadline, self[0].now);
    }

    fn pop(&mut self, now: Tick, moves: &mut usize) -> Option<(Idx, Tick)> {
        self[0].now = self[0].now.max(now);
        let Popped { handle, expiry, .. } = self[0].order.pop(&mut self[0].records, self[0].now, moves)?;
        self[0].len -= 1;
        Some((handle, expiry))
    }

    fn touch(&mut self, now: Tick) {
        self[0].now = self[0].now.max(now);
    }

    fn next_expiry(&self) -> Option<Tick> {
        self[0].order.next_expiry(&self[0].records)
    }

    fn next_wake(&self) -> Option<Tick> {
        self[0].order.next_wake(&self[0].records)
    }

    fn head(&self) -> Option<Idx> {
        self[0].order.head(&self[0].records)
    }

    fn second(&self) -> Option<Idx> {
        self[0].order.second(&self[0].records)
    }

    fn expiry(&self, slot: Idx) -> Tick {
        self[0].order.expiry(&self[0].records, slot)
    }

    fn clear(&mut self) {
        self[0].order.clear();
        self[0].records.forget();
        self[0].len = 0;
    }

    fn for_each(&self, visit: &mut dyn FnMut(Idx)) {
        self[0].order.for_each(&self[0].records, visit);
    }

    fn check(&self) -> Result<(), Violation> {
        self[0].order.check(&self[0].records, self[0].len)
    }
}

/// An empty queue of family `F`. `None`: there is no memory for it.
pub(super) fn boxed<F: Family>() -> Option<Box<dyn Queue>>
where
    F::Of<Idx>: Discipline<Idx, Record: Send> + Send,
{
    let order = <F::Of<Idx> as Discipline<Idx>>::NEW;
    let queue = Linked::<F> { order, records: Records::EMPTY, now: 0, len: 0 };
    let mut one = Vec::new();
    one.try_reserve_exact(1).ok()?;
    one.push(queue);
    let one: Box<[_; 1]> = one.into_boxed_slice().try_into().ok()?;
    Some(one)
}
