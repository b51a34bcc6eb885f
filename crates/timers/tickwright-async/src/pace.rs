//! How often the driver thread wakes.
//!
//! A wake-up of the driver costs two switches of threads, whether it fires one timer or a hundred.
//! While few wake-ups fire timers, the driver wakes for each tick. While many do, it rests after
//! each pass, and the next pass fires what has come due meanwhile.
//!
//! ```text
//!   due     |   |  |      | || ||| |||| ||| ||| || |||| |||      |
//!   passes  ^   ^  ^      ^ ^^ ^^^ ^^^^  ^      ^      ^         ^
//!                               the load is full <----> rest
//! ```
//!
//! The driver calls each waker in the pass that fires its timer. A poll that called wakers of other
//! tasks would save switches of threads. But a task may hold locks while it polls, and a waker of
//! another task may wait for them.

use crate::sync::{AtomicU64, Ordering};

/// What a wake-up that fires adds to the load, in ns: the load stays even at 2,000 in a second.
const SHARE: u64 = 500_000;

/// With this load the driver begins to rest. A thousand timers in a second, in any grouping, do not
/// reach it: they add half a second while a second takes one away.
const FULL: u64 = 1_000 * SHARE;

/// The longest rest in ns.
const LONGEST: u64 = 10_000_000;

/// How much the driver fires. The time takes the load away.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// When the driver noted it.
    at: u64,
    /// In ns, up to [`FULL`].
    level: u64,
    is_busy: bool,
}

impl Load {
    /// Notes a pass at `now` that fired so many timers. Returns whether to rest after it.
    fn note(&mut self, now: u64, fired: u64) -> bool {
        // A rest gathers the timers of several wake-ups, and each of them counts.
        let count = fired.min(if self.is_busy { 1_000 } else { 1 });
        // What fires was due since the last pass, even if the driver is late.
        let passed = now.saturating_sub(core::mem::replace(&mut self.at, now));
        self.level = (self.level + count * SHARE).saturating_sub(passed).min(FULL);
        self.is_busy = if self.is_busy { self.level > 0 } else { self.level == FULL };
        self.is_busy
    }
}

/// The pace of a driver.
#[derive(Debug)]
pub(crate) struct Pace {
    /// How long a rest is, in ns; 0: there is none.
    rest: u64,
    /// The end of the rest. A thread that reads an old value wakes the driver once more.
    rests_until: AtomicU64,
}

impl Pace {
    pub(crate) fn new(rest: u64) -> Self {
        Self { rest: rest.min(LONGEST), rests_until: AtomicU64::new(0) }
    }

    /// Notes a pass at `now` that fired so many timers. The next one begins at `next`, or after the
    /// rest. Returns the time.
    pub(crate) fn next(&self, load: &mut Load, now: u64, fired: u64, next: u64) -> u64 {
        let until = if load.note(now, fired) { now.saturating_add(self.rest) } else { 0 };
        self.rests_until.store(until, Ordering::Relaxed);
        next.max(until)
    }

    /// The time, or the end of the rest if that is later.
    pub(crate) fn after_rest(&self, at: u64) -> u64 {
        at.max(self.rests_until.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
