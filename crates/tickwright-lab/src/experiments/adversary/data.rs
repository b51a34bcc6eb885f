//! The plan of an attack, and its data.

use super::attack::Call;
use super::pattern::Pattern;
use crate::stats::Distribution;
use crate::structures::registry::Structure;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) structures: Vec<&'static Structure>,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) populations: Vec<usize>,
    pub(crate) budget: usize,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
}

/// The measurements.
#[derive(Debug, Clone, Default)]
pub(crate) struct Data {
    /// A row for each population, pattern, structure and kind of call.
    pub(crate) rows: Vec<Row>,
    /// An entry for each population, pattern and structure that was not run.
    pub(crate) skipped: Vec<Skipped>,
}

/// A structure that was not run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) structure: &'static Structure,
    pub(crate) pattern: Pattern,
    pub(crate) population: usize,
    pub(crate) why: String,
}

/// One kind of call on one structure under one attack.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) structure: &'static Structure,
    pub(crate) pattern: Pattern,
    pub(crate) population: usize,
    pub(crate) call: Call,
    pub(crate) times: Times,
}

/// The least times of the calls of one kind in ns, read from their histogram. Each time includes
/// one reading of the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Times {
    /// The number of calls.
    pub(crate) calls: u64,
    /// One time for each share in [`SHARES`], to three digits. This share of the calls takes no
    /// longer than that time.
    at: [u64; SHARES.len()],
    /// The longest time, exact.
    pub(crate) worst_ns: u64,
}

/// One call in `of` takes longer than the time at the percentile `percent`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub(crate) of: f64,
    percent: f64,
}

/// The values that are read from each histogram: all points of the plot, which include the columns
/// of the table.
pub(crate) const SHARES: [Share; 11] = [
    Share { of: 2.0, percent: 50.0 },
    Share { of: 4.0, percent: 75.0 },
    Share { of: 10.0, percent: 90.0 },
    Share { of: 30.0, percent: 96.666_666_7 },
    Share { of: 100.0, percent: 99.0 },
    Share { of: 300.0, percent: 99.666_666_7 },
    Share { of: 1e3, percent: 99.9 },
    Share { of: 3e3, percent: 99.966_666_7 },
    Share { of: 1e4, percent: 99.99 },
    Share { of: 1e5, percent: 99.999 },
    Share { of: 1e6, percent: 99.9999 },
];

impl Times {
    /// Reads a histogram; `None` if there was no call.
    pub(crate) fn read(ns: &[u64]) -> Option<Self> {
        let mut histogram = Distribution::new();
        ns.iter().for_each(|ns| histogram.push(*ns));
        let at = SHARES.map(|share| histogram.percentile(share.percent));
        let all = histogram.running();
        (all.count() > 0).then(|| Self { calls: all.count(), at, worst_ns: all.max() })
    }

    /// The median.
    pub(crate) fn median_ns(&self) -> u64 {
        self.longer_in(2.0)
    }

    /// One call in `of` exceeds this time; `of` is one of [`SHARES`].
    pub(crate) fn longer_in(&self, of: f64) -> u64 {
        SHARES.iter().position(|share| share.of >= of).map_or(self.worst_ns, |at| self.at[at])
    }

    /// The worst time divided by the median; `None` if the median is below the clock's resolution.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let median = self.median_ns();
        (median > 0).then(|| self.worst_ns as f64 / median as f64)
    }

    /// The points of the histogram that rest on at least one call, and the worst call as the last
    /// point. A point is a pair (n, ns): one call in n takes longer than ns.
    pub(crate) fn tail(&self) -> impl Iterator<Item = (f64, f64)> {
        let calls = self.calls as f64;
        let shares = SHARES.into_iter().zip(self.at).filter(move |(share, _)| share.of < calls);
        let points = shares.map(|(share, ns)| (share.of, ns as f64));
        points.chain([(calls, self.worst_ns as f64)])
    }
}
