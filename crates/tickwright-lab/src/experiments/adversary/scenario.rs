//! The attacks and their sizes as data, from `scenarios/adversary.toml` or a file of the same form.

use std::path::Path;

use serde::Deserialize;

use super::pattern::Pattern;
use crate::error::LabError;
use crate::models::scenario::{self, Operations, Population, Rounds, Seed};
use crate::output::text;

/// A scenario file of this experiment. The arguments of the command override the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    #[serde(rename = "name", deserialize_with = "text::deserialize")]
    _name: String,
    #[serde(rename = "title", deserialize_with = "text::deserialize")]
    _title: String,
    /// Explanation of the attacks, in prose.
    #[serde(rename = "analysis", deserialize_with = "text::deserialize")]
    _analysis: String,
    pub(crate) patterns: Vec<Pattern>,
    /// The numbers of timers.
    pub(crate) populations: Vec<Population>,
    /// The most timers that an advance with a budget may deliver or move.
    pub(crate) budget: Operations,
    /// How often each call is timed.
    pub(crate) rounds: Rounds,
    pub(crate) seed: Seed,
    /// Patterns of structures, as `--structures` accepts them.
    pub(crate) structures: Vec<String>,
}

impl Scenario {
    /// Parses the built-in file.
    ///
    /// # Errors
    /// The built-in file has a mistake; the tests exclude this error.
    pub(crate) fn built_in() -> Result<Self, LabError> {
        let text = include_str!("../../../../../scenarios/adversary.toml");
        Self::parse("scenarios/adversary.toml", text)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or has a mistake.
    pub(crate) fn read(path: &Path) -> Result<Self, LabError> {
        Self::parse(&path.display().to_string(), &scenario::read(path)?)
    }

    /// Parses the text of a file; `file` appears in messages.
    ///
    /// # Errors
    /// A mistake in the text, with file, line and key.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, LabError> {
        let scenario: Self = scenario::parse(file, text)?;
        for (key, empty) in
            [("patterns", scenario.patterns.is_empty()), ("populations", scenario.populations.is_empty())]
        {
            if empty {
                return Err(LabError::usage(format!(
                    "{file}: '{key}' is empty; it needs at least one entry"
                )));
            }
        }
        Ok(scenario)
    }
}
