//! The clock around each operation, and what becomes of its readings.
//!
//! A timed operation is two readings and one store. Statistics are made of the stored samples
//! between slices, when nothing is measured.

use crate::clock::Meter;
use crate::stats::Distribution;

/// The operations that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// When is the head due?
    Head,
    /// When is the one after it due?
    Second,
    /// A timer becomes pending.
    Insert,
    /// A timer stops being so: it ticks, or is stopped.
    Remove,
}

impl Op {
    /// In the order of the published tables.
    pub(crate) const ALL: [Self; 4] = [Self::Head, Self::Second, Self::Insert, Self::Remove];

    /// Its name in the published tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Second => "second",
            Self::Insert => "insert",
            Self::Remove => "remove",
        }
    }
}

/// How many of each operation there were, by `Op as usize`.
pub(crate) type Counts = [u64; 4];

/// What stands around each operation.
pub(crate) trait Probe {
    fn time<T>(&mut self, op: Op, operation: impl FnOnce() -> T) -> T;

    /// Whether there is no room for the samples of another wake-up.
    fn is_full(&self) -> bool;

    /// How many operations there were so far.
    fn counts(&self) -> Counts;
}

/// Counts and reads no clock.
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

/// Reads a clock before and after.
pub(crate) struct Timing<'a> {
    meter: &'a dyn Meter,
    samples: &'a mut Samples,
    counts: Counts,
}

impl<'a> Timing<'a> {
    /// A probe that stores what `meter` reads into `samples`.
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

/// Samples as they came: the operation in two bits, then up to 2^30 - 1 ns.
#[derive(Debug)]
pub(crate) struct Samples {
    stored: Vec<u32>,
    limit: usize,
}

impl Samples {
    const LONGEST: u64 = (1 << 30) - 1;

    /// Room for `limit` samples and for those of one wake-up of `timers` timers beyond.
    pub(crate) fn new(limit: usize, timers: usize) -> Self {
        // Written once, so that the first slice finds its pages in memory.
        let mut stored = vec![0; limit + 5 * timers + 8];
        stored.clear();
        Self { stored, limit }
    }

    #[inline]
    fn push(&mut self, op: Op, ns: u64) {
        self.stored.push((op as u32) << 30 | ns.min(Self::LONGEST) as u32);
    }

    /// Hands the samples over to `stats` and keeps the room. Their sums in ns, by `Op as usize`.
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

/// The statistics of one structure: of each operation, and of all together.
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

    /// With the names of the published tables, in their order, the total last.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, &Distribution)> {
        Op::ALL.into_iter().map(|op| (op.name(), self.of(op))).chain([("overall", self.overall())])
    }
}
