//! Slab storage: the queue owns the payloads and returns keys with generations to name them. The
//! queue allocates slots as it grows ([`SlabQueue`]), or contains a fixed number of slots
//! ([`InlineQueue`]). The file has no unsafe code.
//!
//! Records and payloads are in an [`arena`](tickwright_nodes::arena). The family's
//! [`layout`](crate::layout) decides whether a record is adjacent to its payload or in another
//! array. A slot that has used up its 2^31 - 1 generations is retired (clause 11), so a stale key
//! never becomes valid again.

#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
use alloc::collections::TryReserveError;
use core::fmt;
use core::marker::PhantomData;

pub use tickwright_nodes::arena::Idx;
use tickwright_nodes::arena::{Arena, Columns, Inline, SlotId};

use crate::contract::{Exact, Expired, HeadChange, KeyError, Pending, Reject, Rejected, Tick, Violation};
#[cfg(feature = "alloc")]
use crate::layout::Layout;
use crate::queue::store::{Store, sealed};
use crate::queue::{Driven, Queue};
#[cfg(feature = "alloc")]
use crate::structure::sorted;
use crate::structure::{Discipline, Due, Family, Nodes, Ordered};

/// Names one timer of a [`SlabQueue`]. A key takes eight bytes, and so does an `Option<Key>`. When
/// its timer has left the queue, the key is stale forever. A key is valid only in the queue that
/// returned it. In another queue the key is stale or names another timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(SlotId);

impl Key {
    /// Returns the key as a number that is never 0, for use in C programs, in traces, or as the
    /// data word of epoll.
    #[inline]
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    /// Returns the key for which [`to_bits`](Self::to_bits) returned `bits`. Returns `None` for a
    /// number that does not stand for a key, such as 0.
    #[inline]
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        SlotId::from_bits(bits).map(Self)
    }
}

const _: () = assert!(size_of::<Option<Key>>() == 8);

/// The record that family `F` has for each timer.
type RecordOf<F> = <<F as Family>::Of<Idx> as Discipline<Idx>>::Record;

/// The records of family `F`, and the payloads.
#[cfg(feature = "alloc")]
pub(crate) type ColumnsOf<F, T> = <<F as Family>::Layout as Layout>::Columns<RecordOf<F>, T>;

/// A timer queue that owns its payloads: family `F` over slab storage.
///
/// ```
/// use tickwright_core::{DaryHeap, SlabQueue};
///
/// let mut queue: SlabQueue<DaryHeap<4>, &str> = SlabQueue::new();
/// let tea = queue.insert(300, "tea")?;
/// queue.insert(100, "egg")?;
/// queue.reschedule(tea, 50)?;
/// assert!(queue.expired(99).map(|timer| timer.value).eq(["tea"]));
/// assert_eq!(queue.next_wake(), Some(100));
/// assert!(queue.remove(tea).is_err(), "a delivered key is stale");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "alloc")]
pub type SlabQueue<F, T> = Queue<Slab<F, T, ColumnsOf<F, T>>>;

/// A timer queue that owns its payloads, in `N` slots that are part of the queue, so it needs no
/// allocator. `F` is the family. When all slots are in use, an insert is refused with
/// [`Reject::Full`].
///
/// An `InlineQueue` has every operation of [`SlabQueue`] that needs no allocator, including the
/// operations on idle timers. In most families an empty queue is all zeros, so a static queue takes
/// no flash.
///
/// A slot is never retired, because no other slot could replace it. Clause 11 therefore holds for a
/// key only until 2^31 - 1 further timers have used its slot; after that, the key can name another
/// timer.
///
/// ```
/// use tickwright_core::{InlineQueue, SortedList};
///
/// let mut queue: InlineQueue<SortedList, &str, 2> = InlineQueue::new();
/// let reply = queue.insert_idle("reply")?;
/// queue.arm(reply, 100)?;
/// queue.insert(40, "blink")?;
/// assert!(queue.insert(7, "no room").is_err());
/// assert_eq!(queue.pop_expired(40).map(|timer| timer.value), Some("blink"));
/// assert_eq!(queue.pop_and_keep(100).map(|timer| timer.key), Some(reply));
/// assert!(queue.is_idle(reply), "its key and its slot stay");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub type InlineQueue<F, T, const N: usize> = Queue<InlineSlots<F, T, N>>;

