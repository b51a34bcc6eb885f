//! Scenarios describe measurements as data. Each file in `scenarios/` is one scenario in TOML, and
//! the program contains these files; `bench FILE` reads any other file.

mod model;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
pub(crate) use tickwright_measure::number::{Operations, PerTimer, Population, Rounds, Seed, Within};

pub(crate) use self::model::{Measure, Model};
use crate::error::LabError;
use crate::output::text;
use crate::structures::registry::{self, nearest};

/// A scenario file.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// The scenario's name on the command line.
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) name: String,
    /// A description in one line.
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) title: String,
    /// What the scenario shows and why, in prose. This key can be left out.
    #[serde(default, deserialize_with = "text::deserialize")]
    pub(crate) analysis: String,
    /// The kind of work.
    pub(crate) model: Model,
    /// The operations to time.
    pub(crate) measures: Vec<Measure>,
    /// The populations, one column for each.
    pub(crate) populations: Vec<Population>,
    /// The delays of the timers; only for [`Model::Hold`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) increments: Option<Increments>,
    /// The time-outs of a server; only for [`Model::Network`] and [`Model::Reads`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeouts: Option<Timeouts>,
    /// The one-shot timers of a server; only for [`Model::OneShot`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) one_shots: Option<OneShots>,
    /// Length and number of samples.
    pub(crate) run: Run,
}

/// The delays of the timers, in ticks.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Increments {
    /// The shape of the distribution.
    pub(crate) distribution: Distribution,
    /// The mean delay. The bound exists because tokio-util's `DelayQueue` panics at delays of 2^36
    /// ms, and an exponential delay can be 37 times the mean.
    pub(crate) mean: Within<1, { 1 << 30 }>,
}

/// Time-outs of a network server, in ticks.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeouts {
    /// The shortest time-out. Time-outs are uniform between this value and `longest`.
    pub(crate) shortest: Span,
    /// The longest time-out; at least `shortest`.
    longest: Span,
    /// The mean time between two exchanges of one connection. This time and `shortest` determine
    /// how many time-outs expire.
    pub(crate) revisit: Span,
    /// One of `anew_one_in` exchanges cancels and inserts; the other exchanges move the time-out.
    pub(crate) anew_one_in: Within<1, 1000>,
}

impl Timeouts {
    /// The longest time-out, in ticks.
    pub(crate) fn longest(&self) -> u64 {
        self.longest.get().max(self.shortest.get())
    }
}

/// One-shot timers of a server, in ticks. Either `cancelled_percent` or `completions` determines
/// which timers are cancelled.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OneShots {
    /// The shortest delay. Delays are uniform between this value and `longest`.
    pub(crate) shortest: Span,
    /// The longest delay; at least `shortest`.
    pub(crate) longest: Span,
    /// The share of timers that are cancelled, each at a time that is uniformly distributed over
    /// its delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cancelled_percent: Option<Within<0, 100>>,
    /// The time after which a request completes and its timer is cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) completions: Option<Completions>,
}

/// A lognormal distribution of the time that requests take, in ticks.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Completions {
    /// The median.
    pub(crate) p50: Span,
    /// The third quartile; at least `p50`.
    pub(crate) p75: Span,
}

impl OneShots {
    /// Checks conditions on several keys at once.
    fn consistent(&self) -> Result<(), String> {
        if self.longest.get() < self.shortest.get() {
            return Err(format!("'one_shots.longest' is below the shortest, {}", self.shortest.get()));
        }
        match (self.cancelled_percent, self.completions) {
            (Some(_), None) => Ok(()),
            (None, Some(all)) if all.p50.get() <= all.p75.get() => Ok(()),
            (None, Some(all)) => {
                Err(format!("'one_shots.completions.p75' is below the median, {}", all.p50.get()))
            }
            _ => Err("'one_shots' needs either 'cancelled_percent' or 'completions'".into()),
        }
    }
}

/// The length of a time-out, in ticks.
type Span = Within<1, { 1 << 30 }>;

/// A distribution of delays; each delay is at least one tick.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Distribution {
    /// Exponential: memoryless.
    Exponential,
    /// Uniform from 1 to twice the mean.
    Uniform,
    /// Uniform within 5 % of the mean.
    Periodic,
}

/// Length and number of samples.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// The number of operations in a sample; absent in models whose samples have a fixed length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operations: Option<Operations>,
    /// The minimum number of operations per pending timer in a sample. The number is large enough
    /// that a structure that sweeps its dead entries, or moves its timers in batches, sweeps or
    /// moves in every sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operations_per_timer: Option<PerTimer>,
    /// The number of samples of each structure.
    pub(crate) rounds: Rounds,
    /// The seed of all generated operations.
    pub(crate) seed: Seed,
    /// The structures, as patterns of `--structures`.
    pub(crate) structures: Vec<Pattern>,
    /// The reference that is measured together with the structures, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) floor: Option<Floor>,
}

