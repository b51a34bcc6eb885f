//! `tickwright`: benchmarks and experiments on timer queues, with verified answers.
#![deny(unsafe_code)]

mod adversary;
mod allocator;
mod baseline;
mod bench;
mod c_peers;
mod candidate;
mod check;
mod cli;
mod command;
mod crossover;
mod dictionaries;
mod expire;
mod heap;
mod hold;
#[cfg(target_os = "linux")]
mod latency;
mod list;
mod memory;
mod network;
mod ours;
mod registry;
mod reproduce;
mod scenario;
mod sched;
mod scheduler;
mod specimens;
mod threads;
mod tour;
mod verify;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
use tickwright_measure::counter;
use tickwright_measure::{
    clock, duration, error, host, interrupt, output, progress, rounds, stats, virtualisation,
};

use crate::allocator::Counting;
use crate::error::LabError;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let result = cli::parse().and_then(|asked| {
        // Help was asked for, and printed.
        let Some(cli) = asked else { return Ok(()) };
        interrupt::install().map_err(|source| LabError::io("watching for SIGINT and SIGTERM", source))?;
        allocator::install()?;
        command::run(cli)
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            match &error {
                // The parser's, with its own colours.
                LabError::Command(said) => eprintln!("{said}"),
                error if error.is_broken_pipe() => {}
                error => eprintln!("tickwright: {}", output::text::plain(&error.to_string())),
            }
            error.exit_code()
        }
    }
}
