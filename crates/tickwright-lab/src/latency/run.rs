//! The whole run: structures take turns in slices, in random order.

use core::time::Duration;
use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::cli::PUBLISHED;
use super::clock::{Clock, Driver, System};
use super::hdr::Log;
use super::lane::Lane;
use super::lines::{self, Lines};
use super::load::Generator;
use super::load::kind::Load;
use super::overhead::Overhead;
use super::rights::{Granted, Priority, Wish};
use super::slice::{Drive, Seen, Turn};
use super::span;
use crate::duration;
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::output;
use crate::registry::{self, Structure};

/// What to run.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) structures: Vec<&'static Structure>,
    /// What was left out of the request, and why.
    pub(super) notes: Vec<String>,
    pub(super) period: Duration,
    /// For all structures together.
    pub(super) duration: Duration,
    /// Asked for.
    pub(super) slice: Option<Duration>,
    pub(super) priority: Priority,
    pub(super) mlock: bool,
    pub(super) cpu: Option<usize>,
    pub(super) clock: Clock,
    pub(super) driver: Driver,
    pub(super) host_hz: u64,
    pub(super) load: Vec<Load>,
    pub(super) cells: usize,
    pub(super) bucket: Duration,
    pub(super) seed: u64,
}

/// Slices of each structure that a run aims at: fewer show no difference.
const SLICES: u32 = 8;
const LONGEST_SLICE: Duration = Duration::from_millis(250);
/// Periods in a slice that nobody chose, at least.
const PERIODS: u32 = 20;

impl Plan {
    /// The four structures of the experiment with everything as usual.
    ///
    /// # Errors
    /// None, as long as the registry has them.
    pub(super) fn usual(duration: Duration, period: Duration) -> Result<Self, LabError> {
        Ok(Self {
            structures: PUBLISHED.into_iter().map(registry::find).collect::<Result<_, _>>()?,
            notes: Vec::new(),
            period,
            duration,
            slice: None,
            priority: Priority::USUAL,
            mlock: false,
            cpu: None,
            clock: Clock::Monotonic,
            driver: Driver::Nanosleep,
            host_hz: 100,
            load: Vec::new(),
            cells: 300,
            bucket: Duration::from_micros(1),
            seed: 0,
        })
    }

    fn structures_count(&self) -> u32 {
        u32::try_from(self.structures.len()).unwrap_or(u32::MAX).max(1)
    }

    /// How long a turn is.
    pub(super) fn slice(&self) -> Duration {
        self.slice.unwrap_or_else(|| {
            let share = self.duration / (SLICES + 1) / self.structures_count();
            share.min(LONGEST_SLICE).max(self.period.saturating_mul(PERIODS))
        })
    }

    /// Turns of each structure, the one that is thrown away included.
    pub(super) fn rounds(&self) -> u64 {
        let round = self.slice().saturating_mul(self.structures_count());
        u64::try_from(self.duration.as_nanos() / round.as_nanos().max(1)).unwrap_or(u64::MAX)
    }

    /// What a turn does.
    pub(super) fn turn(&self) -> Turn {
        let (slice, period) = (self.slice().as_nanos(), self.period.as_nanos().max(1));
        Turn {
            period: u64::try_from(period).unwrap_or(u64::MAX),
            points: u64::try_from(slice / period).unwrap_or(u64::MAX),
            host_period: 1_000_000_000u64.checked_div(self.host_hz).unwrap_or(0),
        }
    }

    /// Whether the times fit together.
    ///
    /// # Errors
    /// With what would fit.
    pub(super) fn check(&self) -> Result<(), LabError> {
        if self.slice() < self.period {
            return Err(LabError::usage(format!(
                "--slice {} is shorter than a period of {}: nothing was run",
                duration::show(self.slice()),
                span::show(self.period)
            )));
        }
        // Each is a sample that is kept for the turn.
        if self.turn().points > Seen::MOST {
            return Err(LabError::usage(format!(
                "--slice {} has more periods of {} than are kept: {} at most; nothing was run",
                duration::show(self.slice()),
                span::show(self.period),
                Seen::MOST
            )));
        }
        let least = self.slice().saturating_mul(self.structures_count()).saturating_mul(2);
        if self.rounds() < 2 {
            return Err(LabError::usage(format!(
                "--duration {} is too short for {} structures in turns of {}, of which the first is thrown away: at least {}",
                duration::show(self.duration),
                self.structures.len(),
                duration::show(self.slice()),
                duration::show(least)
            )));
        }
        Ok(())
    }

    /// What the measuring thread asks the system for.
    pub(super) fn wish(&self) -> Wish {
        Wish { priority: self.priority, mlock: self.mlock, cpu: self.cpu }
    }
}

