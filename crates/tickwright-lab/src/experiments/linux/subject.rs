//! The shards that are compared: the library's, and the specimens.

use tickwright::shard::{ArmError, Shards, SharedTimer, Was};
use tickwright_core::Violation;

use super::counts::Counts;
use crate::error::LabError;
use crate::specimens;

/// A shard whose clock starts at 0.
pub(super) trait Subject: Send + Sync + Sized + 'static {
    type Timer: Rearmed;

    fn new() -> Self;

    /// A timer whose callback does nothing.
    ///
    /// # Errors
    /// No more timers.
    fn timer(&self) -> Result<Self::Timer, LabError>;

    /// Advances to `now`. Returns how many timers fired.
    ///
    /// # Errors
    /// Another pass is under way.
    fn advance(&self, now: u64) -> Result<u64, LabError>;

    /// What the arming calls have done so far.
    fn counts(&self) -> Counts;

    fn check(&self) -> Result<(), Violation>;
}

/// A timer of a [`Subject`].
pub(super) trait Rearmed: Send + Sync {
    /// Arms the timer. Returns whether it was pending.
    ///
    /// # Errors
    /// The timer is shut down, or its shards are gone.
    fn modify(&self, deadline: u64) -> Result<bool, ArmError>;
}

fn failed(error: impl core::fmt::Display) -> LabError {
    LabError::failed(error.to_string())
}

impl Subject for Shards {
    type Timer = SharedTimer;

    fn new() -> Self {
        Self::new(1)
    }

    fn timer(&self) -> Result<SharedTimer, LabError> {
        Ok(self.shard(0).map_err(failed)?.timer(|_| {}))
    }

    fn advance(&self, now: u64) -> Result<u64, LabError> {
        let pass = self.shard(0).map_err(failed)?.advance_within(now, usize::MAX).map_err(failed)?;
        Ok(pass.delivered as u64)
    }

    fn counts(&self) -> Counts {
        let counted = self.statistics();
        Counts {
            matched: counted.matched,
            requeued: counted.requeued,
            started: counted.started,
            // It computes nothing before it has what it needs.
            recalculated: 0,
            locks: counted.locks,
            lost_races: counted.lost_races,
        }
    }

    fn check(&self) -> Result<(), Violation> {
        self.check()
    }
}

impl Rearmed for SharedTimer {
    #[inline]
    fn modify(&self, deadline: u64) -> Result<bool, ArmError> {
        self.modify(deadline).map(Was::is_pending)
    }
}

impl<W: specimens::Rearm> Subject for specimens::Shard<W> {
    type Timer = specimens::Timer<W>;

    fn new() -> Self {
        Self::new()
    }

    fn timer(&self) -> Result<Self::Timer, LabError> {
        self.timer(|_, _| {}).ok_or_else(|| LabError::failed("a specimen has no room for more timers"))
    }

    fn advance(&self, now: u64) -> Result<u64, LabError> {
        Ok(self.advance(now))
    }

    fn counts(&self) -> Counts {
        let specimens::Statistics { matched, requeued, started, recalculated, locks, lost_races } =
            self.statistics();
        Counts { matched, requeued, started, recalculated, locks, lost_races }
    }

    fn check(&self) -> Result<(), Violation> {
        self.check()
    }
}

impl<W: specimens::Rearm> Rearmed for specimens::Timer<W> {
    #[inline]
    fn modify(&self, deadline: u64) -> Result<bool, ArmError> {
        Ok(self.modify(deadline))
    }
}
