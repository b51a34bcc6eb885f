//! The parts of the experiment, one after the other.

use core::time::Duration;

use clap::ValueEnum;

use super::cost::{self, Cost};
use super::network::{Network, Run, Traffic};
use super::published::Published;
use super::simple::{Real, Workload};
use super::subject::{Column, Outcome};
use crate::error::LabError;
use crate::experiment::Lab;
use crate::interrupt;
use crate::progress::Progress;

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Timers of one delay, re-armed at random
    Simple,
    /// Connections of a server, in virtual time
    Network,
    /// Time per re-arm, with one thread and with two
    Cost,
}

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) parts: Vec<Part>,
    pub(crate) work: Workload,
    pub(crate) traffic: Traffic,
    /// Time for each way of re-arming, in each of the two tests.
    pub(crate) lasts: Duration,
    /// The number of samples of the cost.
    pub(crate) rounds: usize,
    pub(crate) published: Published,
}

impl Plan {
    pub(crate) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

/// All counts and times; parts that were left out are empty.
#[derive(Debug, Default)]
pub(crate) struct Data {
    pub(crate) simple: Vec<Outcome>,
    pub(crate) network: Vec<Run>,
    pub(crate) costs: Vec<Cost>,
}

/// The number of passes of a thread over its 64 timers in one sample of the cost.
const PASSES: u64 = 1500;

/// Runs the requested parts. The two tests measure no times, so each way of re-arming runs once
/// without interruption, and its timers stay pending. The cost is timed in rounds.
///
/// # Errors
/// If a count differs from the oracle's.
pub(crate) fn run(plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
    let mut data = Data::default();
    let tests = [Part::Simple, Part::Network].into_iter().filter(|part| plan.has(*part)).count();
    let columns = tests as u32 * Column::ALL.len() as u32;
    let progress = Progress::lasting(plan.lasts.saturating_mul(columns), "linux");
    let mut past = Duration::ZERO;
    let mut next = |test: &str, column: Column| {
        progress.doing(format!("{test}, {}", column.title()));
        progress.at(past);
        past += plan.lasts;
        !interrupt::requested()
    };
    if plan.has(Part::Simple) {
        for column in Column::ALL {
            if next("simple", column) {
                data.simple.push(Real { work: &plan.work, column, lasts: plan.lasts }.run()?);
            }
        }
    }
    if plan.has(Part::Network) {
        for column in Column::ALL {
            if next("networking", column) {
                let network = Network { traffic: &plan.traffic, column, lasts: plan.lasts, most: u64::MAX };
                data.network.push(network.run()?);
            }
        }
    }
    drop(progress);
    if plan.has(Part::Cost) && !interrupt::requested() {
        data.costs = cost::run(plan.rounds, PASSES, plan.work.seed)?;
    }
    lab.interrupted |= interrupt::requested();
    Ok(data)
}
