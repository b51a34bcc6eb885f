//! The distribution of timers' durations, and the number of different durations.

use std::collections::{BTreeMap, HashMap};

use super::numbers::Numbers;

/// The durations of timers, in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delays {
    /// How many timers were armed.
    pub count: u64,
    /// The duration that 99 % of the timers exceed.
    pub p1: u64,
    /// The median.
    pub p50: u64,
    /// The duration that 10 % of the timers exceed.
    pub p90: u64,
    /// The duration that 1 % of the timers exceed.
    pub p99: u64,
    /// The longest duration.
    pub max: u64,
    /// The number of different durations, to two significant digits.
    pub distinct: u64,
    /// The most frequent durations, to two significant digits.
    pub top: Vec<Share>,
    /// The histogram: a bar for each doubling.
    pub bars: Vec<Bar>,
}

/// A duration, and how often it occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The duration, in ns.
    pub ns: u64,
    /// How many timers had this duration.
    pub count: u64,
}

/// A bar of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bar {
    /// The least duration, in ns. The bar ends at twice this duration.
    pub from_ns: u64,
    /// How many timers had a duration in this bar.
    pub count: u64,
}

/// How many of the most frequent durations are kept.
const TOP: usize = 5;

/// Counts durations. With two significant digits there are 90 different durations in each power of
/// ten, and at most 1,800 in all.
#[derive(Debug, Default)]
pub(super) struct Counter {
    spread: Numbers,
    by_duration: HashMap<u64, u64>,
    by_bits: BTreeMap<u32, u64>,
}

impl Counter {
    pub(super) fn push(&mut self, ns: u64) {
        self.spread.push(ns);
        *self.by_duration.entry(rounded(ns)).or_default() += 1;
        *self.by_bits.entry(u64::BITS - ns.leading_zeros()).or_default() += 1;
    }

    pub(super) fn finish(self) -> Delays {
        let distinct = self.by_duration.len() as u64;
        let mut top: Vec<Share> =
            self.by_duration.into_iter().map(|(ns, count)| Share { ns, count }).collect();
        top.sort_by_key(|share| (u64::MAX - share.count, share.ns));
        top.truncate(TOP);
        let bar = |bits: u32| {
            let from_ns = bits.checked_sub(1).map_or(0, |shift| 1 << shift);
            Bar { from_ns, count: self.by_bits.get(&bits).copied().unwrap_or(0) }
        };
        let ends = self.by_bits.keys().next().zip(self.by_bits.keys().next_back());
        let bars = ends.map_or(Vec::new(), |(&first, &last)| (first..=last).map(bar).collect());
        Delays {
            count: self.spread.count(),
            p1: self.spread.at(0.01),
            p50: self.spread.at(0.5),
            p90: self.spread.at(0.9),
            p99: self.spread.at(0.99),
            max: self.spread.largest(),
            distinct,
            top,
            bars,
        }
    }
}

/// Rounds to two significant digits.
fn rounded(ns: u64) -> u64 {
    let mut unit = 1;
    while ns / unit >= 100 {
        unit *= 10;
    }
    (ns / unit + u64::from(ns % unit >= unit.div_ceil(2) && unit > 1)).saturating_mul(unit)
}
