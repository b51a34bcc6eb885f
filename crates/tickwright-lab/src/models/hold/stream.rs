//! Delays from a seed.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::scenario::{Distribution, Increments};

/// An endless stream of delays, each at least one tick.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    rng: Pcg64,
    increments: Increments,
}

impl Stream {
    /// The stream of a seed. Equal seeds give equal streams.
    pub(crate) fn new(increments: Increments, seed: u64) -> Self {
        Self { rng: Pcg64::seed_from_u64(seed), increments }
    }

    /// The next `count` delays.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u64> {
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