/// A reference without order, handles or safety: a lower bound for the cost of the work. A floor is
/// not a structure, and its answers are not verified.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Floor {
    /// An array of ids for each tick up to the longest delay. In [`Model::Hold`], if the number of
    /// timers is less than the mean delay in ticks, the floor is `slots` instead.
    FlatWheel,
    /// An array of deadlines that is written and read in sequence.
    Slots,
    /// An array of timers that is read once, from its start to its end.
    Pass,
}

/// The longest delay for which a flat wheel has room, in ticks.
const FLAT: u64 = 1 << 20;

/// A pattern that names structures. A pattern that matches nothing is an error, and the error names
/// the pattern's line.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String")]
pub(crate) struct Pattern(String);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bare = text.strip_prefix('!').unwrap_or(&text);
        if registry::is_left_out(bare) {
            return Ok(Self(text));
        }
        let known = registry::select(&[bare.to_owned()]);
        known.map(|_| Self(text)).map_err(|error| error.to_string())
    }
}

macro_rules! built_in {
    ($($name:literal)+) => {
        /// The scenarios that are built in: their file names and texts.
        const BUILT_IN: &[(&str, &str)] =
            &[$((concat!("scenarios/", $name, ".toml"), include_str!(concat!("../../../../../scenarios/", $name, ".toml")))),+];
    };
}

built_in!(
    "hold-exp-sparse" "hold-exp-dense" "hold-uniform-sparse" "hold-uniform-dense" "periodic" "network" "one-delay"
    "one-shots-2k" "one-shots-15k" "one-shots-50k" "request-timeout" "expire" "idle" "reads"
);

/// The scenario files that only one experiment reads.
const OF_EXPERIMENTS: &[(&str, &str)] = &[
    ("scenarios/adversary.toml", include_str!("../../../../../scenarios/adversary.toml")),
    ("scenarios/xenomai.toml", include_str!("../../../../../scenarios/xenomai.toml")),
];

impl Scenario {
    /// Parses a scenario; `file` is the file's name in messages.
    ///
    /// # Errors
    /// If the text has a mistake. The error names the file, the line and the key.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, LabError> {
        let scenario: Self = parse(file, text).map_err(|error| Kind::Scenario.mistaken(file, text, error))?;
        scenario.consistent().map_err(|wrong| LabError::usage(format!("{file}: {wrong}")))?;
        Ok(scenario)
    }

    /// Checks conditions on several keys at once.
    fn consistent(&self) -> Result<(), String> {
        let empty = [("measures", self.measures.is_empty()), ("populations", self.populations.is_empty())];
        if let Some((key, _)) = empty.iter().find(|(_, empty)| *empty) {
            return Err(format!("'{key}' is empty; it needs at least one entry"));
        }
        let model = self.model.name();
        let has = [
            ("increments", self.increments.is_some()),
            ("timeouts", self.timeouts.is_some()),
            ("one_shots", self.one_shots.is_some()),
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
        if self.run.operations.is_none() && self.run.operations_per_timer.is_some() {
            return Err("'run.operations_per_timer' has no meaning without 'run.operations'".into());
        }
        if let Some(timeouts) = self.timeouts.filter(|t| t.longest.get() < t.shortest.get()) {
            return Err(format!("'timeouts.longest' is below the shortest, {}", timeouts.shortest.get()));
        }
        if self.run.floor == Some(Floor::FlatWheel)
            && self.longest_delay().is_none_or(|longest| longest > FLAT)
        {
            return Err(format!("'run.floor' cannot be a flat wheel: delays must be at most {FLAT} ticks"));
        }
        self.one_shots.map_or(Ok(()), |one_shots| one_shots.consistent())?;
        registry::select(&self.structures()).map(|_| ()).map_err(|error| format!("'run.structures': {error}"))
    }

    /// Returns the longest delay that is armed, in ticks. An exponential delay exceeds this value
    /// once in e^64 draws.
    pub(crate) fn longest_delay(&self) -> Option<u64> {
        let of = |all: Increments| match all.distribution {
            Distribution::Exponential => all.mean.get() * 64,
            Distribution::Uniform | Distribution::Periodic => all.mean.get() * 2,
        };
        let timeouts = || self.timeouts.map(|timeouts| timeouts.longest());
        self.increments.map(of).or_else(timeouts).or_else(|| Some(self.one_shots?.longest.get()))
    }

    /// Returns the patterns of the scenario's structures.
    pub(crate) fn structures(&self) -> Vec<String> {
        self.run.structures.iter().map(|pattern| pattern.0.clone()).collect()
    }

    /// Returns the number of operations in a sample at a population.
    pub(crate) fn operations(&self, population: usize) -> u64 {
        let Some(own) = self.run.operations else { return population as u64 };
        let per_timer = self.run.operations_per_timer.map_or(0, |n| n.get());
        own.get().max(per_timer.saturating_mul(population as u64))
    }

    /// Parses the built-in scenarios.
    ///
    /// # Errors
    /// If a built-in scenario has a mistake. The tests show that no built-in scenario has a
    /// mistake.
    pub(crate) fn built_in() -> Result<Vec<Self>, LabError> {
        BUILT_IN.iter().map(|(file, text)| Self::parse(file, text)).collect()
    }

    /// Returns the text of a built-in file, with its comments, as a template for a new file.
    ///
    /// # Errors
    /// If no scenario has this name. The message gives the nearest name.
    pub(crate) fn template(name: &str) -> Result<&'static str, LabError> {
        text_of(name, &[BUILT_IN, OF_EXPERIMENTS].concat())
    }

    /// Finds the scenario of this name. A name with a path separator or the ending `.toml` is a
    /// file.
    ///
    /// # Errors
    /// If no scenario has this name (the message gives the nearest name), if the file does not
    /// exist, or if the file has a mistake.
    pub(crate) fn find(name: &str) -> Result<Self, LabError> {
        if is_file(name) {
            return Self::parse(name, &read(Path::new(name))?);
        }
        let text = text_of(name, BUILT_IN)
            .map_err(|error| LabError::usage(format!("{error}; a file ends in .toml")))?;
        Self::parse(name, text)
    }
}

