//! Timers far ahead, and a driver that polls at each tick: nothing is ever due.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::verify::Witness;
use crate::structures::candidate::BenchQueue;

/// Ticks from the start to the first deadline: more than the ticks that all samples poll.
const FAR: u64 = 1 << 30;
/// The deadlines lie within this many ticks.
const RANGE: u64 = 1 << 20;

/// The ticks of a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polls {
    /// The tick before the first tick.
    pub(crate) after: u64,
    /// How many there are.
    pub(crate) count: usize,
}

/// The timed loop: one poll at each tick.
#[inline(never)]
pub(crate) fn run<Q: BenchQueue, W: Witness>(queue: &mut Q, polls: Polls, witness: &mut W) {
    for now in polls.after + 1..=polls.after + polls.count as u64 {
        queue.advance(now, usize::MAX, &mut |id, expiry| witness.delivered(id, expiry, now));
    }
}

/// Generates the deadlines from a seed, and the ticks of each sample.
#[derive(Debug)]
pub(crate) struct Idle {
    rng: Pcg64,
    population: usize,
    polls: Polls,
}

impl Idle {
    /// Creates the generator of one cell.
    pub(crate) fn new(population: usize, operations: usize, seed: u64) -> Self {
        Self { rng: Pcg64::seed_from_u64(seed), population, polls: Polls { after: 0, count: operations } }
    }

    /// Generates the deadlines.
    pub(crate) fn deadlines(&mut self) -> Vec<u64> {
        (0..self.population).map(|_| FAR + self.rng.random_range(0..RANGE)).collect()
    }

    /// Returns the ticks of the next sample.
    pub(crate) fn polls(&mut self) -> Polls {
        let polls = self.polls;
        // Many samples of many polls would reach the deadlines, so the clock stops before the
        // deadlines.
        let after = polls.after + polls.count as u64;
        self.polls.after = if after + (polls.count as u64) < FAR { after } else { polls.after };
        polls
    }

    /// A tick at which all timers are due, also in granular structures.
    pub(crate) fn end(&self) -> u64 {
        2 * (FAR + RANGE)
    }
}
