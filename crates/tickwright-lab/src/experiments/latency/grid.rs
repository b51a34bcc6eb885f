//! The points at which a periodic timer is due, and what was missed of them.

/// A gap this long is one, whatever the period ...
const GAP_NS: u64 = 1_000_000_000;
/// ... unless the period is long too.
const GAP_PERIODS: u64 = 100;

/// A drift-free grid: each point is a whole number of periods after the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    period: u64,
    expected: u64,
}

/// What one wake-up was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    /// The first point that is due.
    pub(super) expected: u64,
    /// How many further points passed before it was noticed.
    pub(super) missed: u64,
    /// The first point that is not due.
    pub(super) next: u64,
}

impl Grid {
    /// Points at `first` and every `period` ns after; a period of 0 counts as 1.
    pub(super) fn new(first: u64, period: u64) -> Self {
        Self { period: period.max(1), expected: first }
    }

    /// The next point.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// Takes all points up to `now`. When none is due it says so.
    #[inline]
    pub(super) fn take(&mut self, now: u64) -> Option<Due> {
        let expected = self.expected;
        let late = now.checked_sub(expected)?;
        // The usual case needs no division.
        let missed = if late < self.period { 0 } else { late / self.period };
        self.expected = expected.saturating_add((missed + 1).saturating_mul(self.period));
        Some(Due { expected, missed, next: self.expected })
    }

    /// Whether a lateness is a gap: nobody ran, so nobody was late.
    pub(super) fn is_gap(&self, lateness: u64, stopped: bool) -> bool {
        // With less than a period nothing was missed.
        let least = if stopped { self.period } else { GAP_NS.max(self.period.saturating_mul(GAP_PERIODS)) };
        lateness >= least
    }

    /// How late each point of `due` is at `now`, the first first: a missed period is a sample of
    /// its own.
    #[inline]
    pub(super) fn samples(&self, due: Due, now: u64) -> impl Iterator<Item = u64> {
        let (late, period) = (now.saturating_sub(due.expected), self.period);
        (0..=due.missed).map(move |point| late.saturating_sub(point * period))
    }
}

#[cfg(test)]
mod tests;
