//! `tickwright bench scheduler`: what an add and a delete cost through the scheduler, beside their
//! parts.
//!
//! The parts are the same operation on the bare queue, one uncontended lock, and one reading of the
//! clock. What is left over is the scheduler's own: the table of ids, the counts. (A delete reads
//! no clock; its sum is the same for all that.) A delete by id looks it up in that table, whatever
//! N is; so it grows with N no more than the bare queue's removal by key and the caches let it.

pub(crate) mod report;

use core::hint::black_box;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use tickwright::clock::{Clock, Instant, SystemClock, Ticks};
use tickwright::scheduler::{Cancelled, Firing, Next, Plain, Scheduler, TimerId};
use tickwright::service::{Settings, Structure};

use crate::allocator;
use crate::candidate::{BenchQueue, Candidate};
use crate::clock::{Calibration, Meter, calibrate};
use crate::error::LabError;
use crate::host::Host;
use crate::progress::Progress;
use crate::registry::{self, Visitor};
use crate::rounds::Rounds;
use crate::stats::{self, Summary};

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) structures: Vec<Structure>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) rounds: u64,
    /// Operations in a sample, at least.
    pub(crate) operations: usize,
    pub(crate) seed: u64,
}

/// At most this many times the sum of its parts.
pub(crate) const LIMIT: f64 = 1.5;

/// The results.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    #[serde(skip)]
    pub(crate) interrupted: bool,
    #[serde(skip)]
    pub(crate) host: Host,
    pub(crate) clock: Calibration,
    pub(crate) limit: f64,
    pub(crate) seed: u64,
    pub(crate) rows: Vec<Row>,
    pub(crate) notes: Vec<String>,
}

/// A structure at one N; a sample a round, in ns of one operation.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) structure: &'static str,
    pub(crate) n: usize,
    /// On the heap with N pending, for each of them.
    pub(crate) bytes_per_timer: f64,
    pub(crate) lock: Vec<f64>,
    pub(crate) clock: Vec<f64>,
    pub(crate) add: Operation,
    pub(crate) del: Operation,
}

/// An operation through the scheduler, and on the bare queue.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Operation {
    pub(crate) through: Vec<f64>,
    pub(crate) bare: Vec<f64>,
}

/// Whether [`LIMIT`] is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kept {
    Yes,
    No,
    /// The interval holds the limit, or there are too few rounds for one.
    NotShown,
}

impl Kept {
    fn of(ratio: &Summary) -> Self {
        match ratio.interval {
            interval if interval.coverage < stats::CONFIDENCE => Self::NotShown,
            interval if interval.high <= LIMIT => Self::Yes,
            interval if interval.low > LIMIT => Self::No,
            _ => Self::NotShown,
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Yes => "kept",
            Self::No => "MISSED",
            Self::NotShown => "not shown",
        }
    }
}

impl Row {
    /// An operation to the sum of its parts, round by round.
    pub(crate) fn ratio(&self, operation: &Operation) -> Option<(Summary, Kept)> {
        let parts: Vec<f64> = operation
            .bare
            .iter()
            .zip(&self.lock)
            .zip(&self.clock)
            .map(|((bare, lock), clock)| bare + lock + clock)
            .collect();
        let ratio = stats::ratios(&operation.through, &parts)?;
        Some((ratio, Kept::of(&ratio)))
    }
}

/// Measures every structure at every N, in random order in each round.
///
/// # Errors
/// An operation that was refused. An interruption is no error here: the report says that it is
/// partial.
pub(crate) fn run(options: &Options, meter: &dyn Meter) -> Result<Report, LabError> {
    let host = Host::read();
    let mut report = Report {
        interrupted: false,
        notes: host.doubts(),
        host,
        clock: calibrate(meter),
        limit: LIMIT,
        seed: options.seed,
        rows: Vec::new(),
    };
    let mut random = Pcg64Mcg::seed_from_u64(options.seed);
    let mut turns = Rounds::new(options.rounds as usize, !options.seed);
    let progress =
        Progress::steps((options.sizes.len() * options.structures.len() * turns.len()) as u64, "scheduler");
    for &n in &options.sizes {
        // A sample has one structure at a time, with a delay, an id and an entry for each timer.
        allocator::room(n.saturating_mul(16 + 8 + 24), &format!("a scheduler with {n} timers"))?;
        let mut lanes = lanes(options, n, &mut report)?;
        let work =
            Work { n, passes: options.operations.div_ceil(n).max(1), delays: delays(n, &mut random), meter };
        progress.doing(format!("N = {n}"));
        let taken = turns.run(lanes.len(), |turn| {
            progress.step();
            work.sample(&lanes[turn.lane])
        })?;
        for (lane, samples) in lanes.iter_mut().zip(&taken.lanes) {
            samples.iter().for_each(|sample| lane.keep(sample));
        }
        report.rows.extend(lanes.into_iter().map(|lane| lane.row));
        if taken.interrupted {
            report.interrupted = true;
            break;
        }
    }
    Ok(report)
}

/// A structure under way.
struct Lane {
    structure: Structure,
    bare: &'static registry::Structure,
    row: Row,
}

