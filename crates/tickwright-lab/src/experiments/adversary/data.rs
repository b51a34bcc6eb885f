//! The plan of an attack, and its data.

use super::attack::Call;
use super::pattern::Pattern;
use crate::structures::registry::Structure;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) structures: Vec<&'static Structure>,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) populations: Vec<usize>,
    pub(crate) budget: usize,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
}

/// The measurements.
#[derive(Debug, Clone, Default)]
pub(crate) struct Data {
    /// One per population, pattern, structure and kind of call.
    pub(crate) rows: Vec<Row>,
    /// One per population, pattern and structure that was not run.
    pub(crate) skipped: Vec<Skipped>,
}

/// A structure that was not run, and why.
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
    /// The least time of each call in ns, in ascending order; it includes one reading of the clock.
    pub(crate) times: Vec<u64>,
}

impl Row {
    pub(crate) fn median_ns(&self) -> u64 {
        self.times.get(self.times.len() / 2).copied().unwrap_or(0)
    }

    pub(crate) fn worst_ns(&self) -> u64 {
        self.times.last().copied().unwrap_or(0)
    }

    /// The worst time divided by the median; `None` if the median is below the clock's resolution.
    pub(crate) fn ratio(&self) -> Option<f64> {
        (self.median_ns() > 0).then(|| self.worst_ns() as f64 / self.median_ns() as f64)
    }
}
