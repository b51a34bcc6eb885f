//! Slab storage: the queue owns the payloads and names them by keys with generations. Safe code
//! only.
//!
//! Records and payloads lie apart in an [`arena`](tickwright_nodes::arena): what the algorithm
//! walks does not depend on the payload's type. A record that has room for it repeats the
//! generation of a live slot, so that a key is checked without a look at the slot. A slot that has
//! used up its 2^32 - 1 generations is retired (clause 11): a key is never valid twice.

#![forbid(unsafe_code)]

use core::fmt;

pub use tickwright_nodes::arena::Idx;
use tickwright_nodes::arena::{Apart, Arena, Columns as _, Slot, SlotId};

use crate::contract::{
    Advance, Expired, HeadChange, Inserted, KeyError, Order, Pending, Reject, Rejected, Removed, Tick,
    TimerQueue, Violation,
};
use crate::explain::Explanation;
use crate::storage::inherent::contract_methods;
use crate::storage::{Discipline, Family, InOrder, Nodes, Ordered, Popped, Record};

/// Names one timer of a [`SlabQueue`]. Eight bytes; an optional key takes no more. Stale for ever
/// once its timer was delivered or removed. A key means nothing to another queue than its own:
/// there it may be stale or name another timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(SlotId);

impl Key {
    /// The key as a number that is never 0, for C programs and traces.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    /// The key of [`to_bits`](Self::to_bits); `None` for a number that is no key (0 among them).
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        SlotId::from_bits(bits).map(Self)
    }
}

const _: () = assert!(size_of::<Option<Key>>() == 8);

/// The record that family `F` keeps for each timer.
type RecordOf<F> = <<F as Family>::Of<Idx> as Discipline<Idx>>::Record;

/// A timer queue that owns its payloads: family `F` over slab storage.
///
/// ```
/// use tickwright_core::{DaryHeap, SlabQueue};
///
/// let mut queue: SlabQueue<DaryHeap<4>, &str> = SlabQueue::new();
/// let tea = queue.insert(300, "tea")?.key;
/// queue.insert(100, "egg")?;
/// let _ = queue.reschedule(tea, 50)?; // this program sets no alarm
/// assert!(queue.expired(99).map(|timer| timer.value).eq(["tea"]));
/// assert_eq!(queue.next_wake(), Some(100));
/// assert!(queue.remove(tea).is_err(), "a delivered key is stale");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SlabQueue<F: Family, T> {
    order: F::Of<Idx>,
    arena: Arena<Apart<RecordOf<F>, T>>,
    now: Tick,
}

impl<F: Family, T> SlabQueue<F, T> {
    /// An empty queue that allocates when it grows.
    #[must_use]
    pub const fn new() -> Self {
        Self::starting_after(0)
    }

    const fn starting_after(last: u32) -> Self {
        let arena = Arena::starting_after(last, Apart::EMPTY);
        Self { order: <F::Of<Idx> as Discipline<Idx>>::NEW, arena, now: 0 }
    }

    /// An empty queue with room for `capacity` timers; up to that many it allocates nothing more.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no memory for it, or the family is bounded below it.
    pub fn with_capacity(capacity: usize) -> Result<Self, Reject> {
        let mut queue = Self::new();
        queue.reserve(capacity)?;
        Ok(queue)
    }

    /// A queue that never holds more than `capacity` timers and never allocates on its own again:
    /// further inserts are refused with [`Reject::Full`].
    ///
    /// A slot that has served 2^32 - 1 timers is retired, and from then on the queue holds one
    /// less. To have it replaced, [`reserve`](Self::reserve) what is missing when it suits: that
    /// may allocate.
    ///
    /// # Errors
    /// As [`with_capacity`](Self::with_capacity).
    pub fn bounded(capacity: usize) -> Result<Self, Reject> {
        let mut queue = Self::with_capacity(capacity)?;
        queue.arena.bound(capacity);
        Ok(queue)
    }

