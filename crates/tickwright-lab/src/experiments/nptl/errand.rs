//! Tasks of child processes, so that limits and tracers do not affect this process.

use clap::Args;
use serde::{Deserialize, Serialize};
use std::process::Command;

use super::alive::{self, Order, Outcome, Row};
use super::column::{Cell, Column};
use super::model::Knobs;
use super::turns::create;
use crate::child;
use crate::clock::OsClock;
use crate::error::LabError;
use crate::output;

/// The task of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Errand {
    /// Creates and joins threads at P = 1, C = 10. `workers` is the number of kernel threads;
    /// `None` means one per core.
    Create { column: Column, starts: u64, workers: Option<usize> },
    /// Keeps the given number of threads alive at once.
    Alive(Order),
}

/// The hidden command.
#[derive(Debug, Clone, Args)]
pub(crate) struct ChildArgs {
    /// The task, as JSON
    #[arg(value_parser = child::errand::<Errand>)]
    errand: Errand,
}

impl ChildArgs {
    /// The name of the command.
    pub(crate) const COMMAND: &str = "nptl-child";

    /// Runs the task and prints its result as a line of JSON. Before the result, it prints lines
    /// with its progress.
    ///
    /// # Errors
    /// Any failure, except the limits that the task is meant to reach.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        child::tie().map_err(|source| LabError::io("tying the child to its run", source))?;
        match self.errand {
            Errand::Create { column, starts, workers } => {
                let cell = Cell { toplevel: 1, children: 10, starts };
                let knobs = Knobs { workers, ..Knobs::default() };
                create(column, &knobs, cell, OsClock::start()).map(drop)
            }
            // A progress line may be lost if nobody reads it, but the last line may not.
            Errand::Alive(order) => tell(&alive::here(&order, |outcome| drop(tell(outcome)))),
        }
    }
}

impl Errand {
    /// Returns the command that runs this program with the task.
    ///
    /// # Errors
    /// The system does not know the path of this program.
    pub(super) fn command(&self) -> Result<Command, LabError> {
        child::own(ChildArgs::COMMAND, self)
    }
}

/// Starts a child that creates many threads which are alive at once.
///
/// # Errors
/// The child cannot be started.
pub(super) fn alive(order: Order) -> Result<Row, LabError> {
    let output = child::output(&mut Errand::Alive(order).command()?)
        .map_err(|source| LabError::io("starting this program as a child", source))?;
    let told = String::from_utf8_lossy(&output.stdout);
    let latest = told.lines().rev().find_map(|line| serde_json::from_str::<Outcome>(line).ok());
    let outcome = latest.clone().filter(|_| output.status.success()).unwrap_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("no message, as when the kernel is out of memory");
        let stopped = Some(format!("the child ended ({}): {last}", output.status));
        Outcome { stopped, ..latest.unwrap_or_default() }
    });
    Ok(Row { order, outcome })
}

/// Prints the outcome as a line of JSON.
fn tell(outcome: &Outcome) -> Result<(), LabError> {
    let line = serde_json::to_string(outcome)
        .map_err(|error| LabError::failed(format!("no JSON of the outcome: {error}")))?;
    output::print(&(line + "\n"))
}
