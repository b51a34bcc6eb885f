//! The hold model: a constant population, from which the earliest timer leaves and comes back
//! later.
//!
//! - [`stream`]: the delays, generated from the seed before any clock starts
//! - [`model`]: the timed loops, generic over the queue
//! - [`oracle`]: the queue that says what the answers are, in std alone

pub(crate) mod model;
pub(crate) mod oracle;
pub(crate) mod stream;

use crate::bench::work::{Source, Work};
use crate::hold::stream::Stream;
use crate::scenario::{Increments, Measure};

/// A constant population, and delays from a seed.
#[derive(Debug)]
pub(crate) struct Hold {
    stream: Stream,
    population: usize,
    operations: usize,
}

impl Hold {
    /// Of one cell.
    pub(crate) fn new(increments: Increments, population: usize, operations: usize, seed: u64) -> Self {
        Self { stream: Stream::new(increments, seed), population, operations }
    }
}

impl Source for Hold {
    fn fill(&mut self) -> Work {
        Work::Fill(self.stream.take(self.population))
    }

    fn next(&mut self, measure: Measure) -> Work {
        // Each measure draws, so that the rounds of one do not depend on which others there are.
        let delays = self.stream.take(self.operations);
        match measure {
            Measure::Rearm => Work::Rearm(delays),
            Measure::Head => Work::Head(self.operations),
            _ => Work::Hold(delays),
        }
    }
}
