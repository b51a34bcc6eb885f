//! Whether two means differ: Welch's test for samples of unequal spread, with the interval of the
//! difference.

use serde::Serialize;

use super::CONFIDENCE;

/// What two samples say about the difference of their means (Welch, Biometrika 1947).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Welch {
    /// First mean less second mean.
    pub difference: f64,
    /// Lower end of the interval of the difference.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Degrees of freedom (Welch-Satterthwaite).
    pub freedom: f64,
    /// Probability of so large a difference, to either side, if the means were equal.
    pub p: f64,
}

impl Welch {
    /// Whether the interval leaves out 0.
    pub fn differs(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Mean, and standard deviation with n - 1; none for fewer than two samples.
pub fn mean_and_deviation(samples: &[f64]) -> Option<(f64, f64)> {
    let n = samples.len() as f64;
    if samples.len() < 2 {
        return None;
    }
    let mean = samples.iter().sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
    Some((mean, (squares / (n - 1.0)).sqrt()))
}

/// Compares two means; none for fewer than two samples on a side.
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
    let reach = error * quantile(freedom, 1.0 - CONFIDENCE);
    let p = two_tails((difference / error).abs(), freedom);
    Some(Welch { difference, low: difference - reach, high: difference + reach, freedom, p })
}

/// The probability that Student's t is further from 0 than `t`.
fn two_tails(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The t whose [`two_tails`] are `p`, by halving: they fall with t.
fn quantile(freedom: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e4);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if two_tails(middle, freedom) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The regularised incomplete beta function, by its continued fraction (Abramowitz & Stegun 26.5.8)
/// with Lentz's method.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp() / a;
    // Keeps quotients away from 0.
    let away = |x: f64| if x.abs() < 1e-300 { 1e-300 } else { x };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for step in [even, odd] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * fraction
}

/// The logarithm of the gamma function for x > 0: Stirling's series, after shifting x above 10.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * core::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests;