/// The store of an [`InlineQueue`].
pub type InlineSlots<F, T, const N: usize> = Slab<F, T, Inline<RecordOf<F>, T, N>>;

/// The store of a [`SlabQueue`] and of an [`InlineQueue`]: payloads in slots that the queue owns.
pub struct Slab<F: Family, T, C> {
    pub(crate) order: F::Of<Idx>,
    arena: Arena<C>,
    now: Tick,
    _payloads: PhantomData<T>,
}

impl<F: Family, T, C: Columns<Record = RecordOf<F>, Value = T>> Queue<Slab<F, T, C>> {
    /// Creates an empty queue that allocates when it grows.
    #[must_use]
    pub const fn new() -> Self {
        Self::after_generation(0)
    }

    /// Does what [`new`](Self::new) does, but new slots start after generation `last`. The function
    /// is for tests of the retirement of slots.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    #[must_use]
    pub const fn with_last_generation(last: u32) -> Self {
        Self::after_generation(last)
    }

    const fn after_generation(last: u32) -> Self {
        let arena = Arena::starting_after(last, C::EMPTY);
        let order = <F::Of<Idx> as Discipline<Idx>>::NEW;
        Self { store: Slab { order, arena, now: 0, _payloads: PhantomData } }
    }

    /// Makes room for `additional` more timers, so that the next `additional` inserts allocate
    /// nothing.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no memory for these timers, or when the queue's bound does
    /// not allow this many.
    pub fn reserve(&mut self, additional: usize) -> Result<(), Reject> {
        self.store.arena.missing(additional)?;
        if additional == 0 {
            return Ok(());
        }
        self.store.order.reserve(self.store.arena.len(), additional)?;
        Ok(self.store.arena.reserve(additional)?)
    }

    /// Removes the timers for which `keep` returns false.
    ///
    /// The function calls `keep` once for each pending timer, in the order of their slots. If
    /// `keep` panics, the timers removed before the panic stay removed, and the others stay
    /// pending; a driver must then read `next_wake()` again. The call takes O(slots), plus one
    /// [`remove`](Self::remove) for each removed timer.
    pub fn retain(&mut self, keep: impl FnMut(Pending<Key>, &mut T) -> bool) {
        let _ = self.driven().retain(keep);
    }

    /// Inserts an idle timer, which is in the queue but not pending. [`arm`](Self::arm) makes it
    /// pending. [`insert`](Self::insert) inserts a timer that is pending from the beginning. The
    /// call takes O(1), and an idle timer takes no time in other operations.
    ///
    /// # Errors
    /// [`Rejected`] with the reason and the value; the queue is then unchanged.
    pub fn insert_idle(&mut self, value: T) -> Result<Key, Rejected<T>> {
        let (p, key) = self.store.take_in(value)?;
        self.store.arena.mark(p, true);
        Ok(key)
    }

    /// Makes a timer pending until `deadline`, whether it is idle or pending; its key stays valid.
    /// The call never allocates. A granular queue also needs the current time: see
    /// [`arm_at`](Self::arm_at).
    ///
    /// # Errors
    /// [`KeyError::Stale`] when `key` does not name a timer of this queue.
    #[inline]
    pub fn arm(&mut self, key: Key, deadline: Tick) -> Result<(), KeyError>
    where
        F: Exact,
    {
        self.driven().arm(key, deadline).map(drop)
    }

    /// Advances `now` as [`update_now`](Self::update_now) does, and makes a timer pending until
    /// `deadline`, whether it is idle or pending; its key stays valid. In a granular queue, the
    /// bound of the timer's lateness depends on the delay from this `now`.
    ///
    /// # Errors
    /// As [`arm`](Self::arm). When this error is returned, only `now` has changed.
    #[inline]
    pub fn arm_at(&mut self, key: Key, deadline: Tick, now: Tick) -> Result<(), KeyError> {
        self.driven().arm_at(key, deadline, now).map(drop)
    }

    /// Makes a pending timer idle; its key stays valid, and its payload stays in the queue. An idle
    /// timer stays idle.
    ///
    /// # Errors
    /// [`KeyError::Stale`] when `key` does not name a timer of this queue.
    pub fn disarm(&mut self, key: Key) -> Result<(), KeyError> {
        self.driven().disarm(key).map(drop)
    }

