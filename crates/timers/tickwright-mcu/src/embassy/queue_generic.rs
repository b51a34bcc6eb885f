//! Queues whose number of timers is known at compile time, for wakers of any executor.
//!
//! The queue is a 4-ary heap over an array of slots. Each slot contains a record of the heap and a
//! waker. A slot of an [`InlineQueue`](tickwright_core::InlineQueue) would take four more bytes for
//! a generation, which is not needed here. Wakers have no order, so an insert searches all slots
//! for a pending timer of the same waker.

use core::fmt;
use core::task::Waker;

use tickwright_core::structure::{Discipline, Nodes, Record};
use tickwright_core::{BoundedHeap, Family};
use tickwright_nodes::arena::Idx;

/// The heap over slots.
type Heap<const N: usize> = <BoundedHeap<4, N> as Family>::Of<Idx>;
/// The heap's record of a slot.
type RecordOf<const N: usize> = <Heap<N> as Discipline<Idx>>::Record;

/// A timer, or room for a timer.
struct Slot<R> {
    record: R,
    waker: Option<Waker>,
}

/// The slots. The slot at position `i` has the index `i + 1`.
struct Slots<R, const N: usize>([Slot<R>; N]);

impl<R, const N: usize> Nodes<Idx, R> for Slots<R, N> {
    #[inline]
    fn record(&self, p: Idx) -> &R {
        &self.0[p.at() - 1].record
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut R {
        &mut self.0[p.at() - 1].record
    }
}

/// A timer queue that contains up to `N` timers. The queue needs no allocation and no storage in
/// the tasks.
pub struct ConstGenericQueue<const N: usize> {
    order: Heap<N>,
    slots: Slots<RecordOf<N>, N>,
    len: usize,
    refused: u32,
    /// The greatest tick that was passed to the queue so far.
    now: u64,
}

impl<const N: usize> ConstGenericQueue<N> {
    /// Creates an empty queue.
    #[must_use]
    pub const fn new() -> Self {
        let slots = Slots([const { Slot { record: <RecordOf<N> as Record<Idx>>::IDLE, waker: None } }; N]);
        Self { order: <Heap<N> as Discipline<Idx>>::NEW, slots, len: 0, refused: 0, now: 0 }
    }

    /// Arms a timer that wakes `waker` at the tick `at`, unless an earlier timer of that waker is
    /// pending. Returns whether the next alarm might have changed. Takes O(N).
    ///
    /// If `N` timers are already pending, the call wakes `waker`, so that its future is polled and
    /// tries again. The other timers stay pending, and none of them fires early.
    /// [`refused`](Self::refused) returns how often this has happened.
    pub fn schedule_wake(&mut self, at: u64, waker: &Waker) -> bool {
        if at == u64::MAX {
            // A deadline of `u64::MAX` is never reached.
            return false;
        }
        let mut free = None;
        for (place, slot) in self.slots.0.iter().enumerate() {
            match &slot.waker {
                Some(pending) if pending.will_wake(waker) => return self.hasten(place, at),
                Some(_) => {}
                None => free = free.or(Some(place)),
            }
        }
        let Some((place, p)) = free.and_then(|place| Some((place, Idx::of(place + 1)?))) else {
            self.refused = self.refused.saturating_add(1);
            waker.wake_by_ref();
            return false;
        };
        self.slots.0[place].waker = Some(waker.clone());
        self.len += 1;
        self.order.insert(&mut self.slots, p, at, self.now).is_changed()
    }

    /// Moves a pending timer to an earlier tick.
    fn hasten(&mut self, place: usize, at: u64) -> bool {
        match Idx::of(place + 1) {
            Some(p) if at < self.order.expiry(&self.slots, p) => {
                self.order.reschedule(&mut self.slots, p, at, self.now).is_changed()
            }
            _ => false,
        }
    }

    /// Wakes the tasks of all timers that are due at `now`, in the order of the deadlines. Returns
    /// the tick of the next alarm, or `u64::MAX` if no timer is pending. Takes O(log N) for each
    /// due timer.
    pub fn next_expiration(&mut self, now: u64) -> u64 {
        self.now = self.now.max(now);
        let mut unlimited = usize::MAX;
        while let Some(popped) = self.order.pop(&mut self.slots, self.now, &mut unlimited) {
            self.len -= 1;
            if let Some(waker) = self.slots.0[popped.handle.at() - 1].waker.take() {
                waker.wake();
            }
        }
        self.order.next_wake(&self.slots).unwrap_or(u64::MAX)
    }

    /// Returns how many timers have found no room so far. If this number grows, `N` is too small.
    #[must_use]
    pub fn refused(&self) -> u32 {
        self.refused
    }
}

impl<const N: usize> Default for ConstGenericQueue<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> fmt::Debug for ConstGenericQueue<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConstGenericQueue")
            .field("pending", &self.len)
            .field("capacity", &N)
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}

/// The number of timers that [`Queue`] holds. The number is the largest `N` among the features
/// `generic-queue-N` that are set, or 64 if none is set.
pub const QUEUE_SIZE: usize = if cfg!(feature = "generic-queue-128") {
    128
} else if cfg!(feature = "generic-queue-64") {
    64
} else if cfg!(feature = "generic-queue-32") {
    32
} else if cfg!(feature = "generic-queue-16") {
    16
} else if cfg!(feature = "generic-queue-8") {
    8
} else {
    64
};

/// A timer queue of [`QUEUE_SIZE`] timers.
pub type Queue = ConstGenericQueue<QUEUE_SIZE>;

#[cfg(test)]
mod tests;
