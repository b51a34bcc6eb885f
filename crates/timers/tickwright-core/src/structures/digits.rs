//! Digit arithmetic: computes the bucket of a `Wheel` to which a tick belongs. This file computes
//! only with numbers and does not access nodes.
//!
//! A tick is written in base `BUCKETS`. With 64 buckets per level, a digit has 6 bits, and level n
//! corresponds to digit n, counted from the lowest digit.
//!
//! ```text
//!   70000 = 17 * 64^2 + 5 * 64 + 48      digits  17  5 48
//!    1000 =             15 * 64 + 40      digits   0 15 40      highest difference: digit 2
//! ```
//!
//! # Inputs, and why each bound holds
//! - `BUCKETS` is a power of two from 2 to 64, so a digit is a whole number of bits, and one `u64`
//!   has a bit for each bucket of a level.
//! - There are `64 / bits` levels, rounded up, so the digits of all levels together cover all 64
//!   bits of a tick. With 64 buckets there are 11 levels, and the top digit has 4 bits.
//! - The highest level is 63 (with 2 buckets per level), so `bits * level` is at most 63 and no
//!   shift overflows.
//! - A bucket's number is at most 703 (11 levels of 64), so the number fits in a `u16`.
//! - A clock is never later than an expiry. In the highest digit in which the two differ, the
//!   expiry is therefore greater. If clock and expiry are equal, the level is 0.

use crate::contract::Tick;

/// Names a bucket by its level and its digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketNumber<const BUCKETS: usize>(u16);

impl<const BUCKETS: usize> BucketNumber<BUCKETS> {
    /// The number of bits in a digit.
    pub(in crate::structures) const BITS: u32 = BUCKETS.trailing_zeros();

    /// The number of levels that cover 64 bits.
    pub(in crate::structures) const LEVELS: u32 = u64::BITS.div_ceil(Self::BITS);

    /// Returns the bucket of `digit` at `level`.
    #[inline]
    pub(in crate::structures) const fn new(level: usize, digit: usize) -> Self {
        Self((level * BUCKETS + digit) as u16)
    }

    /// Returns the bucket of `expiry` at `clock`. The bucket's level is the number of the highest
    /// digit in which `expiry` differs from `clock`, and the bucket's digit is the value of that
    /// digit in `expiry`.
    ///
    /// `clock` must not be later than `expiry`. With 64 buckets `of(1000, 70000)` is bucket 17 of
    /// level 2.
    #[inline]
    pub(in crate::structures) const fn of(clock: Tick, expiry: Tick) -> Self {
        // If the ticks are equal, no bit differs, and setting the lowest bit gives level 0.
        let highest_bit = u64::BITS - 1 - ((clock ^ expiry) | 1).leading_zeros();
        // The division uses 16 bits, which are enough for both operands. For 32-bit x86 at
        // opt-level 1, rustc 1.95 (LLVM 22.1.2) replaces a division of 32 bits by a multiplication,
        // and then uses the wrong (lower) half of the product as the level. The resulting index is
        // far outside the wheel.
        let level = (highest_bit as u16 / Self::BITS as u16) as u32;
        Self::new(level as usize, (expiry >> (level * Self::BITS)) as usize % BUCKETS)
    }

    /// Returns the index of the bucket in the array of all buckets.
    #[inline]
    pub(in crate::structures) const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(in crate::structures) const fn level(self) -> usize {
        self.index() / BUCKETS
    }

    #[inline]
    pub(in crate::structures) const fn digit(self) -> usize {
        self.index() % BUCKETS
    }

    /// Returns the bucket's bit in the bitmaps of its level.
    #[inline]
    pub(in crate::structures) const fn bit(self) -> u64 {
        1 << self.digit()
    }

    /// Returns the first tick of the granule that holds `tick` at the bucket's level.
    #[inline]
    pub(in crate::structures) const fn first_tick(self, tick: Tick) -> Tick {
        let shift = Self::BITS * self.level() as u32;
        tick >> shift << shift
    }

    /// Returns the last tick of the granule that holds `tick` at the bucket's level.
    pub(in crate::structures) const fn last_tick(self, tick: Tick) -> Tick {
        let shift = Self::BITS * self.level() as u32;
        tick | ((1 << shift) - 1)
    }
}

#[cfg(test)]
mod tests;
