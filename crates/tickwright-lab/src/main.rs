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
mod clock;
mod command;
#[cfg(target_os = "linux")]
mod counter;
mod crossover;
mod dictionaries;
mod duration;
mod error;
mod expire;
mod heap;
mod hold;
mod host;
mod interrupt;
#[cfg(target_os = "linux")]
mod latency;
mod list;
mod memory;
mod network;
mod ours;
mod output;
mod progress;
mod registry;
mod reproduce;
mod scenario;
mod sched;
mod scheduler;
mod stats;
mod threads;
mod tour;
mod virtualisation;

use std::process::ExitCode;

use clap::Parser;

use crate::allocator::Counting;
use crate::cli::Cli;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = interrupt::install().and_then(|()| command::run(cli));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is_broken_pipe() {
                eprintln!("tickwright: {error}");
            }
            error.exit_code()
        }
    }
}
