//! Settings that are timed in one cell and compared: the steps of the ladder.

use super::column::{Cell, Column};
use super::model::Knobs;
use super::turns::{Turns, create};
use super::verify;
use crate::clock::OsClock;
use crate::error::LabError;
use crate::render::Format;
use crate::result::{self, Series, Table, Unit, labels};
use crate::stats::{self, Summary, Verdict};

/// A column with knobs. Each sample is the mean time to create and join one thread, in ns. There is
/// one sample per round.
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

    /// Ratio to the first lane, which is the reference of all others; `None` for itself.
    fn ratio(&self, lanes: &[Self]) -> Option<Summary> {
        let first = lanes.first()?;
        stats::ratios(&self.ns, &first.ns).filter(|_| !core::ptr::eq(self, first))
    }
}

/// Times every lane in one cell. Before the timing, the threads of each lane check themselves.
///
/// # Errors
/// A thread that was not created, was not joined, or found something wrong.
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

/// Every sample of the lanes.
pub(crate) fn series(name: &str, lanes: &[Lane]) -> Vec<Series> {
    let of = |lane: &Lane| {
        let of = labels([("model", lane.column.name().into()), ("setting", lane.name.clone().into())]);
        Series::new(name, Unit::Ns, of).per("thread").of(lane.ns.iter().copied())
    };
    lanes.iter().map(of).collect()
}

/// The ratios as a table; `beside` names the reference.
pub(crate) fn table(lanes: &[Lane], beside: &str) -> Table {
    let mut table = Table::new().column("model", Format::Text).column("setting", Format::Text);
    table = table.column("ns for one", Format::Thousands);
    table = table.column(format!("to {beside}"), Format::Ratio).column("from", Format::Ratio);
    table = table.column("to", Format::Ratio).column("verdict", Format::Text);
    for lane in lanes {
        let ratio = lane.ratio(lanes);
        let cells = [lane.column.name().into(), lane.name.as_str().into(), lane.median().into()];
        let verdict = ratio.map_or("", |ratio| Verdict::on(&ratio).words());
        table.row(cells.into_iter().chain(interval(ratio)).chain([verdict.into()]));
    }
    table
}

/// A ratio with its interval; the bounds are empty with too few rounds.
pub(super) fn interval(ratio: Option<Summary>) -> [result::Cell; 3] {
    let bounds = ratio.map(|ratio| ratio.interval).filter(|interval| interval.coverage > 0.0);
    [
        ratio.map(|ratio| ratio.median).into(),
        bounds.map(|interval| interval.low).into(),
        bounds.map(|interval| interval.high).into(),
    ]
}