    /// As [`new`](Self::new), with new slots starting after generation `last`: for tests of
    /// retirement.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_last_generation(last: u32) -> Self {
        Self::starting_after(last)
    }

    /// Makes room for `additional` more timers, so that as many inserts allocate nothing.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no memory for it, or a bound is below it.
    pub fn reserve(&mut self, additional: usize) -> Result<(), Reject> {
        self.arena.missing(additional)?;
        if additional == 0 {
            return Ok(());
        }
        self.order.reserve(self.len(), additional)?;
        Ok(self.arena.reserve(additional)?)
    }

    /// Whether a timer with this key is pending. O(1).
    #[must_use]
    #[inline]
    pub fn contains(&self, key: Key) -> bool {
        self.validate(key).is_ok()
    }

    /// Removes the timers for which `keep` returns false. Returns whether the next wake-up changed.
    ///
    /// `keep` is called once for each pending timer, in the order of their slots. If it panics, the
    /// timers removed so far are gone and the others stay: ask for `next_wake()` then. O(slots),
    /// and a [`remove`](Self::remove) for each timer that goes.
    pub fn retain(&mut self, mut keep: impl FnMut(Pending<Key>, &mut T) -> bool) -> HeadChange {
        let mut head = HeadChange::Same;
        for at in 0..self.arena.columns.len() {
            let Some(id) = self.arena.id_at(at) else { continue };
            let pending = self.with_expiry(id);
            if self.arena.get_mut(id).is_some_and(|value| !keep(pending, value))
                && let Ok(Removed { head: HeadChange::Changed, .. }) = self.remove(pending.key)
            {
                head = HeadChange::Changed;
            }
        }
        head
    }

    /// The payload of a pending timer.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&T> {
        self.arena.get(key.0)
    }

    /// The payload of a pending timer, to change.
    #[must_use]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.arena.get_mut(key.0)
    }

    /// The tick at which a pending timer is due.
    #[must_use]
    pub fn expiry(&self, key: Key) -> Option<Tick> {
        self.get(key)?;
        Some(self.order.expiry(&self.arena.columns.records, key.0.index))
    }

    /// Where a pending timer stands in the structure and when it moves next. The answer implements
    /// `Display`. Changes nothing; O(1).
    ///
    /// # Errors
    /// [`KeyError::Stale`] when no timer with this key is pending.
    pub fn explain(&self, key: Key) -> Result<Explanation, KeyError> {
        self.validate(key)?;
        Ok(self.order.explain(&self.arena.columns.records, key.0.index))
    }

    /// Every pending timer, in the order of their slots. O(slots).
    pub fn iter_unordered(&self) -> impl Iterator<Item = (Pending<Key>, &T)> + '_ {
        self.arena.iter().map(|(id, value)| (self.with_expiry(id), value))
    }

    /// Every pending timer in the order in which they will be delivered.
    pub fn iter(&self) -> impl Iterator<Item = (Pending<Key>, &T)> + '_
    where
        F::Of<Idx>: Ordered<Idx>,
    {
        InOrder::new(&self.order, &self.arena.columns.records).filter_map(|p| {
            let (id, value) = self.arena.live(p)?;
            Some((self.with_expiry(id), value))
        })
    }

    /// Bytes that the queue holds on the heap, without what payloads own themselves.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.arena.columns.heap_bytes() + self.order.heap_bytes()
    }

    /// As [`pop_expired`](Self::pop_expired), but moves at most `budget` timers inside the
    /// structure, which are taken from the budget. With nothing left of it the answer is `None`,
    /// although something may be due: call it again.
    pub fn pop_expired_within(&mut self, now: Tick, budget: &mut usize) -> Option<Expired<Key, T>> {
        self.now = self.now.max(now);
        self.pop_within(budget)
    }

    /// The structure itself, for a family that sets it up.
    pub(crate) fn order_mut(&mut self) -> &mut F::Of<Idx> {
        &mut self.order
    }

    #[inline]
    fn validate(&self, key: Key) -> Result<(), KeyError> {
        let live = if RecordOf::<F>::STAMPED {
            let record = self.arena.columns.records.get(key.0.index.at());
            record.is_some_and(|record| record.stamp() == key.0.generation.get())
        } else {
            self.get(key).is_some()
        };
        if live { Ok(()) } else { Err(KeyError::Stale) }
    }

    #[inline]
    fn with_expiry(&self, id: SlotId) -> Pending<Key> {
        Pending { key: Key(id), expiry: self.order.expiry(&self.arena.columns.records, id.index) }
    }

    fn pending(&self, p: Idx) -> Option<Pending<Key>> {
        self.arena.live(p).map(|(id, _)| self.with_expiry(id))
    }

    #[inline(always)]
    fn pop_within(&mut self, budget: &mut usize) -> Option<Expired<Key, T>> {
        // The common answer is "nothing is due", so that check is inlined.
        let popped = self.order.pop(&mut self.arena.columns.records, self.now, budget)?;
        self.deliver(popped)
    }

    #[inline]
    fn deliver(&mut self, Popped { handle, deadline, expiry }: Popped<Idx>) -> Option<Expired<Key, T>> {
        let (id, value) = self.arena.vacate(handle)?;
        Some(Expired { key: Key(id), deadline, expiry, value })
    }
}

/// The contract.
impl<F: Family, T> SlabQueue<F, T> {
    contract_methods!(key Key, value T);
}

impl<F: Family, T> TimerQueue for SlabQueue<F, T> {
    type Key = Key;
    type Value = T;
    const ORDER: Order = <F::Of<Idx> as Discipline<Idx>>::ORDER;

