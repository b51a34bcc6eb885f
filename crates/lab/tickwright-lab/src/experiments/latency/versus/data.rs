//! The plan of a comparison with cyclictest, and its data.

use core::time::Duration;

use super::tool::{CELL_NS, Call};
use crate::experiments::latency::histogram::Cells;
use crate::experiments::latency::rights::Priority;
use crate::experiments::latency::settings::WakeArgs;
use crate::structures::registry::Structure;

/// The plan of a comparison.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) wake: WakeArgs,
    pub(super) structure: &'static Structure,
    /// `None` if cyclictest is not installed.
    pub(super) call: Option<Call>,
    /// The number of intervals in one run of a tool.
    pub(super) points: u64,
}

/// One run of one tool.
#[derive(Debug, Clone)]
pub(super) struct Leg {
    pub(super) cells: Cells,
    pub(super) cpu_percent: f64,
}

/// The data of both tools.
#[derive(Debug)]
pub(crate) struct Data {
    pub(super) granted: Priority,
    /// The runs of each tool, in the order of rounds.
    pub(super) legs: [Vec<Leg>; 2],
}

/// The tools, in the order of [`Data::legs`].
pub(super) const TOOLS: [&str; 2] = ["tickwright", "cyclictest"];
/// The number of runs of each tool. An interval of the median needs at least six runs.
pub(super) const ROUNDS: u32 = 8;

impl Leg {
    pub(super) fn new(cells: Cells, cpu: Duration, length: Duration) -> Self {
        let cpu_percent = cpu.as_secs_f64() / length.as_secs_f64().max(f64::MIN_POSITIVE) * 100.0;
        Self { cells, cpu_percent }
    }

    /// Returns the lateness in ns below which `share` of the samples are, interpolated within its
    /// cell. Returns NaN if there are no samples, or if the lateness is in the last cell, which has
    /// no upper end.
    pub(super) fn percentile(&self, share: f64) -> f64 {
        let counts = self.cells.counts();
        let wanted = counts.iter().sum::<u64>() as f64 * share;
        let mut below = 0.0;
        for (cell, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = *count as f64;
            if below + count >= wanted && cell + 1 < counts.len() {
                return (cell as f64 + (wanted - below) / count) * CELL_NS as f64;
            }
            below += count;
        }
        f64::NAN
    }
}
