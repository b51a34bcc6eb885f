//! Data of the experiment. The workload is in `scenarios/xenomai.toml` or in a file of the same
//! form, and the published figures are in `xenomai.toml`.

use std::path::Path;

use serde::Deserialize;

use super::workload::Params;
use crate::error::LabError;
use crate::models::scenario::{self, Kind, Within};
use crate::output::text;

/// The file of the experiment.
pub(crate) const FILE: &str = include_str!("xenomai.toml");

/// A scenario file of this experiment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) name: String,
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) title: String,
    /// Explanation of the workload, in prose.
    #[serde(default, deserialize_with = "text::deserialize")]
    pub(crate) analysis: String,
    #[serde(rename = "model")]
    _model: Model,
    timers: Timers,
    host_tick: Option<HostTick>,
}

/// The only kind of workload; a file of another kind is rejected with the name of its kind.
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

/// Published figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) source: String,
    /// Head reads per insert.
    pub(crate) head_to_insert: f64,
    pub(crate) machines: Vec<Machine>,
}

/// A machine of the published experiment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machine {
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) name: String,
    /// The published structures. The first structure is the reference of the ratios.
    pub(crate) structures: Vec<Row>,
}

/// One structure on one machine: averages in ns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// The family of this project that has the same structure.
    #[serde(deserialize_with = "text::deserialize")]
    pub(crate) family: String,
    /// Mean ns per operation, by `Op as usize`; NaN for operations that were never called.
    pub(crate) avg: [f64; 4],
    pub(crate) overall: f64,
    /// Share of the processor's time that was spent in the queue.
    pub(crate) share_percent: f64,
    inserts: u64,
    seconds: u64,
    /// Sum of all samples, in ns.
    run_ns: u64,
}

impl Row {
    /// Returns the time in the queue per tick, in ns. The number of ticks follows from the counts;
    /// the parent module has the formulas.
    pub(crate) fn per_tick(&self) -> f64 {
        let timer_ticks = self.inserts.saturating_sub(self.seconds) as f64 / 1.25;
        self.run_ns as f64 / (timer_ticks + self.seconds as f64)
    }
}

impl Scenario {
    /// Returns the scenario that is built into the program.
    ///
    /// # Errors
    /// If the file has a mistake. The tests show that it has none.
    pub(crate) fn built_in() -> Result<Self, LabError> {
        let text = include_str!("../../../../../../scenarios/xenomai.toml");
        scenario::parse("scenarios/xenomai.toml", text)
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// If the file cannot be read or has a mistake. The error names the file, the line and the key.
    pub(crate) fn read(path: &Path) -> Result<Self, LabError> {
        let (file, text) = (path.display().to_string(), scenario::read(path)?);
        scenario::parse(&file, &text).map_err(|error| Kind::KernelTick.mistaken(&file, &text, error))
    }

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

/// Returns the family in a structure id: the part before the slash.
pub(crate) fn family(structure: &str) -> &str {
    structure.split_once('/').map_or(structure, |(family, _)| family)
}
