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

impl Column {
    pub(crate) const ALL: [Self; 4] = [Self::Before, Self::After, Self::Locked, Self::Ours];

    /// Returns the title of the column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Locked => "locked",
            Self::Ours => "ours",
        }
    }

    /// Returns the oracle's rule for this column.
    pub(crate) fn way(self) -> Way {
        match self {
            Self::Before => Way::Equal,
            Self::After | Self::Locked | Self::Ours => Way::Bucket,
        }
    }

    /// Creates the shard of this column. Its clock starts at 0.
    pub(super) fn shard(self) -> Box<dyn Subject> {
        match self {
            Self::Before => Box::new(Shard::<AlwaysRequeue>::new()),
            Self::After => Box::new(Shard::<AsPosted>::new()),
            Self::Locked => Box::new(Shard::<UnderLock>::new()),
            Self::Ours => Box::new(Shards::new(1)),
        }
    }
}

/// Counts of one column.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) column: Column,
    pub(crate) counts: Counts,
    pub(crate) fired: u64,
    /// The number of re-arms that came more than a tick late, because the host was busy. 0 if
    /// re-arms have no scheduled time.
    pub(crate) late: u64,
}

/// The shard of a column. Code that is not timed calls it through a trait object, so that this code
/// is compiled once.
pub(super) trait Subject: Sync {
    /// Creates `count` timers whose callbacks do nothing.
    ///
    /// # Errors
    /// If no more timers are available.
    fn timers(&self, count: usize) -> Result<Box<dyn Timers>, LabError>;

    /// Advances to `now`. Returns how many timers fired.
    ///
    /// # Errors
    /// If the shard refuses, because another pass is running.
    fn advance(&self, now: u64) -> Result<u64, LabError>;

    /// Returns the counts of all arming calls so far.
    fn counts(&self) -> Counts;

    fn check(&self) -> Result<(), Violation>;
}

/// Timers of one shard.
pub(super) trait Timers: Sync {
    /// Arms a timer. Returns whether the timer was pending.
    ///
    /// # Errors
    /// If the timer is shut down, or its shards no longer exist.
    fn modify(&self, which: usize, deadline: u64) -> Result<bool, ArmError>;

    /// Re-arms all timers in each of `passes` passes: in pass p, to the deadline `begin + p % 64`.
    /// One call makes all passes, so that the loop has no indirect call inside.
    fn rearm(&self, passes: u64, begin: u64);
}

trait Rearmed: Sync {
    fn modify(&self, deadline: u64) -> Result<bool, ArmError>;
}

impl<T: Rearmed> Timers for Vec<T> {
    fn modify(&self, which: usize, deadline: u64) -> Result<bool, ArmError> {
        self[which].modify(deadline)
    }

    fn rearm(&self, passes: u64, begin: u64) {
        for pass in 0..passes {
            for timer in self {
                // Only a timer that is shut down refuses a re-arm, and no timer is shut down.
                let _ = timer.modify(begin + pass % 64);
            }
        }
    }
}

fn failed(error: impl core::fmt::Display) -> LabError {
    LabError::failed(error.to_string())
}

impl Subject for Shards {
    fn timers(&self, count: usize) -> Result<Box<dyn Timers>, LabError> {
        let shard = self.shard(0).map_err(failed)?;
        Ok(Box::new((0..count).map(|_| shard.timer(|_| {})).collect::<Vec<SharedTimer>>()))
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
            // The library does not compute a bucket before it takes the lock, so it computes no
            // bucket twice.
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
    fn timers(&self, count: usize) -> Result<Box<dyn Timers>, LabError> {
        let all: Option<Vec<_>> = (0..count).map(|_| self.timer(|_, _| {})).collect();
        let full = || LabError::failed("a specimen has no room for more timers");
        all.map(|all| Box::new(all) as Box<dyn Timers>).ok_or_else(full)
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
