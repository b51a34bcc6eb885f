//! A histogram of the lateness of timers. The bounds of its buckets are powers of two.

use core::fmt;
use core::time::Duration;

/// Counts of latenesses. Bucket 0 counts a lateness of 0 ns, and bucket b counts latenesses from
/// 2^(b-1) to 2^b - 1 ns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Lateness {
    counts: [u64; 65],
    pub(crate) sum_ns: u128,
    max_ns: u64,
}

impl Lateness {
    /// Creates an empty histogram.
    #[must_use]
    pub const fn new() -> Self {
        Self { counts: [0; 65], sum_ns: 0, max_ns: 0 }
    }

    /// Counts a lateness of `ns` nanoseconds.
    pub fn note(&mut self, ns: u64) {
        self.note_all(ns, 1);
    }

    /// Counts `timers` timers that were each late by `ns` nanoseconds. If there is no timer, `ns`
    /// must be 0.
    pub(crate) fn note_all(&mut self, ns: u64, timers: u64) {
        self.counts[(u64::BITS - ns.leading_zeros()) as usize] += timers;
        self.sum_ns += u128::from(ns) * u128::from(timers);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the counts of another histogram to this histogram.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Returns how many latenesses were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the greatest lateness, or zero if none was counted.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max_ns)
    }

    /// Returns the mean lateness, rounded down to whole ns, or zero if none was counted.
    #[must_use]
    pub fn mean(&self) -> Duration {
        // The mean is at most the greatest lateness, so it fits into a `u64`.
        Duration::from_nanos((self.sum_ns / u128::from(self.count().max(1))) as u64)
    }

    /// Iterates over the buckets that are not empty. An item is the greatest lateness that the
    /// bucket covers, and the bucket's count.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let last = |bucket: u32| Duration::from_nanos(u64::MAX.checked_shr(u64::BITS - bucket).unwrap_or(0));
        (0..).zip(&self.counts).filter(|(_, count)| **count > 0).map(move |(at, count)| (last(at), *count))
    }

    /// Returns an upper bound of a quantile: `share` (0 to 1) of all timers were not later than
    /// that. The bound is the end of the quantile's bucket, or the greatest lateness if that is
    /// less.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (share.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.buckets().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        found.map_or(Duration::ZERO, |(last, _)| last.min(self.max()))
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.buckets()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
