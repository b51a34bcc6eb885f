//! Slab storage: the queue owns the payloads and names them by keys with generations. Safe code
//! only.
//!
//! Records and payloads lie in an [`arena`](tickwright_nodes::arena). The family's
//! [`layout`](super::layout) decides whether a record lies beside its payload or apart from it. A
//! slot that has used up its 2^32 - 1 generations is retired (clause 11), so no key is ever valid
//! twice.

#![forbid(unsafe_code)]

use alloc::collections::TryReserveError;
use core::fmt;

pub use tickwright_nodes::arena::Idx;
use tickwright_nodes::arena::{Arena, Columns, SlotId};

use crate::contract::{
    Advance, Exact, Expired, HeadChange, Inserted, KeyError, Order, Pending, Reject, Rejected, Removed, Tick,
    TimerQueue, Violation,
};
use crate::explain::Explanation;
use crate::storage::layout::Layout;
use crate::storage::shell::timer_queue;
use crate::storage::{Discipline, Due, Family, Nodes, Ordered, sorted};

/// Names one timer of a [`SlabQueue`]. A key takes eight bytes; an optional key takes no more. The
/// key is stale for ever once its timer was delivered or removed. A key is valid only in its own
/// queue: in another queue it may be stale or name another timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(SlotId);

impl Key {
    /// The key as a number that is never 0, for C programs and traces.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    /// The key that [`to_bits`](Self::to_bits) returned as this number. Returns `None` for a number
    /// that is no key (0 among them).
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        SlotId::from_bits(bits).map(Self)
    }
}

const _: () = assert!(size_of::<Option<Key>>() == 8);

/// The record that family `F` keeps for each timer.
type RecordOf<F> = <<F as Family>::Of<Idx> as Discipline<Idx>>::Record;

