//! The whole experiment. Structures run alternately in short slices, and each slice is verified
//! before the next one begins.

use core::time::Duration;

use super::handler::{Handled, Kernel};
use super::instrument::{Op, Probe, Samples, Stats};
use super::log::Log;
use super::machine::{Machine, Real, Virtual, punctual};
use super::oracle::Oracle;
use super::scenario::{Published, Scenario};
use super::slice::{Slice, drive};
use super::workload::{Params, Workload};
use crate::clock::Meter;
use crate::error::LabError;
use crate::experiment::Lab;
use crate::interrupt;
use crate::progress::Progress;
use crate::rounds::Rounds;
use crate::structures::candidate::Candidate;
use crate::structures::registry::{self, Structure, Visitor};

/// The time base of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// The system's clock, with sleeps until the next deadline.
    Real,
    /// Simulated time: every wake-up is exactly on time, and the next wake-up follows at once.
    Virtual,
}

/// How a real-time driver waits for its next wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Wait {
    /// An absolute sleep on the monotonic clock.
    Sleep,
    /// Reads the clock in a loop: uses a whole processor, and keeps up on any host.
    Spin,
}

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The description of the workload.
    pub(crate) scenario: Scenario,
    pub(crate) published: Published,
    pub(crate) params: Params,
    pub(crate) mode: Mode,
    /// How to wait in real time.
    pub(crate) wait: Wait,
    /// The duration of the run on each structure's own clock.
    pub(crate) duration: Duration,
    /// Whether a clock is read around each operation. In real time, a clock is always read.
    pub(crate) instrument: bool,
    /// The structures that run alternately.
    pub(crate) structures: Vec<&'static Structure>,
    /// Notes on structures that the user named but that cannot run.
    pub(crate) left_out: Vec<String>,
}

impl Plan {
    /// Returns the length of one slice on a structure's clock, in ns. Slices are short, so that a
    /// drifting host affects all structures alike. A run has at least eight slices, because an
    /// interval of the median needs six samples.
    pub(crate) fn slice_ns(&self) -> u64 {
        let longest = match self.mode {
            Mode::Real => Duration::from_secs(2),
            Mode::Virtual => Duration::from_millis(250),
        };
        ns((self.duration / 8).min(longest).max(Duration::from_micros(100)))
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) structure: &'static Structure,
    pub(crate) total: Slice,
    /// Number of missed periods, as counted by the oracle.
    pub(crate) overruns: u64,
    /// Statistics of the operations; `None` if operations are not timed.
    pub(crate) stats: Option<Stats>,
    /// Mean ns per tick, one value per round in which every structure ticked. If operations are
    /// timed, the figure is the time in the queue. Otherwise the figure is the time of the whole
    /// handler.
    pub(crate) per_tick: Vec<f64>,
    /// Mean ns per operation in the same slices, by `Op as usize`; NaN without calls.
    pub(crate) means: [Vec<f64>; 4],
}

impl Lane {
    pub(crate) fn new(structure: &'static Structure, instrument: bool) -> Self {
        Self {
            structure,
            total: Slice::default(),
            overruns: 0,
            stats: instrument.then(Stats::new),
            per_tick: Vec::new(),
            means: Default::default(),
        }
    }
}

/// The figures of one slice.
struct Sample {
    per_tick: f64,
    means: [f64; 4],
}

/// Limits for the events and samples in one piece of a slice. A piece that comes close to a limit
/// ends early, and the next piece continues the slice.
const EVENTS: usize = 160_000;
const SAMPLES: usize = 256_000;

/// Runs the plan. An interrupted slice counts in the totals, but its round counts in no ratio.
///
/// # Errors
/// If the log of a slice differs from the oracle's. The error describes the first such slice.
pub(crate) fn run(plan: &Plan, lab: &mut Lab<'_>) -> Result<Vec<Lane>, LabError> {
    lab.notes.extend(plan.left_out.iter().cloned());
    let _slack = (plan.mode == Mode::Real).then(|| punctual(&mut lab.notes));
    let mut lanes: Vec<_> = plan
        .structures
        .iter()
        .map(|structure| (Lane::new(structure, plan.instrument), Workload::new(&plan.params)))
        .collect();
    let room = plan.params.timers as usize + 1;
    let mut driver =
        Driver { plan, meter: lab.meter, samples: Samples::new(SAMPLES, room), log: Log::new(EVENTS, room) };
    let (length, whole) = (plan.slice_ns(), ns(plan.duration));
    let slices = usize::try_from(whole.div_ceil(length)).unwrap_or(usize::MAX).max(1);
    let progress = Progress::steps(slices as u64 * lanes.len() as u64, "xenomai");
    let taken = Rounds::new(slices, plan.params.seed).without_warm_up().run(lanes.len(), |turn| {
        let (lane, work) = &mut lanes[turn.lane];
        progress.doing(lane.structure.id);
        let sample = driver.slice(lane, work, length.saturating_mul(turn.round as u64 + 1).min(whole));
        progress.step();
        sample
    })?;
    lab.interrupted |= taken.interrupted;
    let samples = taken.lanes();
    let rounds = samples.first().map_or(0, Vec::len);
    for round in (0..rounds).filter(|&at| samples.iter().all(|lane| lane[at].per_tick.is_finite())) {
        for ((lane, _), samples) in lanes.iter_mut().zip(&samples) {
            let Sample { per_tick, means } = &samples[round];
            lane.per_tick.push(*per_tick);
            lane.means.iter_mut().zip(means).for_each(|(all, mean)| all.push(*mean));
        }
    }
    Ok(lanes.into_iter().map(|(lane, _)| lane).collect())
}