fn lanes(options: &Options, n: usize, report: &mut Report) -> Result<Vec<Lane>, LabError> {
    let mut lanes = Vec::new();
    for &structure in &options.structures {
        let bare = registry::find(&format!("{}/slab", structure.id()))?;
        if let Some(why) = registry::why_not(bare, n)? {
            report.notes.push(format!("{} is left out at N = {n}: {why}", structure.id()));
            continue;
        }
        let row = Row {
            structure: structure.id(),
            n,
            bytes_per_timer: 0.0,
            lock: Vec::new(),
            clock: Vec::new(),
            add: Operation::default(),
            del: Operation::default(),
        };
        lanes.push(Lane { structure, bare, row });
    }
    Ok(lanes)
}

impl Lane {
    fn keep(&mut self, sample: &Sample) {
        let Sample { through, bare, lock, clock, bytes } = sample;
        let row = &mut self.row;
        row.add.through.push(through.add);
        row.add.bare.push(bare.add);
        row.del.through.push(through.del);
        row.del.bare.push(bare.del);
        row.lock.push(*lock);
        row.clock.push(*clock);
        row.bytes_per_timer = bytes / row.n as f64;
    }
}

fn delays(n: usize, random: &mut Pcg64Mcg) -> Vec<Duration> {
    (0..n).map(|_| Duration::from_millis(random.random_range(0..60_000))).collect()
}

/// ns of one operation.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    add: f64,
    del: f64,
}

struct Sample {
    through: Times,
    bare: Times,
    lock: f64,
    clock: f64,
    bytes: f64,
}

/// N adds, then N deletes in the order of the adds, on what is warm and has room.
struct Work<'a> {
    n: usize,
    passes: usize,
    delays: Vec<Duration>,
    meter: &'a dyn Meter,
}

impl Work<'_> {
    fn sample(&self, lane: &Lane) -> Result<Sample, LabError> {
        let wrong = |what: &str| LabError::failed(format!("{}, N = {}: {what}", lane.structure.id(), self.n));
        let (through, bytes) =
            self.through(lane.structure).ok_or_else(|| wrong("a timer was lost in the scheduler"))?;
        let ticks = lane.structure.default_tick();
        let bare = registry::visit(lane.bare, Bare { work: self, ticks })
            .ok_or_else(|| wrong("a timer was lost in the queue"))?;
        Ok(Sample { through, bare, lock: self.lock(), clock: self.clock(), bytes })
    }

    fn through(&self, structure: Structure) -> Option<(Times, f64)> {
        let scheduler = Scheduler::new(Settings::new().structure(structure).capacity(self.n));
        let mut ids: Vec<TimerId> = Vec::with_capacity(self.n);
        let (mut add, mut del, mut bytes) = (0, 0, 0);
        // The first pass warms up.
        for pass in 0..=self.passes {
            let start = self.meter.now();
            for &delay in &self.delays {
                ids.push(scheduler.add(delay, Plain::new(0, done)).ok()?);
            }
            let added = self.meter.now();
            bytes = scheduler.heap_bytes();
            let begun = self.meter.now();
            let mut removed = 0;
            for id in ids.drain(..) {
                removed += usize::from(matches!(scheduler.cancel(id), Cancelled::Removed(_)));
            }
            let end = self.meter.now();
            if removed != self.n {
                return None;
            }
            if pass > 0 {
                add += added.saturating_sub(start);
                del += end.saturating_sub(begun);
            }
        }
        Some((self.times(add, del), bytes as f64))
    }

    fn times(&self, add: u64, del: u64) -> Times {
        let operations = (self.passes * self.n) as f64;
        Times { add: add as f64 / operations, del: del as f64 / operations }
    }

    fn lock(&self) -> f64 {
        let lock = Mutex::new(0u64);
        self.each(|| *black_box(&lock).lock().unwrap_or_else(PoisonError::into_inner) += 1)
    }

    fn clock(&self) -> f64 {
        self.each(|| {
            black_box(SystemClock::Monotonic.now());
        })
    }

    fn each(&self, mut part: impl FnMut()) -> f64 {
        let start = self.meter.now();
        for _ in 0..PARTS {
            part();
        }
        self.meter.now().saturating_sub(start) as f64 / f64::from(PARTS)
    }
}

/// Locks, and readings of the clock, in a sample.
const PARTS: u32 = 20_000;

fn done(_: &mut u64, _: &Firing<'_, Plain<u64>>) -> Next {
    Next::Done
}

/// The same on the queue alone.
struct Bare<'a> {
    work: &'a Work<'a>,
    ticks: Ticks,
}

impl Visitor for Bare<'_> {
    type Out = Option<Times>;

    fn visit<C: Candidate>(self, _: &'static registry::Structure) -> Option<Times> {
        let Self { work, ticks } = self;
        let deadline = |delay: &Duration| ticks.deadline(Instant::ZERO + *delay);
        let deadlines: Vec<u64> = work.delays.iter().map(deadline).collect();
        let arena = C::arena(work.n);
        let mut queue = C::queue(&arena, work.n);
        let (mut add, mut del) = (0, 0);
        for pass in 0..=work.passes {
            let start = work.meter.now();
            for (id, &deadline) in (0..).zip(&deadlines) {
                queue.insert(id, deadline);
            }
            let added = work.meter.now();
            queue.head()?;
            let begun = work.meter.now();
            for (id, _) in (0..).zip(&deadlines) {
                queue.remove(id);
            }
            let end = work.meter.now();
            if queue.head().is_some() {
                return None;
            }
            if pass > 0 {
                add += added.saturating_sub(start);
                del += end.saturating_sub(begun);
            }
        }
        Some(work.times(add, del))
    }
}

#[cfg(test)]
mod tests;