/// What came of a run.
#[derive(Debug)]
pub(super) struct Outcome {
    /// One per structure, in the order asked for.
    pub(super) lanes: Vec<Lane>,
    /// What was not as asked.
    pub(super) notes: Vec<String>,
    /// As it was before the first turn, with this run's timer slack.
    pub(super) host: Host,
    /// Priority under SCHED_FIFO that was granted; 0 for none.
    pub(super) priority: u8,
    pub(super) overhead: Overhead,
    pub(super) hdr: Log,
    /// Processor time of the measuring thread, warm-up included, and how long it took.
    pub(super) cpu: Duration,
    pub(super) wall: Duration,
    pub(super) interrupted: bool,
}

/// Runs the plan; with `lines`, tells how it goes.
///
/// # Errors
/// A structure whose answers are wrong; a load that cannot be started.
pub(super) fn run(plan: &Plan, lines: bool) -> Result<Outcome, LabError> {
    let turn = plan.turn();
    let bucket = u64::try_from(plan.bucket.as_nanos()).unwrap_or(u64::MAX);
    let mut lanes: Vec<Lane> = plan.structures.iter().map(|s| Lane::new(s, plan.cells, bucket)).collect();
    let mut seen = Seen::new(turn.points);
    let mut host = System::new(plan.clock, plan.driver)?;
    let mut notes = plan.notes.clone();
    // Before the privileges, which it would inherit.
    let load = (!plan.load.is_empty()).then(|| Generator::start(&plan.load, plan.duration)).transpose()?;
    let (granted, refused) = Granted::ask(plan.wish());
    notes.extend(refused);
    let facts = Host::read();
    let overhead = Overhead::measure(&mut host);
    if lines {
        output::print(&lines::opening(plan, granted.priority))?;
    }
    let mut order: Vec<usize> = (0..lanes.len()).collect();
    let mut random = Pcg64Mcg::seed_from_u64(plan.seed);
    let mut hdr = Log::start();
    let mut told = Lines::default();
    let (began, cpu_before) = (Instant::now(), thread_cpu());
    let (mut last_line, mut next_line) = (began, 0);
    'rounds: for round in 0..plan.rounds() {
        order.shuffle(&mut random);
        for &at in &order {
            let lane = &mut lanes[at];
            let since = began.elapsed();
            let drive = Drive { turn, host: &mut host, seen: &mut seen, stop: &interrupt::requested };
            registry::visit(lane.structure, drive)?;
            // What the first turns saw is thrown away, but not a figure of a run that ends in them.
            if round > 0 {
                lane.add(&seen);
                hdr.add(lane.structure.id, since, began.elapsed(), &seen.lateness);
                if lines {
                    for gap in &seen.gaps {
                        output::print(&lines::gap(lane.structure.id, gap))?;
                    }
                }
            }
            if interrupt::requested() {
                break 'rounds;
            }
            if round > 0 && lines && last_line.elapsed() >= Duration::from_secs(1) {
                last_line = Instant::now();
                let lane = &mut lanes[next_line];
                next_line = (next_line + 1) % order.len();
                if lane.lately.count() > 0 {
                    output::print(&told.next(lane, began.elapsed()))?;
                }
            }
        }
    }
    let (cpu, wall) = (thread_cpu().saturating_sub(cpu_before), began.elapsed());
    let priority = granted.priority;
    drop(granted);
    notes.extend(load.and_then(Generator::end));
    let interrupted = interrupt::requested();
    Ok(Outcome { lanes, notes, host: facts, priority, overhead, hdr, cpu, wall, interrupted })
}

/// Processor time of this thread.
pub(super) fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The plan in the JSON report.
#[derive(Debug, Serialize)]
pub(super) struct PlanFacts {
    pub(super) period_us: f64,
    pub(super) slice_ms: f64,
    pub(super) clock: Clock,
    pub(super) driver: Driver,
    pub(super) priority_asked: Priority,
    pub(super) priority: u8,
    pub(super) mlock: bool,
    pub(super) cpu: Option<usize>,
    pub(super) host_hz: u64,
    pub(super) load: Vec<Load>,
    pub(super) seed: u64,
}

impl Plan {
    /// For the report.
    pub(super) fn facts(&self, granted: u8) -> PlanFacts {
        PlanFacts {
            period_us: self.period.as_secs_f64() * 1e6,
            slice_ms: self.slice().as_secs_f64() * 1e3,
            clock: self.clock,
            driver: self.driver,
            priority_asked: self.priority,
            priority: granted,
            mlock: self.mlock,
            cpu: self.cpu,
            host_hz: self.host_hz,
            load: self.load.clone(),
            seed: self.seed,
        }
    }
}
