//! Scenarios: what is measured, as data. One TOML file each in `scenarios/`, built in;
//! `--scenario FILE` takes others.

mod model;
mod number;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) use self::model::{Measure, Model};
pub(crate) use self::number::{Operations, Population, Rounds, Seed, Within};
use crate::error::LabError;
use crate::output::text;
use crate::structures::registry::{self, nearest};

/// A scenario file.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// Its name on the command line.
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) name: String,
    /// One line.
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) title: String,
    /// What it shows and why, in prose.
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) analysis: String,
    /// What kind of work it is.
    pub(crate) model: Model,
    /// What is timed.
    pub(crate) measures: Vec<Measure>,
    /// Populations, each a column.
    pub(crate) populations: Vec<Population>,
    /// How far ahead timers are set: for [`Model::Hold`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) increments: Option<Increments>,
    /// What a server's time-outs are: for [`Model::Network`] and [`Model::Reads`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeouts: Option<Timeouts>,
    /// How long and how often.
    pub(crate) run: Run,
}

/// How far ahead timers are set, in ticks.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Increments {
    /// The shape.
    pub(crate) distribution: Distribution,
    /// The mean. Bounded, because tokio-util's `DelayQueue` panics at delays of 2^36 ms, and an
    /// exponential delay can be 37 means.
    pub(crate) mean: Within<1, { 1 << 30 }>,
}

/// Time-outs of a network server, in ticks.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeouts {
    /// The shortest; from there they are uniform.
    pub(crate) shortest: Span,
    /// The longest; not below the shortest.
    longest: Span,
    /// The mean time between two exchanges of one connection. With `shortest` it decides how many
    /// time-outs expire.
    pub(crate) revisit: Span,
    /// One exchange in so many cancels and inserts; the others move the time-out.
    pub(crate) anew_one_in: Within<1, 1000>,
}

impl Timeouts {
    /// The longest.
    pub(crate) fn longest(&self) -> u64 {
        self.longest.get().max(self.shortest.get())
    }
}

/// Ticks of a time-out.
type Span = Within<1, { 1 << 30 }>;

/// A shape of delays; all are at least one tick.
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// Operations in a sample; a model whose samples have a length of their own has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operations: Option<Operations>,
    /// Samples of each structure.
    pub(crate) rounds: Rounds,
    /// What op streams are generated from.
    pub(crate) seed: Seed,
    /// Patterns, as `--structures` takes them.
    pub(crate) structures: Vec<Pattern>,
}

/// A pattern that names structures; one that names none is a mistake in its line.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String")]
pub(crate) struct Pattern(String);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let known = registry::select(&[text.strip_prefix('!').unwrap_or(&text).to_owned()]);
        known.map(|_| Self(text)).map_err(|error| error.to_string())
    }
}

macro_rules! built_in {
    ($($name:literal)+) => {
        /// The scenarios that are part of the program: file name and text.
        const BUILT_IN: &[(&str, &str)] =
            &[$((concat!("scenarios/", $name, ".toml"), include_str!(concat!("../../../../scenarios/", $name, ".toml")))),+];
    };
}

built_in!("hold-exp-sparse" "hold-exp-dense" "hold-uniform-sparse" "hold-uniform-dense" "periodic" "network" "expire" "reads");

