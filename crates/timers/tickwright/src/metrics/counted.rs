//! `Counted`: a queue that counts its operations, and how late its timers fire.

use core::ops::Deref;

use tickwright_core::{Span, TimerQueue};

use super::metric::{Measured, Metric};
use crate::observed_queue::observe_queue;
use crate::time::{DelayCounts, Lateness, Ticks};

/// A queue wrapper that counts the operations on the queue, for [`OpenMetrics`](super::OpenMetrics)
/// and for programs that inspect their own queues.
///
/// ```
/// use tickwright::metrics::{Counted, OpenMetrics};
/// use tickwright::time::Ticks;
/// use tickwright::{DefaultQueue, TimerQueue};
///
/// let mut queue = Counted::new(DefaultQueue::new(), Ticks::MILLISECOND);
/// let idle = queue.insert(60_000, "connection 7").map_err(|rejected| rejected.reason)?;
/// queue.reschedule(idle, 90_000)?;
/// assert_eq!(queue.pop_expired(90_002).map(|fired| fired.value), Some("connection 7"));
///
/// let report = queue.report();
/// assert_eq!((report.armed, report.rearmed, report.fired, report.pending), (2, 1, 1, 0));
/// assert_eq!(report.lateness.max().as_millis(), 2);
/// assert_eq!(report.delays.count(), 2);
/// assert!(OpenMetrics::default().with("idle", &report).to_string().contains("kind=\"queue\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The counts are fields of the wrapper. They take about 1.1 KiB, and need no lock and no
/// allocation.
#[derive(Debug)]
pub struct Counted<Q> {
    queue: Q,
    log: Log,
}

/// The counts of a [`Counted`] queue. At each moment `armed` is `rearmed` + `fired` + `cancelled` +
/// `pending`, unless the queue had timers when it was wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueReport {
    /// How many timers are pending.
    pub pending: usize,
    /// The greatest number of timers that were pending at one time.
    pub high_water: usize,
    /// How often a timer was armed: inserted, moved, or inserted again when it fired.
    pub armed: u64,
    /// How many of the calls in `armed` moved a pending timer.
    pub rearmed: u64,
    /// How many timers were delivered.
    pub fired: u64,
    /// How many pending timers were removed or cleared.
    pub cancelled: u64,
    /// The delays of the armed timers: the time from the queue's `now` at the call to the deadline.
    pub delays: DelayCounts,
    /// How late timers were delivered: the time from the deadline to the `now` that the caller
    /// passed.
    pub lateness: Lateness,
}

/// The counts, with the methods that the macro `observe_queue` calls.
#[derive(Debug)]
struct Log {
    ticks: Ticks,
    high_water: usize,
    rearmed: u64,
    cancelled: u64,
    delays: DelayCounts,
    lateness: Lateness,
}

impl Log {
    fn ns(&self, span: Span) -> u64 {
        span.saturating_mul(self.ticks.nanoseconds())
    }

    fn arm<K>(&mut self, _key: K, delay: Span, pending: usize) {
        self.high_water = self.high_water.max(pending);
        self.delays.note(self.ns(delay));
    }

    fn rearm<K>(&mut self, _key: K, delay: Span) {
        self.rearmed += 1;
        self.delays.note(self.ns(delay));
    }

    fn cancel<K>(&mut self, _key: K) {
        self.cancelled += 1;
    }

    fn fire<K>(&mut self, _key: K, late: Span) {
        self.lateness.note(self.ns(late));
    }

    fn end_all(&mut self, pending: usize) {
        self.cancelled += pending as u64;
    }
}

impl<Q: TimerQueue> Counted<Q> {
    /// Counts the operations on `queue` from now on. `ticks` is the length of the queue's tick.
    pub fn new(queue: Q, ticks: Ticks) -> Self {
        let high_water = queue.len();
        let (delays, lateness) = (DelayCounts::new(), Lateness::new());
        Self { queue, log: Log { ticks, high_water, rearmed: 0, cancelled: 0, delays, lateness } }
    }

    /// Returns the counts so far, in O(1).
    pub fn report(&self) -> QueueReport {
        let Log { high_water, rearmed, cancelled, delays, lateness, .. } = self.log;
        let (armed, fired) = (delays.count(), lateness.count());
        QueueReport { pending: self.len(), high_water, armed, rearmed, fired, cancelled, delays, lateness }
    }

    /// Returns the queue. Operations on it are no longer counted.
    pub fn into_inner(self) -> Q {
        self.queue
    }

    fn parts(&mut self) -> (&mut Q, &mut Log) {
        (&mut self.queue, &mut self.log)
    }
}

impl<Q> Deref for Counted<Q> {
    type Target = Q;

    fn deref(&self) -> &Q {
        &self.queue
    }
}

observe_queue!(Counted: TimerQueue);

impl Measured for QueueReport {
    const KIND: &'static str = "queue";

    fn numbers(&self) -> Vec<(Metric, u64)> {
        vec![
            (Metric::Pending, self.pending as u64),
            (Metric::HighWater, self.high_water as u64),
            (Metric::Armed, self.armed),
            (Metric::Rearmed, self.rearmed),
            (Metric::Fired, self.fired),
            (Metric::Cancelled, self.cancelled),
        ]
    }

    fn lateness(&self) -> Option<&Lateness> {
        Some(&self.lateness)
    }

    fn delays(&self) -> Option<&DelayCounts> {
        Some(&self.delays)
    }
}
