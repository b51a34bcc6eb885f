//! The published times, from `scenarios/asterisk.toml`.

use serde::Deserialize;

use crate::error::LabError;
use crate::models::scenario;

/// The published times, with their source and machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    pub(crate) source: String,
    pub(crate) machine: String,
    /// The rows, in ascending order of N.
    pub(crate) times: Vec<Row>,
}

/// The times at one N: N adds and N deletes.
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
    /// Reads the published times.
    ///
    /// # Errors
    /// A mistake in the file. Passing tests exclude such a mistake.
    pub(crate) fn read() -> Result<Self, LabError> {
        let text = include_str!("../../../../../scenarios/asterisk.toml");
        scenario::parse("scenarios/asterisk.toml", text)
    }

    /// Returns the published row at `n`, if there is one.
    pub(crate) fn at(&self, n: usize) -> Option<&Row> {
        self.times.iter().find(|row| row.n == n)
    }
}
