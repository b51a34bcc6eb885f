//! The position of a figure on an axis, and the positions of the marks.

use crate::result::{Axis, Plot};

/// An axis from the least to the greatest drawn figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    /// The only figure of a horizontal axis, which is placed in the middle.
    only: Option<f64>,
}

impl Scale {
    /// Returns the scales of both axes, or `None` if there is no point.
    pub(super) fn of(plot: &Plot) -> Option<(Self, Self)> {
        let points = || plot.curves.iter().flat_map(|curve| &curve.points);
        let x = Self::around(&plot.x, points().map(|point| point.0), false)?;
        let y = Self::around(&plot.y, points().map(|point| point.1), true)?;
        Some((x, y))
    }

    /// Creates a scale around the values. A linear vertical axis begins at 0, so that lengths can
    /// be compared. A logarithmic axis begins and ends at whole decades.
    fn around(axis: &Axis, values: impl Iterator<Item = f64> + Clone, height: bool) -> Option<Self> {
        let low = values.clone().min_by(f64::total_cmp)?;
        let high = values.max_by(f64::total_cmp)?;
        let (low, high) = match (axis.log, height) {
            (true, true) => (10f64.powf(low.log10().floor()), 10f64.powf(high.log10().ceil())),
            (false, true) => (low.min(0.0), high),
            _ => (low, high),
        };
        let only = (high <= low && !height).then_some(low);
        let (low, high) = match (high > low, height, axis.log) {
            (true, ..) => (low, high),
            (false, true, true) => (low, low * 10.0),
            (false, true, false) => (low, low + 1.0),
            (false, false, true) => (low / 10.0, low * 10.0),
            (false, false, false) => (low - 1.0, low + 1.0),
        };
        Some(Self { low, high, log: axis.log, only })
    }

    /// Returns the position of a figure: 0 for the least figure, 1 for the greatest.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        part.clamp(0.0, 1.0)
    }

    /// Returns round figures within the scale, about `wanted` of them.
    pub(super) fn marks(&self, wanted: usize) -> Vec<f64> {
        if let Some(only) = self.only {
            return vec![only];
        }
        if self.log {
            let (first, last) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
            let step = usize::try_from(last - first).unwrap_or(0).div_ceil(wanted.max(1)).max(1);
            let decades: Vec<f64> = (first..=last).step_by(step).map(|decade| 10f64.powi(decade)).collect();
            if decades.len() > 1 {
                return decades;
            }
            return vec![self.low, self.high];
        }
        let step = tidy((self.high - self.low) / wanted.max(1) as f64);
        let first = (self.low / step).ceil();
        (0..=wanted * 3).map(|at| (first + at as f64) * step).take_while(|mark| *mark <= self.high).collect()
    }
}

/// Returns the least of 1, 2, 5, 10, 20 ... that is not below `step`.
fn tidy(step: f64) -> f64 {
    let power = 10f64.powf(step.max(1e-12).log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|tidy| *tidy >= step)
        .unwrap_or(power * 10.0)
}