    #[inline]
    fn now(&self) -> Tick {
        self.now
    }

    #[inline]
    fn len(&self) -> usize {
        self.arena.len()
    }

    #[inline]
    fn insert(&mut self, deadline: Tick, value: T) -> Result<Inserted<Key>, Rejected<T>> {
        // A full slab grows no buffer of the family.
        if self.arena.is_full() || self.order.reserve(self.arena.len(), 1).is_err() {
            return Err(Rejected { reason: Reject::Full, value });
        }
        let id = match self.arena.occupy(value) {
            Ok(id) => id,
            Err(value) => return Err(Rejected { reason: Reject::Full, value }),
        };
        let records = &mut self.arena.columns.records;
        let head = self.order.insert(records, id.index, deadline, self.now);
        records.record_mut(id.index).set_stamp(id.generation.get());
        Ok(Inserted { key: Key(id), head })
    }

    #[inline]
    fn remove(&mut self, key: Key) -> Result<Removed<T>, KeyError> {
        self.validate(key)?;
        let head = self.order.remove(&mut self.arena.columns.records, key.0.index);
        let (_, value) = self.arena.vacate(key.0.index).ok_or(KeyError::Stale)?;
        Ok(Removed { value, head })
    }

    #[inline]
    fn reschedule(&mut self, key: Key, deadline: Tick) -> Result<HeadChange, KeyError> {
        self.validate(key)?;
        Ok(self.order.reschedule(&mut self.arena.columns.records, key.0.index, deadline, self.now))
    }

    #[inline]
    fn peek(&self) -> Option<Pending<Key>> {
        self.pending(self.order.head(&self.arena.columns.records)?)
    }

    #[inline]
    fn second(&self) -> Option<Pending<Key>> {
        self.pending(self.order.second(&self.arena.columns.records)?)
    }

    #[inline]
    fn next_expiry(&self) -> Option<Tick> {
        self.order.next_expiry(&self.arena.columns.records)
    }

    #[inline]
    fn next_wake(&self) -> Option<Tick> {
        self.order.next_wake(&self.arena.columns.records)
    }

    #[inline]
    fn pop_expired(&mut self, now: Tick) -> Option<Expired<Key, T>> {
        self.now = self.now.max(now);
        let mut unlimited = usize::MAX;
        self.pop_within(&mut unlimited)
    }

    #[inline]
    fn pop_and_reinsert(
        &mut self,
        now: Tick,
        rearm: impl FnOnce(Tick, &T) -> Tick,
    ) -> Option<Expired<Key, ()>> {
        self.now = self.now.max(now);
        let mut unlimited = usize::MAX;
        let p = self.order.due(&mut self.arena.columns.records, self.now, &mut unlimited)?;
        let expiry = self.order.expiry(&self.arena.columns.records, p);
        let (id, value) = self.arena.live(p)?;
        let deadline = self.order.deadline(&self.arena.columns.records, p);
        let next = rearm(expiry, value);
        let _ = self.order.reschedule(&mut self.arena.columns.records, p, next, self.now);
        Some(Expired { key: Key(id), deadline, expiry, value: () })
    }

    fn advance_within(&mut self, now: Tick, budget: usize, mut sink: impl FnMut(Expired<Key, T>)) -> Advance {
        self.now = self.now.max(now);
        let (mut left, mut delivered) = (budget, 0);
        while let Some(expired) = self.pop_within(&mut left) {
            left -= 1;
            delivered += 1;
            sink(expired);
        }
        let complete = self.next_wake().is_none_or(|wake| wake > self.now);
        Advance { delivered, moved: budget - left - delivered, complete }
    }

    fn clear(&mut self) {
        self.order.clear();
        self.arena.clear();
    }

    fn check(&self) -> Result<(), Violation> {
        let columns = &self.arena.columns;
        self.order.check(&columns.records, self.len())?;
        let mut reachable = 0;
        let mut all_live = true;
        self.order.for_each(&columns.records, |p| {
            reachable += 1;
            all_live &= self.arena.live(p).is_some();
        });
        if reachable != self.len() {
            return Err(Violation::Count);
        }
        self.arena.check()?;
        let stamp = |slot: &Slot<T>| match slot {
            Slot::Live { generation, .. } if RecordOf::<F>::STAMPED => generation.get(),
            _ => 0,
        };
        // It compares their lengths too.
        let stamped = columns.records.iter().map(Record::stamp);
        if all_live && stamped.eq(columns.slots.iter().map(stamp)) { Ok(()) } else { Err(Violation::Storage) }
    }
}

impl<F: Family, T> Default for SlabQueue<F, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Family, T> fmt::Debug for SlabQueue<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlabQueue")
            .field("family", &F::ID)
            .field("now", &self.now)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
