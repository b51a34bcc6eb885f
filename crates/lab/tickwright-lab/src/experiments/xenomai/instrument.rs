//! Times each operation and stores the readings.
//!
//! A timed operation costs two clock readings and one store. Statistics are computed from the
//! stored samples between slices, so that this work is not measured.

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

    /// Returns the operation's name in the published tables.
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

/// Counts each operation, and reads a clock before and after it if there is one. The probe is a
/// value and not a type parameter, so that the handler is compiled only once per structure.
#[derive(Default)]
pub(crate) struct Probe<'a> {
    timing: Option<(&'a dyn Meter, &'a mut Samples)>,
    counts: Counts,
}

impl<'a> Probe<'a> {
    /// Creates a probe that reads `meter` and stores the readings in `samples`.
    pub(crate) fn timing(meter: &'a dyn Meter, samples: &'a mut Samples) -> Self {
        Self { timing: Some((meter, samples)), counts: [0; 4] }
    }

    /// Reads the clock, if there is one.
    #[inline]
    pub(crate) fn begin(&self) -> u64 {
        self.timing.as_ref().map_or(0, |(meter, _)| meter.now())
    }

    /// Counts an operation that began at `before` and has ended.
    #[inline]
    pub(crate) fn end(&mut self, op: Op, before: u64) {
        let after = self.begin();
        self.counts[op as usize] += 1;
        if let Some((_, samples)) = &mut self.timing {
            samples.push(op, after.saturating_sub(before));
        }
    }

    /// Returns whether the room for samples is used up, so that the slice must end.
    pub(crate) fn is_full(&self) -> bool {
        self.timing.as_ref().is_some_and(|(_, samples)| samples.stored.len() >= samples.limit)
    }

    /// Returns the number of calls so far, per operation.
    pub(crate) fn counts(&self) -> Counts {
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

    /// Reserves room for `limit` samples, plus the samples of one wake-up with `timers` timers.
    pub(crate) fn new(limit: usize, timers: usize) -> Self {
        // The memory is written once, so that its pages are present before the first slice.
        let mut stored = vec![0; limit + 5 * timers + 8];
        stored.clear();
        Self { stored, limit }
    }

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

    /// Returns the distributions and their names, in the order of the published tables; the total
    /// is last.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, &Distribution)> {
        Op::ALL.into_iter().map(|op| (op.name(), self.of(op))).chain([("overall", self.overall())])
    }
}