    /// Advances `now`. If the head is due, makes it idle; its key stays valid, and its payload
    /// stays in the queue. A timer that is armed again and again, such as a connection's time-out,
    /// thus has the same key all the time:
    ///
    /// ```
    /// use tickwright_core::DefaultQueue;
    ///
    /// let mut queue: DefaultQueue<&str> = DefaultQueue::new();
    /// let reply = queue.insert_idle("reply")?;
    /// queue.arm(reply, 100)?; // a request goes out
    /// queue.disarm(reply)?; // the answer came in time
    /// queue.arm(reply, 250)?;
    /// assert_eq!(queue.pop_and_keep(250).map(|late| late.key), Some(reply));
    /// assert_eq!(queue.get(reply), Some(&"reply"));
    /// assert!(queue.is_idle(reply) && queue.is_empty());
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[inline]
    pub fn pop_and_keep(&mut self, now: Tick) -> Option<Expired<Key, ()>> {
        self.pop_and_keep_within(now, &mut { usize::MAX })
    }

    /// Does what [`pop_and_keep`](Self::pop_and_keep) does, within a budget as in
    /// [`pop_expired_within`](Self::pop_expired_within).
    #[inline]
    pub fn pop_and_keep_within(&mut self, now: Tick, budget: &mut usize) -> Option<Expired<Key, ()>> {
        self.update_now(now);
        let (order, nodes, now) = self.store.parts_mut();
        let Due { handle: p, deadline, expiry } = order.pop(nodes, now, budget)?;
        let key = self.store.key(p)?;
        self.store.arena.mark(p, true);
        Some(Expired { key, deadline, expiry, value: () })
    }

    /// Returns the key of the first pending or idle timer in slot `from` or a later slot. The slot
    /// of a key is the lower half of its [bits](Key::to_bits), and the first slot is 1. With this
    /// function a caller can walk over all timers, and change any timer between two calls.
    #[must_use]
    pub fn next_key(&self, from: usize) -> Option<Key> {
        (from..self.store.arena.columns.len()).find_map(|at| self.store.arena.occupant(Idx::of(at)?)).map(Key)
    }

    /// Returns whether `key` names an idle timer of this queue. O(1).
    #[must_use]
    pub fn is_idle(&self, key: Key) -> bool {
        self.store.arena.is_idle(key.0)
    }

    /// Returns the number of idle timers. [`len`](Self::len) does not count them. O(1).
    #[must_use]
    pub fn idle(&self) -> usize {
        self.store.arena.idle as usize
    }

    /// Returns the payload of a pending or idle timer.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&T> {
        self.store.arena.value(key.0)
    }

    /// Returns a mutable reference to the payload of a pending or idle timer.
    #[must_use]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.store.arena.value_mut(key.0)
    }

    /// Prefetches the memory of the timer that `key` names, without waiting for the memory. Every
    /// key is allowed, including stale keys, and nothing changes. The call costs one or two
    /// instructions, and none on targets without a prefetch instruction.
    ///
    /// With a million timers, a re-arm or a removal spends most of its time waiting until the
    /// timer's memory is in the cache. If a caller knows the keys of its next operations, it can
    /// pass each key to `hint` about eight operations ahead, so that these waits overlap:
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
    /// # let keys: Vec<Key> = (0..20).map(|i| queue.insert(5, i).unwrap()).collect();
    /// # heard(&mut queue, &keys, 70);
    /// # assert_eq!(queue.next_expiry(), Some(70));
    /// ```
    #[inline]
    pub fn hint(&self, key: Key) {
        self.store.arena.columns.nodes().prefetch(Some(key.0.index));
    }

    /// Returns a pending timer that leaves about `k` timers after the head, and the timer's value.
    /// The result is a hint: the timer might leave much earlier or later. Returns `None` if the
    /// structure would have to search for such a timer, or knows too few of the next timers.
    /// Changes nothing. O(1).
    ///
    /// With a million timers, the caller's object that belongs to a timer is seldom in the cache
    /// when the timer is delivered. If the caller prefetches each object about eight deliveries
    /// ahead, it does not wait for the object:
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
    /// | lists, trees, wheels | `None`, because they would have to follow links |
    #[inline]
    #[must_use]
    pub fn upcoming(&self, k: usize) -> Option<(Key, &T)> {
        let (id, value) = self.store.arena.live(self.store.order.upcoming(k)?)?;
        Some((Key(id), value))
    }

    /// Iterates over all pending timers, in the order of their slots. O(slots).
    pub fn iter_unordered(&self) -> impl Iterator<Item = (Pending<Key>, &T)> + '_ {
        self.store.arena.iter().filter_map(|(id, value)| Some((self.pending(id.index)?, value)))
    }

    /// Iterates over all pending timers in the order of delivery.
    pub fn iter(&self) -> impl Iterator<Item = (Pending<Key>, &T)> + '_
    where
        F::Of<Idx>: Ordered<Idx>,
    {
        self.store
            .order
            .in_order(self.store.arena.columns.nodes())
            .filter_map(|p| Some((self.pending(p)?, self.store.arena.live(p)?.1)))
    }

    /// Does what [`pop_expired`](Self::pop_expired) does, but moves at most `budget` timers inside
    /// the structure, and subtracts the number of moved timers from `budget`. When the budget is
    /// used up, it returns `None` although a timer might be due. In that case call the function
    /// again with a new budget.
    pub fn pop_expired_within(&mut self, now: Tick, budget: &mut usize) -> Option<Expired<Key, T>> {
        self.update_now(now);
        self.pop_within(budget)
    }

    /// Returns the number of bytes that the queue has allocated, without the memory that payloads
    /// own.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.store.arena.columns.heap_bytes() + self.store.order.heap_bytes()
    }
}

