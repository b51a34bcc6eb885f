//! The works of the matrix with their bounds, and our best structure beside the best of others in
//! each.

use serde::Deserialize;

use crate::error::LabError;
use crate::experiments::bench::cell::{Cell, Row};
use crate::models::scenario::{self, Measure, Population};
use crate::stats::{self, Summary};
use crate::structures::registry::Kind;

/// The file `scenarios/matrix.toml`.
#[derive(Debug, Deserialize)]
struct Matrix {
    works: Vec<Work>,
}

/// One work: a measure of a scenario, at some populations.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Work {
    pub(super) scenario: String,
    pub(super) measure: Measure,
    pub(super) n: Vec<Population>,
    /// For each population, the greatest ratio that meets the goal.
    pub(super) at_most: Vec<f64>,
    /// The bounds are instead ns per operation of our best structure.
    #[serde(default)]
    pub(super) in_ns: bool,
    /// Structures that would take too long in this work, by id.
    #[serde(default)]
    pub(super) without: Vec<String>,
}

/// The populations up to which `--quick` measures.
const QUICK: u64 = 10_000;

impl Work {
    /// The populations with their bounds.
    pub(super) fn columns(&self, quick: bool) -> impl Iterator<Item = (Population, f64)> + '_ {
        let pairs = self.n.iter().copied().zip(self.at_most.iter().copied());
        pairs.filter(move |(n, _)| !quick || n.get() <= QUICK)
    }
}

pub(super) fn works() -> Result<Vec<Work>, LabError> {
    let text = include_str!("../../../../../scenarios/matrix.toml");
    Ok(scenario::parse::<Matrix>("scenarios/matrix.toml", text)?.works)
}

/// A requested cell: our best structure, the best of others, and their ratio.
pub(super) struct Pair<'c> {
    pub(super) work: &'c Work,
    pub(super) cell: &'c Cell,
    pub(super) ours: &'c Row,
    pub(super) other: &'c Row,
    pub(super) at_most: f64,
}

/// The greatest time of [`AdaptiveQueue`](tickwright_core::AdaptiveQueue), as a multiple of our
/// best other structure's time.
pub(super) const ADAPTIVE_AT_MOST: f64 = 1.1;

impl<'c> Pair<'c> {
    /// The figure to which the bound applies.
    pub(super) fn bounded(&self) -> Option<Summary> {
        if self.work.in_ns { self.ours.summary } else { self.ours.ratio }
    }

    /// `AdaptiveQueue`, the best of our other structures, and their ratio.
    pub(super) fn adaptive(&self) -> Option<(&'c Row, &'c Row, Summary)> {
        let is_adaptive = |row: &Row| row.structure.id.starts_with("adaptive/");
        let adaptive = self.cell.rows.iter().find(|row| is_adaptive(row) && row.summary.is_some())?;
        let single = self.cell.fastest(|row| row.structure.kind == Kind::Ours && !is_adaptive(row))?;
        Some((adaptive, single, stats::ratios(&adaptive.samples, &single.samples)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::scenario::Scenario;

    #[test]
    fn every_work_is_a_measure_of_its_scenario_with_a_bound_for_each_population() {
        for work in works().unwrap() {
            let scenario = Scenario::find(&work.scenario).unwrap();
            assert!(scenario.measures.contains(&work.measure), "{}", work.scenario);
            assert_eq!(work.n.len(), work.at_most.len(), "{}", work.scenario);
            assert!(work.n.iter().map(|n| n.get()).is_sorted());
            assert!(scenario.run.floor.is_some(), "{}", work.scenario);
        }
    }
}
