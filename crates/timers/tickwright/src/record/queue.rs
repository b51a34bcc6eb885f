//! A queue that records.

use core::ops::Deref;
use std::collections::HashSet;

use tickwright_core::structure::Family;
use tickwright_core::{
    Advance, Exact, Expired, Key, KeyError, Order, Pending, Rejected, Span, Tick, TimerQueue, TimerRef,
    Violation,
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
/// A delay counts from the time that is passed to [`insert_at`](TimerQueue::insert_at) or
/// [`reschedule_at`](TimerQueue::reschedule_at). For exact queues the operations without a time
/// count from the queue's [`now`](TimerQueue::now). Their recorded delays are too long by the time
/// that has passed since the queue last got a `now`.
///
/// [`clear`](TimerQueue::clear), [`into_inner`](Self::into_inner) and the drop record a cancel for
/// each timer that the trace shows as pending. So a trace of short-lived queues shows how many
/// timers live at one time. Each of the three takes O(n log n) beside the work of the queue.
///
/// The wrapper keeps the numbers of the pending timers in a hash set, some 10 bytes each.
#[derive(Debug)]
pub struct Recorded<Q: TimerQueue<Key: Identity>> {
    /// `None` only while `into_inner` runs.
    queue: Option<Q>,
    log: Log,
}

/// The trace of the queue, and the timers that are pending by its events.
#[derive(Debug)]
struct Log {
    recorder: QueueRecorder,
    pending: HashSet<u64>,
}

impl Log {
    #[track_caller]
    fn arm(&mut self, timer: u64, delay: Span) {
        self.pending.insert(timer);
        self.recorder.arm(timer, delay);
    }

    #[track_caller]
    fn rearm(&mut self, timer: u64, delay: Span) {
        self.pending.insert(timer);
        self.recorder.rearm(timer, delay);
    }

    #[track_caller]
    fn cancel(&mut self, timer: u64) {
        self.pending.remove(&timer);
        self.recorder.cancel(timer);
    }

    fn fire(&mut self, timer: u64) {
        self.pending.remove(&timer);
        self.recorder.fire(timer);
    }

    /// Records a cancel for each pending timer, in the order of their numbers: the same program
    /// then has the same trace at each run.
    #[track_caller]
    fn end_all(&mut self) {
        let mut timers: Vec<u64> = self.pending.drain().collect();
        timers.sort_unstable();
        for timer in timers {
            self.recorder.cancel(timer);
        }
    }
}

impl<Q: TimerQueue<Key: Identity>> Recorded<Q> {
    /// Records the operations on `queue` from now on. A timer that is pending already appears in
    /// the trace when it is moved, removed or due. Several queues may share one recorder, through
    /// clones: their timers stay apart in the trace.
    pub fn new(queue: Q, recorder: QueueRecorder) -> Self {
        let recorder = recorder.of_new_queue();
        Self { queue: Some(queue), log: Log { recorder, pending: HashSet::new() } }
    }

    /// Returns the queue, and records it no longer. The pending timers stay in the queue. The trace
    /// gets a cancel for each of them, because it cannot show their later ends.
    #[track_caller]
    pub fn into_inner(mut self) -> Q {
        self.log.end_all();
        match self.queue.take() {
            Some(queue) => queue,
            None => unreachable!("{ABSENT}"),
        }
    }

    fn parts(&mut self) -> (&mut Q, &mut Log) {
        match &mut self.queue {
            Some(queue) => (queue, &mut self.log),
            None => unreachable!("{ABSENT}"),
        }
    }
}

/// Why a queue is always there.
const ABSENT: &str = "only `into_inner` takes the queue, and it consumes the wrapper";

impl<Q: TimerQueue<Key: Identity>> Drop for Recorded<Q> {
    fn drop(&mut self) {
        self.log.end_all();
    }
}

impl<Q: TimerQueue<Key: Identity>> Deref for Recorded<Q> {
    type Target = Q;

    fn deref(&self) -> &Q {
        match &self.queue {
            Some(queue) => queue,
            None => unreachable!("{ABSENT}"),
        }
    }
}

impl<Q: TimerQueue<Key: Identity> + Exact> Exact for Recorded<Q> {}

impl<Q: TimerQueue<Key: Identity>> TimerQueue for Recorded<Q> {
    type Key = Q::Key;
    type Value = Q::Value;
    const ORDER: Order = Q::ORDER;

    fn now(&self) -> Tick {
        (**self).now()
    }

    fn update_now(&mut self, now: Tick) {
        self.parts().0.update_now(now);
    }

    fn len(&self) -> usize {
        (**self).len()
    }

    #[track_caller]
    fn insert_at(
        &mut self,
        deadline: Tick,
        value: Q::Value,
        now: Tick,
    ) -> Result<Q::Key, Rejected<Q::Value>> {
        let (queue, log) = self.parts();
        let key = queue.insert_at(deadline, value, now)?;
        log.arm(key.identity(), deadline.saturating_sub(queue.now()));
        Ok(key)
    }

    #[track_caller]
    fn remove(&mut self, key: Q::Key) -> Result<Q::Value, KeyError> {
        let timer = key.identity();
        let (queue, log) = self.parts();
        let value = queue.remove(key)?;
        log.cancel(timer);
        Ok(value)
    }

    #[track_caller]
    fn reschedule_at(&mut self, key: Q::Key, deadline: Tick, now: Tick) -> Result<(), KeyError> {
        let (queue, log) = self.parts();
        queue.reschedule_at(key, deadline, now)?;
        log.rearm(key.identity(), deadline.saturating_sub(queue.now()));
        Ok(())
    }

    fn peek(&self) -> Option<Pending<Q::Key>> {
        (**self).peek()
    }

    fn second(&self) -> Option<Pending<Q::Key>> {
        (**self).second()
    }

    fn next_expiry(&self) -> Option<Tick> {
        (**self).next_expiry()
    }

    fn next_wake(&self) -> Option<Tick> {
        (**self).next_wake()
    }

    fn pop_expired(&mut self, now: Tick) -> Option<Expired<Q::Key, Q::Value>> {
        let (queue, log) = self.parts();
        let expired = queue.pop_expired(now)?;
        log.fire(expired.key.identity());
        Some(expired)
    }

    #[track_caller]
    fn pop_and_reinsert(
        &mut self,
        now: Tick,
        rearm: impl FnOnce(Tick, &Q::Value) -> Tick,
    ) -> Option<Expired<Q::Key, ()>> {
        let (queue, log) = self.parts();
        let mut next = 0;
        let expired = queue.pop_and_reinsert(now, |expiry, value| {
            next = rearm(expiry, value);
            next
        })?;
        let timer = expired.key.identity();
        log.fire(timer);
        log.arm(timer, next.saturating_sub(queue.now()));
        Some(expired)
    }

    fn advance_within(
        &mut self,
        now: Tick,
        budget: usize,
        mut sink: impl FnMut(Expired<Q::Key, Q::Value>),
    ) -> Advance {
        let (queue, log) = self.parts();
        queue.advance_within(now, budget, |expired| {
            log.fire(expired.key.identity());
            sink(expired);
        })
    }

    #[track_caller]
    fn clear(&mut self) {
        let (queue, log) = self.parts();
        queue.clear();
        log.end_all();
    }

    fn check(&self) -> Result<(), Violation> {
        (**self).check()
    }
}
