//! The timers of a service: an arena whose records are those of a structure, chosen when the
//! service is made.
//!
//! ```text
//!   slot       0        1          2          3
//!   queue   [ unused | record  | record   | vacant -> 1 ]     what the structure walks
//!   slots   [ unused | gen, E  | gen, E   | gen, free   ]     E: the service's entry of the timer
//! ```
//!
//! An id is a slot and its generation, turned by a number of the service's own: so the id of one
//! service is most likely stale in another.

use core::fmt;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU32, Ordering};

use tickwright_core::Violation;
use tickwright_core::storage::Handle;
use tickwright_nodes::arena::{Arena, Columns, Full, Idx, Slot, SlotId};

use super::entry::Entry;
use super::queue::Queue;

/// Names one timer of a service or scheduler: 64 bits, never 0. Stale for ever once the timer is
/// gone.
///
/// It means nothing to another service than its own; there it is almost certainly not found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(NonZeroU64);

impl TimerId {
    fn slot(self) -> Option<Idx> {
        Idx::from_number(self.0.get() as u32)
    }

    /// As a number that is never 0.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The id of [`to_bits`](Self::to_bits); `None` for 0. Whether it names a timer is for the
    /// service to say.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(Self)
    }
}

impl fmt::Debug for TimerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimerId({:#x})", self.0)
    }
}

impl fmt::Display for TimerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The entries, and the queue that has a record for each of their slots.
struct Rows<P> {
    queue: Box<dyn Queue>,
    /// As many as there is memory for slots: [`push`](Columns::push) finds its record there.
    records: usize,
    slots: Vec<Slot<Entry<P>>>,
}

impl<P> Rows<P> {
    fn grow_records(&mut self) -> Result<(), Full> {
        let slots = self.slots.capacity();
        if self.records < slots {
            self.queue.grow(slots)?;
            self.records = slots;
        }
        Ok(())
    }
}

impl<P> Columns for Rows<P> {
    type Value = Entry<P>;

    fn len(&self) -> usize {
        self.slots.len()
    }

    fn capacity(&self) -> usize {
        self.records
    }

    fn try_reserve(&mut self, additional: usize) -> Result<(), Full> {
        self.slots.try_reserve(additional).map_err(|_| Full)?;
        self.grow_records()
    }

    fn try_reserve_exact(&mut self, additional: usize) -> Result<(), Full> {
        self.slots.try_reserve_exact(additional).map_err(|_| Full)?;
        self.grow_records()
    }

    fn push(&mut self, last: u32) {
        self.slots.push(Slot::Free { last });
    }

    fn next_vacant(&self, p: Idx) -> Option<Idx> {
        self.queue.next_vacant(p)
    }

    fn set_vacant(&mut self, p: Idx, next: Option<Idx>) {
        self.queue.set_vacant(p, next);
    }

    fn set_idle(&mut self, p: Idx) {
        self.queue.set_idle(p);
    }

    #[inline]
    fn slot(&self, at: usize) -> Option<&Slot<Entry<P>>> {
        self.slots.get(at)
    }

    #[inline]
    fn slot_mut(&mut self, at: usize) -> Option<&mut Slot<Entry<P>>> {
        self.slots.get_mut(at)
    }

    fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes() + self.slots.capacity() * size_of::<Slot<Entry<P>>>()
    }
}

/// The timers of a service, and the queue over them.
pub(super) struct Table<P> {
    arena: Arena<Rows<P>>,
    /// By how much ids turn generations in the circle of 1 to 2^32 - 1; less than that.
    salt: u32,
    /// The queue takes so many timers without more memory. Never fewer than there are, so arming
    /// one that exists cannot fail.
    room: usize,
}

/// Far apart from service to service (the golden ratio of 2^32).
fn salt() -> u32 {
    static SERVICES: AtomicU32 = AtomicU32::new(1);
    SERVICES.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9) % u32::MAX
}

impl<P> Table<P> {
    pub(super) fn new(queue: Box<dyn Queue>) -> Self {
        let rows = Rows { queue, records: 0, slots: Vec::new() };
        Self { arena: Arena::starting_after(0, rows), salt: salt(), room: 0 }
    }

