//! Samples of creations.

pub(crate) use tickwright_measure::turns::Turns;

use super::column::{Cell, Column};
use super::model::Knobs;
use super::rules::at_once;
use crate::clock::OsClock;
use crate::error::LabError;

/// Returns the time of all creations in one cell, in ns. Checks that all threads of the cell have
/// run.
///
/// # Errors
/// If a thread was not created, was not joined, or returned a wrong value.
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
