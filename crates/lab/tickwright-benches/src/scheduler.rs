//! `benches scheduler`: the cost of an add and a delete through the scheduler, compared with the
//! cost of their parts.
//!
//! The parts are the same operation on the bare queue, one uncontended lock, and one reading of the
//! clock. The remaining time is the scheduler's own work: the table of ids and the counters. A
//! delete does not read the clock, but the sum of its parts still includes one reading. A delete
//! looks up its id in the table, at the same cost for every N. Therefore the time of a delete grows
//! with N only because two parts take more time: the bare queue's removal by key, and cache misses.

mod bare;
mod data;
mod tables;

use core::hint::black_box;
use core::str::FromStr;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tickwright::scheduler::{Cancelled, Firing, Next, Plain, Scheduler, Settings, Structure, TimerId};
use tickwright::time::{Clock, SystemClock};

use crate::allocator;
use crate::clock::Meter;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::number::{Operations, Population, Rounds as Samples, Seed};
use crate::output::OutputArgs;
use crate::progress::Progress;
use crate::request;
use crate::result::{Finding, Section, Series, Unit, labels};
use crate::rounds::Rounds;
use crate::scheduler::data::{Operation, Plan, Row};

/// Arguments of `scheduler`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SchedulerArgs {
    /// Structures of the scheduler, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "heap4,wheel", value_parser = Structure::from_str)]
    pub(crate) structures: Vec<Structure>,
    /// Numbers of pending timers, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "1k,10k,100k,1M", value_parser = Population::parse)]
    pub(crate) n: Vec<Population>,
    /// Samples of each structure; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "15", value_parser = Samples::parse)]
    pub(crate) rounds: Samples,
    /// Minimum number of operations in a sample
    #[arg(long, allow_hyphen_values = true, default_value = "50k", value_parser = Operations::parse)]
    pub(crate) operations: Operations,
    /// Seed of delays and orders
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    pub(crate) seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Experiment for SchedulerArgs {
    type Plan = Plan;
    type Data = Vec<Row>;

    fn name(&self) -> String {
        "bench scheduler".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        Ok(Plan {
            structures: self.structures.clone(),
            sizes: request::sizes(&self.n),
            rounds: self.rounds.get() as usize,
            operations: usize::try_from(self.operations.get()).unwrap_or(usize::MAX),
            seed: self.seed.get(),
        })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        request::parameters([
            ("structures", request::list(&plan.structures).into()),
            ("n", request::list(&plan.sizes).into()),
            ("rounds", plan.rounds.into()),
            ("operations", plan.operations.into()),
        ])
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.seed)
    }

    /// Measures every structure at every N, in random order in each round.
    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Vec<Row>, LabError> {
        let mut rows = Vec::new();
        let mut random = Pcg64Mcg::seed_from_u64(plan.seed);
        let mut turns = Rounds::new(plan.rounds, plan.seed);
        let steps = plan.sizes.len() * plan.structures.len() * turns.len();
        let progress = Progress::steps(steps as u64, "scheduler");
        for &n in &plan.sizes {
            // Only one scheduler exists at a time. Each timer needs memory for a delay, an id and
            // an entry.
            allocator::room(n.saturating_mul(16 + 8 + 24), &format!("a scheduler with {n} timers"))?;
            let mut lanes = lanes(plan, n, &mut lab.notes);
            let passes = plan.operations.div_ceil(n).max(1);
            let work = Work { n, passes, delays: delays(n, &mut random), meter: lab.meter };
            progress.doing(format!("N = {n}"));
            let taken = turns.run(lanes.len(), |turn| {
                progress.step();
                work.sample(&lanes[turn.lane])
            })?;
            for (lane, samples) in lanes.iter_mut().zip(&taken.cells[0]) {
                samples.iter().for_each(|sample| lane.keep(sample));
            }
            rows.extend(lanes.into_iter().map(|lane| lane.row));
            if taken.interrupted {
                lab.interrupted = true;
                break;
            }
        }
        Ok(rows)
    }

    fn series(&self, _: &Plan, rows: &Vec<Row>) -> Vec<Series> {
        let of_row = |row: &Row| {
            let series = |name: &str, part: &'static str, samples: &[f64]| {
                let of =
                    labels([("structure", row.structure.into()), ("n", row.n.into()), ("part", part.into())]);
                Series::new(name, Unit::Ns, of).per("operation").of(samples.iter().copied())
            };
            let mut all: Vec<Series> = Vec::new();
            for (name, operation) in row.operations() {
                all.push(series(name, "scheduler", &operation.through));
                all.push(series(name, "bare queue", &operation.bare));
            }
            all.push(series("lock", "lock", &row.lock));
            all.push(series("clock", "clock", &row.clock));
            let of = labels([("structure", row.structure.into()), ("n", row.n.into())]);
            all.push(Series::new("memory", Unit::Bytes, of).per("timer").of([row.bytes_per_timer]));
            all
        };
        rows.iter().flat_map(of_row).collect()
    }

    fn findings(&self, plan: &Plan, rows: &Vec<Row>) -> Vec<Finding> {
        tables::findings(plan, rows)
    }

    fn sections(&self, plan: &Plan, rows: &Vec<Row>, findings: &[Finding]) -> Vec<Section> {
        tables::sections(plan, rows, findings)
    }
}

/// A structure and its samples so far.
struct Lane {
    structure: Structure,
    row: Row,
}

/// The maximum number of timers for a structure whose insert walks a list: with 10,000 timers, one
/// insert takes microseconds.
const LINEAR: usize = 1000;

fn lanes(plan: &Plan, n: usize, notes: &mut Vec<String>) -> Vec<Lane> {
    let mut lanes = Vec::new();
    for &structure in &plan.structures {
        if n > LINEAR && bare::is_linear(structure) {
            notes.push(format!("{} is left out at N = {n}: insertion is O(n)", structure.id()));
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
        lanes.push(Lane { structure, row });
    }
    lanes
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

/// The mean time per operation, in ns.
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

/// N adds, then N deletes in the order of the adds. The structure was warmed up and has room for N
/// timers.
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
        let work = bare::Work { delays: &self.delays, ticks, passes: self.passes, meter: self.meter };
        let (add, del) =
            bare::times(lane.structure, &work).ok_or_else(|| wrong("a timer was lost in the queue"))?;
        let bare = self.times(add, del);
        Ok(Sample { through, bare, lock: self.lock(), clock: self.clock(), bytes })
    }

    fn through(&self, structure: Structure) -> Option<(Times, f64)> {
        let scheduler = Scheduler::new(Settings::new().structure(structure).capacity(self.n));
        let mut ids: Vec<TimerId> = Vec::with_capacity(self.n);
        let (mut add, mut del, mut bytes) = (0, 0, 0);
        // The first pass is a warm-up.
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

/// Number of locks in a sample, and number of clock readings in a sample.
const PARTS: u32 = 20_000;

fn done(_: &mut u64, _: &Firing<'_, Plain<u64>>) -> Next {
    Next::Done
}

#[cfg(test)]
mod tests;
