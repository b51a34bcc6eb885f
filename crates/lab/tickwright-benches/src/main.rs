//! Benches that compare parts of this project with other libraries. These benches are a separate
//! program, so that the command `tickwright` is built without those libraries. The benches' results
//! have the same form as the results of `tickwright`, so `tickwright show`, `compare` and `report`
//! can read them.
//!
//! ```sh
//! cargo run --release -p tickwright-benches -- threads --json=threads.json
//! ```
#![deny(unsafe_code)]

mod async_timers;
mod c_peers;
mod dictionaries;
mod mcu;
mod reach;
mod scheduler;
mod sleeps;
mod threads;

use std::process::ExitCode;

use clap::Parser;
use tickwright_measure::{
    allocator, child, clock, error, experiment, interrupt, number, output, progress, render, request, result,
    rounds, stats, turns,
};

use crate::allocator::Counting;
use crate::error::LabError;
use crate::experiment::execute;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Benches of this project's own parts, with verified answers.
#[derive(Debug, Parser)]
#[command(name = "benches", version)]
enum Bench {
    /// Timers of futures: time-outs, sleeps, re-arms, delay queues; their lateness, memory and idle
    /// wake-ups, beside tokio, pingora-timeout, async-io and futures-timer
    ///
    /// Takes about a minute and a half. --n 100k --sleeps 100 makes it shorter.
    Async(async_timers::AsyncArgs),
    /// Add, re-arm and delete in one C program, over our C library, libuv, libevent and libev
    CPeers(c_peers::PeersArgs),
    /// Which structure on a microcontroller, below which number of timers: instructions, flash, RAM
    ///
    /// Measures nothing: it shows the project's record of emulated processors, or with --file your
    /// own.
    Mcu(mcu::McuArgs),
    /// Registries over each dictionary: create, destroy, look up; and the tree's share of the life
    /// of a thread
    ///
    /// Takes about a minute. --n 100,10k makes it shorter.
    Registry(dictionaries::RegistryArgs),
    /// What timers and threads are to reach beside libev, libevent, libuv, tokio and Go
    ///
    /// Runs `c-peers`, `async`, `sleeps` and `threads`, and prints their targets alone. Takes some
    /// ten minutes. --quick makes it shorter.
    Reach(reach::ReachArgs),
    /// The cost of an add and a delete through the scheduler, beside the cost of their parts
    Scheduler(scheduler::SchedulerArgs),
    /// Many sleeps of tasks: processor time and lateness, by our timers and by tokio's
    ///
    /// Takes about four minutes. --rounds 1 makes it shorter.
    Sleeps(sleeps::SleepsArgs),
    /// Create, switch, wake and park threads, beside std, may, tokio, a futex and Go
    ///
    /// Takes some two minutes. --parked 0 makes it shorter.
    Threads(threads::ThreadsArgs),
}

fn main() -> ExitCode {
    let bench = Bench::parse();
    let ready = interrupt::install()
        .map_err(|source| LabError::io("watching for SIGINT and SIGTERM", source))
        .and_then(|()| allocator::install());
    let result = ready.and_then(|()| match bench {
        Bench::Async(args) => execute(&args, &args.output),
        Bench::CPeers(args) => execute(&args, &args.output),
        Bench::Mcu(args) => execute(&args, &args.output),
        Bench::Registry(args) => execute(&args, &args.output),
        Bench::Reach(args) => execute(&args, &args.output),
        Bench::Scheduler(args) => execute(&args, &args.output),
        Bench::Sleeps(args) => execute(&args, &args.output),
        Bench::Threads(args) => match args.sample {
            Some(workers) => args.print_sample(workers),
            None => execute(&args, &args.output),
        },
    });
    output::ended("benches", result)
}
