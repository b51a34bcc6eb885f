//! A histogram of the delays for which timers were armed. The bounds of its buckets are powers of
//! two.

use core::fmt;
use core::time::Duration;

/// Counts of delays. Bucket 0 counts delays of 0 and 1 ns, and bucket b counts delays from 2^b to
/// 2^(b+1) - 1 ns. The sum and the maximum are not recorded, so that counting a delay costs only
/// three instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DelayCounts {
    counts: [u64; 64],
}

impl DelayCounts {
    /// Creates an empty histogram.
    #[must_use]
    pub const fn new() -> Self {
        Self { counts: [0; 64] }
    }

    /// Counts a delay of `ns` nanoseconds.
    #[inline]
    pub fn note(&mut self, ns: u64) {
        self.counts[(ns | 1).ilog2() as usize] += 1;
    }

    /// Adds all delays that another histogram has counted.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Returns how many delays were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Iterates over the buckets that are not empty. An item is the greatest delay that the bucket
    /// covers, and the bucket's count.
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
