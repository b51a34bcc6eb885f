//! The original's histogram and its plot. Cells have equal width, and the last cell also counts all
//! greater values.

use crate::render::Format;
use crate::result::{Axis, Mark, Plot};

/// Cells of equal width. The original's cells lose the sign of a lateness. In this program, a
/// lateness is never negative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cells {
    width_ns: u64,
    counts: Vec<u64>,
}

impl Cells {
    /// Creates `cells` empty cells of `width_ns` each. A 0 counts as 1 in both arguments.
    pub(super) fn new(cells: usize, width_ns: u64) -> Self {
        Self { width_ns: width_ns.max(1), counts: vec![0; cells.max(1)] }
    }

    /// Returns the sum of histograms whose cells have the same width.
    pub(super) fn sum<'c>(all: impl Iterator<Item = &'c Self>) -> Self {
        all.fold(Self::new(1, 1), |sum, cells| {
            let mut counts = cells.counts.clone();
            counts.iter_mut().zip(&sum.counts).for_each(|(count, before)| *count += before);
            Self { width_ns: cells.width_ns, counts }
        })
    }

    /// Adds `count` samples of `ns`.
    #[inline]
    pub(super) fn add(&mut self, ns: u64, count: u64) {
        let last = self.counts.len() - 1;
        let at = usize::try_from(ns / self.width_ns).unwrap_or(last).min(last);
        self.counts[at] += count;
    }

    /// Adds one sample.
    #[inline]
    pub(super) fn push(&mut self, ns: u64) {
        self.add(ns, 1);
    }

    /// Returns the counts. The last cell counts its own range and all greater values.
    pub(super) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the middle of a cell, in us.
    pub(super) fn middle_us(&self, cell: usize) -> f64 {
        (cell as f64 + 0.5) * self.width_ns as f64 / 1e3
    }

    /// Returns the first and the last cell with a count above 0.
    fn filled(&self) -> Option<(usize, usize)> {
        let first = self.counts.iter().position(|count| *count > 0)?;
        Some((first, self.counts.iter().rposition(|count| *count > 0)?))
    }
}

/// Returns a plot of histograms. A step is one cell wide, or a twentieth of its lateness if that is
/// wider. A logarithmic axis has no 0, so 1 is added to each count, as in the original.
pub(super) fn plot<'c>(title: &str, curves: impl Iterator<Item = (&'c str, &'c Cells)> + Clone) -> Plot {
    let filled = || curves.clone().filter_map(|(_, cells)| cells.filled());
    let first = filled().map(|ends| ends.0).min().unwrap_or(0);
    let last = filled().map(|ends| ends.1).max().unwrap_or(0);
    let end = |cell: usize| cell + (cell / 20).max(1);
    // Each curve ends at 1, one step beyond the last filled cell.
    let steps: Vec<usize> = core::iter::successors(Some(first), |cell| Some(end(*cell)))
        .take_while(|cell| *cell < end(last) + 1)
        .collect();
    let width = curves.clone().next().map_or(0.0, |(_, cells)| cells.width_ns as f64);
    let y = Axis::log(format!("samples + 1 in {} or 5 %", Format::Span.write(width)), Format::Count);
    let plot = Plot::new(title, Axis::log("lateness, us", Format::Text), y).marked(Mark::Steps);
    curves.fold(plot, |plot, (name, cells)| {
        let sum = |cell: usize| cells.counts.iter().take(end(cell)).skip(cell).sum::<u64>();
        let mut before = 0;
        let points = steps.iter().enumerate().filter_map(|(at, &cell)| {
            let count = sum(cell);
            // A point with the same count as the point before it is not needed.
            let flat = count == before && at > 0 && at + 1 < steps.len();
            before = count;
            // The first cell begins at 0, which a logarithmic axis does not have.
            let begin = (cell as f64).max(0.5) * cells.width_ns as f64 / 1e3;
            (!flat).then_some((begin, count as f64 + 1.0))
        });
        plot.curve(name, points)
    })
}

#[cfg(test)]
mod tests;
