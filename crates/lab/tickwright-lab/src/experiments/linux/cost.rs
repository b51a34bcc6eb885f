//! The time of a re-arm that stays in its bucket, with one thread and with two threads on one
//! shard.

use std::sync::Barrier;

use super::counts::Counts;
use super::oracle::Way;
use super::subject::{Column, Timers};
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::progress::Progress;
use crate::rounds::Rounds;

/// The number of timers per thread. These timers stand for a server's hot connections, which fit
/// into the cache.
const TIMERS: usize = 64;
/// The first tick of the granule that holds all deadlines. With the clock at 0, the granule is on
/// level 2, which has 64 ticks per granule.
const GRANULE: u64 = 1024;

/// The numbers of threads that share the shard.
pub(crate) const THREADS: [usize; 2] = [1, 2];

/// Samples of one column with one number of threads.
#[derive(Debug, Clone)]
pub(crate) struct Cost {
    pub(crate) column: Column,
    pub(crate) threads: usize,
    /// The slowest thread's ns per re-arm, one sample per round.
    pub(crate) samples: Vec<f64>,
}

/// Runs every column with every number of threads, in random order in each of `rounds` rounds. In a
/// sample, each thread makes `passes` passes over its timers.
///
/// # Errors
/// If the counters do not agree with the calls.
pub(crate) fn run(rounds: usize, passes: u64, seed: u64) -> Result<Vec<Cost>, LabError> {
    // All threads read this clock.
    let clock = OsClock::start();
    let mut costs: Vec<Cost> = THREADS
        .into_iter()
        .flat_map(|threads| Column::ALL.map(|column| Cost { column, threads, samples: Vec::new() }))
        .collect();
    let mut turns = Rounds::new(rounds, seed);
    let progress = Progress::steps((turns.len() * costs.len()) as u64, "cost");
    let taken = turns.run(costs.len(), |turn| {
        let Cost { column, threads, .. } = costs[turn.lane];
        progress.step();
        Sample { clock, column, threads, passes }.run()
    })?;
    for (cost, samples) in costs.iter_mut().zip(taken.lanes()) {
        cost.samples = samples;
    }
    Ok(costs)
}

struct Sample {
    clock: OsClock,
    column: Column,
    threads: usize,
    passes: u64,
}

impl Sample {
    fn run(self) -> Result<f64, LabError> {
        let Self { clock, column, threads, passes } = self;
        let rearms = passes * TIMERS as u64;
        let wrong = |what: String| LabError::failed(format!("{}: {what}", column.title()));
        let shard = column.shard();
        let mut timers = Vec::new();
        for _ in 0..threads {
            let of_thread = shard.timers(TIMERS)?;
            for which in 0..TIMERS {
                of_thread.modify(which, GRANULE + 63).map_err(|error| wrong(error.to_string()))?;
            }
            timers.push(of_thread);
        }
        let begun = shard.counts();
        let barrier = Barrier::new(threads);
        let timed = |mine: &dyn Timers| {
            barrier.wait();
            let start = clock.now();
            mine.rearm(passes, GRANULE);
            clock.now().saturating_sub(start)
        };
        let slowest = std::thread::scope(|scope| {
            let others = timers.iter().skip(1).map(|mine| scope.spawn(|| timed(&**mine)));
            let others: Vec<_> = others.collect();
            let first = timed(&*timers[0]);
            others.into_iter().filter_map(|other| other.join().ok()).fold(first, u64::max)
        });
        let counts = shard.counts().since(&begun);
        let all = rearms * threads as u64;
        let (matched, requeued) = match column.way() {
            Way::Equal => (0, all),
            Way::Bucket => (all, 0),
        };
        let locks = if matches!(column, Column::After | Column::Ours) { 0 } else { all };
        let expected = Counts { matched, requeued, locks, ..Counts::default() };
        if counts != expected {
            return Err(wrong(format!("counted {counts:?}, expected {expected:?}")));
        }
        Ok(slowest as f64 / rearms as f64)
    }
}
