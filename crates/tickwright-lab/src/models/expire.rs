//! Many timers that all expire. With n timers, the deadlines are random over n ticks. Delivery then
//! advances tick by tick until no timer is left.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::verify::Witness;
use crate::structures::candidate::BenchQueue;

/// A range of ticks. Delivery advances through the ticks one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticks {
    begin: u64,
    /// The number of timers. In as many ticks, all timers of exact structures expire.
    pub(crate) timers: usize,
}

impl Ticks {
    /// The last tick of the range; exact structures are empty after it.
    fn end(self) -> u64 {
        self.begin + self.timers as u64
    }

    /// The tick after which granular structures are empty too. Such a structure delivers a timer
    /// with a delay of d ticks at most d ticks late.
    fn latest(self) -> u64 {
        self.end() + self.timers as u64 + 1
    }
}

/// The timed loop.
#[inline(never)]
pub(crate) fn run<Q: BenchQueue, W: Witness>(queue: &mut Q, ticks: Ticks, witness: &mut W) {
    // The last advance delivers timers that a granular structure still holds.
    for now in (ticks.begin + 1..=ticks.end()).chain([ticks.latest()]) {
        queue.advance(now, usize::MAX, &mut |id, expiry| witness.delivered(id, expiry, now));
    }
}

/// Generates timers from a seed, round by round.
#[derive(Debug)]
pub(crate) struct Expire {
    rng: Pcg64,
    ticks: Ticks,
}

impl Expire {
    /// Creates the generator of one cell.
    pub(crate) fn new(population: usize, seed: u64) -> Self {
        Self { rng: Pcg64::seed_from_u64(seed), ticks: Ticks { begin: 0, timers: population } }
    }

    /// Generates the deadlines of this round.
    pub(crate) fn deadlines(&mut self) -> Vec<u64> {
        let ticks = self.ticks;
        let deadline = |_| self.rng.random_range(ticks.begin + 1..=ticks.end());
        (0..ticks.timers).map(deadline).collect()
    }

    /// Returns the ticks of this round. The next round begins after them.
    pub(crate) fn ticks(&mut self) -> Ticks {
        let ticks = self.ticks;
        self.ticks.begin = ticks.latest();
        ticks
    }
}

#[cfg(test)]
mod tests;
