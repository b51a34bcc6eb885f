//! The published times of `asterisk.toml`.

use serde::Deserialize;

/// The file of the experiment.
pub(crate) const FILE: &str = include_str!("asterisk.toml");

/// The published times, with their source and machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    pub(crate) source: String,
    pub(crate) machine: String,
    /// The rows, in ascending order of N.
    pub(crate) times: Vec<Row>,
}

/// The times of N adds and of N deletes, for one N.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) n: usize,
    pub(crate) list: Seconds,
    pub(crate) heap: Seconds,
    /// The heap's total in percent of the list's total, as printed.
    pub(crate) percent: f64,
}

/// Times in seconds, as printed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seconds {
    pub(crate) add: f64,
    pub(crate) delete: f64,
    pub(crate) total: f64,
}

impl Published {
    /// Returns the published row at `n`, if there is one.
    pub(crate) fn at(&self, n: usize) -> Option<&Row> {
        self.times.iter().find(|row| row.n == n)
    }
}
