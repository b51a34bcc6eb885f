//! What an attack asks for, and what it measures.

use super::attack::Call;
use super::pattern::Pattern;
use crate::structures::registry::Structure;

/// What is run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) structures: Vec<&'static Structure>,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) populations: Vec<usize>,
    pub(crate) budget: usize,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
}

/// What was measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Data {
    /// One per population, pattern, structure and kind of call.
    pub(crate) rows: Vec<Row>,
    /// What was not run, once per population, pattern and structure.
    pub(crate) skipped: Vec<Skipped>,
}

/// What was not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) structure: &'static Structure,
    pub(crate) pattern: Pattern,
    pub(crate) population: usize,
    pub(crate) why: String,
}

/// One kind of call on one structure under one attack.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) structure: &'static Structure,
    pub(crate) pattern: Pattern,
    pub(crate) population: usize,
    pub(crate) call: Call,
    /// The least time of each call, ns, the clock's reading in it; in ascending order.
    pub(crate) times: Vec<u64>,
}

impl Row {
    pub(crate) fn median_ns(&self) -> u64 {
        self.times.get(self.times.len() / 2).copied().unwrap_or(0)
    }

    pub(crate) fn worst_ns(&self) -> u64 {
        self.times.last().copied().unwrap_or(0)
    }

    /// The worst in medians; `None` where the clock did not see the median.
    pub(crate) fn ratio(&self) -> Option<f64> {
        (self.median_ns() > 0).then(|| self.worst_ns() as f64 / self.median_ns() as f64)
    }
}
