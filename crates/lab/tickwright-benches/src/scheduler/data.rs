//! The plan of `scheduler`, and its data.

use tickwright::scheduler::Structure;

use crate::stats::{self, Bound, Summary};

/// The upper bound for the ratio of an operation to the sum of its parts.
pub(crate) const LIMIT: Bound = Bound::AtMost(1.5);

/// The plan of a run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) structures: Vec<Structure>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) rounds: usize,
    pub(crate) operations: usize,
    pub(crate) seed: u64,
}

/// The samples of a structure at one N: one sample per round, in ns per operation.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) structure: &'static str,
    pub(crate) n: usize,
    /// The bytes on the heap per timer, with N timers pending.
    pub(crate) bytes_per_timer: f64,
    pub(crate) lock: Vec<f64>,
    pub(crate) clock: Vec<f64>,
    pub(crate) add: Operation,
    pub(crate) del: Operation,
}

/// The samples of an operation, through the scheduler and on the bare queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Operation {
    pub(crate) through: Vec<f64>,
    pub(crate) bare: Vec<f64>,
}

impl Row {
    /// Returns the ratio of an operation to the sum of its parts, round by round.
    pub(crate) fn ratio(&self, operation: &Operation) -> Option<Summary> {
        let parts: Vec<f64> = operation
            .bare
            .iter()
            .zip(&self.lock)
            .zip(&self.clock)
            .map(|((bare, lock), clock)| bare + lock + clock)
            .collect();
        stats::ratios(&operation.through, &parts)
    }

    pub(crate) fn operations(&self) -> [(&'static str, &Operation); 2] {
        [("add", &self.add), ("delete", &self.del)]
    }
}
