//! Which timer is the host tick, whether it waits, and what was counted of it.

use core::time::Duration;

use tickwright_core::Tick;
use tickwright_nodes::arena::Idx;

use super::table::TimerId;

/// The host tick of a service, and what was counted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostTick {
    /// The timer.
    pub id: TimerId,
    /// Whether it is due, or was when urgent work ended, and has not run since.
    pub waits: bool,
    /// Times that it was run.
    pub runs: u64,
    /// Times that it was due and had to wait. As many as were late, but for one that still waits
    /// and those that were cancelled or given another time while they waited.
    pub deferred: u64,
    /// Runs that had waited.
    pub late: u64,
    /// The latest of those: from when it was due to its run.
    pub latest: Duration,
}

/// The timer that is the host tick.
pub(super) struct Host {
    pub(super) slot: Idx,
    /// It came due, was taken out of the queue and is pending all the same; with its expiry.
    pub(super) held: Option<Tick>,
    /// What was counted. There it waits from when it was counted as deferred.
    pub(super) tick: HostTick,
}

impl Host {
    /// It is not pending any more, or at another time.
    pub(super) fn let_go(&mut self) {
        (self.held, self.tick.waits) = (None, false);
    }

    /// Counts a run.
    pub(super) fn note_run(&mut self, late_ns: u64) {
        self.tick.runs += 1;
        if self.tick.waits {
            self.tick.late += 1;
            self.tick.latest = self.tick.latest.max(Duration::from_nanos(late_ns));
        }
        self.let_go();
    }

    pub(super) fn note_deferred(&mut self) {
        if !self.tick.waits {
            self.tick.waits = true;
            self.tick.deferred += 1;
        }
    }
}
