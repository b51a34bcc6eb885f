//! Counts of arming calls.

use super::oracle::Did;

/// Counts of arming calls. The specimens define the type, because their counts are a superset of
/// the library's counts.
pub(crate) use super::specimens::Statistics as Counts;

impl Counts {
    fn zip(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            matched: with(self.matched, other.matched),
            requeued: with(self.requeued, other.requeued),
            started: with(self.started, other.started),
            recalculated: with(self.recalculated, other.recalculated),
            locks: with(self.locks, other.locks),
            lost_races: with(self.lost_races, other.lost_races),
        }
    }

    /// Returns the difference of these counts from those in `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        self.zip(before, |after, before| after - before)
    }

    /// Returns each count with its name.
    pub(crate) fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("match", self.matched),
            ("requeue", self.requeued),
            ("start", self.started),
            ("recalc", self.recalculated),
            ("lock", self.locks),
            ("lost race", self.lost_races),
        ]
    }

    pub(crate) fn note(&mut self, did: Did) {
        match did {
            Did::Match => self.matched += 1,
            Did::Requeue => self.requeued += 1,
            Did::Start => self.started += 1,
        }
    }

    /// Returns the number of re-arms of pending timers. The published rates are shares of this
    /// number.
    pub(crate) fn rearms(&self) -> u64 {
        self.matched + self.requeued
    }

    /// Returns the number of all arming calls.
    pub(crate) fn calls(&self) -> u64 {
        self.rearms() + self.started
    }

    /// Returns `part` in percent of the re-arms of pending timers.
    pub(crate) fn percent(&self, part: u64) -> Option<f64> {
        (self.rearms() > 0).then(|| 100.0 * part as f64 / self.rearms() as f64)
    }

    /// Returns the percentage of the re-arms of pending timers that matched.
    pub(crate) fn match_percent(&self) -> Option<f64> {
        self.percent(self.matched)
    }

    /// Returns the number of locks taken per million arming calls.
    pub(crate) fn locks_per_million(&self) -> Option<f64> {
        (self.calls() > 0).then(|| 1e6 * self.locks as f64 / self.calls() as f64)
    }
}

impl core::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = self.zip(&other, |a, b| a + b);
    }
}
