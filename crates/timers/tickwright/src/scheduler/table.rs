//! The timers of a scheduler: the queue, which holds an entry for each timer, and a table of the
//! payloads.
//!
//! ```text
//!   slot        0        1        2        3
//!   queue    [ unused | cell   | cell   | vacant -> 1 ]     the family's records, the entries
//!   payloads [ none   | P      | P      | none        ]     what an operation reads that needs it
//! ```
//!
//! An id is a key of the queue. Each scheduler flips other bits in the key's generation, so that an
//! id of one scheduler is almost certainly stale in any other scheduler.

use core::fmt;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU32, Ordering};

use tickwright_core::{Key, Tick, Violation};
use tickwright_nodes::hint;

use super::queue::Queue;
use super::timer::Entry;

/// Identifies one timer of a scheduler: 64 bits, never 0. Once the timer is removed, the id stays
/// stale forever.
///
/// The id has no meaning in another scheduler, where a lookup almost certainly finds no timer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(NonZeroU64);

impl TimerId {
    /// Returns the id as a number, which is never 0.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// Returns the id whose [`to_bits`](Self::to_bits) is `bits`, or `None` for 0. Only the
    /// scheduler can tell whether the id names a timer.
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

/// How many timers fit into a processor's second-level cache. A timer takes about 100 bytes.
const CACHED: usize = 1 << 14;

/// How many places for payloads are allocated at a time, if there is memory.
const FEW: usize = 64;

/// The timers of a scheduler and their queue.
pub(super) struct Table<P> {
    queue: Box<dyn Queue>,
    /// The payload of each slot. It is `None` while the slot's timer runs, or if the slot has no
    /// timer.
    payloads: Vec<Option<P>>,
    /// How many timers there are.
    live: usize,
    /// The bits in which an id differs from its key. These bits are in the upper half of the id,
    /// and the highest bit is one of them.
    salt: u64,
}

/// Returns the salt of a new timer set. The salts of two sets are far apart, because the upper half
/// of a salt differs from the next one by 2^32 divided by the golden ratio.
fn salt() -> u64 {
    static SETS: AtomicU32 = AtomicU32::new(1);
    u64::from(SETS.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9) | 1 << 31) << 32
}

/// Returns the slot of a key.
#[inline]
pub(super) fn slot_of(key: Key) -> u32 {
    key.to_bits() as u32
}

/// Returns the id of a key. The highest bit of a generation is always 0 and the salt flips it, so
/// it is always 1 in an id. Therefore an id never equals an `int` id.
#[inline]
fn named(key: Key, salt: u64) -> TimerId {
    const HIGHEST: NonZeroU64 = NonZeroU64::MIN.saturating_add((1 << 63) - 1);
    TimerId(HIGHEST | (key.to_bits() ^ salt))
}

impl<P> Table<P> {
    pub(super) fn new(queue: Box<dyn Queue>) -> Self {
        Self { queue, payloads: Vec::new(), live: 0, salt: salt() }
    }

    #[inline]
    pub(super) fn queue(&self) -> &dyn Queue {
        &*self.queue
    }

    #[inline]
    pub(super) fn queue_mut(&mut self) -> &mut dyn Queue {
        &mut *self.queue
    }

    /// If there are too many timers for the cache, begins to fetch the slot and the payload of the
    /// first timer, so that they arrive while the callback of an earlier timer runs.
    #[inline]
    pub(super) fn fetch_head(&self, now: Tick) {
        if self.live > CACHED
            && let Some(key) = self.queue.fetch_head(now)
        {
            hint::prefetch(self.payloads.as_ptr().wrapping_add(slot_of(key) as usize));
        }
    }

    /// Makes room for `additional` more timers. Returns `None` if there is no memory.
    pub(super) fn reserve(&mut self, additional: usize) -> Option<()> {
        self.queue.reserve(additional)?;
        let places = self.live.checked_add(additional)?.checked_add(1)?;
        self.payloads.try_reserve_exact(places.saturating_sub(self.payloads.len())).ok()
    }

