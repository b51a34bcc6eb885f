//! Timers far ahead, and a driver that polls at each tick: nothing is ever due.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::scenario::Measure;
use crate::models::tape::{Source, Step, Tape};

/// Ticks from the start to the first deadline: more than the ticks that all samples poll.
const FAR: u64 = 1 << 30;
/// The deadlines lie within this many ticks.
const RANGE: u64 = 1 << 20;

/// Generates the deadlines from a seed, and the ticks of each sample.
#[derive(Debug)]
pub(crate) struct Idle {
    rng: Pcg64,
    population: usize,
    /// The last tick of the sample before.
    now: u64,
    /// The number of ticks of a sample.
    polls: u32,
}

impl Idle {
    /// Creates the generator of one cell.
    pub(crate) fn new(population: usize, operations: usize, seed: u64) -> Self {
        let polls = u32::try_from(operations).unwrap_or(u32::MAX);
        Self { rng: Pcg64::seed_from_u64(seed), population, now: 0, polls }
    }
}

impl Source for Idle {
    fn deadlines(&mut self) -> Vec<u64> {
        (0..self.population).map(|_| FAR + self.rng.random_range(0..RANGE)).collect()
    }

    fn next(&mut self, _: Measure) -> Tape {
        let poll = Step::Poll { after: self.now, count: self.polls };
        // Many samples of many polls would reach the deadlines, so the clock stops before the
        // deadlines.
        let polls = u64::from(self.polls);
        self.now = if self.now + 2 * polls < FAR { self.now + polls } else { self.now };
        Tape::of([poll])
    }

    fn end(&self) -> Option<u64> {
        Some(2 * (FAR + RANGE))
    }
}
