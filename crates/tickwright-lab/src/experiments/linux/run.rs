//! The parts of the experiment, one after the other.

use core::fmt::Write;
use core::time::Duration;

use clap::ValueEnum;

use super::cost::{self, Cost};
use super::network::{ENDS, Live, Logged, Replayed, Run, Traffic, replay};
use super::published::Published;
use super::simple::{Real, Workload};
use super::subject::{Column, Outcome};
use super::sweep::{self, Point};
use crate::error::LabError;
use crate::experiment::Lab;
use crate::interrupt;
use crate::output::TextFile;
use crate::progress::Progress;

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Timers of one delay, re-armed at random
    Simple,
    /// Connections over loopback
    Network,
    /// Time per re-arm, with one thread and with two
    Cost,
    /// The simple test for every delay, step and HZ
    Sweep,
}

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) parts: Vec<Part>,
    pub(crate) work: Workload,
    pub(crate) traffic: Traffic,
    /// Time for each way of re-arming, in each of the two tests.
    pub(crate) lasts: Duration,
    /// Number of samples of the cost.
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
    pub(crate) network: Option<Network>,
    pub(crate) costs: Vec<Cost>,
    pub(crate) sweep: Vec<Point>,
}

#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) runs: Vec<Run>,
    /// Replays of the last run's traffic, one per way of re-arming.
    pub(crate) replays: Vec<Replayed>,
}

/// Maximum number of re-arms that each side logs for the replay: a few seconds of traffic, 32 MB.
const NOTES: usize = 1_000_000;

/// Passes of a thread over its 64 timers in one sample of the cost.
const PASSES: u64 = 1500;

/// Runs the requested parts. The two tests time nothing, so each way of re-arming runs once without
/// a break, and its timers stay pending. The cost is timed in rounds.
///
/// # Errors
/// A count differs from the oracle's. Or only networking was requested, and there are no sockets.
pub(crate) fn run(plan: &Plan, lab: &mut Lab<'_>, log: Option<&TextFile>) -> Result<Data, LabError> {
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
                data.simple.push(column.run(Real { work: &plan.work, column, lasts: plan.lasts })?);
            }
        }
    }
    if plan.has(Part::Network) {
        data.network = network(plan, lab, log, &mut next)?;
    }
    drop(progress);
    if plan.has(Part::Cost) && !interrupt::requested() {
        data.costs = cost::run(plan.rounds, PASSES, plan.work.seed)?;
    }
    if plan.has(Part::Sweep) && !interrupt::requested() {
        data.sweep = sweep::run(plan.work.seed)?;
    }
    lab.interrupted |= interrupt::requested();
    Ok(data)
}

/// Runs the networking test: each way of re-arming over its own sockets, then all ways on the
/// traffic of the last run.
fn network(
    plan: &Plan,
    lab: &mut Lab<'_>,
    log: Option<&TextFile>,
    next: &mut impl FnMut(&str, Column) -> bool,
) -> Result<Option<Network>, LabError> {
    let notes = if log.is_some() { usize::MAX } else { NOTES };
    let (mut runs, mut noted) = (Vec::new(), String::from(HEADING));
    let mut failed = None;
    for column in Column::ALL {
        if failed.is_some() || !next("networking", column) {
            break;
        }
        let live = Live { traffic: &plan.traffic, column, lasts: plan.lasts, most: u64::MAX, notes };
        match column.run(live) {
            Ok(run) => {
                if log.is_some() {
                    note(&mut noted, column, &run.log);
                }
                runs.push(run);
            }
            Err(error) => failed = Some(error),
        }
    }
    // The log is written after an error too, so that it is kept.
    log.map_or(Ok(()), |log| log.write(&noted))?;
    match failed {
        None => {}
        Some(error @ LabError::Io { .. }) => {
            let note = format!("networking is left out: {error}");
            if plan.parts == [Part::Network] {
                return Err(LabError::usage(note));
            }
            lab.notes.push(note);
            return Ok(None);
        }
        Some(wrong) => return Err(wrong),
    }
    let traced = runs.last().map_or(&[][..], |run: &Run| &run.log);
    let replays = replay(traced)?;
    Ok(Some(Network { runs, replays }))
}

const HEADING: &str = "column,at_ns,end,connection,timer,tick,deadline,first_of_call,interrupted\n";

/// Writes re-arms as CSV.
fn note(out: &mut String, column: Column, log: &[Logged]) {
    let interrupted = interrupt::requested();
    for entry in log {
        let Logged { at_ns, now, deadline, connection, server, kind, first_of_call } = entry;
        let (end, timer) = (ENDS[usize::from(*server)], kind.word());
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{},{at_ns},{end},{connection},{timer},{now},{deadline},{first_of_call},{interrupted}",
            column.title()
        );
    }
}
