//! The whole experiment: structures take turns in short slices, each slice is verified before the
//! next begins.

use core::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::instrument::{Counting, Samples, Stats, Timing};
use super::log::Log;
use super::machine::{Real, Virtual};
use super::oracle::{Oracle, Verified};
use super::slice::{Slice, drive};
use super::workload::{Params, Workload};
use crate::clock::Meter;
use crate::error::LabError;
use crate::progress::Progress;
use crate::structures::candidate::Candidate;
use crate::structures::registry::{self, Structure, Visitor};

/// What a run's time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// The system's clock, and sleeps until the next head.
    Real,
    /// Simulated: every wake-up is on the dot and the next one follows at once.
    Virtual,
}

/// How a real-time driver waits for its next shot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Wait {
    /// An absolute sleep on the monotonic clock.
    Sleep,
    /// Reads the clock in a circle: takes a whole processor, and keeps up on any host.
    Spin,
}

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The workload.
    pub(crate) params: Params,
    /// Its time.
    pub(crate) mode: Mode,
    /// How real time is waited for.
    pub(crate) wait: Wait,
    /// Time on each structure's own clock.
    pub(crate) duration: Duration,
    /// Puts a clock around each operation. Real time always does.
    pub(crate) instrument: bool,
    /// What takes turns.
    pub(crate) structures: Vec<&'static Structure>,
}

