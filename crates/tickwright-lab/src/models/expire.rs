//! Many timers that all expire: armed at random over as many ticks as there are timers, then
//! delivered tick by tick until none is left.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::verify::Witness;
use crate::structures::candidate::BenchQueue;

/// Ticks that are gone through one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticks {
    begin: u64,
    /// Pending at first, and ticks at which all of the exact are due.
    pub(crate) timers: usize,
}

impl Ticks {
    /// The last tick that is gone to; exact structures have nothing left then.
    fn end(self) -> u64 {
        self.begin + self.timers as u64
    }

    /// The tick by which a granular one has delivered too: none is late by more than its delay.
    fn latest(self) -> u64 {
        self.end() + self.timers as u64 + 1
    }
}

/// The timed loop.
#[inline(never)]
pub(crate) fn run<Q: BenchQueue, W: Witness>(queue: &mut Q, ticks: Ticks, witness: &mut W) {
    // Then once more, for what a granular structure still holds.
    for now in (ticks.begin + 1..=ticks.end()).chain([ticks.latest()]) {
        queue.advance(now, usize::MAX, &mut |id, expiry| witness.delivered(id, expiry, now));
    }
}

/// Timers from a seed, round after round.
#[derive(Debug)]
pub(crate) struct Expire {
    rng: Pcg64,
    ticks: Ticks,
}

impl Expire {
    /// Of one cell.
    pub(crate) fn new(population: usize, seed: u64) -> Self {
        Self { rng: Pcg64::seed_from_u64(seed), ticks: Ticks { begin: 0, timers: population } }
    }

    /// Draws the deadlines of this round.
    pub(crate) fn deadlines(&mut self) -> Vec<u64> {
        let ticks = self.ticks;
        let deadline = |_| self.rng.random_range(ticks.begin + 1..=ticks.end());
        (0..ticks.timers).map(deadline).collect()
    }

    /// The ticks of this round. The next round begins after them.
    pub(crate) fn ticks(&mut self) -> Ticks {
        let ticks = self.ticks;
        self.ticks.begin = ticks.latest();
        ticks
    }
}

#[cfg(test)]
mod tests;
