//! The command `tickwright`: benchmarks and experiments on timer queues, with verified answers. Its
//! code is a library, so that the compiler can begin with it while the crates that it uses are
//! still being optimized.
#![deny(unsafe_code)]

mod check;
mod cli;
mod command;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod experiments;
mod list;
mod models;
#[cfg(target_os = "linux")]
mod record;
mod report_of;
mod reproduce;
mod results;
mod structures;
mod tour;
mod traces;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
use tickwright_measure::child;
use tickwright_measure::{
    allocator, clock, duration, error, experiment, host, interrupt, output, progress, render, result, rights,
    rounds, stats,
};

use crate::allocator::Counting;
use crate::error::LabError;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs the command with the arguments of the process.
#[must_use]
pub fn run() -> ExitCode {
    let result = cli::parse().and_then(|asked| {
        // The help or the version was requested and has been printed.
        let Some(cli) = asked else { return Ok(()) };
        interrupt::install().map_err(|source| LabError::io("watching for SIGINT and SIGTERM", source))?;
        allocator::install()?;
        command::run(cli)
    });
    output::ended("tickwright", result)
}