impl Scenario {
    /// Reads a scenario; `file` is for messages.
    ///
    /// # Errors
    /// A mistake in it, with file, line and key.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, LabError> {
        let scenario: Self = parse(file, text)?;
        scenario.consistent().map_err(|wrong| LabError::usage(format!("{file}: {wrong}")))?;
        Ok(scenario)
    }

    /// What no key can say alone.
    fn consistent(&self) -> Result<(), String> {
        let empty = [("measures", self.measures.is_empty()), ("populations", self.populations.is_empty())];
        if let Some((key, _)) = empty.iter().find(|(_, empty)| *empty) {
            return Err(format!("'{key}' is empty; it needs at least one entry"));
        }
        let model = self.model.name();
        let has = [
            ("increments", self.increments.is_some()),
            ("timeouts", self.timeouts.is_some()),
            ("run.operations", self.run.operations.is_some()),
        ];
        for (key, has) in has {
            match (self.model.needs().contains(&key), has) {
                (true, false) => return Err(format!("'{key}' is missing; model '{model}' needs it")),
                (false, true) => {
                    return Err(format!("'{key}' has no meaning in model '{model}'; leave it out"));
                }
                _ => {}
            }
        }
        let own = self.model.measures();
        let whole = !self.model.whole() || self.measures == own;
        if !whole || !self.measures.iter().all(|measure| own.contains(measure)) {
            let names: Vec<_> = own.iter().map(|m| format!("{m:?}").to_lowercase()).collect();
            let only = if self.model.whole() { "exactly" } else { "of" };
            return Err(format!("'measures' of model '{model}' are {only}: {}", names.join(", ")));
        }
        if let Some(timeouts) = self.timeouts.filter(|t| t.longest.get() < t.shortest.get()) {
            return Err(format!("'timeouts.longest' is below the shortest, {}", timeouts.shortest.get()));
        }
        registry::select(&self.structures()).map(|_| ()).map_err(|error| format!("'run.structures': {error}"))
    }

    /// The patterns of its structures.
    pub(crate) fn structures(&self) -> Vec<String> {
        self.run.structures.iter().map(|pattern| pattern.0.clone()).collect()
    }

    /// Operations in a sample at a population, where `asked` is what the command line says.
    pub(crate) fn operations(&self, asked: Option<u64>, population: usize) -> usize {
        match self.run.operations {
            Some(own) => usize::try_from(asked.unwrap_or(own.get())).unwrap_or(usize::MAX),
            None => population,
        }
    }

    /// Those that are part of the program.
    ///
    /// # Errors
    /// Never for a program whose tests pass.
    pub(crate) fn built_in() -> Result<Vec<Self>, LabError> {
        BUILT_IN.iter().map(|(file, text)| Self::parse(file, text)).collect()
    }

    /// Those of a model: of some names or files, or all that are built in.
    ///
    /// # Errors
    /// One that cannot be found or read, is of another model, or has the name of another.
    pub(crate) fn choose(model: Model, names: &[String]) -> Result<Vec<Self>, LabError> {
        if names.is_empty() {
            return Ok(Self::built_in()?.into_iter().filter(|scenario| scenario.model == model).collect());
        }
        let mut chosen: Vec<Self> = Vec::new();
        for name in names {
            let scenario = Self::find(name)?;
            if scenario.model != model {
                let other = scenario.model.name();
                return Err(LabError::usage(format!(
                    "scenario '{name}' is of model '{other}': run it with `tickwright bench {other}`"
                )));
            }
            if chosen.iter().any(|known| known.name == scenario.name) {
                return Err(LabError::usage(format!(
                    "two scenarios have the name '{}', and the report could not tell them apart: change it in '{name}'",
                    scenario.name
                )));
            }
            chosen.push(scenario);
        }
        Ok(chosen)
    }

    /// The scenario of that name; what holds a path separator or ends in `.toml` is a file.
    ///
    /// # Errors
    /// No such name, with the nearest; no such file; a mistake in it.
    pub(crate) fn find(name: &str) -> Result<Self, LabError> {
        let path = Path::new(name);
        if path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1 {
            return Self::parse(name, &read(path)?);
        }
        let all = Self::built_in()?;
        let names: Vec<String> = all.iter().map(|scenario| scenario.name.clone()).collect();
        all.into_iter().find(|scenario| scenario.name == name).ok_or_else(|| {
            let nearest = nearest(name, names.iter().map(String::as_str));
            LabError::usage(format!("there is no scenario '{name}'; {nearest}; a file ends in .toml"))
        })
    }
}

/// Reads the text of a scenario file of any form.
///
/// # Errors
/// The file cannot be read, or is too long.
pub(crate) fn read(path: &Path) -> Result<String, LabError> {
    text::read(path).map_err(|error| LabError::usage(format!("{} cannot be read: {error}", path.display())))
}

/// Reads a scenario of any form; `file` is for messages.
///
/// # Errors
/// A mistake in it, with file, line and key.
pub(crate) fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, LabError> {
    toml::from_str(text).map_err(|error| LabError::usage(format!("{file}: {}", error.to_string().trim_end())))
}

#[cfg(test)]
mod tests;
