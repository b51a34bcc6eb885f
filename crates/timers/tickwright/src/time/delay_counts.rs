//! For how long timers were armed, as a histogram in powers of two.

use core::fmt;
use core::time::Duration;

/// Counts of delays. Bucket 0 holds 0 and 1 ns; bucket b holds 2^b to 2^(b+1) - 1 ns. It has no sum
/// and no maximum, so that counting a delay costs three instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DelayCounts {
    counts: [u64; 64],
}

impl DelayCounts {
    /// Nothing is counted.
    #[must_use]
    pub const fn new() -> Self {
        Self { counts: [0; 64] }
    }

    /// Counts a delay, in nanoseconds.
    #[inline]
    pub fn note(&mut self, ns: u64) {
        self.counts[(ns | 1).ilog2() as usize] += 1;
    }

    /// Counts all delays of another histogram, too.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// How many delays were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The buckets that are not empty, as (the greatest delay of the bucket, its count).
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let last = |bucket: u32| Duration::from_nanos(u64::MAX >> (63 - bucket));
        (0..).zip(&self.counts).filter(|(_, count)| **count > 0).map(move |(at, count)| (last(at), *count))
    }
}

impl Default for DelayCounts {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for DelayCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.buckets()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
