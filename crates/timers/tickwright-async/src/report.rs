//! The report about timers: how many there are, and how late they fired.

use core::fmt;

#[cfg(feature = "metrics")]
use tickwright::metrics::Metric;
use tickwright::time::{DelayCounts, Lateness};

/// The result of [`Timers::report`](crate::Timers::report).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimerReport {
    /// The number of timers for which a task waits.
    pub live: usize,
    /// The number of timers that are in a queue although no task waits for them. The next use of
    /// such a timer usually needs no lock.
    pub vacant: usize,
    /// The greatest number of timers, live and vacant, that were in the queue of a shard at one
    /// time, summed over the shards. All shards together need not have had as many timers at one
    /// time.
    pub high_water: usize,
    /// How many times a timer was armed: a task began to wait for it, or changed its deadline while
    /// it was armed. Needs the feature `metrics`, as do the next two counts. Each of the three is
    /// exact if no other thread uses timers.
    #[cfg(feature = "metrics")]
    pub armed: u64,
    /// How many of the arms in `armed` changed the deadline of an armed timer.
    #[cfg(feature = "metrics")]
    pub rearmed: u64,
    /// How many armed timers were dropped or disarmed before they fired. A timer whose task saw
    /// that the deadline had passed before the driver saw it is one of them. `armed` is `rearmed` +
    /// `cancelled` + `live` + the number of timers that fired, which is `lateness.count()`.
    #[cfg(feature = "metrics")]
    pub cancelled: u64,
    /// How many times a timer was filed, moved or removed under a lock.
    pub locks: u64,
    /// For how long timers were armed when they entered a queue: from that time to the deadline. A
    /// timer enters a queue in two cases: it is armed while it is in no queue, or the driver takes
    /// it out at its filed tick and its deadline is later. Other arms and re-arms are not counted,
    /// because they leave the timer in its queue, and most of them take no lock.
    ///
    /// For example, a task arms a time-out of 5 s 1,000 times per second, each time with the same
    /// timer of its thread's pool. This counts one delay in 5 s, of about 5 s.
    pub delays: DelayCounts,
    /// How many timers fired, and how late. The lateness of a timer is the time from the tick at
    /// which it was due to the time that the driver read. It excludes the rounding of a deadline up
    /// to a tick, and the time until the task runs.
    pub lateness: Lateness,
    /// How often the driver woke up. Only a driver that is a dedicated thread counts its wake-ups.
    pub wakeups: u64,
    /// How many wakers panicked on the driver's thread.
    pub panics: u64,
}

impl TimerReport {
    pub(crate) const EMPTY: Self = Self {
        live: 0,
        vacant: 0,
        high_water: 0,
        #[cfg(feature = "metrics")]
        armed: 0,
        #[cfg(feature = "metrics")]
        rearmed: 0,
        #[cfg(feature = "metrics")]
        cancelled: 0,
        locks: 0,
        delays: DelayCounts::new(),
        lateness: Lateness::new(),
        wakeups: 0,
        panics: 0,
    };
}

/// The report has the label `kind="async"`.
#[cfg(feature = "metrics")]
impl tickwright::metrics::Measured for TimerReport {
    const KIND: &'static str = "async";

    fn numbers(&self) -> Vec<(Metric, u64)> {
        vec![
            (Metric::Timers, (self.live + self.vacant) as u64),
            (Metric::Pending, self.live as u64),
            (Metric::HighWater, self.high_water as u64),
            (Metric::Armed, self.armed),
            (Metric::Rearmed, self.rearmed),
            (Metric::Fired, self.lateness.count()),
            (Metric::Cancelled, self.cancelled),
            (Metric::Locks, self.locks),
            (Metric::Wakeups, self.wakeups),
            (Metric::Panics, self.panics),
        ]
    }

    fn lateness(&self) -> Option<&Lateness> {
        Some(&self.lateness)
    }

    fn delays(&self) -> Option<&DelayCounts> {
        Some(&self.delays)
    }
}

impl fmt::Display for TimerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { live, vacant, locks, wakeups, .. } = self;
        let fired = self.lateness.count();
        writeln!(f, "{live} timers live, {vacant} vacant, {fired} fired, {locks} locks, {wakeups} wake-ups")?;
        if fired == 0 {
            return writeln!(f, "late: nothing fired");
        }
        let [half, most] = [0.5, 0.99].map(|share| self.lateness.quantile(share));
        writeln!(f, "late: half at most {half:?}, 99 % at most {most:?}, worst {:?}", self.lateness.max())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
