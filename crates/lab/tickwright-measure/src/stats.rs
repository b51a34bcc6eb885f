//! Medians, spreads and intervals of few samples, and running figures of very many samples.

pub mod rank;
pub mod verdict;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

pub use self::rank::Shift;
pub use self::verdict::{Bound, TIE, Verdict};

/// The least coverage at which an interval decides a comparison.
pub const CONFIDENCE: f64 = 0.95;

/// With fewer rounds no interval reaches [`CONFIDENCE`].
pub const FEWEST_ROUNDS: u64 = 6;

/// An interval that contains the true median with probability `coverage`, for any distribution. Its
/// ends are two order statistics.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability that the interval contains the median; below [`CONFIDENCE`] if there are
    /// fewer than six samples.
    pub coverage: f64,
}

/// The figures of a few samples of one quantity.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of samples.
    pub samples: usize,
    /// The middle sample, or the mean of the middle two.
    pub median: f64,
    /// The median absolute deviation from the median.
    pub mad: f64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// The interval of the median.
    pub interval: Interval,
}

/// Summarizes samples. Returns `None` if there are no samples. Samples that are NaN are left out.
pub fn summarise(samples: impl IntoIterator<Item = f64>) -> Option<Summary> {
    let mut sorted: Vec<f64> = samples.into_iter().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    let median = middle(&sorted);
    let mut deviations: Vec<f64> = sorted.iter().map(|x| (x - median).abs()).collect();
    deviations.sort_by(f64::total_cmp);
    Some(Summary {
        samples: sorted.len(),
        median,
        mad: middle(&deviations),
        min,
        max,
        interval: median_interval(&sorted),
    })
}

/// Summarizes the ratios `measured / reference` of the rounds. A disturbance of a round affects
/// both values, so the ratio of a round is steadier than the ratio of two medians.
pub fn ratios(measured: &[f64], reference: &[f64]) -> Option<Summary> {
    summarise(measured.iter().zip(reference).map(|(m, r)| m / r))
}

/// Returns the median of the finite samples, or `None` if there are none.
#[must_use]
pub fn median(samples: &[f64]) -> Option<f64> {
    summarise(samples.iter().copied()).map(|summary| summary.median)
}

/// Returns the mean of the samples that are numbers, or NaN if there are none.
#[must_use]
pub fn mean(samples: &[f64]) -> f64 {
    let numbers = samples.iter().filter(|x| x.is_finite());
    numbers.clone().sum::<f64>() / numbers.count() as f64
}

/// Returns the least sample that at least this share of the samples does not exceed, or `None`
/// without samples.
#[must_use]
pub fn quantile(samples: &[f64], share: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

fn middle(sorted: &[f64]) -> f64 {
    let upper = sorted[sorted.len() / 2];
    if sorted.len() % 2 == 1 { upper } else { (sorted[sorted.len() / 2 - 1] + upper) / 2.0 }
}

/// The most samples for which the interval is computed by an exact sum.
const MOST_SUMMED: usize = 1000;

/// The k-th smallest and the k-th largest of n samples enclose the median, unless fewer than k
/// samples are on one side of the median. The number of samples on one side is binomial(n, 1/2).
fn median_interval(sorted: &[f64]) -> Interval {
    let n = sorted.len();
    // Near n = 1075, 0.5^n is 0 in floating point, so the sum below would fail. For that many
    // samples, the normal approximation is exact to within one rank: 1.96 standard deviations of
    // sqrt(n) / 2 on each side.
    if n > MOST_SUMMED {
        let at = (n as f64 / 2.0 - 0.98 * (n as f64).sqrt()).floor() as usize - 1;
        return Interval { low: sorted[at], high: sorted[n - 1 - at], coverage: CONFIDENCE };
    }
    let ways = |k: usize| (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64);
    let scale = 0.5f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut outside = 2.0 * scale;
    let mut at = 0;
    while at + 1 < n / 2 {
        let wider = outside + 2.0 * scale * ways(at + 1);
        if wider > 1.0 - CONFIDENCE {
            break;
        }
        outside = wider;
        at += 1;
    }
    let coverage = if n == 1 { 0.0 } else { 1.0 - outside };
    Interval { low: sorted[at], high: sorted[n - 1 - at], coverage }
}

/// Returns the two-sided probability that tosses of a fair coin split at least as unevenly as `one`
/// to `other`, or 1 without a toss.
pub fn sign_test(one: u64, other: u64) -> f64 {
    let few = one.min(other);
    Binomial::new(0.5, one + other).map_or(1.0, |split| (2.0 * split.cdf(few)).min(1.0))
}

/// Count, extremes, mean and standard deviation of a stream, in one pass and in constant memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Running {
    count: u64,
    min: u64,
    max: u64,
    mean: f64,
    /// Sum of squared deviations from the mean (Welford 1962).
    #[serde(skip)]
    squares: f64,
}

impl Default for Running {
    fn default() -> Self {
        Self { count: 0, min: u64::MAX, max: 0, mean: 0.0, squares: 0.0 }
    }
}

impl Running {
    /// Adds a sample.
    #[inline]
    pub fn push(&mut self, sample: u64) {
        self.count += 1;
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
        let from_old_mean = sample as f64 - self.mean;
        self.mean += from_old_mean / self.count as f64;
        self.squares += from_old_mean * (sample as f64 - self.mean);
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest sample, or 0 without samples.
    pub fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// Returns the largest sample, or 0 without samples.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the mean, or 0 without samples.
    pub fn avg(&self) -> f64 {
        self.mean
    }

    /// Returns the sum.
    pub fn total(&self) -> f64 {
        self.mean * self.count as f64
    }

    /// Returns the standard deviation with the divisor n - 1, or 0 for fewer than two samples.
    pub fn stddev(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }
}

/// A stream of durations in ns: running figures, and percentiles to three digits.
#[derive(Debug, Clone)]
pub struct Distribution {
    running: Running,
    histogram: Histogram<u64>,
}

/// The longest duration that a [`Distribution`] distinguishes from longer durations: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

impl Distribution {
    /// Creates an empty distribution, whose memory stays constant.
    pub fn new() -> Self {
        // The bounds are valid for hdrhistogram: low >= 1, high >= 2 * low, at most 5 digits.
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("constant bounds are valid");
        Self { running: Running::default(), histogram }
    }

    /// Adds a sample.
    #[inline]
    pub fn push(&mut self, ns: u64) {
        self.running.push(ns);
        self.histogram.saturating_record(ns);
    }

    /// Returns the count, the extremes, the mean and the deviation.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Returns the value in ns that `percent` of the samples do not exceed, or 0 without samples.
    pub fn percentile(&self, percent: f64) -> u64 {
        self.histogram.value_at_percentile(percent).min(self.running.max())
    }
}

#[cfg(test)]
mod tests;
