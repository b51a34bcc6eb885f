//! The hold model: a constant population whose earliest timer is popped and inserted again with a
//! later deadline. Delays are generated from the seed before any clock starts.

use core::hint::black_box;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::scenario::{Distribution, Increments};
use crate::models::verify::Witness;
use crate::structures::candidate::BenchQueue;

/// The timed loop, with the calls of a driver: read the deadline of the head, take the due timer,
/// insert it again. The driver's wait is left out.
#[inline(never)]
pub(crate) fn hold<Q: BenchQueue, W: Witness>(queue: &mut Q, delays: &[u64], witness: &mut W) {
    for delay in delays {
        let Some((id, expiry)) = queue.pop() else { break };
        witness.delivered(id, expiry, expiry);
        queue.insert(id, expiry.saturating_add(*delay));
    }
}

/// The same loop with a re-arm in one step.
#[inline(never)]
pub(crate) fn rearm<Q: BenchQueue, W: Witness>(queue: &mut Q, delays: &[u64], witness: &mut W) {
    for delay in delays {
        let Some((id, expiry)) = queue.pop_and_reinsert(*delay) else { break };
        witness.delivered(id, expiry, expiry);
    }
}

/// A loop that only reads the head.
#[inline(never)]
pub(crate) fn head<Q: BenchQueue, W: Witness>(queue: &mut Q, count: usize, witness: &mut W) {
    for _ in 0..count {
        // `black_box` keeps the compiler from reading the head only once.
        let head = black_box(&mut *queue).head();
        witness.read(head);
    }
}

/// Generates delays from a seed, for a constant population. Equal seeds give equal delays.
#[derive(Debug)]
pub(crate) struct Hold {
    rng: Pcg64,
    increments: Increments,
    pub(crate) population: usize,
    pub(crate) operations: usize,
}

impl Hold {
    /// Creates the generator of one cell.
    pub(crate) fn new(increments: Increments, population: usize, operations: usize, seed: u64) -> Self {
        Self { rng: Pcg64::seed_from_u64(seed), increments, population, operations }
    }

    /// Generates the next `count` delays, each at least one tick.
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
