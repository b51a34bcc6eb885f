//! The original's histogram: equal cells, the last of which also takes what is above, and its file
//! for gnuplot.

use core::fmt::Write;

/// Cells of equal width. Lateness is never negative here, so unlike the original's no sign is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cells {
    width_ns: u64,
    counts: Vec<u64>,
}

impl Cells {
    /// `cells` empty ones of `width_ns` each; at least one of at least 1 ns.
    pub(super) fn new(cells: usize, width_ns: u64) -> Self {
        Self { width_ns: width_ns.max(1), counts: vec![0; cells.max(1)] }
    }

    /// One more sample.
    #[inline]
    pub(super) fn push(&mut self, ns: u64) {
        let last = self.counts.len() - 1;
        let at = usize::try_from(ns / self.width_ns).unwrap_or(last).min(last);
        self.counts[at] += 1;
    }

    /// The counts; the last is of its cell and of everything above.
    pub(super) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The middle of a cell, us.
    pub(super) fn middle_us(&self, cell: usize) -> f64 {
        (cell as f64 + 0.5) * self.width_ns as f64 / 1e3
    }

    /// Where a cell begins, us.
    pub(super) fn lower_us(&self, cell: usize) -> f64 {
        cell as f64 * self.width_ns as f64 / 1e3
    }

    /// The cells that hold something, by their middles in us.
    pub(super) fn filled(&self) -> impl Iterator<Item = (f64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(cell, count)| (self.middle_us(cell), *count))
    }
}

/// A data set for gnuplot, as the original writes it: `x y+1` for each filled cell, since a log
/// scale has no 0, between two points at 1.
pub(super) fn gnuplot(out: &mut String, cells: &Cells) {
    let first = cells.counts.iter().position(|count| *count > 0);
    let last = cells.counts.iter().rposition(|count| *count > 0);
    let (Some(first), Some(last)) = (first, last) else { return };
    // Writing to a string does not fail. The guard before the first cell stands at 0 when that is
    // where the axis begins.
    let before = if first == 0 { 0.0 } else { cells.middle_us(first - 1) };
    let _ = writeln!(out, "{before:.3} 1");
    for (cell, count) in cells.counts.iter().enumerate().take(last + 1).skip(first) {
        let _ = writeln!(out, "{:.3} {}", cells.middle_us(cell), count + 1);
    }
    let _ = writeln!(out, "{:.3} 1", cells.middle_us(last + 1));
}

#[cfg(test)]
mod tests;
