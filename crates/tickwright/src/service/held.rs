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

/// Which timer is the host tick, and whether it has to wait.
pub(super) struct Host {
    pub(super) slot: Option<Idx>,
    /// How many say that urgent work runs.
    pub(super) urgent: usize,
    /// It came due, was taken out of the queue and is pending all the same; with its expiry.
    pub(super) held: Option<Tick>,
    /// It has been counted as deferred since it was armed.
    pub(super) deferred: bool,
    pub(super) counts: Counts,
}

#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub(super) runs: u64,
    pub(super) deferred: u64,
    pub(super) late: u64,
    pub(super) latest_ns: u64,
}

impl Host {
    pub(super) const fn none() -> Self {
        let counts = Counts { runs: 0, deferred: 0, late: 0, latest_ns: 0 };
        Self { slot: None, urgent: 0, held: None, deferred: false, counts }
    }

    /// Whether a timer is out of the queue here.
    pub(super) fn holds(&self, slot: Idx) -> bool {
        self.held.is_some() && self.slot == Some(slot)
    }

    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Whether no alarm is to be set for a timer.
    pub(super) fn silences(&self, slot: Idx) -> bool {
        self.urgent > 0 && self.slot == Some(slot)
    }

    /// It is not pending any more, or at another time.
    pub(super) fn let_go(&mut self) {
        (self.held, self.deferred) = (None, false);
    }

    /// A slot is free again.
    pub(super) fn forget(&mut self, slot: Idx) {
        if self.slot == Some(slot) {
            self.slot = None;
            self.let_go();
        }
    }

    /// Counts a run.
    pub(super) fn note_run(&mut self, slot: Idx, late_ns: u64) {
        if self.slot != Some(slot) {
            return;
        }
        self.counts.runs += 1;
        if self.deferred {
            self.counts.late += 1;
            self.counts.latest_ns = self.counts.latest_ns.max(late_ns);
        }
        self.let_go();
    }

    pub(super) fn note_deferred(&mut self) {
        if !self.deferred {
            self.deferred = true;
            self.counts.deferred += 1;
        }
    }
}
