//! A queue that records.

use core::ops::Deref;

use tickwright_core::storage::Family;
use tickwright_core::{
    Advance, Expired, HeadChange, Inserted, Key, KeyError, Order, Pending, Rejected, Removed, Tick,
    TimerQueue, TimerRef, Violation,
};

use super::recorder::QueueRecorder;

/// A number that tells the timers of a queue apart in a trace.
pub trait Identity {
    /// The number of the timer.
    fn identity(&self) -> u64;
}

/// Each insert makes a new timer with a new key.
impl Identity for Key {
    fn identity(&self) -> u64 {
        self.to_bits()
    }
}

/// The identity is the address of the timer: it is the same at each insert.
impl<F: Family, T> Identity for TimerRef<'_, F, T> {
    fn identity(&self) -> u64 {
        core::ptr::from_ref(&self.payload).addr() as u64
    }
}

/// A queue wrapper that records the operations on the queue. It passes reads on to the queue, and
/// does not record them.
///
/// A delay counts from the queue's [`now`](TimerQueue::now). Call
/// [`update_now`](TimerQueue::update_now) before an insert or a reschedule. Otherwise the recorded
/// delays are too long by the time that has passed since the queue last got a `now`.
#[derive(Debug)]
pub struct Recorded<Q> {
    queue: Q,
    recorder: QueueRecorder,
}

impl<Q> Recorded<Q> {
    /// Records the operations on `queue` from now on. A timer that is pending already appears in
    /// the trace when it is moved, cancelled or due.
    pub const fn new(queue: Q, recorder: QueueRecorder) -> Self {
        Self { queue, recorder }
    }

    /// Returns the queue, and records it no longer.
    pub fn into_inner(self) -> Q {
        self.queue
    }
}

impl<Q> Deref for Recorded<Q> {
    type Target = Q;

    fn deref(&self) -> &Q {
        &self.queue
    }
}

impl<Q: TimerQueue<Key: Identity>> TimerQueue for Recorded<Q> {
    type Key = Q::Key;
    type Value = Q::Value;
    const ORDER: Order = Q::ORDER;

    fn now(&self) -> Tick {
        self.queue.now()
    }

    fn update_now(&mut self, now: Tick) {
        self.queue.update_now(now);
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    #[track_caller]
    fn insert(&mut self, deadline: Tick, value: Q::Value) -> Result<Inserted<Q::Key>, Rejected<Q::Value>> {
        let delay = deadline.saturating_sub(self.queue.now());
        let inserted = self.queue.insert(deadline, value)?;
        self.recorder.arm(inserted.key.identity(), delay);
        Ok(inserted)
    }

    #[track_caller]
    fn remove(&mut self, key: Q::Key) -> Result<Removed<Q::Value>, KeyError> {
        let timer = key.identity();
        let removed = self.queue.remove(key)?;
        self.recorder.cancel(timer);
        Ok(removed)
    }

    #[track_caller]
    fn reschedule(&mut self, key: Q::Key, deadline: Tick) -> Result<HeadChange, KeyError> {
        let delay = deadline.saturating_sub(self.queue.now());
        let changed = self.queue.reschedule(key, deadline)?;
        self.recorder.rearm(key.identity(), delay);
        Ok(changed)
    }

    fn peek(&self) -> Option<Pending<Q::Key>> {
        self.queue.peek()
    }

    fn second(&self) -> Option<Pending<Q::Key>> {
        self.queue.second()
    }

    fn next_expiry(&self) -> Option<Tick> {
        self.queue.next_expiry()
    }

    fn next_wake(&self) -> Option<Tick> {
        self.queue.next_wake()
    }

    fn pop_expired(&mut self, now: Tick) -> Option<Expired<Q::Key, Q::Value>> {
        let expired = self.queue.pop_expired(now)?;
        self.recorder.fire(expired.key.identity());
        Some(expired)
    }

    #[track_caller]
    fn pop_and_reinsert(
        &mut self,
        now: Tick,
        rearm: impl FnOnce(Tick, &Q::Value) -> Tick,
    ) -> Option<Expired<Q::Key, ()>> {
        let mut next = 0;
        let expired = self.queue.pop_and_reinsert(now, |expiry, value| {
            next = rearm(expiry, value);
            next
        })?;
        let timer = expired.key.identity();
        self.recorder.fire(timer);
        self.recorder.arm(timer, next.saturating_sub(self.queue.now()));
        Some(expired)
    }

    fn advance_within(
        &mut self,
        now: Tick,
        budget: usize,
        mut sink: impl FnMut(Expired<Q::Key, Q::Value>),
    ) -> Advance {
        let Self { queue, recorder } = self;
        queue.advance_within(now, budget, |expired| {
            recorder.fire(expired.key.identity());
            sink(expired);
        })
    }

    /// Empties the queue timer by timer. It records a cancel for each pending timer that the queue
    /// can name.
    fn clear(&mut self) {
        while let Some(head) = self.queue.peek() {
            if self.queue.remove(head.key).is_err() {
                break;
            }
            self.recorder.cancel(head.key.identity());
        }
        self.queue.clear();
    }

    fn check(&self) -> Result<(), Violation> {
        self.queue.check()
    }
}
