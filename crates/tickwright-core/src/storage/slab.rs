//! Slab storage: the queue owns the payloads and names them by keys with generations. Safe code only.
//!
//! # Layout
//! ```text
//!   index       0        1          2          3
//!   nodes   [ unused | record  | record   | vacant -> 1 ]     T-free: what the algorithm walks
//!   slots   [ unused | gen, T  | gen, T   | gen, free   ]     touched on insert, delivery and key check
//! ```
//! A slot is a generation and, while it is live, the payload. The generation of a live slot is never 0,
//! and the compiler keeps the live/free mark in that: a slot of a `u32` payload takes 8 bytes. A record that has room for it repeats the
//! generation of a live slot, so that a key is checked without a look at the slot. The free list runs through the records. When a slot has
//! used up its 2^32 - 1 generations it is retired (clause 11): a key is never valid twice.

#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::num::NonZeroU32;

use crate::contract::{
    Advance, Expired, HeadChange, KeyError, Order, Pending, Reject, Rejected, Tick, TimerQueue, Violation,
};
use crate::explain::Explanation;
use crate::storage::{Discipline, Family, Handle, InOrder, Nodes, Ordered, Popped, Record, RecordOf};

/// A slab index. Never 0, so that an optional index takes four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Idx(NonZeroU32);

impl Idx {
    #[inline]
    pub(crate) fn at(self) -> usize {
        self.0.get() as usize
    }

    /// The index of a cell; none for cell 0, and beyond the last one.
    #[inline]
    pub(crate) fn of(at: usize) -> Option<Self> {
        NonZeroU32::new(u32::try_from(at).ok()?).map(Self).filter(|_| at <= MOST)
    }
}

impl Handle for Idx {
    #[inline]
    fn number(self) -> u32 {
        self.0.get()
    }

    #[inline]
    fn from_number(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Self)
    }
}

/// Names one timer of a [`SlabQueue`]. Eight bytes; an optional key takes no more. Stale for ever once its timer
/// was delivered or removed. A key means nothing to another queue than its own: there it may be
/// stale or name another timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    index: Idx,
    generation: NonZeroU32,
}

impl Key {
    /// The key as a number that is never 0, for C programs and traces.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation.get()) << 32 | u64::from(self.index.0.get())
    }

    /// The key of [`to_bits`](Self::to_bits); `None` for a number that is no key (0 among them).
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        let index = NonZeroU32::new(u32::try_from(bits & u64::from(u32::MAX)).ok()?)?;
        let generation = NonZeroU32::new(u32::try_from(bits >> 32).ok()?)?;
        Some(Self { index: Idx(index), generation })
    }
}

/// The records of a slab; index 0 is never used.
#[derive(Debug)]
pub struct SlabNodes<R> {
    records: Vec<R>,
}

impl<R> Nodes<Idx, R> for SlabNodes<R> {
    #[inline]
    fn record(&self, p: Idx) -> &R {
        &self.records[p.at()]
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut R {
        &mut self.records[p.at()]
    }
}

/// One payload cell. `Free` keeps the last generation used.
#[derive(Debug)]
enum Slot<T> {
    Live { generation: NonZeroU32, value: T },
    Free { generation: u32 },
}

// The discriminant lives in the zero that a live generation never is.
const _: () = assert!(size_of::<Slot<u32>>() == 8);
const _: () = assert!(size_of::<Option<Key>>() == 8);

// An index must not lose bits as a `usize`: then a forged key could alias a real one.
const _: () = assert!(usize::BITS >= u32::BITS, "slab storage needs a 32-bit target; use HookQueue");

/// A timer queue that owns its payloads: family `F` over slab storage.
///
/// ```
/// use tickwright_core::{DaryHeap, SlabQueue, TimerQueue};
///
/// let mut queue: SlabQueue<DaryHeap<4>, &str> = SlabQueue::new();
/// let (tea, _) = queue.insert(300, "tea")?;
/// queue.insert(100, "egg")?;
/// queue.reschedule(tea, 50)?;
/// assert_eq!(queue.pop_expired(99).map(|t| t.value), Some("tea"));
/// assert_eq!(queue.next_wake(), Some(100));
/// assert!(queue.remove(tea).is_err(), "a delivered key is stale");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SlabQueue<F: Family, T> {
    order: F::Of<Idx>,
    nodes: SlabNodes<RecordOf<F, Idx>>,
    slots: Vec<Slot<T>>,
    free: Option<Idx>,
    /// Slots whose generations are used up.
    retired: usize,
    now: Tick,
    len: usize,
    limit: usize,
    first_generation: u32,
}

