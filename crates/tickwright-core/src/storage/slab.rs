//! Slab storage: the queue owns the payloads and names them by keys with generations. Safe code
//! only.
//!
//! Records and payloads lie in an [`arena`](tickwright_nodes::arena), each record beside its payload
//! or away from it: the family's [`layout`](super::layout) says which. A record repeats the
//! generation of a live slot if it has room for it. So a key is checked without a look at the slot.
//! A slot that has used up its 2^32 - 1 generations is retired (clause 11): a key is never valid
//! twice.

#![forbid(unsafe_code)]

use core::fmt;

pub use tickwright_nodes::arena::Idx;
use tickwright_nodes::arena::{Arena, Columns, Slot, SlotId};

use crate::contract::{
    Advance, Expired, HeadChange, Inserted, KeyError, Order, Pending, Reject, Rejected, Removed, Tick,
    TimerQueue, Violation,
};
use crate::explain::Explanation;
use crate::storage::layout::Layout;
use crate::storage::shell::timer_queue;
use crate::storage::{Discipline, Family, Nodes, Ordered, Record, in_order};

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

/// Records of family `F` and payloads.
type ColumnsOf<F, T> = <<F as Family>::Layout as Layout>::Columns<RecordOf<F>, T>;

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
    pub(crate) order: F::Of<Idx>,
    arena: Arena<ColumnsOf<F, T>>,
    now: Tick,
}

impl<F: Family, T> SlabQueue<F, T> {
    /// An empty queue that allocates when it grows.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_last_generation(0)
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

    /// Like [`new`](Self::new), with new slots starting after generation `last`: for tests of
    /// retirement.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_last_generation(last: u32) -> Self {
        let arena = Arena::starting_after(last, Columns::EMPTY);
        Self { order: <F::Of<Idx> as Discipline<Idx>>::NEW, arena, now: 0 }
    }

    /// Makes room for `additional` more timers, so that as many inserts allocate nothing.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no memory for it, or a bound is below it.
    pub fn reserve(&mut self, additional: usize) -> Result<(), Reject> {
        let missing = self.arena.missing(additional)?;
        if additional == 0 {
            return Ok(());
        }
        self.order.reserve(self.len(), additional)?;
        // Slot 0 is there from the first insert on.
        self.order.cover(self.arena.columns.len().saturating_add(missing).saturating_add(1))?;
        Ok(self.arena.reserve(additional)?)
    }

    /// Removes the timers for which `keep` returns false. Returns whether the next wake-up changed.
    ///
    /// `keep` is called once for each pending timer, in the order of their slots. If it panics, the
    /// timers removed so far are gone and the others stay: ask for `next_wake()` then. O(slots),
    /// and a [`remove`](Self::remove) for each timer that goes.
    pub fn retain(&mut self, mut keep: impl FnMut(Pending<Key>, &mut T) -> bool) -> HeadChange {
        let mut head = HeadChange::Same;
        for at in 0..self.arena.columns.len() {
            let Some(pending) = Idx::of(at).and_then(|p| self.pending(p)) else { continue };
            if self.get_mut(pending.key).is_some_and(|value| !keep(pending, value))
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

    /// Every pending timer, in the order of their slots. O(slots).
    pub fn iter_unordered(&self) -> impl Iterator<Item = (Pending<Key>, &T)> + '_ {
        self.arena.iter().filter_map(|(id, value)| Some((self.pending(id.index)?, value)))
    }

    /// Every pending timer in the order in which they will be delivered.
    pub fn iter(&self) -> impl Iterator<Item = (Pending<Key>, &T)> + '_
    where
        F::Of<Idx>: Ordered<Idx>,
    {
        in_order(&self.order, self.arena.columns.nodes())
            .filter_map(|p| Some((self.pending(p)?, self.arena.live(p)?.1)))
    }

    /// Bytes that the queue holds on the heap, without what payloads own themselves.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.arena.columns.heap_bytes() + self.order.heap_bytes()
    }

    /// Like [`pop_expired`](Self::pop_expired), but moves at most `budget` timers inside the
    /// structure, which are taken from the budget. With nothing left of it the answer is `None`,
    /// although something may be due: call it again.
    pub fn pop_expired_within(&mut self, now: Tick, budget: &mut usize) -> Option<Expired<Key, T>> {
        self.now = self.now.max(now);
        self.pop_within(budget)
    }

    #[inline]
    fn find(&self, key: &Key) -> Result<Idx, KeyError> {
        let SlotId { index, generation } = key.0;
        let live = if RecordOf::<F>::STAMPED {
            let record = self.arena.columns.record_at(index.at());
            record.is_some_and(|record| record.stamp() == generation.get())
        } else {
            self.get(*key).is_some()
        };
        if live { Ok(index) } else { Err(KeyError::Stale) }
    }

    #[inline]
    fn key(&self, p: Idx) -> Option<Key> {
        self.arena.live(p).map(|(id, _)| Key(id))
    }

    #[inline]
    fn accept(&mut self, deadline: Tick, value: T) -> Result<Inserted<Key>, Rejected<T>> {
        // A full slab grows no buffer of the family.
        // Slot 0 and one more may be appended.
        if self.arena.is_full()
            || self.order.reserve(self.arena.len(), 1).is_err()
            || self.order.cover(self.arena.columns.len() + 2).is_err()
        {
            return Err(Rejected { reason: Reject::Full, value });
        }
        let id = match self.arena.occupy(value) {
            Ok(id) => id,
            Err(value) => return Err(Rejected { reason: Reject::Full, value }),
        };
        let records = self.arena.columns.nodes_mut();
        let head = self.order.insert(records, id.index, deadline, self.now);
        // The family has written the record; its stamp is the shell's.
        records.record_mut(id.index).set_stamp(id.generation.get());
        Ok(Inserted { key: Key(id), head })
    }

    #[inline]
    fn release(&mut self, p: Idx) -> Option<(Key, T)> {
        self.arena.vacate(p).map(|(id, value)| (Key(id), value))
    }

    #[inline]
    fn rearm(&self, p: Idx, when: impl FnOnce(&T) -> Tick) -> Option<(Key, Tick)> {
        self.arena.live(p).map(|(id, value)| (Key(id), when(value)))
    }

    fn release_all(&mut self) {
        self.order.clear();
        // The records are forgotten before values are dropped, since a drop may panic.
        self.arena.columns.forget();
        self.arena.clear();
    }

    fn check_memory(&self, all_live: bool) -> Result<(), Violation> {
        self.arena.check()?;
        let stamp = |slot: &Slot<T>| match slot {
            Slot::Live { generation, .. } if RecordOf::<F>::STAMPED => generation.get(),
            _ => 0,
        };
        let columns = &self.arena.columns;
        let stamped = (0..columns.len())
            .all(|at| columns.record_at(at).map(Record::stamp) == columns.slot(at).map(stamp));
        if all_live && stamped { Ok(()) } else { Err(Violation::Storage) }
    }
}

timer_queue! {
    impl [F: Family, T] SlabQueue<F, T>;
    key Key, value T, handle Idx,
    nodes arena.columns,
    named by key: Key,
    count arena.len()
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