/// The kinds of TOML files that the commands read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A [`Scenario`].
    Scenario,
    /// The attacks of `bench --worst`.
    Attacks,
    /// The workload of the Xenomai experiment.
    KernelTick,
    /// A profile of a program's timers.
    Profile,
}

impl Kind {
    /// Returns the kind of a file, from keys that only this kind has.
    fn of(text: &str) -> Option<Self> {
        let table: toml::Table = toml::from_str(text).ok()?;
        let has = |keys: &[&str]| keys.iter().any(|key| table.contains_key(*key));
        if table.get("model").and_then(|model| model.as_str()) == Some("kernel-tick") {
            Some(Self::KernelTick)
        } else if has(&["measures", "run"]) {
            Some(Self::Scenario)
        } else if has(&["patterns", "budget"]) {
            Some(Self::Attacks)
        } else {
            has(&["delays", "expire", "cancel", "rearm", "periodic"]).then_some(Self::Profile)
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Scenario => "a scenario",
            Self::Attacks => "a file of attacks",
            Self::KernelTick => "a workload of the Xenomai experiment",
            Self::Profile => "a profile",
        }
    }

    /// Returns the error for a file that cannot be read as this kind. If the file is of another
    /// kind, the error names that kind and the command that reads it.
    pub(crate) fn mistaken(self, file: &str, text: &str, error: LabError) -> LabError {
        let Some(found) = Self::of(text).filter(|found| *found != self) else { return error };
        let reads = match found {
            Self::Scenario => format!("`tickwright bench {file}` reads"),
            Self::Attacks => format!("`tickwright bench --worst {file}` reads"),
            Self::KernelTick => format!("`tickwright reproduce xenomai --scenario {file}` reads"),
            Self::Profile => format!("`tickwright recommend {file}`, `describe` and `replay` read"),
        };
        let (found, own) = (found.name(), self.name());
        LabError::usage(format!("'{file}' is {found}, which {reads}; this command takes {own}"))
    }
}

/// Returns whether the name of a scenario is a path: it has a separator, or ends in `.toml`.
pub(crate) fn is_file(name: &str) -> bool {
    let path = Path::new(name);
    path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1
}

/// Reads the text of a scenario file of any form.
///
/// # Errors
/// If the file cannot be read or is too long.
pub(crate) fn read(path: &Path) -> Result<String, LabError> {
    text::read(path, text::SHORT)
        .map_err(|error| LabError::usage(format!("{} cannot be read: {error}", path.display())))
}

/// Parses a scenario file of any form; `file` is the file's name in messages.
///
/// # Errors
/// If the text has a mistake. The error names the file, the line and the key.
pub(crate) fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, LabError> {
    toml::from_str(text).map_err(|error| LabError::usage(format!("{file}: {}", error.to_string().trim_end())))
}

/// Returns the text of the file with this name.
fn text_of(name: &str, files: &[(&str, &'static str)]) -> Result<&'static str, LabError> {
    let names =
        || files.iter().map(|(file, _)| file.trim_start_matches("scenarios/").trim_end_matches(".toml"));
    let found = names().position(|known| known == name);
    found
        .map(|at| files[at].1)
        .ok_or_else(|| LabError::usage(format!("there is no scenario '{name}'; {}", nearest(name, names()))))
}

#[cfg(test)]
mod tests;
