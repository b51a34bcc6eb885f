//! Settings that are timed in one cell and compared: the steps of the ladder.

use super::column::{Cell, Column};
use super::model::Knobs;
use super::turns::{Turns, create};
use super::verify;
use crate::clock::OsClock;
use crate::error::LabError;
use crate::result::{Series, Unit, labels};
use crate::stats;

/// A column with settings. A lane has one sample per round, which is the mean time to create and
/// join one thread, in ns.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    /// Name of the setting.
    pub(crate) name: String,
    pub(crate) column: Column,
    pub(crate) knobs: Knobs,
    pub(crate) ns: Vec<f64>,
}

impl Lane {
    pub(crate) fn new(name: impl Into<String>, column: Column, knobs: Knobs) -> Self {
        Self { name: name.into(), column, knobs, ns: Vec::new() }
    }

    pub(crate) fn median(&self) -> Option<f64> {
        stats::median(&self.ns)
    }
}

/// Times every lane in one cell. Before the timing, the threads of each lane check themselves.
///
/// # Errors
/// If a thread was not created, was not joined, or found an error.
pub(crate) fn time(lanes: &mut [Lane], cell: Cell, turns: &Turns, clock: OsClock) -> Result<(), LabError> {
    let few = Cell { starts: cell.starts.min(50), ..cell };
    for lane in lanes.iter() {
        let Column::Ours(model) = lane.column else { continue };
        verify::run(model, &lane.knobs, few, clock)
            .map_err(|why| LabError::failed(format!("{}: {why}", lane.name)))?;
    }
    let names: Vec<String> =
        lanes.iter().map(|lane| format!("{}, {}", lane.column.name(), lane.name)).collect();
    let samples = turns.run(&names, |at| {
        let ns = create(lanes[at].column, &lanes[at].knobs, cell, clock)?;
        Ok(ns as f64 / cell.starts as f64)
    })?;
    for (lane, ns) in lanes.iter_mut().zip(samples) {
        lane.ns = ns;
    }
    Ok(())
}

/// Returns every sample of the lanes.
pub(crate) fn series(name: &str, lanes: &[Lane]) -> Vec<Series> {
    let of = |lane: &Lane| {
        let of = labels([("model", lane.column.name().into()), ("setting", lane.name.clone().into())]);
        let first = lanes.first().unwrap_or(lane);
        let series = Series::new(name, Unit::Ns, of).per("thread").of(lane.ns.iter().copied());
        series.beside("model", first.column.name()).beside("setting", first.name.clone())
    };
    lanes.iter().map(of).collect()
}
