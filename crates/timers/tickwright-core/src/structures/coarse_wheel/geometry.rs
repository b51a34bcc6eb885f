//! The arithmetic of a coarse wheel. This file computes only with numbers and does not access
//! nodes.
//!
//! # Inputs, and why each bound holds
//! - `BUCKETS` is a power of two from 2 to 64. One `u64` has a bit for each bucket of a level. The
//!   index of a bucket is the number of its granule modulo `BUCKETS`.
//! - `SHIFT` is at least 1: each level is coarser than the one below. `SHIFT * (DEPTH - 1)` is at
//!   most 63, so the length of a granule of the top level fits in a `u64`.
//! - A level accepts delays below `BUCKETS - 1` granules, which is one granule less than the level
//!   has buckets. The clock can be at any tick of its granule, so such a delay covers at most
//!   `BUCKETS` granules. No two of these granules share an index.

use crate::contract::{Span, Tick};

/// The arithmetic of a coarse wheel. Every function accepts all arguments. If a result does not fit
/// in a `u64`, the function returns `u64::MAX`.
///
/// `BUCKETS` is a power of two from 2 to 64, `SHIFT` at least 1, `DEPTH` at least 2, and
/// `SHIFT * (DEPTH - 1)` at most 63. A wheel with other values does not compile.
#[derive(Clone, Copy, Debug)]
pub struct Geometry<const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize>;

impl<const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Geometry<BUCKETS, SHIFT, DEPTH> {
    pub(super) const VALID: () = {
        assert!(BUCKETS.is_power_of_two() && BUCKETS >= 2 && BUCKETS <= 64, "BUCKETS: 2, 4, .. 64");
        assert!(SHIFT >= 1 && DEPTH >= 2, "SHIFT: at least 1; DEPTH: at least 2");
        assert!(SHIFT <= 63 && DEPTH <= 64 && SHIFT as usize * (DEPTH - 1) <= 63, "SHIFT * (DEPTH - 1): 63");
    };

    /// The coarsest level.
    pub const TOP: usize = DEPTH - 1;

    /// Returns the width in bits of a tick's offset within a granule of `level`. `None` when this
    /// width is 64 or more.
    const fn bits(level: usize) -> Option<u32> {
        let bits = (SHIFT as usize).saturating_mul(level);
        if bits < 64 { Some(bits as u32) } else { None }
    }

    /// Returns the number of ticks in a bucket of `level`: `1 << SHIFT * level`.
    #[must_use]
    pub const fn granule(level: usize) -> Span {
        match Self::bits(level) {
            Some(bits) => 1 << bits,
            None => Span::MAX,
        }
    }

    /// Returns the number of the granule of `level` that holds `tick`.
    pub(super) const fn number(tick: Tick, level: usize) -> u64 {
        match Self::bits(level) {
            Some(bits) => tick >> bits,
            None => 0,
        }
    }

    /// Returns the least delay of `level`: 0, `BUCKETS - 1`, `(BUCKETS - 1) << SHIFT`, and so on.
    /// `start(DEPTH)` is the cutoff: a timer whose delay is at least the cutoff is far.
    #[must_use]
    pub const fn start(level: usize) -> Span {
        if level == 0 { 0 } else { (BUCKETS as u64 - 1).saturating_mul(Self::granule(level - 1)) }
    }

    /// Returns the level for a delay, or `None` if the delay is at least the cutoff.
    #[must_use]
    pub const fn level(delay: Span) -> Option<usize> {
        let mut level = 0;
        while level < DEPTH {
            if delay < Self::start(level + 1) {
                return Some(level);
            }
            level += 1;
        }
        None
    }

    /// The end of the bucket of `deadline` at `level`: `((deadline >> SHIFT * level) + 1) << SHIFT
    /// * level`.
    #[must_use]
    pub const fn bucket_end(deadline: Tick, level: usize) -> Tick {
        (deadline | (Self::granule(level) - 1)).saturating_add(1)
    }

    /// Returns whether two deadlines are in the same bucket of `level`. Both deadlines must be in
    /// the same granule; equal indices are not enough.
    #[must_use]
    pub const fn same_bucket(a: Tick, b: Tick, level: usize) -> bool {
        Self::number(a, level) == Self::number(b, level)
    }

    /// Returns the greatest number of ticks by which a timer inserted with `delay` expires after
    /// its deadline.
    #[must_use]
    pub const fn lateness(delay: Span) -> Span {
        match Self::level(delay) {
            _ if delay == 0 => 0,
            Some(level) => Self::granule(level),
            None => Self::granule(Self::TOP),
        }
    }

    /// Returns the index of the bucket of `deadline` in `level`.
    pub(super) const fn index(deadline: Tick, level: usize) -> usize {
        (Self::number(deadline, level).wrapping_add(1) % BUCKETS as u64) as usize
    }

    /// Returns the first bucket of `occupied` that ends after `clock` at `level`, and the end of
    /// that bucket.
    #[inline]
    pub(super) const fn first(occupied: u64, clock: Tick, level: usize) -> Option<(usize, Tick)> {
        if occupied == 0 {
            return None;
        }
        let next = Self::index(clock, level);
        let ahead = occupied >> next << next;
        let index = (if ahead == 0 { occupied } else { ahead }).trailing_zeros() as usize;
        let distance = index.wrapping_sub(next) % BUCKETS;
        let from = (distance as u64).saturating_mul(Self::granule(level));
        Some((index, Self::bucket_end(clock.saturating_add(from), level)))
    }

    /// Returns whether the top level can hold a timer for `deadline` when the wheel is at `clock`.
    pub(super) const fn in_reach(deadline: Tick, clock: Tick) -> bool {
        let ahead = Self::number(deadline, Self::TOP).saturating_sub(Self::number(clock, Self::TOP));
        ahead < BUCKETS as u64
    }

    /// Returns the far bucket of a timer that the top level cannot hold: the highest bit in which
    /// `clock` differs from the start of the timer's last granule.
    pub(super) const fn power(deadline: Tick, clock: Tick) -> usize {
        let last = deadline & !(Self::granule(Self::TOP) - 1);
        63u32.saturating_sub((last ^ clock).leading_zeros()) as usize
    }
}

#[cfg(test)]
mod tests;
