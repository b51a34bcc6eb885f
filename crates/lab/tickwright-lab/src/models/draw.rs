//! The state from which the work of a scenario is drawn.

use rand::SeedableRng;
use rand_pcg::Pcg64;

/// Random numbers from a seed, the sizes of a cell, and the progress of the cell's work.
#[derive(Debug)]
pub(super) struct Draw {
    pub(super) rng: Pcg64,
    pub(super) seed: u64,
    /// The number of timers.
    pub(super) population: u32,
    /// The number of operations of a sample.
    pub(super) operations: usize,
    /// The number of operations so far.
    pub(super) done: u64,
    /// The last tick of the previous sample.
    pub(super) now: u64,
}

impl Draw {
    pub(super) fn new(population: usize, operations: usize, seed: u64) -> Self {
        let population = u32::try_from(population).unwrap_or(u32::MAX).max(1);
        Self { rng: Pcg64::seed_from_u64(seed), seed, population, operations, done: 0, now: 0 }
    }
}
