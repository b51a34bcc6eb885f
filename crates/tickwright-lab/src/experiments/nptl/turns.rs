//! Samples in turns: each lane once per round, in random order.

use super::column::{Cell, Column};
use super::model::Knobs;
use super::rules::at_once;
use crate::clock::OsClock;
use crate::error::LabError;
use crate::progress::Progress;
use crate::rounds::Rounds;

/// The rounds of a measurement.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    pub(crate) what: &'static str,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
}

impl Turns {
    /// Samples all lanes and keeps the samples of complete rounds. With more than one round, a
    /// first round is added as a warm-up, and its samples are dropped.
    ///
    /// # Errors
    /// Errors of `sample`.
    pub(crate) fn run<S>(
        &self,
        lanes: &[String],
        mut sample: impl FnMut(usize) -> Result<S, LabError>,
    ) -> Result<Vec<Vec<S>>, LabError> {
        let mut rounds = Rounds::new(self.rounds, self.seed);
        if self.rounds <= 1 {
            rounds = rounds.without_warm_up();
        }
        let progress = Progress::steps((rounds.len() * lanes.len()) as u64, self.what);
        let taken = rounds.run(lanes.len(), |turn| {
            progress.doing(lanes[turn.lane].clone());
            let taken = sample(turn.lane)?;
            progress.step();
            Ok(taken)
        })?;
        Ok(taken.lanes())
    }
}

/// Time of all creations in one cell, in ns. All threads of the cell must have run.
///
/// # Errors
/// A thread that was not created, was not joined, or returned a wrong value.
pub(crate) fn create(column: Column, knobs: &Knobs, cell: Cell, clock: OsClock) -> Result<u64, LabError> {
    let wrong = |why: String| {
        let Cell { toplevel, children, .. } = cell;
        LabError::failed(format!("{}, P = {toplevel}, C = {children}: {why}", column.name()))
    };
    let (sum, ns) = column.run(knobs, cell, &at_once, clock).map_err(wrong)?;
    if sum as u64 != cell.starts {
        return Err(wrong(format!("{} threads were asked for and {sum} have run", cell.starts)));
    }
    Ok(ns)
}
