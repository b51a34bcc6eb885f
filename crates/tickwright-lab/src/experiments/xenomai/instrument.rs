//! Times each operation and stores the readings.
//!
//! A timed operation costs two clock readings and one store. Statistics are computed from the
//! stored samples between slices, when nothing is measured.

use crate::clock::Meter;
use crate::stats::Distribution;

/// The operations that are timed separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Reads the deadline of the head.
    Head,
    /// Reads the deadline of the entry after the head.
    Second,
    /// A timer becomes pending.
    Insert,
    /// A timer is no longer pending: it ticked or was stopped.
    Remove,
}

impl Op {
    /// All operations, in the order of the published tables.
    pub(crate) const ALL: [Self; 4] = [Self::Head, Self::Second, Self::Insert, Self::Remove];

    /// The operation's name in the published tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Second => "second",
            Self::Insert => "insert",
            Self::Remove => "remove",
        }
    }
}

/// Number of calls per operation, by `Op as usize`.
pub(crate) type Counts = [u64; 4];

/// Counts or times each operation.
pub(crate) trait Probe {
    fn time<T>(&mut self, op: Op, operation: impl FnOnce() -> T) -> T;

    /// Whether the room for samples is used up, so that the slice must end.
    fn is_full(&self) -> bool;

    /// Number of calls so far, per operation.
    fn counts(&self) -> Counts;
}

/// Counts operations and reads no clock.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    counts: Counts,
}

impl Probe for Counting {
    #[inline]
    fn time<T>(&mut self, op: Op, operation: impl FnOnce() -> T) -> T {
        self.counts[op as usize] += 1;
        operation()
    }

    fn is_full(&self) -> bool {
        false
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}

/// Reads a clock before and after each operation.
pub(crate) struct Timing<'a> {
    meter: &'a dyn Meter,
    samples: &'a mut Samples,
    counts: Counts,
}

impl<'a> Timing<'a> {
    /// A probe that reads `meter` and stores the readings in `samples`.
    pub(crate) fn new(meter: &'a dyn Meter, samples: &'a mut Samples) -> Self {
        Self { meter, samples, counts: [0; 4] }
    }
}

impl Probe for Timing<'_> {
    #[inline]
    fn time<T>(&mut self, op: Op, operation: impl FnOnce() -> T) -> T {
        let before = self.meter.now();
        let answer = operation();
        let after = self.meter.now();
        self.counts[op as usize] += 1;
        self.samples.push(op, after.saturating_sub(before));
        answer
    }

    fn is_full(&self) -> bool {
        self.samples.stored.len() >= self.samples.limit
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}

/// Samples in the order of measurement: two bits for the operation, 30 bits for up to 2^30 - 1 ns.
#[derive(Debug)]
pub(crate) struct Samples {
    stored: Vec<u32>,
    limit: usize,
}

impl Samples {
    const LONGEST: u64 = (1 << 30) - 1;

    /// Reserves room for `limit` samples, plus those of one wake-up with `timers` timers.
    pub(crate) fn new(limit: usize, timers: usize) -> Self {
        // The memory is written once, so that its pages are present before the first slice.
        let mut stored = vec![0; limit + 5 * timers + 8];
        stored.clear();
        Self { stored, limit }
    }

    #[inline]
    fn push(&mut self, op: Op, ns: u64) {
        self.stored.push((op as u32) << 30 | ns.min(Self::LONGEST) as u32);
    }

    /// Moves the samples into `stats` and keeps the allocation. Returns the sums in ns, by
    /// `Op as usize`.
    pub(crate) fn drain_into(&mut self, stats: &mut Stats) -> [u64; 4] {
        let mut sums = [0; 4];
        for sample in self.stored.drain(..) {
            let (op, ns) = ((sample >> 30) as usize, u64::from(sample) & Self::LONGEST);
            stats.push(op, ns);
            sums[op] += ns;
        }
        sums
    }
}

/// Statistics of one structure: per operation and overall.
#[derive(Debug)]
pub(crate) struct Stats {
    by_op: [Distribution; 4],
    overall: Distribution,
}

impl Stats {
    pub(crate) fn new() -> Self {
        Self { by_op: Op::ALL.map(|_| Distribution::new()), overall: Distribution::new() }
    }

    fn push(&mut self, op: usize, ns: u64) {
        self.by_op[op].push(ns);
        self.overall.push(ns);
    }

    pub(crate) fn of(&self, op: Op) -> &Distribution {
        &self.by_op[op as usize]
    }

    pub(crate) fn overall(&self) -> &Distribution {
        &self.overall
    }

    /// The distributions and their names, in the order of the published tables; the total is last.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, &Distribution)> {
        Op::ALL.into_iter().map(|op| (op.name(), self.of(op))).chain([("overall", self.overall())])
    }
}
