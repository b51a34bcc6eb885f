//! Errands for a process of its own: what limits stop, or a tracer slows, is not this process.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::alive;
use super::column::{Cell, Column};
use super::model::Knobs;
use super::table;
use crate::clock::OsClock;
use crate::error::LabError;
use crate::interrupt;
use crate::output;

/// What a child does. The words of the hidden option `--child`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errand {
    /// Creates and joins at P = 1, C = 10; on so many kernel threads, none is one for each core.
    Create { column: Column, starts: u64, workers: Option<usize> },
    /// Has that many threads alive at once.
    Alive(alive::Order),
}

/// This program.
///
/// # Errors
/// When the system does not know where it is.
pub(super) fn program() -> Result<PathBuf, LabError> {
    std::env::current_exe()
        .map_err(|source| LabError::io("finding this program, to run it as a child", source))
}

pub(super) fn arguments(errand: &Errand) -> Vec<String> {
    ["reproduce", "nptl", "--child", &errand.words()].map(str::to_owned).to_vec()
}

impl Errand {
    fn words(&self) -> String {
        match self {
            Self::Create { column, starts, workers } => {
                format!("create:{}:{starts}:{}", column.name(), workers.unwrap_or(0))
            }
            Self::Alive(order) => format!("alive:{}", order.words()),
        }
    }

    /// A value parser for the command line.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no errand");
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        match kind {
            "create" => {
                // From the end: a name may hold a colon.
                let (rest, workers) = rest.rsplit_once(':').ok_or_else(wrong)?;
                let (column, starts) = rest.rsplit_once(':').ok_or_else(wrong)?;
                let workers: usize = workers.parse().map_err(|_| wrong())?;
                Ok(Self::Create {
                    column: Column::parse(column)?,
                    starts: starts.parse().map_err(|_| wrong())?,
                    workers: (workers > 0).then_some(workers),
                })
            }
            "alive" => alive::Order::parse(rest).map(Self::Alive),
            _ => Err(wrong()),
        }
    }

    /// Does it, and prints what came of it as a line of JSON; before that, how far it is.
    ///
    /// # Errors
    /// What failed, but for the limits that the errand is meant to meet.
    pub(super) fn run(&self) -> Result<(), LabError> {
        match self {
            Self::Create { column, starts, workers } => {
                let cell = Cell { toplevel: 1, children: 10, starts: *starts };
                table::create(
                    *column,
                    &Knobs { workers: *workers, ..Knobs::default() },
                    cell,
                    OsClock::start(),
                )
                .map(|_| ())
            }
            Self::Alive(order) => {
                // What is told on the way is lost when nobody reads it; so is the end, and that is
                // an error.
                tell(&alive::here(order, |outcome| drop(tell(outcome))))
            }
        }
    }
}

/// Has a child create threads that are alive together.
///
/// # Errors
/// When the child cannot be started.
pub(crate) fn run_alive(order: alive::Order) -> Result<alive::Row, LabError> {
    let mut command = Command::new(program()?);
    command.args(arguments(&Errand::Alive(order))).stdin(Stdio::null());
    let output = interrupt::output(&mut command)
        .map_err(|source| LabError::io("starting this program as a child", source))?;
    let told = String::from_utf8_lossy(&output.stdout);
    let latest = told.lines().rev().find_map(|line| serde_json::from_str::<alive::Outcome>(line).ok());
    let outcome = latest.clone().filter(|_| output.status.success()).unwrap_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let last =
            said.lines().last().unwrap_or("no message, as when the kernel is out of memory").to_owned();
        alive::Outcome {
            stopped: Some(format!("the child ended ({}): {last}", output.status)),
            ..latest.unwrap_or_default()
        }
    });
    let alive::Order { model, threads, stack, guard, workers: _ } = order;
    Ok(alive::Row { model, wanted: threads, stack, guard, outcome })
}

/// A line of JSON.
fn tell(outcome: &alive::Outcome) -> Result<(), LabError> {
    let line = serde_json::to_string(outcome)
        .map_err(|error| LabError::failed(format!("no JSON of the outcome: {error}")))?;
    output::print(&(line + "\n"))
}