    #[inline]
    pub(super) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes() + self.payloads.capacity() * size_of::<Option<P>>()
    }

    /// Adds a timer that is due at `deadline`, or an idle timer if there is no deadline. If memory
    /// or slot numbers are used up, nothing is changed, and the payload is returned.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        timer: Entry,
        payload: P,
        deadline: Option<Tick>,
    ) -> Result<(TimerId, Key), P> {
        let key = match deadline {
            Some(deadline) => self.queue.insert(deadline, timer),
            None => self.queue.insert_idle(timer),
        };
        let Some(key) = key else { return Err(payload) };
        let slot = slot_of(key) as usize;
        if slot >= self.payloads.len() && self.append_payloads(slot).is_none() {
            self.queue.remove(key);
            return Err(payload);
        }
        self.payloads[slot] = Some(payload);
        self.live += 1;
        Ok((named(key, self.salt), key))
    }

    /// Makes a place for the payload of a new slot, and for the payloads of the next few slots.
    #[cold]
    fn append_payloads(&mut self, slot: usize) -> Option<()> {
        self.payloads.try_reserve(slot + 1 - self.payloads.len()).ok()?;
        self.payloads.resize_with(self.payloads.capacity().min(slot + FEW), || None);
        Some(())
    }

    /// Removes a timer, and returns its payload. The id is stale from now on. If the timer is
    /// running, there is no payload to return.
    #[inline]
    pub(super) fn remove(&mut self, key: Key) -> Option<P> {
        self.live -= usize::from(self.queue.remove(key));
        self.take_payload(key)
    }

    /// Returns the payload of a timer that is not running.
    pub(super) fn payload(&self, key: Key) -> Option<&P> {
        self.payloads.get(slot_of(key) as usize)?.as_ref()
    }

    #[inline]
    pub(super) fn take_payload(&mut self, key: Key) -> Option<P> {
        self.payloads.get_mut(slot_of(key) as usize)?.take()
    }

    /// Stores the payload of a timer again, after its run.
    pub(super) fn put_payload(&mut self, key: Key, payload: P) {
        self.payloads[slot_of(key) as usize] = Some(payload);
    }

    #[inline]
    pub(super) fn id(&self, key: Key) -> TimerId {
        named(key, self.salt)
    }

    /// Returns the key of a timer, and its entry.
    #[inline]
    pub(super) fn find(&self, id: TimerId) -> Option<(Key, &Entry)> {
        let key = Key::from_bits(id.0.get() ^ self.salt)?;
        Some((key, self.queue.get(key)?))
    }

    /// Like [`find`](Self::find), but the caller can change the entry.
    #[inline]
    pub(super) fn find_mut(&mut self, id: TimerId) -> Option<(Key, &mut Entry)> {
        let key = Key::from_bits(id.0.get() ^ self.salt)?;
        Some((key, self.queue.get_mut(key)?))
    }

    /// Returns the entry of a timer.
    #[inline]
    pub(super) fn entry(&mut self, key: Key) -> &mut Entry {
        match self.queue.get_mut(key) {
            Some(entry) => entry,
            None => unreachable!("the queue and the set name live timers"),
        }
    }

    /// Returns the first timer in slot `*from` or a later slot, and sets `*from` to the slot after
    /// it.
    pub(super) fn next(&self, from: &mut usize) -> Option<(Key, &Entry)> {
        let key = self.queue.next_key((*from).max(1))?;
        *from = slot_of(key) as usize + 1;
        Some((key, self.queue.get(key)?))
    }

    /// Returns all timers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &Entry)> + '_ {
        let mut from = 0;
        core::iter::from_fn(move || self.next(&mut from))
    }

    /// Calls `change` with the entry of each timer.
    pub(super) fn change_all(&mut self, mut change: impl FnMut(&mut Entry)) {
        let mut from = 0;
        while let Some((key, _)) = self.next(&mut from) {
            change(self.entry(key));
        }
    }

    pub(super) fn check(&self) -> Result<(), Violation> {
        self.queue.check()?;
        if self.live == self.queue.len() + self.queue.idle() { Ok(()) } else { Err(Violation::Storage) }
    }
}
