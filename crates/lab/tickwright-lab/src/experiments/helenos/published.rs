//! The published figures of `helenos.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::timing::Method;
use crate::experiments::row;

/// The file of the experiment.
pub(crate) const FILE: &str = include_str!("helenos.toml");

/// The published figures.
#[derive(Debug, Deserialize)]
pub(super) struct Original {
    /// Author and date.
    pub(super) source: String,
    pub(super) url: String,
    pub(super) samples: u32,
    pub(super) rows: Vec<Row>,
}

/// A row of the published table.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    pub(super) method: Method,
    pub(super) machine: String,
    /// Length of the measurement in seconds.
    pub(super) seconds: f64,
    /// Mean and standard deviation.
    pub(super) odict: (f64, f64),
    pub(super) avl: (f64, f64),
}

impl Row {
    /// Returns by how many percent the dictionary was faster than the AVL tree.
    pub(super) fn gain(&self) -> f64 {
        (self.odict.0 / self.avl.0 - 1.0) * 100.0
    }
}

/// The published figures.
pub(super) static ORIGINAL: LazyLock<Original> =
    LazyLock::new(|| row::published(FILE).expect("a test parses this file"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_gains_are_those_of_the_experiment() {
        let gains: Vec<f64> = ORIGINAL.rows.iter().map(|row| (row.gain() * 10.0).round() / 10.0).collect();
        assert_eq!(gains, [3.8, 7.6, 1.0, 7.1]);
    }
}
