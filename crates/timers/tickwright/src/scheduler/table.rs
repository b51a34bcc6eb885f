//! The timers of a scheduler: the queue with their slots, and a table of their payloads.
//!
//! ```text
//!   slot        0        1        2        3
//!   queue    [ unused | cell   | cell   | vacant -> 1 ]     the family's records, the entries
//!   payloads [ none   | P      | P      | none        ]     what an operation reads that needs it
//! ```
//!
//! An id is a slot and its generation. The set rotates the generation by a number of its own.
//! So the id of one scheduler is almost certainly stale in another.

use core::fmt;
use core::num::{NonZeroU32, NonZeroU64};
use core::sync::atomic::{AtomicU32, Ordering};

use tickwright_core::structure::Handle;
use tickwright_core::{Tick, Violation};
use tickwright_nodes::arena::{Full, Idx};
use tickwright_nodes::hint;

use super::queue::Queue;
use super::timer::Entry;

/// Names one timer of a scheduler: 64 bits, never 0. It stays stale for ever once the
/// timer is removed.
///
/// It means nothing to another scheduler: a lookup there almost certainly returns nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(NonZeroU64);

impl TimerId {
    fn slot(self) -> Option<Idx> {
        Idx::from_number(self.0.get() as u32)
    }

    /// Returns the id as a number, which is never 0.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The id whose [`to_bits`](Self::to_bits) is `bits`; `None` for 0. Only the scheduler can tell
    /// whether it names a timer.
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

/// So many timers, of some hundred bytes each, lie in the second cache of a processor.
const CACHED: usize = 1 << 14;

/// The timers of a scheduler, and the queue over them.
pub(super) struct Table<P> {
    queue: Box<dyn Queue>,
    /// The payloads by slot. A place is `None` while its timer runs, and if the slot has no timer.
    payloads: Vec<Option<P>>,
    /// How many timers there are.
    live: usize,
    /// The distance by which ids rotate generations in the circle of 1 to 2^32 - 1. It is less than
    /// 2^32 - 1.
    salt: u32,
    /// The queue takes this many timers without more memory. It is never less than the number of
    /// timers, so arming an existing timer cannot fail.
    room: usize,
}

/// The salts of any two sets are far apart (steps by the golden ratio of 2^32).
fn salt() -> u32 {
    static SETS: AtomicU32 = AtomicU32::new(1);
    SETS.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9) % u32::MAX
}

/// The id of a slot in its present generation. Its upper half is never 0, so no `int` id equals the
/// id of a timer.
#[inline]
fn named(slot: Idx, generation: NonZeroU32, salt: u32) -> TimerId {
    let (sum, over) = generation.get().overflowing_add(salt);
    let bits = u64::from(sum + u32::from(over)) << 32 | u64::from(slot.number());
    // The number of a slot is never 0, so `bits - 1` does not wrap and the sum is `bits`.
    TimerId(NonZeroU64::MIN.saturating_add(bits - 1))
}

impl<P> Table<P> {
    pub(super) fn new(queue: Box<dyn Queue>) -> Self {
        Self { queue, payloads: Vec::new(), live: 0, salt: salt(), room: 0 }
    }

    #[inline]
    pub(super) fn queue(&self) -> &dyn Queue {
        &*self.queue
    }

    #[inline]
    pub(super) fn queue_mut(&mut self) -> &mut dyn Queue {
        &mut *self.queue
    }

    /// If the timers are too many for the cache, begins to fetch the slot and the payload of the
    /// head, so that they come while the callback of an earlier timer runs.
    #[inline]
    pub(super) fn fetch_head(&self, now: Tick) {
        if self.live > CACHED
            && let Some(slot) = self.queue.fetch_head(now)
        {
            hint::prefetch(self.payloads.as_ptr().wrapping_add(slot.at()));
        }
    }

    /// Makes room for `additional` more timers, idle or linked.
    pub(super) fn reserve(&mut self, additional: usize) -> Result<(), Full> {
        self.queue.reserve_slots(additional)?;
        let slots = self.queue.slot_capacity();
        self.payloads.try_reserve_exact(slots.saturating_sub(self.payloads.len())).map_err(|_| Full)?;
        self.make_room(self.live().checked_add(additional).ok_or(Full)?)
    }

    /// Makes room in the queue for `timers` in total.
    fn make_room(&mut self, timers: usize) -> Result<(), Full> {
        if timers > self.room {
            self.queue.reserve(timers.saturating_sub(self.queue.len()))?;
            self.room = timers;
        }
        Ok(())
    }

