//! The request of `recommend`, and its data.

use crate::structures::registry::Structure;
use crate::traces::replay::{Data as Replayed, Plan as ReplayPlan};

/// A checked request.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) replay: ReplayPlan,
    pub(crate) current: &'static Structure,
    pub(crate) criteria: Criteria,
    /// What identifies the source.
    pub(crate) source: String,
}

/// The replays.
#[derive(Debug)]
pub(crate) struct Data {
    /// Of the workload as it is.
    pub(crate) own: Replayed,
    /// With more timers at once: copies of the workload, superposed.
    pub(crate) more: Vec<Replayed>,
}

/// What a structure must fulfil to be recommended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Criteria {
    /// It does not allocate.
    pub(crate) no_alloc: bool,
    /// The most bytes for a timer.
    pub(crate) bytes: Option<u32>,
    /// The greatest lateness, in ns. `None`: exact.
    pub(crate) late_ns: Option<f64>,
    /// How far away a timer may be, in ns. 0: as far as in the workload.
    pub(crate) horizon_ns: u64,
    /// Below this share of a CPU, in percent, the choice does not matter.
    pub(crate) negligible: f64,
}
