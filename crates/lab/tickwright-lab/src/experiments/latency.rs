//! `tickwright latency`: how late one periodic timer wakes up, with each structure in turn.
//!
//! This is the second half of Xenomai's experiment with timer lists (2016). At most two timers are
//! pending, so the structure with the best asymptotic cost is not necessarily the best. One
//! periodic timer and the tick of an emulated host are pending. The loop sleeps until the head is
//! due, removes the periodic timer and re-arms it. Lateness is the time at which the timer's owner
//! then reads the clock, minus the grid point at which the timer was due.
//!
//! | mode | question |
//! |---|---|
//! | [`run`] | how late the timer wakes up, end to end |
//! | [`versus`] | how that compares with cyclictest, alternating between the two |
//!
//! # What counts
//!
//! - A missed period is an overrun **and** a sample: its lateness lasts until the loop notices it.
//!   A slow structure or host therefore cannot improve its figures by skipping wake-ups
//!   (coordinated omission).
//! - A gap is different: the process was stopped (SIGCONT shows it), or the loop noticed nothing
//!   for a second and for a hundred periods. The periods of a gap are overruns, but not samples.
//! - Structures alternate in slices of a fraction of a second, in random order, so that
//!   disturbances of the host affect all structures alike. The first slice of each structure does
//!   not count.

mod clock;
mod grid;
mod histogram;
mod lane;
mod lines;
mod load;
mod order;
mod overhead;
mod plan;
mod platform;
mod rights;
mod run;
mod settings;
mod slice;
mod structures;
mod tables;
mod versus;

use clap::{Args, Subcommand};

use self::run::RunArgs;
use self::versus::VersusArgs;
use crate::error::LabError;
use crate::experiment::execute;

pub(crate) use load::WorkerArgs;
pub(crate) use run::checks;

/// How late one periodic timer wakes up, over each structure in turn; beside cyclictest
///
/// Without a mode, this runs `latency run`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LatencyArgs {
    #[command(subcommand)]
    mode: Option<Mode>,
    #[command(flatten)]
    run: RunArgs,
}

/// The modes of `tickwright latency`.
#[derive(Debug, Clone, Subcommand)]
enum Mode {
    Run(RunArgs),
    VersusCyclictest(VersusArgs),
}

impl LatencyArgs {
    /// Returns the arguments of `latency run`, which is the mode if none is named.
    pub(crate) fn run(&self) -> &RunArgs {
        &self.run
    }

    /// Runs a mode and prints its report.
    ///
    /// # Errors
    /// The errors of the mode.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        match &self.mode {
            None => execute(&self.run, &self.run.output),
            Some(Mode::Run(args)) => execute(args, &args.output),
            Some(Mode::VersusCyclictest(args)) => execute(args, &args.output),
        }
    }
}

#[cfg(test)]
mod tests;
