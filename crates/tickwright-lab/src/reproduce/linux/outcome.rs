//! What a run with one way of re-arming counted.

use serde::Serialize;
use tickwright::shard::Shards;

use super::oracle::{Did, Way};
use super::subject::Subject;
use crate::specimens::{AlwaysRequeue, AsPosted, Shard, UnderLock};

/// The columns, in the order of the tables: a way to re-arm each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Column {
    Before,
    After,
    Locked,
    Ours,
}

/// Something to do with the shard behind a column.
pub(super) trait WithSubject {
    type Out;

    fn with<S: Subject>(self) -> Self::Out;
}

impl Column {
    pub(crate) const ALL: [Self; 4] = [Self::Before, Self::After, Self::Locked, Self::Ours];

    /// What stands above the column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Locked => "locked",
            Self::Ours => "ours",
        }
    }

    /// What the oracle expects of it.
    pub(crate) fn way(self) -> Way {
        match self {
            Self::Before => Way::Equal,
            Self::After | Self::Locked | Self::Ours => Way::Bucket,
        }
    }

    /// Does `work` with its shard.
    pub(super) fn run<W: WithSubject>(self, work: W) -> W::Out {
        match self {
            Self::Before => work.with::<Shard<AlwaysRequeue>>(),
            Self::After => work.with::<Shard<AsPosted>>(),
            Self::Locked => work.with::<Shard<UnderLock>>(),
            Self::Ours => work.with::<Shards>(),
        }
    }
}

/// Counts of arming calls, for tables and files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    pub(crate) matched: u64,
    pub(crate) requeued: u64,
    pub(crate) started: u64,
    pub(crate) recalculated: u64,
    pub(crate) locks: u64,
    pub(crate) lost_races: u64,
}

impl Counts {
    /// What `after` has more than `before`.
    pub(crate) fn between(before: &Self, after: &Self) -> Self {
        Self {
            matched: after.matched - before.matched,
            requeued: after.requeued - before.requeued,
            started: after.started - before.started,
            recalculated: after.recalculated - before.recalculated,
            locks: after.locks - before.locks,
            lost_races: after.lost_races - before.lost_races,
        }
    }

    /// Counts what the oracle did.
    pub(crate) fn note(&mut self, did: Did) {
        match did {
            Did::Match => self.matched += 1,
            Did::Requeue => self.requeued += 1,
            Did::Start => self.started += 1,
        }
    }

    /// Re-arms of pending timers: what the published rates are shares of.
    pub(crate) fn rearms(&self) -> u64 {
        self.matched + self.requeued
    }

    /// Percent of the re-arms of pending timers.
    pub(crate) fn percent(&self, part: u64) -> Option<f64> {
        (self.rearms() > 0).then(|| 100.0 * part as f64 / self.rearms() as f64)
    }

    /// Locks taken by a million arming calls.
    pub(crate) fn locks_per_million(&self) -> Option<f64> {
        let calls = self.rearms() + self.started;
        (calls > 0).then(|| 1e6 * self.locks as f64 / calls as f64)
    }
}

impl core::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.matched += other.matched;
        self.requeued += other.requeued;
        self.started += other.started;
        self.recalculated += other.recalculated;
        self.locks += other.locks;
        self.lost_races += other.lost_races;
    }
}

/// What one column counted.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Outcome {
    pub(crate) column: Column,
    pub(crate) counts: Counts,
    /// How long it ran, in ns.
    pub(crate) elapsed_ns: u64,
    /// Timers that fired.
    pub(crate) fired: u64,
    /// Re-arms that came more than a tick after their time, because the host was busy; where they
    /// have a time.
    pub(crate) late: u64,
}
