//! From a clock's nanoseconds to a queue's ticks and back.

use core::num::NonZeroU64;

use tickwright_core::Tick;

/// How long a queue's tick is. Tick 0 begins when the clock shows 0.
///
/// Deadlines round up and `now` rounds down: so what a queue calls due is due.
///
/// ```
/// use tickwright::clock::Ticks;
///
/// let ticks = Ticks::MILLISECOND;
/// assert_eq!(ticks.deadline(1_000_001), 2, "in the middle of tick 1");
/// assert_eq!(ticks.now(1_999_999), 1, "not yet due");
/// assert_eq!(ticks.now(ticks.start(2)), 2, "due as soon as its tick begins");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticks(NonZeroU64);

impl Ticks {
    /// For exact queues.
    pub const NANOSECOND: Self = Self(NonZeroU64::MIN);
    /// For wheels.
    pub const MILLISECOND: Self = Self(NonZeroU64::new(1_000_000).unwrap());

    /// So many nanoseconds each; 0 makes 1.
    #[must_use]
    pub const fn of(nanoseconds: u64) -> Self {
        match NonZeroU64::new(nanoseconds) {
            Some(length) => Self(length),
            None => Self::NANOSECOND,
        }
    }

    /// Nanoseconds in a tick.
    #[must_use]
    pub const fn nanoseconds(self) -> u64 {
        self.0.get()
    }

    /// The tick that a clock showing `now` is in.
    #[must_use]
    pub const fn now(self, now: u64) -> Tick {
        // The common case is spared the division.
        if self.0.get() == 1 { now } else { now / self.0.get() }
    }

    /// The first tick that begins at `at` or later.
    #[must_use]
    pub const fn deadline(self, at: u64) -> Tick {
        if self.0.get() == 1 { at } else { at.div_ceil(self.0.get()) }
    }

    /// When a tick begins, or `u64::MAX` where a clock never gets to it.
    #[must_use]
    pub const fn start(self, tick: Tick) -> u64 {
        tick.saturating_mul(self.0.get())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
