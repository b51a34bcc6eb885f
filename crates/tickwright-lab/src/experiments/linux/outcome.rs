//! What a run with one way of re-arming counted.

use serde::Serialize;
use tickwright::shard::Shards;

use super::counts::Counts;
use super::oracle::Way;
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
