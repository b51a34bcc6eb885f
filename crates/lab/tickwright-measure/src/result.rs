//! One result model for every command: what was run and where, the samples, the conclusions, and
//! the readable report.
//!
//! ```text
//! Report ── envelope   command, date, host, clock, seed, workload, notes, interrupted
//!        ├─ series     every sample, with labels and a unit        --csv, compare, --fail-if
//!        ├─ findings   figures beside published ones and bounds    the tour's line, report
//!        └─ sections   titles over text, tables and plots          terminal, markdown, HTML
//! ```
//!
//! The JSON is the report itself. The terminal's text is rendered from the sections of the same
//! report, so a text and its JSON cannot disagree, and `tickwright show` can print an old file
//! again.

pub mod compare;
mod condition;
mod csv;
pub mod default;
mod finding;
mod read;
mod section;
mod series;
pub mod workload;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Calibration;
use crate::host::Host;

pub use self::condition::Condition;
pub use self::csv::write as write_csv;
pub use self::finding::{Claim, Finding, table as findings_table};
pub use self::section::{Axis, Block, Cell, Column, Curve, Mark, Plot, Section, Table};
pub use self::series::{Better, Label, Labels, Series, Unit, labels};

/// The version of the layout. The version increases when a field is removed or changes its meaning,
/// but not when a field is added.
pub const SCHEMA: u32 = 2;

/// The result of one run of one command.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this layout: [`SCHEMA`].
    pub schema: u32,
    /// The experiment, as the command line names it, such as `bench hold`.
    pub experiment: String,
    /// The command line that the user typed.
    pub command: String,
    /// When the run began, in UTC, such as `2026-11-27T17:31:43Z`. Missing in results of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Whether SIGINT or SIGTERM stopped the run early: figures are then missing or are based on
    /// fewer rounds.
    pub interrupted: bool,
    /// The machine and the build.
    pub host: Host,
    /// The cost of a clock reading; missing if no time was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Calibration>,
    /// The seed of all random choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The hash of the work that was measured: 64 bits in hexadecimal. Results of equal work have
    /// equal hashes, regardless of their structures and of the number of rounds. Missing in results
    /// of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The parameters of the request, by name, including defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Label>,
    /// The reasons to doubt figures, and the parts that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// All samples.
    pub series: Vec<Series>,
    /// The conclusions from the samples.
    pub findings: Vec<Finding>,
    /// The sections that a reader sees.
    pub sections: Vec<Section>,
}

impl Report {
    /// Returns the first series of a name whose labels include all of `wanted`.
    #[must_use]
    pub fn find(&self, name: &str, wanted: &Labels) -> Option<&Series> {
        let has = |series: &&Series| wanted.iter().all(|(key, value)| series.labels.get(key) == Some(value));
        self.series.iter().filter(|series| series.name == name).find(has)
    }

    /// Returns the plots of all sections, in order.
    pub fn plots(&self) -> impl Iterator<Item = &Plot> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.filter_map(|block| if let Block::Plot(plot) = block { Some(plot) } else { None })
    }
}

/// Creates a report without a result, for tests.
#[cfg(test)]
pub(crate) fn empty(experiment: &str) -> Report {
    Report {
        schema: SCHEMA,
        experiment: experiment.to_owned(),
        command: format!("tickwright {experiment}"),
        host: Host { cores: 3, ..Host::default() },
        seed: Some(7),
        ..Report::default()
    }
}

#[cfg(test)]
mod tests;
