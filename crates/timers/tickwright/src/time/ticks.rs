//! From a clock's instants to a queue's ticks and back.

use tickwright_core::Tick;

use super::Instant;

/// How long a queue's tick is. Tick 0 begins at the clock's [`Instant::ZERO`].
///
/// Deadlines round up and `now` rounds down, so a timer that the queue calls due is due on the
/// clock, too.
///
/// ```
/// use tickwright::time::{Instant, Ticks};
///
/// let ticks = Ticks::MILLISECOND;
/// assert_eq!(ticks.deadline(Instant::from_nanos(1_000_001)), 2, "in the middle of tick 1");
/// assert_eq!(ticks.now(Instant::from_nanos(1_999_999)), 1, "not yet due");
/// assert_eq!(ticks.now(ticks.start(2)), 2, "due as soon as its tick begins");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticks {
    /// The length in ns; never 0.
    length: u64,
    /// 2^64 / `length`, rounded down. Multiplying by it replaces a division, which would cost as
    /// much as arming a timer. 0 if the length is a power of two: then `shift` is that power, and a
    /// shift replaces the product.
    reciprocal: u64,
    shift: u32,
}

impl Ticks {
    /// Ticks of 1 ns: the default for exact queues.
    pub const NANOSECOND: Self = Self::of(1);
    /// Ticks of 1 ms: the default for wheels.
    pub const MILLISECOND: Self = Self::of(1_000_000);

    /// Ticks of `nanoseconds` each; 0 is treated as 1. A power of two converts fastest.
    #[must_use]
    pub const fn of(nanoseconds: u64) -> Self {
        let length = if nanoseconds == 0 { 1 } else { nanoseconds };
        let is_power = length.is_power_of_two();
        // The reciprocal is less than 2^63 if `length` is 3 or more.
        let reciprocal = if is_power { 0 } else { ((1 << 64) / length as u128) as u64 };
        Self { length, reciprocal, shift: length.trailing_zeros() }
    }

    /// Nanoseconds in a tick.
    #[must_use]
    pub const fn nanoseconds(self) -> u64 {
        self.length
    }

    /// Returns the tick that contains the instant `now`.
    #[inline]
    #[must_use]
    pub const fn now(self, now: Instant) -> Tick {
        self.divide(now.as_nanos()).0
    }

    /// Quotient and remainder. With r for the reciprocal, 2^64 = r length + e with e < length, so x
    /// r / 2^64 = x / length - (x e / length) / 2^64. The subtracted term is less than 1, so the
    /// product, rounded down, is the quotient or one less.
    #[inline]
    const fn divide(self, x: u64) -> (u64, u64) {
        let length = self.length;
        if self.reciprocal == 0 {
            return (x >> self.shift, x & (length - 1));
        }
        let quotient = ((x as u128 * self.reciprocal as u128) >> 64) as u64;
        let remainder = x - quotient * length;
        if remainder < length { (quotient, remainder) } else { (quotient + 1, remainder - length) }
    }

    /// Returns the first tick that begins at `at` or later.
    #[inline]
    #[must_use]
    pub const fn deadline(self, at: Instant) -> Tick {
        let (quotient, remainder) = self.divide(at.as_nanos());
        quotient + (remainder > 0) as u64
    }

    /// Returns the instant at which `tick` begins, or [`Instant::MAX`] if no clock ever reaches it.
    #[inline]
    #[must_use]
    pub const fn start(self, tick: Tick) -> Instant {
        Instant::from_nanos(tick.saturating_mul(self.length))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
