//! Counts of arming calls.

use serde::Serialize;

use super::oracle::Did;

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
