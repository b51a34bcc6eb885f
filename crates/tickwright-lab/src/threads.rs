//! `tickwright bench threads`: creating, switching and waking threads, beside what others make of
//! it.

pub(crate) mod micro;
pub(crate) mod report;

use clap::Args;

use crate::clock::{OsClock, calibrate};
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::output::{OutputArgs, Run};
use crate::reproduce::nptl::{Target, Turns};
use crate::scenario::{Rounds, Seed, Within};
use crate::stats::{self, Summary};
use micro::Lane;
use report::{Report, Row};

/// Creations, switches or wakes of a sample.
type Operations = Within<100, 10_000_000>;

/// Arguments of `bench threads`.
#[derive(Debug, Args)]
pub(crate) struct ThreadsArgs {
    /// Samples of each; below 6 nothing can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "15", value_parser = Rounds::parse)]
    rounds: Rounds,
    /// Switches and wakes of a sample; a tenth as many creations
    #[arg(long, allow_hyphen_values = true, default_value = "50k", value_parser = Operations::parse)]
    operations: Operations,
    /// What the order of runs follows from
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    output: OutputArgs,
}

impl ThreadsArgs {
    /// Runs it and prints the tables.
    ///
    /// # Errors
    /// A thread that was not created, did not run where it should, or Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let files = self.output.open()?;
        let turns = Turns {
            what: "threads",
            rounds: usize::try_from(self.rounds.get()).unwrap_or(usize::MAX),
            seed: self.seed.get(),
        };
        let report = run(&turns, self.operations.get(), OsClock::start())?;
        let run = Run { interrupted: report.interrupted, host: &report.host };
        files.finish(run, || report::text(&report), &report, report::lines(&report))
    }
}

/// Samples every lane by turns, after each has shown that it does what it says.
///
/// # Errors
/// As [`ThreadsArgs::execute`], but for Ctrl-C: then the report says that it is partial.
pub(crate) fn run(turns: &Turns, operations: u64, clock: OsClock) -> Result<Report, LabError> {
    let host = Host::read();
    let wrong = |lane: Lane| move |why: String| LabError::failed(format!("{}: {why}", lane.what()));
    for lane in Lane::ALL {
        lane.verify(clock).map_err(wrong(lane))?;
    }
    let names = Lane::ALL.map(|lane| lane.what().to_owned());
    let samples =
        turns.run(&names, |at| Lane::ALL[at].sample(operations, clock).map_err(wrong(Lane::ALL[at])))?;
    let rows: Vec<Row> =
        Lane::ALL.iter().zip(samples).map(|(lane, ns)| Row { what: lane.what(), ns }).collect();
    Ok(Report {
        interrupted: interrupt::requested(),
        notes: host.doubts(),
        host,
        clock: calibrate(&clock),
        targets: targets(&rows),
        rows,
    })
}

/// What was set as a goal, with what came of it.
pub(crate) fn targets(rows: &[Row]) -> Vec<Target> {
    let ns = |lane: Lane| rows.iter().find(|row| row.what == lane.what()).map_or(&[][..], |row| &row.ns);
    let ratio = |a: Lane, b: Lane| stats::ratios(ns(a), ns(b));
    let median = |lane: Lane| -> Option<Summary> { stats::summarise(ns(lane).iter().copied()) };
    vec![
        Target::at_least(
            "create and join: m:n, times as fast as one-to-one",
            80.0,
            "x",
            ratio(Lane::OneToOne, Lane::Many),
        ),
        Target::at_most("create and join: m:n to may", 0.25, "x", ratio(Lane::Many, Lane::May)),
        Target::at_most(
            "create and join: m:n to tokio's spawn and await",
            0.6,
            "x",
            ratio(Lane::Many, Lane::Tokio),
        ),
        Target::at_most(
            "create and join: m:n with guards to without",
            1.2,
            "x",
            ratio(Lane::Many, Lane::Unguarded),
        ),
        Target::at_most("create and join: one-to-one to std", 1.1, "x", ratio(Lane::OneToOne, Lane::Std)),
        Target::at_most("switch of two that yield, one worker", 20.0, "ns", median(Lane::Switch)),
        Target::at_most("park and unpark, there and back, one worker", 60.0, "ns", median(Lane::Wake)),
        Target::at_most(
            "the same across two workers to a futex",
            1.0,
            "x",
            ratio(Lane::WakeAcross, Lane::Futex),
        ),
        Target::at_most(
            "creation with two workers to one",
            1.0,
            "x",
            ratio(Lane::TwoWorkers, Lane::OneWorker),
        ),
    ]
}

#[cfg(test)]
mod tests;
