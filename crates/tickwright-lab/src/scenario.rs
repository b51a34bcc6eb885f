//! Scenarios: what is measured, as data. One TOML file each in `scenarios/`, built in; `--scenario FILE` takes others.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::registry::nearest;

/// A whole number between `LOW` and `HIGH`, in files and on the command line alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "i64", into = "u64")]
pub(crate) struct Within<const LOW: u64, const HIGH: u64>(u64);

impl<const LOW: u64, const HIGH: u64> Within<LOW, HIGH> {
    /// The number.
    pub(crate) fn get(self) -> u64 {
        self.0
    }

    /// Reads `500`, `10_000`, `10k` or `1M`; a value parser for the command line.
    ///
    /// # Errors
    /// What is wrong, with the range.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (digits, unit) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1000),
            None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
        };
        let number = digits.replace('_', "").parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        number
            .filter(|number| (LOW..=HIGH).contains(number))
            .map(Self)
            .ok_or_else(|| format!("'{text}' is not a whole number from {LOW} to {HIGH}"))
    }
}

impl<const LOW: u64, const HIGH: u64> TryFrom<i64> for Within<LOW, HIGH> {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        let found = u64::try_from(number).ok().filter(|number| (LOW..=HIGH).contains(number));
        found.map(Self).ok_or_else(|| format!("{number} is not a whole number from {LOW} to {HIGH}"))
    }
}

impl<const LOW: u64, const HIGH: u64> From<Within<LOW, HIGH>> for u64 {
    fn from(number: Within<LOW, HIGH>) -> u64 {
        number.0
    }
}

/// Timers pending at once.
pub(crate) type Population = Within<1, 16_777_216>;
/// Operations in a sample.
pub(crate) type Operations = Within<1, 100_000_000>;
/// Samples of each structure.
pub(crate) type Rounds = Within<1, 1000>;
/// What op streams are generated from.
pub(crate) type Seed = Within<0, { i64::MAX as u64 }>;

/// A scenario file.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// Its name on the command line.
    pub(crate) name: String,
    /// One line.
    pub(crate) title: String,
    /// What it shows and why, in prose.
    pub(crate) analysis: String,
    /// What kind of work it is.
    pub(crate) model: Model,
    /// What is timed.
    pub(crate) measures: Vec<Measure>,
    /// Populations, each a column.
    pub(crate) populations: Vec<Population>,
    /// How far ahead timers are set.
    pub(crate) increments: Increments,
    /// How long and how often.
    pub(crate) run: Run,
}

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Model {
    /// Constant population: the earliest leaves and comes back.
    Hold,
}

/// One timed operation of the hold model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Measure {
    /// Look at the head, pop it, insert it anew.
    Hold,
    /// Look at the head, re-arm it in one step.
    Rearm,
    /// Look at the head.
    Head,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hold => "pop and insert",
            Self::Rearm => "re-arm in one step",
            Self::Head => "head alone",
        })
    }
}

/// How far ahead timers are set, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Increments {
    /// The shape.
    pub(crate) distribution: Distribution,
    /// The mean. Bounded, because tokio-util's `DelayQueue` panics at delays of 2^36 ms, and an exponential delay can be 37 means.
    pub(crate) mean: Within<1, { 1 << 30 }>,
}

/// A shape of delays; all are at least one tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Distribution {
    /// Memoryless.
    Exponential,
    /// From 1 to twice the mean.
    Uniform,
    /// Within 5 % of the mean.
    Periodic,
}

/// How long and how often.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// Operations in a sample.
    pub(crate) operations: Operations,
    /// Samples of each structure.
    pub(crate) rounds: Rounds,
    /// What op streams are generated from.
    pub(crate) seed: Seed,
    /// Patterns, as `--structures` takes them.
    pub(crate) structures: Vec<String>,
}

macro_rules! built_in {
    ($($name:literal)+) => {
        /// The scenarios that are part of the program: file name and text.
        const BUILT_IN: &[(&str, &str)] =
            &[$((concat!("scenarios/", $name, ".toml"), include_str!(concat!("../../../scenarios/", $name, ".toml")))),+];
    };
}

built_in!("hold-exp-sparse" "hold-exp-dense" "hold-uniform-sparse" "hold-uniform-dense" "periodic");

impl Scenario {
    /// Reads a scenario; `file` is for messages.
    ///
    /// # Errors
    /// A mistake in it, with file, line and key.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, LabError> {
        let scenario: Self = toml::from_str(text)
            .map_err(|error| LabError::usage(format!("{file}: {}", error.to_string().trim_end())))?;
        let empty =
            [("measures", scenario.measures.is_empty()), ("populations", scenario.populations.is_empty())];
        match empty.iter().find(|(_, empty)| *empty) {
            Some((key, _)) => {
                Err(LabError::usage(format!("{file}: '{key}' is empty; it needs at least one entry")))
            }
            None => Ok(scenario),
        }
    }

    /// Those that are part of the program.
    ///
    /// # Errors
    /// Never for a program whose tests pass.
    pub(crate) fn built_in() -> Result<Vec<Self>, LabError> {
        BUILT_IN.iter().map(|(file, text)| Self::parse(file, text)).collect()
    }

    /// The scenario of that name; what holds a path separator or ends in `.toml` is a file.
    ///
    /// # Errors
    /// No such name, with the nearest; no such file; a mistake in it.
    pub(crate) fn find(name: &str) -> Result<Self, LabError> {
        let path = Path::new(name);
        if path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1 {
            let text = fs::read_to_string(path)
                .map_err(|error| LabError::usage(format!("{name} cannot be read: {error}")))?;
            return Self::parse(name, &text);
        }
        let all = Self::built_in()?;
        let names: Vec<String> = all.iter().map(|scenario| scenario.name.clone()).collect();
        all.into_iter().find(|scenario| scenario.name == name).ok_or_else(|| {
            let nearest = nearest(name, names.iter().map(String::as_str));
            LabError::usage(format!("there is no scenario '{name}'; {nearest}; a file ends in .toml"))
        })
    }
}

#[cfg(test)]
mod tests;
