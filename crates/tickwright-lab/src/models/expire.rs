//! Many timers that all expire. With n timers, the deadlines are random over n ticks. Delivery then
//! advances tick by tick until no timer is left.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::scenario::Measure;
use crate::models::tape::{Source, Step, Tape};

/// Generates timers from a seed, round by round.
#[derive(Debug)]
pub(crate) struct Expire {
    rng: Pcg64,
    /// The tick before those of this round.
    begin: u64,
    /// The number of timers. In as many ticks, all timers of exact structures expire.
    timers: u32,
}

impl Expire {
    /// Creates the generator of one cell.
    pub(crate) fn new(population: usize, seed: u64) -> Self {
        let timers = u32::try_from(population).unwrap_or(u32::MAX);
        Self { rng: Pcg64::seed_from_u64(seed), begin: 0, timers }
    }

    /// The last tick of a round; exact structures are empty after it.
    fn last(&self) -> u64 {
        self.begin + u64::from(self.timers)
    }
}

impl Source for Expire {
    /// There are none: each round arms its own timers.
    fn deadlines(&mut self) -> Vec<u64> {
        Vec::new()
    }

    /// Rounds of two samples: [`Measure::Expire`] delivers what [`Measure::Insert`] armed.
    fn next(&mut self, measure: Measure) -> Tape {
        if measure == Measure::Insert {
            let ticks = self.begin + 1..=self.last();
            let deadlines = (0..self.timers).map(|_| self.rng.random_range(ticks.clone()));
            return Tape::over(Step::Fill, deadlines.collect());
        }
        // A granular structure still holds some timers. It delivers a timer with a delay of d ticks
        // at most d ticks late.
        let all = self.last() + u64::from(self.timers) + 1;
        let poll = Step::Poll { after: self.begin, count: self.timers };
        self.begin = all;
        Tape { deliveries: self.timers as usize, ..Tape::of([poll, Step::Deliver { now: all }]) }
    }
}

#[cfg(test)]
mod tests;
