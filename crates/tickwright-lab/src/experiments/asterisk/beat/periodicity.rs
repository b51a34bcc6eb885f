//! A period in a series, by autocorrelation.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// What was found in a series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Search {
    /// How far the autocorrelation of the shuffled series stands out at some lag in one case of a
    /// hundred.
    pub(crate) threshold: f64,
    /// The period that is above chance.
    pub(crate) period: Option<Period>,
}

/// A period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Period {
    /// In intervals.
    pub(crate) lag: usize,
    /// How far the autocorrelation stands out there: about 1 for a series that repeats exactly.
    pub(crate) strength: f64,
}

/// Shuffled series, and lags at most: what takes a second in the longest of runs.
const SHUFFLES: usize = 200;
const MOST_LAGS: usize = 500;
const MOST_PRODUCTS: usize = 500_000_000;

/// The autocorrelation by lag, from 0 on, of the series without its linear trend.
pub(crate) fn autocorrelation(series: &[f64]) -> Vec<f64> {
    let level = without_trend(series);
    correlate(&level, lags(&level))
}

fn lags(level: &[f64]) -> usize {
    (level.len() / 2).min(MOST_LAGS)
}

/// Looks for a period of up to a quarter of the series.
///
/// A period is a lag at which the series resembles itself more than at the lags around it, by more
/// than chance explains, and does so at twice the lag again (else it is one coincidence). What
/// changes slowly resembles itself at all lags around, and has none.
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

/// The residues of a straight line.
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

/// For each lag below `lags`, divided by that of lag 0; all 0 for a series that does not move.
fn correlate(level: &[f64], lags: usize) -> Vec<f64> {
    let product = |lag: usize| level.iter().zip(&level[lag..]).map(|(a, b)| a * b).sum::<f64>();
    let whole = level.iter().map(|value| value * value).sum::<f64>();
    // Fewer pairs at long lags: they are not raised for that.
    (0..lags).map(|lag| if whole > 0.0 { product(lag) / whole } else { 0.0 }).collect()
}

/// By how much each value stands out of the mean of those from half its lag to one and a half of
/// it; nothing for the lags 0 and 1.
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
    // What is around moves the place of a broad peak a little: it is where the autocorrelation has
    // it.
    let at = |lag: &usize| autocorrelation.get(*lag).copied().unwrap_or(0.0);
    let lag = near(best).filter(|lag| *lag > 1).max_by(|a, b| at(a).total_cmp(&at(b))).unwrap_or(best);
    Some(Period { lag, strength: is(best) })
}
