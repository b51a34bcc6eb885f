//! The published times, from `scenarios/asterisk.toml`.

use serde::Deserialize;

use crate::error::LabError;
use crate::models::scenario;

/// What was published, and where.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    pub(crate) source: String,
    pub(crate) machine: String,
    /// From the smallest N.
    pub(crate) times: Vec<Row>,
}

/// One N: N adds and N deletes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) n: usize,
    pub(crate) list: Seconds,
    pub(crate) heap: Seconds,
    /// The total of the heap in percent of that of the list, as printed.
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
    /// Reads them.
    ///
    /// # Errors
    /// A mistake in the file; never in a program whose tests pass.
    pub(crate) fn read() -> Result<Self, LabError> {
        let text = include_str!("../../../../../scenarios/asterisk.toml");
        scenario::parse("scenarios/asterisk.toml", text)
    }

    /// The row of an N that was published.
    pub(crate) fn at(&self, n: usize) -> Option<&Row> {
        self.times.iter().find(|row| row.n == n)
    }
}
