//! Distributions of numbers.

use hdrhistogram::Histogram;

/// A distribution of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// How many numbers were counted.
    pub count: u64,
    /// The median.
    pub p50: u64,
    /// The value that 1 % of the numbers exceed.
    pub p99: u64,
    /// The largest number.
    pub max: u64,
}

/// Counts numbers to three significant digits, and keeps the least and the greatest exactly.
#[derive(Debug)]
pub(super) struct Numbers {
    histogram: Histogram<u64>,
    least: u64,
    largest: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        // The arguments are in the valid range, so this cannot fail.
        let histogram = Histogram::new_with_bounds(1, u64::MAX / 2, 3);
        let histogram = histogram.unwrap_or_else(|_| unreachable!("valid bounds"));
        Self { histogram, least: u64::MAX, largest: 0 }
    }
}

impl Numbers {
    /// Counts a number. A number beyond the range counts as the greatest number of the range.
    pub(super) fn push(&mut self, number: u64) {
        self.push_times(number, 1);
    }

    /// Counts a number several times.
    pub(super) fn push_times(&mut self, number: u64, times: u64) {
        self.histogram.saturating_record_n(number, times);
        self.least = self.least.min(number);
        self.largest = self.largest.max(number);
    }

    pub(super) fn count(&self) -> u64 {
        self.histogram.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// Returns the number that this share of all numbers does not exceed, or 0 if there are no
    /// numbers.
    pub(super) fn at(&self, share: f64) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let found = self.histogram.value_at_quantile(share);
        self.histogram.lowest_equivalent(found).clamp(self.least, self.largest)
    }

    pub(super) fn largest(&self) -> u64 {
        self.largest
    }

    pub(super) fn spread(&self) -> Spread {
        Spread { count: self.count(), p50: self.at(0.5), p99: self.at(0.99), max: self.largest }
    }
}
