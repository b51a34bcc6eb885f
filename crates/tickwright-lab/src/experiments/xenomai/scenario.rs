//! The workload as data: `scenarios/xenomai.toml`, or a file of the same form.

use std::path::Path;

use serde::Deserialize;

use super::workload::Params;
use crate::error::LabError;
use crate::models::scenario::Within;
use crate::output::text;

/// The built-in file.
const BUILT_IN: (&str, &str) =
    ("scenarios/xenomai.toml", include_str!("../../../../../scenarios/xenomai.toml"));

/// A scenario file of this experiment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// Its name.
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) name: String,
    /// One line.
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) title: String,
    /// What it shows and why, in prose.
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) analysis: String,
    #[serde(rename = "model")]
    _model: Model,
    timers: Timers,
    host_tick: Option<HostTick>,
}

/// The one kind of work; a file of another kind is refused by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Model {
    KernelTick,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Timers {
    count: Within<2, 100_000>,
    period_mean_us: Within<1, 3_600_000_000>,
    period_spread_percent: Within<0, 99>,
    toggle_percent: Within<0, 100>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostTick {
    period_us: Within<1, 3_600_000_000>,
}

impl Scenario {
    /// The one that is part of the program.
    ///
    /// # Errors
    /// Never for a program whose tests pass.
    pub(crate) fn built_in() -> Result<Self, LabError> {
        Self::parse(BUILT_IN.0, BUILT_IN.1)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read; a mistake in it, with file, line and key.
    pub(crate) fn read(path: &Path) -> Result<Self, LabError> {
        let file = path.display().to_string();
        let text =
            text::read(path).map_err(|error| LabError::usage(format!("{file} cannot be read: {error}")))?;
        Self::parse(&file, &text)
    }

    fn parse(file: &str, text: &str) -> Result<Self, LabError> {
        toml::from_str(text)
            .map_err(|error| LabError::usage(format!("{file}: {}", error.to_string().trim_end())))
    }

    /// The workload that it describes.
    pub(crate) fn params(&self, seed: u64) -> Params {
        let Timers { count, period_mean_us, period_spread_percent, toggle_percent } = &self.timers;
        Params {
            timers: u32::try_from(count.get()).unwrap_or(u32::MAX),
            period_mean_ns: 1000 * period_mean_us.get(),
            period_spread: period_spread_percent.get() as f64 / 100.0,
            toggle_probability: toggle_percent.get() as f64 / 100.0,
            host_tick_ns: self.host_tick.as_ref().map(|tick| 1000 * tick.period_us.get()),
            seed,
        }
    }
}
