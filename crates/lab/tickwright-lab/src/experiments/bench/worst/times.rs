//! The least times of the calls of one kind, read from their histogram.

use crate::stats::Distribution;

/// Times in ns. Each time includes one reading of the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Times {
    /// The number of calls.
    pub(super) calls: u64,
    /// For each number n in [`SHARES`], the time that one of n calls exceeds, to three digits.
    at: [u64; SHARES.len()],
    /// The longest time, exact.
    pub(super) worst_ns: u64,
}

/// The shares that are read: all points of the plot, which include the columns of the table.
const SHARES: [f64; 11] = [2.0, 4.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 1e5, 1e6];

impl Times {
    /// Reads a histogram. Returns `None` if there was no call.
    pub(super) fn read(ns: &[u64]) -> Option<Self> {
        let mut histogram = Distribution::new();
        ns.iter().for_each(|ns| histogram.push(*ns));
        let at = SHARES.map(|share| histogram.percentile(100.0 - 100.0 / share));
        let all = histogram.running();
        (all.count() > 0).then(|| Self { calls: all.count(), at, worst_ns: all.max() })
    }

    /// Returns the median.
    pub(super) fn median_ns(&self) -> u64 {
        self.longer_in(2.0)
    }

    /// Returns the time that one of `of` calls exceeds. `of` is one of [`SHARES`].
    pub(super) fn longer_in(&self, of: f64) -> u64 {
        SHARES.iter().position(|share| *share >= of).map_or(self.worst_ns, |at| self.at[at])
    }

    /// Returns the worst time divided by the median, or `None` if the median is below the clock's
    /// resolution.
    pub(super) fn ratio(&self) -> Option<f64> {
        let median = self.median_ns();
        (median > 0).then(|| self.worst_ns as f64 / median as f64)
    }

    /// Returns the points of the histogram that are based on at least one call, and the worst call
    /// as the last point. A point (n, ns) means that one of n calls takes longer than ns.
    pub(super) fn tail(&self) -> impl Iterator<Item = (f64, f64)> {
        let calls = self.calls as f64;
        let shares = SHARES.into_iter().zip(self.at).filter(move |(share, _)| *share < calls);
        shares.map(|(share, ns)| (share, ns as f64)).chain([(calls, self.worst_ns as f64)])
    }
}
