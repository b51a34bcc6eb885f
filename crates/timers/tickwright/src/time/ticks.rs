//! Converts a clock's instants to a queue's ticks and back.

use tickwright_core::Tick;

use super::Instant;

/// The length of a queue's tick. Tick 0 begins at the clock's [`Instant::ZERO`].
///
/// Deadlines are rounded up and `now` is rounded down, so when the queue delivers a timer, the
/// timer is also due by the clock.
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
    /// The length in ns. It is never 0.
    length: u64,
    /// 2^64 / `length`, rounded down. Multiplying by it replaces a division, which would cost as
    /// much as arming a timer. It is 0 if the length is a power of two, 2^`shift`. In this case a
    /// shift replaces the multiplication.
    reciprocal: u64,
    shift: u32,
}

impl Ticks {
    /// Ticks of 1 ns, the default for exact queues.
    pub const NANOSECOND: Self = Self::of(1);
    /// Ticks of 1 ms, the default for wheels.
    pub const MILLISECOND: Self = Self::of(1_000_000);

    /// Creates ticks of `nanoseconds` each. 0 is treated as 1. The conversion is fastest if the
    /// length is a power of two.
    #[must_use]
    pub const fn of(nanoseconds: u64) -> Self {
        let length = if nanoseconds == 0 { 1 } else { nanoseconds };
        let is_power = length.is_power_of_two();
        // The reciprocal is less than 2^63 if `length` is 3 or more.
        let reciprocal = if is_power { 0 } else { ((1 << 64) / length as u128) as u64 };
        Self { length, reciprocal, shift: length.trailing_zeros() }
    }

    /// Returns the length of a tick in nanoseconds.
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

    /// Returns the quotient and the remainder of `x` and the length. Let r be the reciprocal. Then
    /// 2^64 = r * length + e with e < length, so x r / 2^64 = x / length - (x e / length) / 2^64.
    /// The subtracted term is less than 1, so x r / 2^64, rounded down, is the quotient or one
    /// less.
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

    /// Returns the instant at which `tick` begins, or [`Instant::MAX`] if no clock ever reaches
    /// that instant.
    #[inline]
    #[must_use]
    pub const fn start(self, tick: Tick) -> Instant {
        Instant::from_nanos(tick.saturating_mul(self.length))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