    /// Makes room for twice as many timers, or, without memory for those, for one more.
    #[cold]
    fn make_more_room(&mut self) -> Result<(), Full> {
        let timers = self.live() + 1;
        self.make_room(timers.saturating_mul(2).max(64)).or_else(|_| self.make_room(timers))
    }

    #[inline]
    pub(super) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes() + self.payloads.capacity() * size_of::<Option<P>>()
    }

    /// Takes a slot for a timer that is not linked, and returns the slot and the timer's id. If
    /// memory or slot numbers are used up, nothing is changed, and the payload comes back.
    #[inline(always)]
    pub(super) fn occupy(&mut self, timer: Entry, payload: P) -> Result<(TimerId, Idx), P> {
        if self.live() >= self.room && self.make_more_room().is_err() {
            return Err(payload);
        }
        let Some(id) = self.queue.occupy(timer) else { return Err(payload) };
        let slot = id.index;
        if slot.at() >= self.payloads.len() && self.append_payloads(slot).is_err() {
            self.queue.vacate(slot);
            return Err(payload);
        }
        self.payloads[slot.at()] = Some(payload);
        self.live += 1;
        Ok((named(slot, id.generation, self.salt), slot))
    }

    /// Makes a place for the payload of a new slot.
    #[cold]
    fn append_payloads(&mut self, slot: Idx) -> Result<(), Full> {
        let places = slot.at() + 1;
        self.payloads.try_reserve(places - self.payloads.len()).map_err(|_| Full)?;
        self.payloads.resize_with(places, || None);
        Ok(())
    }

    /// Gives back a slot that is not linked; its id is stale from now on.
    #[inline]
    pub(super) fn vacate(&mut self, slot: Idx) -> Option<P> {
        self.live -= usize::from(self.queue.vacate(slot));
        self.take_payload(slot)
    }

    /// The payload of a timer that is not running.
    pub(super) fn payload(&self, slot: Idx) -> Option<&P> {
        self.payloads.get(slot.at())?.as_ref()
    }

    #[inline]
    pub(super) fn take_payload(&mut self, slot: Idx) -> Option<P> {
        self.payloads.get_mut(slot.at())?.take()
    }

    /// Puts the payload of a live timer back.
    pub(super) fn put_payload(&mut self, slot: Idx, payload: P) {
        self.payloads[slot.at()] = Some(payload);
    }

    pub(super) fn id(&self, slot: Idx) -> Option<TimerId> {
        self.queue.get(slot).map(|(generation, _)| named(slot, generation, self.salt))
    }

    /// The slot of a live timer.
    #[inline]
    pub(super) fn find(&self, id: TimerId) -> Option<Idx> {
        id.slot().filter(|&slot| self.id(slot) == Some(id))
    }

    /// The slot of a live timer, and its entry.
    #[inline]
    pub(super) fn find_mut(&mut self, id: TimerId) -> Option<(Idx, &mut Entry)> {
        let (slot, salt) = (id.slot()?, self.salt);
        let (generation, entry) = self.queue.get_mut(slot)?;
        (named(slot, generation, salt) == id).then_some((slot, entry))
    }

    pub(super) fn get(&self, slot: Idx) -> Option<&Entry> {
        self.queue.get(slot).map(|(_, entry)| entry)
    }

    /// The entry of a live timer.
    #[inline]
    pub(super) fn entry(&mut self, slot: Idx) -> &mut Entry {
        match self.queue.get_mut(slot) {
            Some((_, entry)) => entry,
            None => unreachable!("the queue and the set name live timers"),
        }
    }

    /// All slots, live or not, from number `from`.
    pub(super) fn slots(&self, from: usize) -> impl Iterator<Item = Idx> + use<P> {
        (from.max(1)..self.queue.slots()).filter_map(Idx::of)
    }

    /// All live slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Idx, &Entry)> + '_ {
        self.slots(0).filter_map(|slot| Some((slot, self.get(slot)?)))
    }

    /// Calls `change` with the entry of each live slot.
    pub(super) fn change_all(&mut self, mut change: impl FnMut(&mut Entry)) {
        for slot in self.slots(0) {
            if let Some((_, entry)) = self.queue.get_mut(slot) {
                change(entry);
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), Violation> {
        self.queue.check()?;
        if self.live == self.queue.live() { Ok(()) } else { Err(Violation::Storage) }
    }

    #[cfg(test)]
    pub(super) fn start_after(&mut self, last: u32) {
        self.queue.start_after(last);
    }

    #[cfg(test)]
    pub(super) fn salt(&self) -> u32 {
        self.salt
    }
}
