//! `Recorded`: a queue that writes each of its operations to a trace.

use core::ops::Deref;
use std::collections::HashSet;

use tickwright_core::structure::Family;
use tickwright_core::{Key, Span, TimerQueue, TimerRef};

use super::recorder::QueueRecorder;
use crate::observed_queue::observe_queue;

/// A key that has a number, which distinguishes the timers of a queue in a trace.
pub trait Identity {
    /// Returns the number of the timer.
    fn identity(&self) -> u64;
}

/// Each insert makes a new timer with a new key, so the key's bits are the number.
impl Identity for Key {
    fn identity(&self) -> u64 {
        self.to_bits()
    }
}

/// The number is the address of the timer, so a timer keeps its number when it is inserted again.
impl<F: Family, T> Identity for TimerRef<'_, F, T> {
    fn identity(&self) -> u64 {
        core::ptr::from_ref(&self.payload).addr() as u64
    }
}

/// A queue wrapper that records the operations on the queue. It passes reads on to the queue, and
/// does not record them.
///
/// A delay counts from the time that is passed to [`insert_at`](TimerQueue::insert_at) or
/// [`reschedule_at`](TimerQueue::reschedule_at). For exact queues, the delay of an operation
/// without a time argument counts from the queue's [`now`](TimerQueue::now). Such a recorded delay
/// is too long by the time that has passed since the queue last got a `now`.
///
/// [`clear`](TimerQueue::clear), [`into_inner`](Self::into_inner) and dropping the wrapper record a
/// cancel for each timer that is pending in the trace. Without these cancels, the timers of
/// short-lived queues would seem to be pending forever. Each of the three takes O(n log n) for n
/// such timers, in addition to the work of the queue.
///
/// The wrapper keeps the numbers of the pending timers in a hash set, with about 10 bytes per
/// timer.
#[derive(Debug)]
pub struct Recorded<Q: TimerQueue<Key: Identity>> {
    /// `None` only while `into_inner` runs.
    queue: Option<Q>,
    log: Log,
}

/// The trace of the queue, and the timers that are pending according to the trace.
#[derive(Debug)]
struct Log {
    recorder: QueueRecorder,
    pending: HashSet<u64>,
}

impl Log {
    #[track_caller]
    fn arm(&mut self, key: impl Identity, delay: Span, _pending: usize) {
        let timer = key.identity();
        self.pending.insert(timer);
        self.recorder.arm(timer, delay);
    }

    #[track_caller]
    fn rearm(&mut self, key: impl Identity, delay: Span) {
        let timer = key.identity();
        self.pending.insert(timer);
        self.recorder.rearm(timer, delay);
    }

    #[track_caller]
    fn cancel(&mut self, key: impl Identity) {
        let timer = key.identity();
        self.pending.remove(&timer);
        self.recorder.cancel(timer);
    }

    fn fire(&mut self, key: impl Identity, _late: Span) {
        let timer = key.identity();
        self.pending.remove(&timer);
        self.recorder.fire(timer);
    }

    /// Records a cancel for each pending timer, in the order of the timers' numbers, so that two
    /// runs of a program write the same trace.
    #[track_caller]
    fn end_all(&mut self, _pending: usize) {
        let mut timers: Vec<u64> = self.pending.drain().collect();
        timers.sort_unstable();
        for timer in timers {
            self.recorder.cancel(timer);
        }
    }
}

impl<Q: TimerQueue<Key: Identity>> Recorded<Q> {
    /// Records the operations on `queue` from now on. If a timer is already pending, the trace
    /// first mentions it when it is moved, removed or delivered. Several queues can use clones of
    /// one recorder, and the trace still distinguishes their timers.
    pub fn new(queue: Q, recorder: QueueRecorder) -> Self {
        let recorder = recorder.of_new_queue();
        Self { queue: Some(queue), log: Log { recorder, pending: HashSet::new() } }
    }

    /// Returns the queue, whose operations are no longer recorded. The pending timers stay in the
    /// queue. The trace gets a cancel for each of them, because the recorder cannot see when they
    /// end.
    #[track_caller]
    pub fn into_inner(mut self) -> Q {
        self.log.end_all(0);
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

/// The panic message if the queue is missing, which cannot happen.
const ABSENT: &str = "only `into_inner` takes the queue, and it consumes the wrapper";

impl<Q: TimerQueue<Key: Identity>> Drop for Recorded<Q> {
    fn drop(&mut self) {
        self.log.end_all(0);
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

observe_queue!(Recorded: TimerQueue<Key: Identity>);