#[cfg(feature = "alloc")]
impl<F: Family, T> SlabQueue<F, T> {
    /// Creates an empty queue with room for `capacity` timers. The queue does not allocate again
    /// until it has more than `capacity` timers.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no memory for these timers, or when the family's bound does
    /// not allow this many.
    pub fn with_capacity(capacity: usize) -> Result<Self, Reject> {
        let mut queue = Self::new();
        queue.reserve(capacity)?;
        Ok(queue)
    }

    /// Returns a queue that holds at most `capacity` timers and allocates nothing after this call.
    /// When it holds `capacity` timers, a further insert is refused with [`Reject::Full`].
    ///
    /// A slot that has served 2^31 - 1 timers is retired; each retired slot lowers the capacity by
    /// one. To replace a retired slot, call [`reserve`](Self::reserve) at a time when an allocation
    /// is acceptable.
    ///
    /// # Errors
    /// As [`with_capacity`](Self::with_capacity).
    pub fn bounded(capacity: usize) -> Result<Self, Reject> {
        let mut queue = Self::with_capacity(capacity)?;
        queue.store.arena.bound(capacity);
        Ok(queue)
    }

    /// Iterates over all pending timers in the order of delivery, in any structure: by expiry, and
    /// with equal expiry by arrival. The queue does not change. The call takes O(n log n), and
    /// allocates 24 bytes per timer until the iterator is dropped.
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
        let nodes = sorted(&self.store.order, self.store.arena.columns.nodes(), self.len())?;
        Ok(nodes.filter_map(|p| Some((self.pending(p)?, self.store.arena.live(p)?.1))))
    }
}

impl<F: Family, T, C: Columns<Record = RecordOf<F>, Value = T>> Driven<'_, Slab<F, T, C>> {
    /// As [`Queue::arm`].
    ///
    /// # Errors
    /// As [`Queue::arm`].
    #[inline]
    pub fn arm(&mut self, key: Key, deadline: Tick) -> Result<HeadChange, KeyError>
    where
        F: Exact,
    {
        let () = Self::IS_EXACT;
        self.arm_at(key, deadline, self.0.now())
    }

    /// As [`Queue::arm_at`].
    ///
    /// # Errors
    /// As [`Queue::arm_at`].
    #[inline]
    pub fn arm_at(&mut self, key: Key, deadline: Tick, now: Tick) -> Result<HeadChange, KeyError> {
        match self.reschedule_at(key, deadline, now) {
            Err(KeyError::Idle) => {
                self.0.store.arena.mark(key.0.index, false);
                let (order, nodes, now) = self.0.store.parts_mut();
                Ok(order.insert(nodes, key.0.index, deadline, now))
            }
            moved => moved,
        }
    }

    /// As [`Queue::disarm`].
    ///
    /// # Errors
    /// As [`Queue::disarm`].
    pub fn disarm(&mut self, key: Key) -> Result<HeadChange, KeyError> {
        match self.0.store.find(key) {
            Ok(p) => {
                let (order, nodes, _) = self.0.store.parts_mut();
                let change = order.remove(nodes, p);
                self.0.store.arena.mark(p, true);
                Ok(change)
            }
            Err(KeyError::Idle) => Ok(HeadChange::Same),
            Err(stale) => Err(stale),
        }
    }

    /// As [`Queue::retain`].
    pub fn retain(&mut self, mut keep: impl FnMut(Pending<Key>, &mut T) -> bool) -> HeadChange {
        let mut change = HeadChange::Same;
        for at in 0..self.0.store.arena.columns.len() {
            let Some(pending) = Idx::of(at).and_then(|p| self.0.pending(p)) else { continue };
            if self.0.get_mut(pending.key).is_some_and(|value| !keep(pending, value))
                && let Ok((_, HeadChange::Changed)) = self.remove(pending.key)
            {
                change = HeadChange::Changed;
            }
        }
        change
    }
}

