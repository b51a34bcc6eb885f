//! Whether two means differ: Welch's test for samples of unequal spread, with the interval of the
//! difference.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::CONFIDENCE;

/// The result of Welch's test on the means of two samples (Welch, Biometrika 1947).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Welch {
    /// First mean minus second mean.
    pub difference: f64,
    /// Lower end of the interval of the difference.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Degrees of freedom (Welch-Satterthwaite).
    pub freedom: f64,
    /// Probability of a difference at least this large, in either direction, if the means were
    /// equal.
    pub p: f64,
}

impl Welch {
    /// Whether the interval excludes 0.
    pub fn differs(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Mean, and standard deviation with n - 1; `None` for fewer than two samples.
pub fn mean_and_deviation(samples: &[f64]) -> Option<(f64, f64)> {
    let n = samples.len() as f64;
    if samples.len() < 2 {
        return None;
    }
    let mean = samples.iter().sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
    Some((mean, (squares / (n - 1.0)).sqrt()))
}

/// Compares two means; `None` for fewer than two samples on a side.
pub fn welch(first: &[f64], second: &[f64]) -> Option<Welch> {
    let ((a, sa), (b, sb)) = (mean_and_deviation(first)?, mean_and_deviation(second)?);
    let (na, nb) = (first.len() as f64, second.len() as f64);
    let (va, vb) = (sa * sa / na, sb * sb / nb);
    let (difference, error) = (a - b, (va + vb).sqrt());
    if error == 0.0 {
        let p = if difference == 0.0 { 1.0 } else { 0.0 };
        return Some(Welch { difference, low: difference, high: difference, freedom: na + nb - 2.0, p });
    }
    let freedom = (va + vb).powi(2) / (va * va / (na - 1.0) + vb * vb / (nb - 1.0));
    let reach = error * quantile(freedom, 1.0 - CONFIDENCE)?;
    let p = two_tails(difference / error, freedom)?;
    Some(Welch { difference, low: difference - reach, high: difference + reach, freedom, p })
}

/// Student's t distribution with n degrees of freedom. Two samples that are not constant have more
/// than 0 degrees of freedom.
fn student(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom).ok()
}

/// The probability that Student's t is further from 0 than `t`.
fn two_tails(t: f64, freedom: f64) -> Option<f64> {
    Some(2.0 * student(freedom)?.cdf(-t.abs()))
}

/// The t whose [`two_tails`] are `p`.
fn quantile(freedom: f64, p: f64) -> Option<f64> {
    Some(student(freedom)?.inverse_cdf(1.0 - p / 2.0))
}

#[cfg(test)]
mod tests;
