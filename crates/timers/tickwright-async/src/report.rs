//! A report on timers: how many there are, and how late they fired.

use core::fmt;
use core::time::Duration;

/// How late timers fired: from the tick at which they were due to the time that the driver read.
///
/// Lateness is counted in powers of two of a nanosecond. It leaves out the rounding of a deadline
/// up to a tick, and the time until the task runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Lateness {
    counts: [u64; 64],
    worst: u64,
}

impl Lateness {
    pub(crate) const NONE: Self = Self { counts: [0; 64], worst: 0 };

    pub(crate) fn note(&mut self, nanos: u64) {
        self.counts[nanos.max(1).ilog2() as usize] += 1;
        self.worst = self.worst.max(nanos);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.worst = self.worst.max(other.worst);
    }

    /// How many timers fired.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The greatest lateness of a timer.
    #[must_use]
    pub fn worst(&self) -> Duration {
        Duration::from_nanos(self.worst)
    }

    /// An upper bound of the lateness of `share` of all timers. The bound is at most twice the true
    /// value. `share` is from 0 to 1, for example 0.99. `None` if no timer fired.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let count = self.count();
        let rank = (share.clamp(0.0, 1.0) * count as f64).ceil() as u64;
        let mut seen = 0;
        let power = self.counts.iter().position(|at| {
            seen += at;
            count > 0 && seen >= rank.max(1)
        })?;
        Some(Duration::from_nanos(self.worst.min((2_u64 << power).wrapping_sub(1))))
    }

    /// The counts that are not 0, each with an upper bound of its lateness.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let below = |power: u32| Duration::from_nanos(1_u64.checked_shl(power + 1).unwrap_or(u64::MAX));
        (0..).zip(&self.counts).filter(|(_, count)| **count > 0).map(move |(at, &count)| (below(at), count))
    }
}

impl fmt::Debug for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.buckets()).finish()
    }
}

/// What [`Timers::report`](crate::Timers::report) returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How many timers a task waits for.
    pub live: usize,
    /// How many timers are in a queue although no task waits for them. The next use of such a timer
    /// mostly needs no lock.
    pub vacant: usize,
    /// How many times a timer was filed, moved or removed under a lock.
    pub locks: u64,
    /// How late timers fired, and how many.
    pub lateness: Lateness,
    /// How often the driver woke up. Only a driver that is a thread of its own counts its wake-ups.
    pub wakeups: u64,
    /// How many wakers panicked on the driver's thread.
    pub panics: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { live, vacant, locks, wakeups, .. } = self;
        let fired = self.lateness.count();
        writeln!(f, "{live} timers live, {vacant} vacant, {fired} fired, {locks} locks, {wakeups} wake-ups")?;
        match (self.lateness.quantile(0.5), self.lateness.quantile(0.99)) {
            (Some(half), Some(most)) => {
                let worst = self.lateness.worst();
                writeln!(f, "late: half at most {half:?}, 99 % at most {most:?}, worst {worst:?}")
            }
            _ => writeln!(f, "late: nothing fired"),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