impl<F: Family, T, C> sealed::Sealed for Slab<F, T, C> {}

impl<F: Family, T, C: Columns<Record = RecordOf<F>, Value = T>> Store for Slab<F, T, C> {
    type Family = F;
    type Handle = Idx;
    type Nodes = C::Nodes;
    type Key = Key;
    type Value = T;
    type Name<'n>
        = Key
    where
        Self: 'n;
    const QUEUE: &'static str = if C::FIXED { "InlineQueue" } else { "SlabQueue" };

    #[inline]
    fn now(&self) -> Tick {
        self.now
    }

    #[inline]
    fn update_now(&mut self, now: Tick) {
        self.now = self.now.max(now);
    }

    #[inline]
    fn parts(&self) -> (&F::Of<Idx>, &Self::Nodes) {
        (&self.order, self.arena.columns.nodes())
    }

    #[inline]
    fn parts_mut(&mut self) -> (&mut F::Of<Idx>, &mut Self::Nodes, Tick) {
        (&mut self.order, self.arena.columns.nodes_mut(), self.now)
    }

    #[inline]
    fn count(&self) -> usize {
        self.arena.len() - self.arena.idle as usize
    }

    #[inline]
    fn name(key: &Key) -> Key {
        *key
    }

    #[inline]
    fn find(&self, key: Key) -> Result<Idx, KeyError> {
        match self.arena.get(key.0) {
            Some(_) => Ok(key.0.index),
            None if self.arena.is_idle(key.0) => Err(KeyError::Idle),
            None => Err(KeyError::Stale),
        }
    }

    #[inline]
    fn key(&self, p: Idx) -> Option<Key> {
        self.arena.live(p).map(|(id, _)| Key(id))
    }

    #[inline]
    fn take_in(&mut self, value: T) -> Result<(Idx, Key), Rejected<T>> {
        // If the slab is full, the call must not let the family's buffers grow.
        if self.arena.is_full() || self.order.reserve(self.arena.len(), 1).is_err() {
            return Err(Rejected { reason: Reject::Full, value });
        }
        match self.arena.occupy(value) {
            Ok(id) => Ok((id.index, Key(id))),
            Err(value) => Err(Rejected { reason: Reject::Full, value }),
        }
    }

    #[inline]
    fn give_back(&mut self, p: Idx) -> Option<(Key, T)> {
        self.arena.vacate(p).map(|(id, value)| (Key(id), value))
    }

    #[cold]
    fn give_back_idle(&mut self, key: Key) -> Option<T> {
        if !self.arena.is_idle(key.0) {
            return None;
        }
        self.arena.mark(key.0.index, false);
        self.arena.vacate(key.0.index).map(|(_, value)| value)
    }

    #[inline]
    fn ask<R>(&self, p: Idx, when: impl FnOnce(&T) -> R) -> Option<(Key, R)> {
        self.arena.live(p).map(|(id, value)| (Key(id), when(value)))
    }

    fn give_back_all(&mut self) {
        self.order.clear();
        // The records are discarded before the values are dropped, because a drop can panic.
        self.arena.columns.forget();
        self.arena.clear();
    }

    fn give_back_pending(&mut self) {
        self.order.clear();
        self.arena.columns.forget();
        self.arena.clear_busy();
    }

    fn check(&self, all_live: bool) -> Result<(), Violation> {
        self.arena.check()?;
        if all_live { Ok(()) } else { Err(Violation::Storage) }
    }
}

impl<F: Family, T, C: Columns<Record = RecordOf<F>, Value = T>> Default for Queue<Slab<F, T, C>> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Family, T, C: Columns<Record = RecordOf<F>, Value = T>> fmt::Debug for Slab<F, T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slab").field("family", &F::ID).field("len", &self.count()).finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
