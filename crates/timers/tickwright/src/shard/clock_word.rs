//! The clock of a shard, for threads that do not hold the shard's lock.

use tickwright_core::Tick;

use crate::sync::{AtomicU64, Ordering};
use crate::time::{Clock, SystemClock, Ticks, Timeline};

/// The clock of a shard, encoded in one word:
///
/// ```text
///   63  62 61                                            0
///  | kind | length of a tick in ns, under a clock of the machine |
/// ```
///
/// Any thread can read the machine's timelines, because they have no state. A clock of another type
/// is an object that the shard can drop at any time, so only a thread that holds the lock can read
/// it.
///
/// Loads and stores are Relaxed. A thread that sees an old word uses the previous clock of the
/// shard. This can only make a timer later.
pub(super) struct ClockWord(AtomicU64);

const NONE: u64 = 0;
const MONOTONIC: u64 = 1 << 62;
const BOOT_TIME: u64 = 2 << 62;
const UNDER_LOCK: u64 = 3 << 62;
/// The bits that hold the kind of clock.
const KIND: u64 = 3 << 62;

impl ClockWord {
    /// Creates the word of a shard without a clock, whose time is the time of its last advance.
    pub(super) fn none() -> Self {
        Self(AtomicU64::new(NONE))
    }

    /// Publishes the clock and the length of a tick that the shard has now. The caller holds the
    /// shard's lock.
    pub(super) fn publish(&self, clock: Option<&dyn Clock>, ticks: Ticks) {
        let length = ticks.nanoseconds();
        let word = match clock.map(Clock::timeline) {
            None => NONE,
            Some(Some(Timeline::Monotonic)) if length & KIND == 0 => MONOTONIC | length,
            Some(Some(Timeline::BootTime)) if length & KIND == 0 => BOOT_TIME | length,
            Some(_) => UNDER_LOCK,
        };
        self.0.store(word, Ordering::Relaxed);
    }

    /// Returns whether the shard's clock has not yet reached the tick after `latest`. Returns
    /// `true` if there is no clock, and `false` if only the holder of the lock can read the clock.
    #[inline]
    pub(super) fn is_at_most(&self, latest: Tick) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        word == NONE || reads_at_most(word, latest)
    }
}

#[inline(never)]
fn reads_at_most(word: u64, latest: Tick) -> bool {
    let clock = match word & KIND {
        MONOTONIC => SystemClock::Monotonic,
        BOOT_TIME => SystemClock::BootTime,
        _ => return false,
    };
    // Multiplies `latest` by the length of a tick, which is faster than the division in
    // `Ticks::now`.
    clock.now().as_nanos() < latest.saturating_add(1).saturating_mul(word & !KIND)
}

#[cfg(all(test, not(loom)))]
mod tests;