impl Plan {
    /// The time on a structure's clock that one slice takes: short enough that its log stays in a
    /// megabyte or two and a host's drift hits all alike, and at least eight of them, for an
    /// interval of the median needs six.
    pub(crate) fn slice_ns(&self) -> u64 {
        let longest = match self.mode {
            Mode::Real => Duration::from_secs(2),
            Mode::Virtual => Duration::from_millis(250),
        };
        let slice = (self.duration / 8).min(longest).max(Duration::from_micros(100));
        u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX)
    }

    fn duration_ns(&self) -> u64 {
        u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// What one structure did.
#[derive(Debug)]
pub(crate) struct Lane {
    /// Which.
    pub(crate) structure: &'static Structure,
    work: Workload,
    /// All slices together.
    pub(crate) total: Slice,
    /// What the oracle saw in all of them.
    pub(crate) verified: Verified,
    /// Of the timed operations, when they were.
    pub(crate) stats: Option<Stats>,
    /// Per slice: ns per tick in the queue (timed), or of the whole handler (virtual time without
    /// instruments); NaN for a slice without ticks. One per round.
    pub(crate) per_tick: Vec<f64>,
}

impl Lane {
    /// Before its first slice.
    pub(crate) fn new(structure: &'static Structure, plan: &Plan) -> Self {
        Self {
            structure,
            work: Workload::new(&plan.params),
            total: Slice::default(),
            verified: Verified::default(),
            stats: plan.instrument.then(Stats::new),
            per_tick: Vec::new(),
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// One per structure, in the order asked for.
    pub(crate) lanes: Vec<Lane>,
    /// Ctrl-C ended it early.
    pub(crate) interrupted: bool,
}

/// Events and samples that a slice may fill; a slice that comes near ends early and the next goes
/// on.
const EVENTS: usize = 160_000;
const SAMPLES: usize = 256_000;

/// Runs the plan.
///
/// # Errors
/// The first slice whose log is not what the oracle says; a structure that cannot hold the timers.
pub(crate) fn run(
    plan: &Plan,
    meter: &impl Meter,
    stop: &dyn Fn() -> bool,
    progress: &Progress,
) -> Result<Outcome, LabError> {
    let mut lanes: Vec<Lane> = plan.structures.iter().map(|structure| Lane::new(structure, plan)).collect();
    let room = plan.params.timers as usize + 1;
    let mut log = Log::new(EVENTS, room);
    let mut samples = Samples::new(SAMPLES, room);
    let mut order: Vec<usize> = (0..lanes.len()).collect();
    // Not the stream of the workload: which structure comes first must not say which timer is
    // toggled.
    let mut random = Pcg64Mcg::seed_from_u64(!plan.params.seed);
    let mut interrupted = false;
    'rounds: while lanes.iter().any(|lane| lane.total.elapsed_ns < plan.duration_ns()) {
        order.shuffle(&mut random);
        for &at in &order {
            let lane = &mut lanes[at];
            let left = plan.duration_ns().saturating_sub(lane.total.elapsed_ns);
            if left == 0 {
                continue;
            }
            progress.doing(lane.structure.id);
            let length = left.min(plan.slice_ns());
            turn(lane, length, plan, meter, &mut samples, &mut log, stop)?;
            if stop() {
                interrupted = true;
                break 'rounds;
            }
        }
        let done = lanes.iter().map(|lane| lane.total.elapsed_ns).sum();
        progress.at(Duration::from_nanos(done));
    }
    Ok(Outcome { lanes, interrupted })
}

/// One slice of one structure, and its verification.
fn turn(
    lane: &mut Lane,
    length: u64,
    plan: &Plan,
    meter: &impl Meter,
    samples: &mut Samples,
    log: &mut Log,
    stop: &dyn Fn() -> bool,
) -> Result<(), LabError> {
    log.clear();
    let oracle = Oracle::filled(&lane.work, lane.structure.ties);
    let turn = Turn { work: &mut lane.work, length, plan, meter, samples, log, stop };
    let slice = registry::visit(lane.structure, turn).ok_or_else(|| {
        LabError::usage(format!(
            "'{}' cannot hold {} timers: take it away with --structures '!{}'",
            lane.structure.id, plan.params.timers, lane.structure.id
        ))
    })?;
    let verified = oracle.verify(log.events()).map_err(|difference| {
        LabError::failed(format!("'{}' is wrong: {difference}; its figures are void", lane.structure.id))
    })?;
    if !slice.agrees_with(&verified) {
        let Slice { ticks, wakes, .. } = slice;
        return Err(LabError::failed(format!(
            "'{}': the driver counts {ticks} ticks in {wakes} wake-ups, its log {} in {}; its figures are void",
            lane.structure.id, verified.ticks, verified.wakes
        )));
    }
    lane.total.add(&slice);
    lane.verified.add(&verified);
    let spent = match &mut lane.stats {
        Some(stats) => samples.drain_into(stats) as f64,
        None => slice.wall.as_nanos() as f64,
    };
    // A slice without ticks still takes its place: ratios pair the slices of a round, and leave out
    // what is not a number.
    lane.per_tick.push(if slice.ticks > 0 { spent / slice.ticks as f64 } else { f64::NAN });
    Ok(())
}

/// A slice that waits for its candidate type. `None` when that cannot hold the timers.
struct Turn<'a, M> {
    work: &'a mut Workload,
    length: u64,
    plan: &'a Plan,
    meter: &'a M,
    samples: &'a mut Samples,
    log: &'a mut Log,
    stop: &'a dyn Fn() -> bool,
}

impl<M: Meter> Visitor for Turn<'_, M> {
    type Out = Option<Slice>;

    fn visit<C: Candidate>(self, _: &'static Structure) -> Option<Slice> {
        let Self { work, length, plan, meter, samples, log, stop } = self;
        if !C::holds(work.timers().len()) {
            return None;
        }
        let mut timing = Timing::new(meter, samples);
        Some(match (plan.mode, plan.instrument) {
            (Mode::Real, _) => {
                let mut machine = Real::new(plan.wait == Wait::Spin);
                drive::<C, _, _>(work, length, &mut machine, &mut timing, log, stop)
            }
            (Mode::Virtual, true) => {
                drive::<C, _, _>(work, length, &mut Virtual::default(), &mut timing, log, stop)
            }
            (Mode::Virtual, false) => {
                drive::<C, _, _>(work, length, &mut Virtual::default(), &mut Counting::default(), log, stop)
            }
        })
    }
}
