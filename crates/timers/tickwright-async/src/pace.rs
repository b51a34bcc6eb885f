//! The pace of the driver thread: how often it wakes.
//!
//! A wake-up of the driver costs two thread switches, whether it fires one timer or a hundred.
//! While wake-ups that fire timers are rare, the driver wakes for each tick with timers. While they
//! are frequent, the driver rests after each pass, and the next pass fires the timers that came due
//! during the rest. The length of a rest is
//! [`TimerSettings::gather`](crate::TimerSettings::gather), which is 400 us by default and at most
//! 10 ms.
//!
//! ```text
//!   due     |   |  |      | || ||| |||| ||| ||| || |||| |||      |
//!   passes  ^   ^  ^      ^ ^^ ^^^ ^^^^  ^      ^      ^         ^
//!                               the load is full <----> rest
//! ```
//!
//! The driver itself calls all wakers. It would save thread switches if tasks called the wakers of
//! other tasks when they poll their timers. However, a task can hold locks while it polls, and the
//! waker of another task might wait for these locks.

use crate::sync::{AtomicU64, Ordering};

/// The number of ns that a wake-up which fires timers adds to the load. With 2,000 such wake-ups
/// per second the load stays constant.
const SHARE: u64 = 500_000;

/// The load at which the driver begins to rest. A thousand timers per second do not reach this
/// load, however they are grouped, because in each second they add at most 0.5 s to the load, and
/// the passing time subtracts 1 s.
const FULL: u64 = 1_000 * SHARE;

/// The longest rest in ns.
const LONGEST: u64 = 10_000_000;

/// A measure of how often the driver fires timers. The load decreases by 1 ns per ns.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// The time at which the driver last updated the load.
    at: u64,
    /// The load in ns, which is at most [`FULL`].
    level: u64,
    is_busy: bool,
}

impl Load {
    /// Notes a pass at `now` that fired `fired` timers. Returns whether the driver rests after this
    /// pass.
    fn note(&mut self, now: u64, fired: u64) -> bool {
        // A pass after a rest fires timers for which several wake-ups would have been needed, so
        // each timer is counted as a wake-up.
        let count = fired.min(if self.is_busy { 1_000 } else { 1 });
        // Even if the driver is late, the timers that it fires came due since the last pass, so the
        // whole time since then counts.
        let passed = now.saturating_sub(core::mem::replace(&mut self.at, now));
        self.level = (self.level + count * SHARE).saturating_sub(passed).min(FULL);
        self.is_busy = if self.is_busy { self.level > 0 } else { self.level == FULL };
        self.is_busy
    }
}

/// The pace of a driver.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The length of a rest in ns, or 0 if the driver never rests.
    rest: u64,
    /// The end of the current rest. If a thread reads an outdated value, it only wakes the driver
    /// once more.
    rests_until: AtomicU64,
}

impl Pace {
    pub(crate) fn new(rest: u64) -> Self {
        Self { rest: rest.min(LONGEST), rests_until: AtomicU64::new(0) }
    }

    /// Notes a pass at `now` that fired `fired` timers. Returns the time at which the next pass
    /// begins: `next`, or the end of the rest if that is later.
    pub(crate) fn next(&self, load: &mut Load, now: u64, fired: u64, next: u64) -> u64 {
        let until = if load.note(now, fired) { now.saturating_add(self.rest) } else { 0 };
        self.rests_until.store(until, Ordering::Relaxed);
        next.max(until)
    }

    /// Returns `at`, or the end of the rest if that is later.
    pub(crate) fn after_rest(&self, at: u64) -> u64 {
        at.max(self.rests_until.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
