//! `benches async`: the cost of timers for futures, compared with the timers of tokio, pingora,
//! async-io and futures-timer.
//!
//! ```text
//!   library.rs   the timers of each library behind one trait
//!   lane.rs      a work on a library: what is sampled, and what is verified before
//!   context.rs   the threads and tasks that poll: workers of tokio for tokio's timers
//!   late.rs      lateness of sleeps, wake-ups of an idle driver, memory per timer
//!   lost.rs      sleeps that are first polled as their timers fire, and then nobody wakes
//! ```
//! In a build with `tokio_unstable`, [`sleeps`](crate::sleeps) includes tokio's alternative timer.

mod context;
mod data;
mod lane;
mod late;
mod library;
mod lost;
mod tables;

use core::time::Duration;

use clap::Args;

use self::data::Data;
use self::lane::Lane;
use self::late::Late;
use self::lost::Lost;
use crate::clock::OsClock;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::interrupt;
use crate::number::{Rounds, Seed, Within};
use crate::output::OutputArgs;
use crate::request;
use crate::result::{Finding, Section, Series, Unit, labels};
use crate::turns::Turns;

/// The number of operations in a sample.
type Operations = Within<100, 10_000_000>;

/// The number of sleeps with which the lateness of a library is measured.
type Sleeps = Within<0, 1_000_000>;

/// How long new sleeps race with their timers, in milliseconds.
type Races = Within<0, 3_600_000>;

/// Arguments of `async`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AsyncArgs {
    /// Samples of each operation; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "11", value_parser = Rounds::parse)]
    rounds: Rounds,
    /// Operations in a sample
    #[arg(long, allow_hyphen_values = true, default_value = "20k", value_parser = Operations::parse)]
    operations: Operations,
    /// Sleeps of 1 to 2 ms for the lateness of each library, idle and beside busy threads; 0: none.
    /// Below 600 the 99th percentile is not judged
    #[arg(long, allow_hyphen_values = true, default_value = "1000", value_parser = Sleeps::parse)]
    sleeps: Sleeps,
    /// Milliseconds in which new sleeps of each library race with their timers; 0: none
    #[arg(long, allow_hyphen_values = true, default_value = "5000", value_parser = Races::parse)]
    races: Races,
    /// The most connections that rest in one sample: a million of them need a gigabyte
    #[arg(long, allow_hyphen_values = true, default_value = "1M", value_parser = Operations::parse)]
    n: Operations,
    /// Seed of the order of runs
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Experiment for AsyncArgs {
    type Plan = Turns;
    type Data = Data;

    fn name(&self) -> String {
        "bench async".into()
    }

    fn plan(&self) -> Result<Turns, LabError> {
        Ok(Turns { what: "async", rounds: self.rounds.get() as usize, seed: self.seed.get() })
    }

    fn parameters(&self, turns: &Turns) -> Parameters {
        request::parameters([
            ("rounds", turns.rounds.into()),
            ("operations", self.operations.get().into()),
            ("sleeps", self.sleeps.get().into()),
            ("races", self.races.get().into()),
            ("n", self.n.get().into()),
        ])
    }

    fn seed(&self, turns: &Turns) -> Option<u64> {
        Some(turns.seed)
    }

    fn run(&self, turns: &Turns, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let clock = OsClock::start();
        let lanes = Lane::all(self.n.get());
        let wrong = |lane: Lane| move |why: String| LabError::failed(format!("{}: {why}", lane.name()));
        // This part runs before other libraries start their threads, because it counts the idle
        // wake-ups of each library.
        let mut data = Data { resting: late::resting(self.n.get().min(100_000))?, ..Data::default() };
        for &lane in &lanes {
            lane.verify(clock).map_err(wrong(lane))?;
        }
        let names: Vec<String> = lanes.iter().map(|lane| lane.name()).collect();
        let operations = self.operations.get();
        let samples =
            turns.run(&names, |at| lanes[at].sample(operations, clock).map_err(wrong(lanes[at])))?;
        data.rows = lanes.into_iter().zip(samples).collect();
        lab.interrupted = interrupt::requested();
        if !lab.interrupted {
            data.late = late::late(self.sleeps.get() as usize, clock)?;
            data.lost = lost::lost(Duration::from_millis(self.races.get()))?;
            lab.interrupted = interrupt::requested();
        }
        Ok(data)
    }

    fn series(&self, _: &Turns, data: &Data) -> Vec<Series> {
        let row = |(lane, ns): &(Lane, Vec<f64>)| {
            let of = labels([("work", lane.work.name().into()), ("library", lane.library.name().into())]);
            Series::new("async", Unit::Ns, of).per("operation").of(ns.iter().copied())
        };
        let late = |late: &Late| {
            let load = if late.busy { "busy" } else { "idle" };
            let of = labels([("library", late.library.name().into()), ("load", load.into())]);
            Series::new("lateness", Unit::Ns, of).of(late.ns().map(|ns| ns as f64))
        };
        let lost = |lost: &Lost| {
            let of = labels([("library", lost.library.name().into())]);
            Series::new("lost", Unit::Count, of).of([lost.lost as f64])
        };
        let lost = data.lost.iter().map(lost);
        data.rows.iter().map(row).chain(data.late.iter().map(late)).chain(lost).collect()
    }

    fn findings(&self, _: &Turns, data: &Data) -> Vec<Finding> {
        tables::findings(data)
    }

    fn sections(&self, _: &Turns, data: &Data, findings: &[Finding]) -> Vec<Section> {
        tables::sections(data, findings)
    }
}

#[cfg(test)]
mod tests;
