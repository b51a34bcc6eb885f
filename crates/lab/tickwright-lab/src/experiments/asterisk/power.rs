//! A power law through measured times. The law predicts the times whose measurement would take too
//! long.

/// t = factor * n^exponent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Power {
    pub(crate) exponent: f64,
    pub(crate) factor: f64,
    /// The sizes to whose times the law was fitted.
    pub(crate) on: Vec<usize>,
}

/// A law is fitted only to sizes of at least 1/16 of the largest size, because constant costs would
/// distort the fit at smaller sizes.
const RANGE: usize = 16;

impl Power {
    /// Fits a line through the logarithms of the largest sizes, by least squares. Uses at least two
    /// sizes, and returns `None` if there are fewer.
    pub(crate) fn fit(points: &[(usize, f64)]) -> Option<Self> {
        let mut points: Vec<(usize, f64)> =
            points.iter().copied().filter(|(n, t)| *n > 0 && t.is_finite() && *t > 0.0).collect();
        points.sort_by_key(|(n, _)| *n);
        points.dedup_by_key(|(n, _)| *n);
        let least = points.last()?.0 / RANGE;
        let near = points.iter().filter(|(n, _)| *n >= least).count();
        let points = points.get(points.len().checked_sub(near.max(2))?..)?;
        let logs: Vec<(f64, f64)> = points.iter().map(|(n, t)| ((*n as f64).ln(), t.ln())).collect();
        let count = logs.len() as f64;
        let (x, y) = logs.iter().fold((0.0, 0.0), |(x, y), log| (x + log.0 / count, y + log.1 / count));
        let (over, under) = logs.iter().fold((0.0, 0.0), |(over, under), log| {
            (over + (log.0 - x) * (log.1 - y), under + (log.0 - x) * (log.0 - x))
        });
        let exponent = over / under;
        let on = points.iter().map(|(n, _)| *n).collect();
        Some(Self { exponent, factor: (y - exponent * x).exp(), on })
    }

    /// Returns the time at `n`.
    pub(crate) fn at(&self, n: usize) -> f64 {
        self.factor * (n as f64).powf(self.exponent)
    }
}
