//! The shards that are compared, one per column of the tables: the library's and the specimens.

use tickwright::shard::{ArmError, Shards, SharedTimer, Was};
use tickwright_core::Violation;

use super::counts::Counts;
use super::oracle::Way;
use super::specimens::{self, AlwaysRequeue, AsPosted, Shard, UnderLock};
use crate::error::LabError;

/// The columns, in the order of the tables. Each column is one way to re-arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Before,
    After,
    Locked,
    Ours,
}

/// A task that runs on the shard of a column.
pub(super) trait WithSubject {
    type Out;

    fn with<S: Subject>(self) -> Self::Out;
}

impl Column {
    pub(crate) const ALL: [Self; 4] = [Self::Before, Self::After, Self::Locked, Self::Ours];

    /// Title of the column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Locked => "locked",
            Self::Ours => "ours",
        }
    }

    /// The oracle's rule for this column.
    pub(crate) fn way(self) -> Way {
        match self {
            Self::Before => Way::Equal,
            Self::After | Self::Locked | Self::Ours => Way::Bucket,
        }
    }

    pub(super) fn run<W: WithSubject>(self, work: W) -> W::Out {
        match self {
            Self::Before => work.with::<Shard<AlwaysRequeue>>(),
            Self::After => work.with::<Shard<AsPosted>>(),
            Self::Locked => work.with::<Shard<UnderLock>>(),
            Self::Ours => work.with::<Shards>(),
        }
    }
}

/// Counts of one column.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) column: Column,
    pub(crate) counts: Counts,
    pub(crate) fired: u64,
    /// Re-arms that came more than a tick late, because the host was busy; 0 where re-arms have no
    /// scheduled time.
    pub(crate) late: u64,
}

/// A shard whose clock starts at 0.
pub(super) trait Subject: Send + Sync + Sized + 'static {
    type Timer: Rearmed;

    fn new() -> Self;

    /// Creates a timer whose callback does nothing.
    ///
    /// # Errors
    /// No more timers are available.
    fn timer(&self) -> Result<Self::Timer, LabError>;

    /// Advances to `now`. Returns how many timers fired.
    ///
    /// # Errors
    /// The shard refuses, because another pass is under way.
    fn advance(&self, now: u64) -> Result<u64, LabError>;

    /// Counts of all arming calls so far.
    fn counts(&self) -> Counts;

    fn check(&self) -> Result<(), Violation>;
}

pub(super) trait Rearmed: Send + Sync {
    /// Arms the timer. Returns whether the timer was pending.
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
            // The library computes no bucket in advance, so none is computed twice.
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
        self.statistics()
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