/// The most timers that a slab can hold: indices are `u32` and 0 is not used.
pub(crate) const MOST: usize = u32::MAX as usize - 1;

/// How many cells hold `total` values beside `retired` cells and cell 0. None when they could not be numbered.
pub(crate) fn cells_for(total: usize, retired: usize) -> Option<usize> {
    let cells = total.checked_add(retired)?;
    if cells <= MOST { Some(cells + 1) } else { None }
}

impl<F: Family, T> SlabQueue<F, T> {
    /// An empty queue that allocates when it grows.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            order: <F::Of<Idx> as Discipline<Idx>>::NEW,
            nodes: SlabNodes { records: Vec::new() },
            slots: Vec::new(),
            free: None,
            retired: 0,
            now: 0,
            len: 0,
            limit: MOST,
            first_generation: 0,
        }
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

    /// A queue that never holds more than `capacity` timers and never allocates on its own again: further
    /// inserts are refused with [`Reject::Full`].
    ///
    /// A slot that has served 2^32 - 1 timers is retired, and from then on the queue holds one less. To have it replaced,
    /// [`reserve`](Self::reserve) what is missing when it suits: that may allocate.
    ///
    /// # Errors
    /// As [`with_capacity`](Self::with_capacity).
    pub fn bounded(capacity: usize) -> Result<Self, Reject> {
        let mut queue = Self::with_capacity(capacity)?;
        queue.limit = capacity;
        Ok(queue)
    }

    /// As [`new`](Self::new), with new slots starting after generation `last`: for tests of retirement.
    #[doc(hidden)]
    #[must_use]
    pub fn with_last_generation(last: u32) -> Self {
        Self { first_generation: last, ..Self::new() }
    }

    /// Makes room for `additional` more timers, so that as many inserts allocate nothing.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no memory for it, or a bound is below it.
    pub fn reserve(&mut self, additional: usize) -> Result<(), Reject> {
        let total = self.len.checked_add(additional).ok_or(Reject::Full)?;
        if total > self.limit {
            return Err(Reject::Full);
        }
        if additional == 0 {
            return Ok(());
        }
        // Free slots serve first; retired ones and cell 0 serve nobody.
        let cells = cells_for(total, self.retired).ok_or(Reject::Full)?;
        let missing = cells.saturating_sub(self.slots.len());
        self.order.reserve(self.len, additional)?;
        self.nodes.records.try_reserve_exact(missing).map_err(|_| Reject::Full)?;
        self.slots.try_reserve_exact(missing).map_err(|_| Reject::Full)
    }

    /// The payload of a pending timer.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&T> {
        match self.slots.get(key.index.at()) {
            Some(Slot::Live { generation, value }) if *generation == key.generation => Some(value),
            _ => None,
        }
    }

    /// The payload of a pending timer, to change.
    #[must_use]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.slots.get_mut(key.index.at()) {
            Some(Slot::Live { generation, value }) if *generation == key.generation => Some(value),
            _ => None,
        }
    }

    /// The tick at which a pending timer is due.
    #[must_use]
    pub fn expiry(&self, key: Key) -> Option<Tick> {
        self.get(key)?;
        Some(self.order.expiry(&self.nodes, key.index))
    }

    /// Where a pending timer stands in the structure and when it moves next. The answer implements
    /// `Display`. Changes nothing; O(1).
    ///
    /// # Errors
    /// [`KeyError::Stale`] when no timer with this key is pending.
    pub fn explain(&self, key: Key) -> Result<Explanation, KeyError> {
        self.validate(key)?;
        Ok(self.order.explain(&self.nodes, key.index))
    }

    /// Every pending timer, in the order of their slots. O(slots).
    pub fn iter_unordered(&self) -> impl Iterator<Item = (Pending<Key>, &T)> + '_ {
        self.slots.iter().zip(0u32..).skip(1).filter_map(|(slot, at)| match slot {
            Slot::Live { generation, value } => {
                let index = Idx(NonZeroU32::new(at)?);
                let key = Key { index, generation: *generation };
                Some((Pending { key, expiry: self.order.expiry(&self.nodes, index) }, value))
            }
            Slot::Free { .. } => None,
        })
    }

    /// Every pending timer in the order in which they will be delivered.
    pub fn iter(&self) -> impl Iterator<Item = (Pending<Key>, &T)> + '_
    where
        F::Of<Idx>: Ordered<Idx>,
    {
        InOrder::new(&self.order, &self.nodes).filter_map(|p| match &self.slots[p.at()] {
            Slot::Live { generation, value } => {
                let key = Key { index: p, generation: *generation };
                Some((Pending { key, expiry: self.order.expiry(&self.nodes, p) }, value))
            }
            Slot::Free { .. } => None,
        })
    }

    /// Bytes that the queue holds on the heap, without what payloads own themselves.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.nodes.records.capacity() * size_of::<RecordOf<F, Idx>>()
            + self.slots.capacity() * size_of::<Slot<T>>()
            + self.order.heap_bytes()
    }

    /// As [`pop_expired`](TimerQueue::pop_expired), but moves at most `budget` timers inside the structure, which are taken from the budget. With nothing left of
    /// it the answer is `None`, although something may be due: call it again.
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
        let live = if RecordOf::<F, Idx>::STAMPED {
            let record = self.nodes.records.get(key.index.at());
            record.is_some_and(|record| record.stamp() == key.generation.get())
        } else {
            self.get(key).is_some()
        };
        if live { Ok(()) } else { Err(KeyError::Stale) }
    }

    fn pending(&self, p: Idx) -> Option<Pending<Key>> {
        match &self.slots[p.at()] {
            Slot::Live { generation, .. } => Some(Pending {
                key: Key { index: p, generation: *generation },
                expiry: self.order.expiry(&self.nodes, p),
            }),
            Slot::Free { .. } => None,
        }
    }

    /// Takes a slot from the free list, or grows by one.
    #[inline]
    fn occupy(&mut self, value: T) -> Result<Key, Rejected<T>> {
        if self.len >= self.limit || self.order.reserve(self.len, 1).is_err() {
            return Err(Rejected { reason: Reject::Full, value });
        }
        let index = match self.free {
            Some(index) => {
                self.free = self.nodes.record(index).next_vacant();
                index
            }
            None => match self.grow() {
                Some(index) => index,
                None => return Err(Rejected { reason: Reject::Full, value }),
            },
        };
        let slot = &mut self.slots[index.at()];
        // A free slot that is not retired has a successor to its generation.
        let last = match slot {
            Slot::Free { generation } => *generation,
            Slot::Live { generation, .. } => generation.get(),
        };
        let generation = NonZeroU32::MIN.saturating_add(last);
        *slot = Slot::Live { generation, value };
        self.len += 1;
        Ok(Key { index, generation })
    }

    #[cold]
    fn grow(&mut self) -> Option<Idx> {
        let used = self.nodes.records.len().max(1);
        if used > MOST {
            return None;
        }
        let missing = used + 1 - self.nodes.records.len();
        let room = self.nodes.records.capacity().min(self.slots.capacity());
        if self.limit < MOST && used + 1 > room {
            return None;
        }
        self.nodes.records.try_reserve(missing).ok()?;
        self.slots.try_reserve(missing).ok()?;
        for _ in 0..missing {
            self.nodes.records.push(Record::IDLE);
            self.slots.push(Slot::Free { generation: self.first_generation });
        }
        Some(Idx(NonZeroU32::new(u32::try_from(used).ok()?)?))
    }

    /// Puts the slot of an unlinked node back on the free list, or retires it, and hands its payload out.
    #[inline]
    fn vacate(&mut self, p: Idx) -> Option<(Key, T)> {
        let slot = &mut self.slots[p.at()];
        let Slot::Live { generation, .. } = *slot else { return None };
        let freed = mem::replace(slot, Slot::Free { generation: generation.get() });
        if generation < NonZeroU32::MAX {
            *self.nodes.record_mut(p) = Record::vacant(self.free);
            self.free = Some(p);
        } else {
            *self.nodes.record_mut(p) = Record::IDLE;
            self.retired += 1;
        }
        self.len -= 1;
        match freed {
            Slot::Live { value, .. } => Some((Key { index: p, generation }, value)),
            Slot::Free { .. } => None,
        }
    }

    #[inline(always)]
    fn pop_within(&mut self, budget: &mut usize) -> Option<Expired<Key, T>> {
        // That nothing is due is said often, and is to cost no call.
        let popped = self.order.pop(&mut self.nodes, self.now, budget)?;
        self.deliver(popped)
    }

    #[inline]
    fn deliver(&mut self, Popped { handle, deadline, expiry }: Popped<Idx>) -> Option<Expired<Key, T>> {
        let (key, value) = self.vacate(handle)?;
        Some(Expired { key, deadline, expiry, value })
    }
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
        self.len
    }

    #[inline]
    fn insert(&mut self, deadline: Tick, value: T) -> Result<(Key, HeadChange), Rejected<T>> {
        let key = self.occupy(value)?;
        let head = self.order.insert(&mut self.nodes, key.index, deadline, self.now);
        self.nodes.record_mut(key.index).set_stamp(key.generation.get());
        Ok((key, head))
    }

    #[inline]
    fn remove(&mut self, key: Key) -> Result<(T, HeadChange), KeyError> {
        self.validate(key)?;
        let head = self.order.remove(&mut self.nodes, key.index);
        let (_, value) = self.vacate(key.index).ok_or(KeyError::Stale)?;
        Ok((value, head))
    }

    #[inline]
    fn reschedule(&mut self, key: Key, deadline: Tick) -> Result<HeadChange, KeyError> {
        self.validate(key)?;
        Ok(self.order.reschedule(&mut self.nodes, key.index, deadline, self.now))
    }

    #[inline]
    fn peek(&self) -> Option<Pending<Key>> {
        self.pending(self.order.head(&self.nodes)?)
    }

    #[inline]
    fn second(&self) -> Option<Pending<Key>> {
        self.pending(self.order.second(&self.nodes)?)
    }

    #[inline]
    fn next_expiry(&self) -> Option<Tick> {
        self.order.next_expiry(&self.nodes)
    }

    #[inline]
    fn next_wake(&self) -> Option<Tick> {
        self.order.next_wake(&self.nodes)
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
        let p = self.order.due(&mut self.nodes, self.now, &mut unlimited)?;
        let expiry = self.order.expiry(&self.nodes, p);
        let Slot::Live { generation, value } = &self.slots[p.at()] else { return None };
        let key = Key { index: p, generation: *generation };
        let deadline = self.order.deadline(&self.nodes, p);
        let next = rearm(expiry, value);
        let _ = self.order.reschedule(&mut self.nodes, p, next, self.now);
        Some(Expired { key, deadline, expiry, value: () })
    }

    fn advance(&mut self, now: Tick, budget: usize, mut sink: impl FnMut(Expired<Key, T>)) -> Advance {
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
        /// Frees slot after slot; when a payload's drop panics, its own drop frees the rest while unwinding.
        struct Clearing<'q, F: Family, T> {
            queue: &'q mut SlabQueue<F, T>,
            next: u32,
        }
        impl<F: Family, T> Clearing<'_, F, T> {
            fn run(&mut self) {
                while (self.next as usize) < self.queue.slots.len() {
                    let index = NonZeroU32::new(self.next);
                    self.next += 1;
                    drop(index.and_then(|index| self.queue.vacate(Idx(index))));
                }
            }
        }
        impl<F: Family, T> Drop for Clearing<'_, F, T> {
            fn drop(&mut self) {
                self.run();
            }
        }
        self.order.clear();
        Clearing { queue: self, next: 1 }.run();
    }

    fn check(&self) -> Result<(), Violation> {
        self.order.check(&self.nodes, self.len)?;
        let mut reachable = 0;
        let mut all_live = true;
        self.order.for_each(&self.nodes, |p| {
            reachable += 1;
            all_live &= matches!(self.slots.get(p.at()), Some(Slot::Live { .. }));
        });
        if reachable != self.len {
            return Err(Violation::Count);
        }
        let live = self.slots.iter().filter(|slot| matches!(slot, Slot::Live { .. })).count();
        if !all_live || live != self.len || self.nodes.records.len() != self.slots.len() {
            return Err(Violation::Storage);
        }
        let stamp = |slot: &Slot<T>| match slot {
            Slot::Live { generation, .. } if RecordOf::<F, Idx>::STAMPED => generation.get(),
            _ => 0,
        };
        let stamped = self.nodes.records.iter().map(Record::stamp);
        if !stamped.eq(self.slots.iter().map(stamp)) {
            return Err(Violation::Storage);
        }
        self.check_free_list()
    }
}

impl<F: Family, T> SlabQueue<F, T> {
    /// Every free slot that is not retired is on the free list once, and the retired ones are counted.
    fn check_free_list(&self) -> Result<(), Violation> {
        let usable = |slot: &Slot<T>| matches!(slot, Slot::Free { generation } if *generation < u32::MAX);
        let expected = self.slots.iter().skip(1).filter(|slot| usable(slot)).count();
        if self.len + expected + self.retired != self.slots.len().saturating_sub(1) {
            return Err(Violation::Storage);
        }
        let mut found = 0;
        let mut next = self.free;
        while let Some(p) = next {
            found += 1;
            if found > expected || !self.slots.get(p.at()).is_some_and(usable) {
                return Err(Violation::Storage);
            }
            next = self.nodes.record(p).next_vacant();
        }
        if found == expected { Ok(()) } else { Err(Violation::Storage) }
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
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