/// The records of family `F`, and the payloads.
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

    /// An empty queue with room for `capacity` timers. It allocates nothing more for that many
    /// timers.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no memory for them, or when the family's bound is lower.
    pub fn with_capacity(capacity: usize) -> Result<Self, Reject> {
        let mut queue = Self::new();
        queue.reserve(capacity)?;
        Ok(queue)
    }

    /// A queue that holds at most `capacity` timers and never allocates on its own again. Further
    /// inserts are refused with [`Reject::Full`].
    ///
    /// A slot that has served 2^32 - 1 timers is retired; each retired slot lowers the capacity by
    /// one. To replace it, call [`reserve`](Self::reserve) at a convenient time: that may allocate.
    ///
    /// # Errors
    /// As [`with_capacity`](Self::with_capacity).
    pub fn bounded(capacity: usize) -> Result<Self, Reject> {
        let mut queue = Self::with_capacity(capacity)?;
        queue.arena.bound(capacity);
        Ok(queue)
    }

    /// Like [`new`](Self::new), but new slots start after generation `last`: for tests of
    /// retirement.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_last_generation(last: u32) -> Self {
        let arena = Arena::starting_after(last, Columns::EMPTY);
        Self { order: <F::Of<Idx> as Discipline<Idx>>::NEW, arena, now: 0 }
    }

    /// Makes room for `additional` more timers, so that the next `additional` inserts allocate
    /// nothing.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no memory for them, or when the queue's bound is lower.
    pub fn reserve(&mut self, additional: usize) -> Result<(), Reject> {
        self.arena.missing(additional)?;
        if additional == 0 {
            return Ok(());
        }
        self.order.reserve(self.len(), additional)?;
        Ok(self.arena.reserve(additional)?)
    }

    /// Removes the timers for which `keep` returns false. Returns whether the next wake-up changed.
    ///
    /// It calls `keep` once for each pending timer, in the order of their slots. If `keep` panics,
    /// the timers removed so far are gone and the others stay: read `next_wake()` then. It costs
    /// O(slots), and a [`remove`](Self::remove) for each removed timer.
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

    /// Returns the payload of a pending timer, for changes.
    #[must_use]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.arena.get_mut(key.0)
    }

    /// Begins to fetch the memory of the timer that `key` names, and does not wait for it. Changes
    /// nothing, for any key. One or two instructions; on targets without a prefetch, none.
    ///
    /// Among a million timers, a re-arm or a removal mostly waits until the timer's memory is in
    /// the cache. A caller that knows its next keys gives them some eight operations ahead, so that
    /// these waits overlap:
    ///
    /// ```
    /// use tickwright_core::{DefaultQueue, Key};
    ///
    /// /// All connections that were heard of in one turn of the event loop.
    /// fn heard(queue: &mut DefaultQueue<u32>, connections: &[Key], deadline: u64) {
    ///     for (i, &key) in connections.iter().enumerate() {
    ///         if let Some(&soon) = connections.get(i + 8) {
    ///             queue.hint(soon);
    ///         }
    ///         let _ = queue.reschedule(key, deadline); // stale: the connection has timed out
    ///     }
    /// }
    /// # let mut queue = DefaultQueue::new();
    /// # let keys: Vec<Key> = (0..20).map(|i| queue.insert(5, i).unwrap().key).collect();
    /// # heard(&mut queue, &keys, 70);
    /// # assert_eq!(queue.next_expiry(), Some(70));
    /// ```
    #[inline]
    pub fn hint(&self, key: Key) {
        self.arena.columns.nodes().prefetch(Some(key.0.index));
    }

    /// A pending timer that leaves about `k` timers after the head, and its value. It is a hint, and
    /// the timer may leave much earlier or later. Returns `None` if fewer timers are near, or if the
    /// structure would have to search. Changes nothing. O(1).
    ///
    /// Among a million timers, a caller's own object of a timer is seldom in the cache when the
    /// timer is delivered. A caller that gets each object some eight deliveries ahead from memory
    /// does not wait for it:
    ///
    /// ```
    /// use tickwright_core::DefaultQueue;
    ///
    /// struct Connection(u64);
    ///
    /// fn expire(queue: &mut DefaultQueue<usize>, connections: &mut [Connection], now: u64) {
    ///     while let Some(timer) = queue.pop_expired(now) {
    ///         if let Some((_, &soon)) = queue.upcoming(8) {
    ///             core::hint::black_box(connections[soon].0); // or a prefetch
    ///         }
    ///         connections[timer.value].0 += 1;
    ///     }
    /// }
    /// # let mut queue = DefaultQueue::new();
    /// # let mut connections: Vec<_> = (0..20).map(Connection).collect();
    /// # for i in 0..20 { queue.insert(i, i as usize).unwrap(); }
    /// # expire(&mut queue, &mut connections, 30);
    /// # assert!(queue.is_empty());
    /// ```
    ///
    /// | structure | what it returns |
    /// |---|---|
    /// | ladder | exactly the timer `k` places after the head, up to the end of its sorted run |
    /// | flat | exactly the timer `k` places after the head |
    /// | heaps, fixed delay | a timer near the root, or the first timer of a delay |
    /// | lists, trees, wheels | `None`: they would follow links from timer to timer |
    #[inline]
    #[must_use]
    pub fn upcoming(&self, k: usize) -> Option<(Key, &T)> {
        let (id, value) = self.arena.live(self.order.upcoming(k)?)?;
        Some((Key(id), value))
    }

    /// Iterates over all pending timers, in the order of their slots. O(slots).
    pub fn iter_unordered(&self) -> impl Iterator<Item = (Pending<Key>, &T)> + '_ {
        self.arena.iter().filter_map(|(id, value)| Some((self.pending(id.index)?, value)))
    }

    /// Iterates over all pending timers in the order of delivery.
    pub fn iter(&self) -> impl Iterator<Item = (Pending<Key>, &T)> + '_
    where
        F::Of<Idx>: Ordered<Idx>,
    {
        self.order
            .in_order(self.arena.columns.nodes())
            .filter_map(|p| Some((self.pending(p)?, self.arena.live(p)?.1)))
    }

    /// Iterates over all pending timers in the order of delivery, whatever the structure: by
    /// expiry, and among equals by arrival. The queue stays as it is. O(n log n), and it allocates
    /// 24 bytes a timer for the time of the iteration.
    ///
    /// ```
    /// use tickwright_core::{DefaultQueue, SlabQueue};
    ///
    /// let mut queue: DefaultQueue<&str> = SlabQueue::new();
    /// queue.insert(300, "tea")?;
    /// queue.insert(100, "egg")?;
    /// queue.insert(300, "toast")?;
    /// assert!(queue.iter_sorted()?.map(|(_, &value)| value).eq(["egg", "tea", "toast"]));
    /// assert_eq!(queue.len(), 3);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TryReserveError`]: there is no memory for the sorted order.
    pub fn iter_sorted(&self) -> Result<impl Iterator<Item = (Pending<Key>, &T)> + '_, TryReserveError> {
        let nodes = sorted(&self.order, self.arena.columns.nodes(), self.len())?;
        Ok(nodes.filter_map(|p| Some((self.pending(p)?, self.arena.live(p)?.1))))
    }

    /// The bytes that the queue has allocated, without what payloads own themselves.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.arena.columns.heap_bytes() + self.order.heap_bytes()
    }

    /// Like [`pop_expired`](Self::pop_expired), but moves at most `budget` timers inside the
    /// structure, and subtracts them from the budget. When the budget is used up, it returns `None`
    /// although a timer may be due: call it again.
    pub fn pop_expired_within(&mut self, now: Tick, budget: &mut usize) -> Option<Expired<Key, T>> {
        self.now = self.now.max(now);
        self.pop_within(budget)
    }

    #[inline]
    fn find(&self, key: &Key) -> Result<Idx, KeyError> {
        if self.get(*key).is_some() { Ok(key.0.index) } else { Err(KeyError::Stale) }
    }

    #[inline]
    fn key(&self, p: Idx) -> Option<Key> {
        self.arena.live(p).map(|(id, _)| Key(id))
    }

    #[inline]
    fn accept(&mut self, deadline: Tick, value: T) -> Result<Inserted<Key>, Rejected<T>> {
        // If the slab is full, no buffer of the family grows.
        if self.arena.is_full() || self.order.reserve(self.arena.len(), 1).is_err() {
            return Err(Rejected { reason: Reject::Full, value });
        }
        let id = match self.arena.occupy(value) {
            Ok(id) => id,
            Err(value) => return Err(Rejected { reason: Reject::Full, value }),
        };
        let records = self.arena.columns.nodes_mut();
        let head = self.order.insert(records, id.index, deadline, self.now);
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
        // The queue forgets the records before it drops values, since a drop may panic.
        self.arena.columns.forget();
        self.arena.clear();
    }

    fn check_memory(&self, all_live: bool) -> Result<(), Violation> {
        self.arena.check()?;
        if all_live { Ok(()) } else { Err(Violation::Storage) }
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
