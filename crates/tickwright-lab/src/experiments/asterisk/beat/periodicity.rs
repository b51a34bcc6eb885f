//! The search for a period in a series, by autocorrelation.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Search {
    /// The 99th percentile of the greatest relief of a shuffled series. The relief at a lag is how
    /// far the autocorrelation rises above its surroundings.
    pub(crate) threshold: f64,
    /// The period, if its relief is above the threshold.
    pub(crate) period: Option<Period>,
}

/// A period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Period {
    /// The period, in intervals.
    pub(crate) lag: usize,
    /// The relief of the autocorrelation at this lag: about 1 for a series that repeats exactly.
    pub(crate) strength: f64,
}

/// Upper bounds of the numbers of shuffled series, of lags, and of products. The longest runs then
/// take about a second.
const SHUFFLES: usize = 200;
const MOST_LAGS: usize = 500;
const MOST_PRODUCTS: usize = 500_000_000;

/// The autocorrelation of the series without its linear trend, by lag from 0.
pub(crate) fn autocorrelation(series: &[f64]) -> Vec<f64> {
    let level = without_trend(series);
    correlate(&level, lags(&level))
}

fn lags(level: &[f64]) -> usize {
    (level.len() / 2).min(MOST_LAGS)
}

/// Looks for a period of up to a quarter of the series.
///
/// A period is a lag at which the series resembles itself more than at the lags around it, beyond
/// chance. The same must hold at twice the lag; otherwise the match is a coincidence. A series that
/// changes slowly resembles itself at all nearby lags, and has no period.
pub(crate) fn search(series: &[f64], seed: u64) -> Search {
    let mut level = without_trend(series);
    let lags = lags(&level);
    let autocorrelation = correlate(&level, lags);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let shuffles = (MOST_PRODUCTS / (level.len() * lags).max(1)).clamp(20, SHUFFLES);
    let mut heights: Vec<f64> = (0..shuffles)
        .map(|_| {
            level.shuffle(&mut random);
            relief(&correlate(&level, lags)).into_iter().fold(0.0, f64::max)
        })
        .collect();
    heights.sort_by(f64::total_cmp);
    let threshold = heights.get(shuffles * 99 / 100).copied().unwrap_or(1.0);
    Search { threshold, period: period(&autocorrelation, threshold) }
}

/// The residuals of a straight line through the series.
fn without_trend(series: &[f64]) -> Vec<f64> {
    let count = series.len().max(1) as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = series.iter().sum::<f64>() / count;
    let at = |at: usize| at as f64 - middle;
    let (over, under) = series
        .iter()
        .enumerate()
        .fold((0.0, 0.0), |(over, under), (i, value)| (over + at(i) * (value - mean), under + at(i) * at(i)));
    let slope = if under > 0.0 { over / under } else { 0.0 };
    series.iter().enumerate().map(|(i, value)| value - mean - slope * at(i)).collect()
}

/// The autocorrelation for each lag below `lags`, relative to lag 0. A constant series gives 0
/// everywhere.
fn correlate(level: &[f64], lags: usize) -> Vec<f64> {
    let product = |lag: usize| level.iter().zip(&level[lag..]).map(|(a, b)| a * b).sum::<f64>();
    let whole = level.iter().map(|value| value * value).sum::<f64>();
    // Long lags have fewer pairs. Their sums are not scaled up.
    (0..lags).map(|lag| if whole > 0.0 { product(lag) / whole } else { 0.0 }).collect()
}

/// How far each value rises above the mean of the values around it. The mean covers the lags from
/// half of its lag to one and a half times its lag. The lags 0 and 1 give 0.
fn relief(autocorrelation: &[f64]) -> Vec<f64> {
    let around = |lag: usize| {
        let window = autocorrelation.get(lag - lag / 2..=lag + lag / 2).unwrap_or_default();
        if window.is_empty() { f64::INFINITY } else { window.iter().sum::<f64>() / window.len() as f64 }
    };
    let stands_out = |(lag, value): (usize, &f64)| if lag < 2 { 0.0 } else { (value - around(lag)).max(0.0) };
    autocorrelation.iter().enumerate().map(stands_out).collect()
}

fn period(autocorrelation: &[f64], threshold: f64) -> Option<Period> {
    let relief = relief(autocorrelation);
    let is = |lag: usize| relief.get(lag).copied().unwrap_or(0.0);
    let near = |lag: usize| lag - (lag / 10).max(1)..=lag + (lag / 10).max(1);
    let best = (2..relief.len())
        .filter(|&lag| is(lag) > threshold && near(2 * lag).any(|twice| is(twice) > threshold))
        .max_by(|&a, &b| is(a).total_cmp(&is(b)))?;
    // Relief is relative to the surroundings, so a broad peak of it may be a few lags off. The
    // period is the lag of the peak of the autocorrelation itself.
    let at = |lag: &usize| autocorrelation.get(*lag).copied().unwrap_or(0.0);
    let lag = near(best).filter(|lag| *lag > 1).max_by(|a, b| at(a).total_cmp(&at(b))).unwrap_or(best);
    Some(Period { lag, strength: is(best) })
}
