//! A queue that is sampled repeatedly. One indirect call per sample hides its type.

use core::cell::RefCell;

use crate::clock::Meter;
use crate::experiments::bench::work::Work;
use crate::models::verify::{Answer, Evidence, Fold, Log, Script};
use crate::structures::candidate::BenchQueue;

/// One timed run of some work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The time of all operations together.
    pub(crate) ns: u64,
    /// What the queue delivered and what it returned when it was read.
    pub(crate) answer: Answer,
}

/// Runs work on a queue that it owns.
pub(crate) trait Sampler {
    /// Runs all operations and times them together.
    fn sample(&self, work: &Work, evidence: Evidence, meter: &dyn Meter) -> Sample;

    /// See [`BenchQueue::callers_bytes`].
    fn callers_bytes(&self) -> usize;
}

/// A sampler of a queue.
#[derive(Debug)]
pub(crate) struct Runner<Q>(RefCell<Q>);

impl<Q> Runner<Q> {
    /// Creates a sampler of an empty queue.
    pub(crate) fn new(queue: Q) -> Self {
        Self(RefCell::new(queue))
    }

    /// Returns the queue, between samples.
    pub(crate) fn queue(&mut self) -> &mut Q {
        self.0.get_mut()
    }
}

impl<Q: BenchQueue> Sampler for Runner<Q> {
    fn sample(&self, work: &Work, evidence: Evidence, meter: &dyn Meter) -> Sample {
        let queue = &mut *self.0.borrow_mut();
        match evidence {
            Evidence::Fold => {
                let mut fold = Fold::default();
                let start = meter.now();
                work.run(queue, &mut fold);
                Sample { ns: meter.now().saturating_sub(start), answer: Answer::Folded(fold) }
            }
            Evidence::Log => {
                let mut log = Log::of(work);
                let start = meter.now();
                work.run(queue, &mut log);
                Sample { ns: meter.now().saturating_sub(start), answer: Answer::Logged(log) }
            }
        }
    }

    fn callers_bytes(&self) -> usize {
        self.0.borrow().callers_bytes()
    }
}

/// Stands for a queue but stores no timers. Pops return ids in ascending order, again and again; an
/// advance delivers nothing. Its time is the cost of the harness.
#[derive(Debug)]
pub(crate) struct Empty {
    next: u32,
    population: u32,
    last: u64,
}

impl Empty {
    /// Creates one with ids `0..population`.
    pub(crate) fn new(population: usize) -> Self {
        Self { next: 0, population: u32::try_from(population).unwrap_or(u32::MAX), last: 0 }
    }
}

impl BenchQueue for Empty {
    #[inline]
    fn insert(&mut self, _id: u32, deadline: u64) {
        self.last = deadline;
    }
    #[inline]
    fn remove(&mut self, _id: u32) {}
    #[inline]
    fn reschedule(&mut self, _id: u32, deadline: u64) {
        self.last = deadline;
    }
    #[inline]
    fn head(&mut self) -> Option<u64> {
        Some(self.last)
    }
    fn second(&mut self) -> Option<u64> {
        None
    }
    #[inline]
    fn pop_expired(&mut self, _now: u64) -> Option<(u32, u64)> {
        let id = self.next;
        self.next = if id + 1 < self.population { id + 1 } else { 0 };
        Some((id, self.last))
    }
    #[inline]
    fn advance(&mut self, _now: u64, _budget: usize, _sink: &mut impl FnMut(u32, u64)) -> bool {
        true
    }
}
