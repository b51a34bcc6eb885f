//! The points at which a periodic timer is due, and the points that were missed.

/// A gap lasts at least this long, in ns, unless the process was stopped.
const GAP_NS: u64 = 1_000_000_000;
/// Such a gap also lasts at least this many periods.
const GAP_PERIODS: u64 = 100;

/// A drift-free grid: each point is a whole number of periods after the first point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    period: u64,
    expected: u64,
}

/// The points that were due at one wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    /// The first point that is due.
    pub(super) expected: u64,
    /// Number of further points that passed before the wake-up was noticed.
    pub(super) missed: u64,
    /// The first point that is not due.
    pub(super) next: u64,
}

impl Grid {
    /// Creates a grid with points at `first` and every `period` ns after it. A period of 0 counts
    /// as 1.
    pub(super) fn new(first: u64, period: u64) -> Self {
        Self { period: period.max(1), expected: first }
    }

    /// Returns the next point.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// Takes all points up to `now`. Returns `None` when no point is due.
    #[inline]
    pub(super) fn take(&mut self, now: u64) -> Option<Due> {
        let expected = self.expected;
        let late = now.checked_sub(expected)?;
        // Fast path without a division: no point was missed.
        let missed = if late < self.period { 0 } else { late / self.period };
        self.expected = expected.saturating_add((missed + 1).saturating_mul(self.period));
        Some(Due { expected, missed, next: self.expected })
    }

    /// Returns whether a lateness is a gap. During a gap the process did not run, so the structure
    /// was not late.
    pub(super) fn is_gap(&self, lateness: u64, stopped: bool) -> bool {
        // A stop of less than a period missed no point, so it is not a gap.
        let least = if stopped { self.period } else { GAP_NS.max(self.period.saturating_mul(GAP_PERIODS)) };
        lateness >= least
    }

    /// Returns the lateness of each point of `due` at `now`, in ns, in the order of the points. A
    /// missed period is a separate sample.
    #[inline]
    pub(super) fn samples(&self, due: Due, now: u64) -> impl Iterator<Item = u64> {
        let (late, period) = (now.saturating_sub(due.expected), self.period);
        (0..=due.missed).map(move |point| late.saturating_sub(point * period))
    }
}

#[cfg(test)]
mod tests;
