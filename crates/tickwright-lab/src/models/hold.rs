//! The hold model: a constant population, from which the earliest timer leaves and comes back
//! later.
//!
//! - [`stream`]: the delays, generated from the seed before any clock starts
//! - [`model`]: the timed loops, generic over the queue

pub(crate) mod model;
pub(crate) mod stream;

use crate::models::hold::stream::Stream;
use crate::models::scenario::Increments;

/// A constant population, and delays from a seed.
#[derive(Debug)]
pub(crate) struct Hold {
    stream: Stream,
    pub(crate) population: usize,
    pub(crate) operations: usize,
}

impl Hold {
    /// Of one cell.
    pub(crate) fn new(increments: Increments, population: usize, operations: usize, seed: u64) -> Self {
        Self { stream: Stream::new(increments, seed), population, operations }
    }

    /// Draws the next `count` delays.
    pub(crate) fn delays(&mut self, count: usize) -> Vec<u64> {
        self.stream.take(count)
    }
}