/// The state that all structures use, one after the other.
struct Driver<'a> {
    plan: &'a Plan,
    meter: &'a dyn Meter,
    samples: Samples,
    log: Log,
}

impl Driver<'_> {
    /// Runs a slice of one structure until its clock is at `end`. The slice runs in pieces, so that
    /// each log stays within one or two megabytes.
    fn slice(&mut self, lane: &mut Lane, work: &mut Workload, end: u64) -> Result<Sample, LabError> {
        let (mut ticks, mut calls, mut spent) = (0, [0; 4], [0; 4]);
        let mut handler = Duration::ZERO;
        while work.now < end && !interrupt::requested() {
            let piece = self.piece(lane, work, end - work.now)?;
            ticks += piece.ticks;
            handler += piece.wall;
            calls.iter_mut().zip(piece.counts).for_each(|(sum, calls)| *sum += calls);
            if let Some(stats) = &mut lane.stats {
                let times = self.samples.drain_into(stats);
                spent.iter_mut().zip(times).for_each(|(sum, ns)| *sum += ns);
            }
        }
        let all = if self.plan.instrument { spent.iter().sum() } else { ns(handler) };
        // Without calls or without ticks the result is NaN, because 0 / 0 is NaN.
        let mean = |op: Op| spent[op as usize] as f64 / calls[op as usize] as f64;
        let means = if self.plan.instrument { Op::ALL.map(mean) } else { [f64::NAN; 4] };
        Ok(Sample { per_tick: all as f64 / ticks as f64, means })
    }

    /// Runs and verifies one piece.
    fn piece(&mut self, lane: &mut Lane, work: &mut Workload, length: u64) -> Result<Slice, LabError> {
        self.log.clear();
        let id = lane.structure.id;
        let oracle = Oracle::filled(work, lane.structure.ties);
        let slice = registry::visit(lane.structure, Turn { driver: self, work, length });
        let verified = oracle.verify(self.log.events()).map_err(|difference| {
            LabError::failed(format!("'{id}' is wrong: {difference}; its figures are void"))
        })?;
        if !slice.agrees_with(&verified) {
            let Slice { ticks, wakes, .. } = slice;
            return Err(LabError::failed(format!(
                "'{id}': the driver counts {ticks} ticks in {wakes} wake-ups, its log {} in {}; its figures are void",
                verified.ticks, verified.wakes
            )));
        }
        lane.total.add(&slice);
        lane.overruns += verified.overruns;
        Ok(slice)
    }
}

/// A piece of a slice, to be run when the type of the candidate is known.
struct Turn<'t, 'a> {
    driver: &'t mut Driver<'a>,
    work: &'t mut Workload,
    length: u64,
}

impl Visitor for Turn<'_, '_> {
    type Out = Slice;

    fn visit<C: Candidate>(self, _: &'static Structure) -> Slice {
        let room = self.work.timers().len();
        let arena = C::arena(room);
        self.run(&mut C::queue(&arena, room))
    }
}

impl Turn<'_, '_> {
    fn run(self, queue: &mut dyn Handled) -> Slice {
        let Self { driver: Driver { plan, meter, samples, log }, work, length } = self;
        let (mut real, mut simulated) = (Real::new(plan.wait == Wait::Spin), Virtual::default());
        let stop = &interrupt::requested;
        // If each operation is timed separately, the machine's calls are not timed.
        if let (Mode::Virtual, false) = (plan.mode, plan.instrument) {
            let kernel = Kernel { work, probe: Probe::default(), log };
            return drive(queue, kernel, length, &mut simulated, *meter, stop);
        }
        let machine: &mut dyn Machine = if plan.mode == Mode::Real { &mut real } else { &mut simulated };
        let kernel = Kernel { work, probe: Probe::timing(*meter, samples), log };
        drive(queue, kernel, length, machine, *meter, stop)
    }
}
