//! The figures of `nptl.toml`: the figures that were published in 2002, and the goals of this
//! project's models.

use serde::Deserialize;

use super::column::Column;
use super::model::Model;
use crate::stats::Bound;

/// The file of the experiment.
pub(crate) const FILE: &str = include_str!("nptl.toml");

/// The table `published` of the file.
#[derive(Debug, Deserialize)]
pub(crate) struct Published {
    /// Authors, place and date of the publication, and its machine.
    pub(crate) source: String,
    pub(crate) table: Size,
    pub(crate) ratios: Vec<Ratio>,
    pub(crate) targets: Vec<Target>,
}

impl Published {
    /// Returns NGPT's time divided by NPTL's.
    pub(crate) fn lost(&self) -> f64 {
        self.ratios.iter().find(|ratio| ratio.slow == "NGPT").map_or(0.0, |ratio| ratio.times)
    }
}

/// The published table.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Size {
    /// Number of creations in a cell.
    pub(crate) starts: u64,
}

/// The ratio of two systems' times: `slow` takes `times` as long as `fast`.
#[derive(Debug, Deserialize)]
pub(crate) struct Ratio {
    pub(crate) slow: String,
    pub(crate) fast: String,
    pub(crate) times: f64,
}

impl Ratio {
    /// Returns the models that represent the two systems.
    pub(crate) fn models(&self) -> Option<(Model, Model)> {
        model_of(&self.slow).zip(model_of(&self.fast))
    }
}

/// A bound for the ratio of two columns' times.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    slow: String,
    fast: String,
    pub(crate) bound: Bound,
}

impl Target {
    pub(crate) fn about(&self) -> String {
        format!("{} to {}", self.slow, self.fast)
    }

    pub(crate) fn columns(&self) -> Option<(Column, Column)> {
        Column::parse(&self.slow).ok().zip(Column::parse(&self.fast).ok())
    }
}

/// Returns the model that represents a system of 2002.
pub(crate) fn model_of(system: &str) -> Option<Model> {
    Model::ALL.iter().copied().find(|model| model.then() == Some(system))
}
