//! How often the driver thread wakes.
//!
//! A wake-up of the driver costs two switches of threads, whether it fires one timer or a hundred.
//! While few wake-ups fire timers, the driver wakes for each tick. While many wake-ups fire timers,
//! the driver rests after each pass. The next pass fires the timers that came due during the rest.
//! The length of a rest is [`TimerSettings::gather`](crate::TimerSettings::gather), 400 us by
//! default.
//!
//! ```text
//!   due     |   |  |      | || ||| |||| ||| ||| || |||| |||      |
//!   passes  ^   ^  ^      ^ ^^ ^^^ ^^^^  ^      ^      ^         ^
//!                               the load is full <----> rest
//! ```
//!
//! The driver calls each waker in the pass that fires its timer. If polls called wakers of other
//! tasks, they would save switches of threads. However, a task can hold locks while it polls, and
//! the waker of another task might wait for these locks.

use crate::sync::{AtomicU64, Ordering};

/// What a wake-up that fires timers adds to the load, in ns. At 2,000 such wake-ups per second the
/// load stays constant.
const SHARE: u64 = 500_000;

/// The load at which the driver begins to rest. A thousand timers per second, however grouped, do
/// not reach it: in each second they add at most 0.5 s, and the time that passes takes away 1 s.
const FULL: u64 = 1_000 * SHARE;

/// The longest rest in ns.
const LONGEST: u64 = 10_000_000;

/// How much the driver fires. The load decreases by 1 ns for each ns that passes.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// The time at which the driver last updated the load.
    at: u64,
    /// In ns, up to [`FULL`].
    level: u64,
    is_busy: bool,
}

impl Load {
    /// Notes a pass at `now` that fired `fired` timers. Returns whether to rest after the pass.
    fn note(&mut self, now: u64, fired: u64) -> bool {
        // A pass after a rest fires the timers of several wake-ups, and each timer counts as one of
        // them.
        let count = fired.min(if self.is_busy { 1_000 } else { 1 });
        // The timers that fire came due since the last pass, even if the driver is late.
        let passed = now.saturating_sub(core::mem::replace(&mut self.at, now));
        self.level = (self.level + count * SHARE).saturating_sub(passed).min(FULL);
        self.is_busy = if self.is_busy { self.level > 0 } else { self.level == FULL };
        self.is_busy
    }
}

/// The pace of a driver.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The length of a rest in ns. 0: the driver never rests.
    rest: u64,
    /// The end of the rest. A thread that reads an old value wakes the driver once more.
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
