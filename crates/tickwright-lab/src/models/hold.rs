//! The hold model: a constant population whose earliest timer is popped and inserted again with a
//! later deadline. Delays are generated from the seed before any clock starts.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::scenario::{Distribution, Increments, Measure};
use crate::models::tape::{Source, Step, Tape};

/// Generates delays from a seed, for a constant population. Equal seeds give equal delays.
#[derive(Debug)]
pub(crate) struct Hold {
    rng: Pcg64,
    increments: Increments,
    population: usize,
    operations: usize,
}

impl Hold {
    /// Creates the generator of one cell.
    pub(crate) fn new(increments: Increments, population: usize, operations: usize, seed: u64) -> Self {
        Self { rng: Pcg64::seed_from_u64(seed), increments, population, operations }
    }

    /// Generates the next `count` delays, each at least one tick.
    fn delays(&mut self, count: usize) -> Vec<u64> {
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

impl Source for Hold {
    fn deadlines(&mut self) -> Vec<u64> {
        self.delays(self.population)
    }

    fn next(&mut self, measure: Measure) -> Tape {
        // Every measure draws delays, so that its rounds do not depend on the other measures of the
        // run.
        let delays = self.delays(self.operations);
        match measure {
            Measure::Rearm => Tape::over(Step::Rearm, delays),
            Measure::Head => {
                Tape::of([Step::Head { count: u32::try_from(self.operations).unwrap_or(u32::MAX) }])
            }
            _ => Tape::over(Step::Hold, delays),
        }
    }
}

#[cfg(test)]
mod tests;
