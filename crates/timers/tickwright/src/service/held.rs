//! The host tick: which timer it is, whether it waits, and its counts.

use core::time::Duration;

use tickwright_core::Tick;
use tickwright_nodes::arena::Idx;

use super::table::TimerId;

/// The host tick of a service, and its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostTick {
    /// The timer.
    pub id: TimerId,
    /// Whether the host tick is due, or was due when urgent work ended, and has not run since.
    pub waits: bool,
    /// How many times it ran.
    pub runs: u64,
    /// How many times it was due and had to wait. It is `late` plus the deferrals without a late
    /// run. Such a timer still waits, or was cancelled or moved while it waited.
    pub deferred: u64,
    /// How many of its runs had waited.
    pub late: u64,
    /// The longest time from the due time to such a run.
    pub latest: Duration,
}

/// The timer that is the host tick, and its state.
pub(super) struct Host {
    pub(super) slot: Idx,
    /// The expiry of the host tick while it is put aside: it came due and left the queue, but is
    /// still pending.
    pub(super) held: Option<Tick>,
    /// The counts. `waits` is true from the moment at which the tick is counted as deferred.
    pub(super) tick: HostTick,
}

impl Host {
    /// Notes that the host tick is no longer pending, or has another time.
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