    pub(super) fn queue(&self) -> &dyn Queue {
        &*self.arena.columns.queue
    }

    pub(super) fn queue_mut(&mut self) -> &mut dyn Queue {
        &mut *self.arena.columns.queue
    }

    /// Room for `additional` more timers, idle or linked.
    pub(super) fn reserve(&mut self, additional: usize) -> Result<(), Full> {
        self.arena.reserve(additional)?;
        self.make_room(self.live().checked_add(additional).ok_or(Full)?)
    }

    /// Room in the queue for `timers` in all.
    fn make_room(&mut self, timers: usize) -> Result<(), Full> {
        if timers > self.room {
            let queue = self.queue_mut();
            queue.reserve(timers.saturating_sub(queue.len()))?;
            self.room = timers;
        }
        Ok(())
    }

    /// Room for twice as many timers, or for one more.
    #[cold]
    fn make_more_room(&mut self) -> Result<(), Full> {
        let timers = self.live() + 1;
        self.make_room(timers.saturating_mul(2).max(64)).or_else(|_| self.make_room(timers))
    }

    pub(super) fn live(&self) -> usize {
        self.arena.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.arena.columns.heap_bytes()
    }

    /// Takes a slot for an idle timer, and returns its id too. When memory or slot numbers are used
    /// up, nothing is changed.
    pub(super) fn occupy(&mut self, timer: Entry<P>) -> Result<(TimerId, Idx), Full> {
        if self.live() >= self.room {
            self.make_more_room()?;
        }
        let id = self.arena.occupy(timer).map_err(|_| Full)?;
        Ok((self.named(id), id.index))
    }

    /// Gives a slot back that is not linked; its id is stale from now on.
    pub(super) fn vacate(&mut self, slot: Idx) -> Option<P> {
        self.arena.vacate(slot)?.1.payload
    }

    /// The upper half is never 0: so an `int` id is no id of a timer.
    fn named(&self, id: SlotId) -> TimerId {
        let (sum, over) = id.generation.get().overflowing_add(self.salt);
        let bits = u64::from(sum + u32::from(over)) << 32 | u64::from(id.index.number());
        // The number of a slot is never 0: nothing is added to it.
        TimerId(NonZeroU64::MIN.saturating_add(bits - 1))
    }

    pub(super) fn id(&self, slot: Idx) -> Option<TimerId> {
        self.arena.live(slot).map(|(id, _)| self.named(id))
    }

    /// The slot of a live timer.
    #[inline]
    pub(super) fn find(&self, id: TimerId) -> Option<Idx> {
        id.slot().filter(|&slot| self.id(slot) == Some(id))
    }

    pub(super) fn get(&self, slot: Idx) -> Option<&Entry<P>> {
        self.arena.live(slot).map(|(_, entry)| entry)
    }

    /// The entry of a live timer.
    #[inline]
    pub(super) fn entry(&mut self, slot: Idx) -> &mut Entry<P> {
        match self.arena.columns.slot_mut(slot.at()) {
            Some(Slot::Live { value, .. }) => value,
            _ => unreachable!("the queue and the service name live timers"),
        }
    }

    /// All slots, live or not, from number `from`.
    pub(super) fn slots(&self, from: usize) -> impl Iterator<Item = Idx> + use<P> {
        (from.max(1)..self.arena.columns.len()).filter_map(Idx::of)
    }

    /// All live slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Idx, &Entry<P>)> + '_ {
        self.arena.iter().map(|(id, entry)| (id.index, entry))
    }

    pub(super) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry<P>> {
        self.arena.columns.slots.iter_mut().filter_map(|slot| match slot {
            Slot::Live { value, .. } => Some(value),
            Slot::Free { .. } => None,
        })
    }

    pub(super) fn check(&self) -> Result<(), Violation> {
        self.arena.check()?;
        self.queue().check()
    }

    /// Slots that are not used yet begin after generation `last`: for tests of retirement.
    #[cfg(test)]
    pub(super) fn start_after(&mut self, last: u32) {
        self.arena.first_generation = last;
    }

    #[cfg(test)]
    pub(super) fn salt(&self) -> u32 {
        self.salt
    }
}
