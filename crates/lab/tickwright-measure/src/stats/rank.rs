//! Decides by ranks whether one sample is larger than another. The test assumes no distribution and
//! no pairing of rounds.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::{CONFIDENCE, FEWEST_ROUNDS, Interval, Summary, Verdict, summarise};

/// The comparison of two independent samples of figures above 0: the second compared with the
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// The median of the quotients of all pairs, second by first (Hodges and Lehmann 1963, on
    /// logarithms). Its interval is the set of ratios that the rank test does not reject (Moses
    /// 1965).
    pub ratio: Summary,
    /// The probability that ranks are at least as one-sided as these if both samples have the same
    /// distribution. The test is the test of Mann and Whitney (1947), with the normal
    /// approximation, corrected for ties and for continuity.
    pub p: f64,
    /// Effect size (Cliff 1993): 1 if each figure of the second sample is above each figure of the
    /// first, -1 if each figure of the second sample is below each figure of the first, and 0 if
    /// neither sample prevails.
    pub effect: f64,
}

impl Shift {
    /// Compares two samples. Returns `None` if one of the samples has no figure above 0.
    #[must_use]
    pub fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        let above = |samples: &[f64]| -> Vec<f64> {
            samples.iter().copied().filter(|x| x.is_finite() && *x > 0.0).collect()
        };
        let (first, second) = (above(first), above(second));
        let mut quotients: Vec<f64> = first.iter().flat_map(|a| second.iter().map(move |b| b / a)).collect();
        quotients.sort_by(f64::total_cmp);
        let summary = summarise(quotients.iter().copied())?;
        let (n, m) = (first.len() as f64, second.len() as f64);
        let greater = quotients.iter().filter(|q| **q > 1.0).count() as f64;
        let equal = quotients.iter().filter(|q| **q == 1.0).count() as f64;
        let u = greater + equal / 2.0;
        let deviation = spread(&first, &second);
        let z = ((u - n * m / 2.0).abs() - 0.5).max(0.0) / deviation;
        let p = if deviation > 0.0 { 2.0 * Normal::standard().sf(z) } else { 1.0 };
        let few = first.len().min(second.len()) < FEWEST_ROUNDS as usize;
        Some(Self {
            ratio: Summary {
                samples: first.len().min(second.len()),
                interval: interval(&quotients, n, m, few),
                ..summary
            },
            p: p.min(1.0),
            effect: 2.0 * u / (n * m) - 1.0,
        })
    }

    /// Returns faster or slower if the ratio is at least [`TIE`](super::TIE) away from 1 and the
    /// interval excludes 1.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::on(&self.ratio)
    }
}

/// Returns the standard deviation of U, for ranks that equal figures share.
fn spread(first: &[f64], second: &[f64]) -> f64 {
    let (n, m) = (first.len() as f64, second.len() as f64);
    let mut all: Vec<f64> = first.iter().chain(second).copied().collect();
    all.sort_by(f64::total_cmp);
    let ties: f64 =
        all.chunk_by(|a, b| a == b).map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64).sum();
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)).max(1.0));
    variance.max(0.0).sqrt()
}

/// Returns the quotients that a test at [`CONFIDENCE`] does not reject.
fn interval(quotients: &[f64], n: f64, m: f64, few: bool) -> Interval {
    let (Some(&low), Some(&high)) = (quotients.first(), quotients.last()) else {
        return Interval { low: f64::NAN, high: f64::NAN, coverage: 0.0 };
    };
    if few {
        return Interval { low, high, coverage: 0.0 };
    }
    let z = Normal::standard().inverse_cdf(0.5 + CONFIDENCE / 2.0);
    let reach = n * m / 2.0 - z * (n * m * (n + m + 1.0) / 12.0).sqrt();
    let at = (reach.floor().max(0.0) as usize).min(quotients.len().saturating_sub(1) / 2);
    Interval { low: quotients[at], high: quotients[quotients.len() - 1 - at], coverage: CONFIDENCE }
}

#[cfg(test)]
mod tests;
