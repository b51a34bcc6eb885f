//! How late timers were: a histogram in powers of two.

use core::fmt;

/// Counts of latenesses in ns: bucket 0 holds 0, bucket b from 2^(b-1) up to 2^b - 1.
#[derive(Clone, PartialEq, Eq)]
pub struct Lateness {
    counts: [u64; 65],
    sum: u128,
    max: u64,
}

impl Lateness {
    pub(super) const fn new() -> Self {
        Self { counts: [0; 65], sum: 0, max: 0 }
    }

    pub(super) fn note(&mut self, ns: u64) {
        self.counts[(u64::BITS - ns.leading_zeros()) as usize] += 1;
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
    }

    /// How many were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The greatest, in ns; 0 if there is none.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Their mean, in ns.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count().max(1) as f64
    }

    /// The buckets that hold any: (the greatest ns that belongs there, how many).
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let last = |bucket: u32| u64::MAX.checked_shr(u64::BITS - bucket).unwrap_or(0);
        (0..).zip(&self.counts).filter(|(_, count)| **count > 0).map(move |(at, count)| (last(at), *count))
    }

    /// An upper bound of the lateness that `share` (0 to 1) of all did not exceed, in ns: the end
    /// of its bucket, or the maximum.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (share.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.buckets().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        found.map_or(0, |(last, _)| last.min(self.max))
    }
}

impl fmt::Debug for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.buckets()).finish()
    }
}
