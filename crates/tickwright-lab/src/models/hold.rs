//! The hold model: a constant population, from which the earliest timer leaves and comes back
//! later. Delays are drawn from the seed before any clock starts.

use core::hint::black_box;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::scenario::{Distribution, Increments};
use crate::models::verify::Witness;
use crate::structures::candidate::BenchQueue;

/// The timed loop, as a driver does it: ask when, wait (not here), take what is due, insert it
/// again.
#[inline(never)]
pub(crate) fn hold<Q: BenchQueue, W: Witness>(queue: &mut Q, delays: &[u64], witness: &mut W) {
    for delay in delays {
        let Some((id, expiry)) = queue.pop() else { break };
        witness.delivered(id, expiry, expiry);
        queue.insert(id, expiry.saturating_add(*delay));
    }
}

/// The same in one step.
#[inline(never)]
pub(crate) fn rearm<Q: BenchQueue, W: Witness>(queue: &mut Q, delays: &[u64], witness: &mut W) {
    for delay in delays {
        let Some((id, expiry)) = queue.pop_and_reinsert(*delay) else { break };
        witness.delivered(id, expiry, expiry);
    }
}

/// The head alone.
#[inline(never)]
pub(crate) fn head<Q: BenchQueue, W: Witness>(queue: &mut Q, count: usize, witness: &mut W) {
    for _ in 0..count {
        // Opaque, or the compiler would ask once.
        let head = black_box(&mut *queue).head();
        witness.read(head);
    }
}

/// A constant population, and delays from a seed. Equal seeds give equal delays.
#[derive(Debug)]
pub(crate) struct Hold {
    rng: Pcg64,
    increments: Increments,
    pub(crate) population: usize,
    pub(crate) operations: usize,
}

impl Hold {
    /// Of one cell.
    pub(crate) fn new(increments: Increments, population: usize, operations: usize, seed: u64) -> Self {
        Self { rng: Pcg64::seed_from_u64(seed), increments, population, operations }
    }

    /// Draws the next `count` delays, each at least one tick.
    pub(crate) fn delays(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.delay()).collect()
    }

    fn delay(&mut self) -> u64 {
        let mean = self.increments.mean.get();
        match self.increments.distribution {
            Distribution::Uniform => self.rng.random_range(1..=mean * 2),
            Distribution::Periodic => self.rng.random_range(mean - mean / 20..=mean + mean / 20).max(1),
            Distribution::Exponential => {
                // 1 - u lies in (0, 1], so the logarithm is finite.
                let u: f64 = self.rng.random();
                ((-(1.0 - u).ln() * mean as f64).round() as u64).max(1)
            }
        }
    }
}

#[cfg(test)]
mod tests;
