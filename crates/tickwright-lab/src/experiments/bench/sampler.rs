//! A queue that is sampled again and again; type-erased once per sample.

use core::cell::RefCell;

use crate::clock::Meter;
use crate::experiments::bench::work::Work;
use crate::models::verify::{Answer, Evidence, Fold, Log, Script};
use crate::structures::candidate::BenchQueue;

/// One timed run of some work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    /// By the meter, for all operations together.
    pub(crate) ns: u64,
    /// What was delivered and read.
    pub(crate) answer: Answer,
}

/// Does work on a queue that it keeps.
pub(crate) trait Sampler {
    /// Does it all and times it together.
    fn sample(&self, work: &Work, evidence: Evidence, meter: &dyn Meter) -> Sample;

    /// See [`BenchQueue::callers_bytes`].
    fn callers_bytes(&self) -> usize;
}

/// Drives a queue.
#[derive(Debug)]
pub(crate) struct Runner<Q>(RefCell<Q>);

impl<Q> Runner<Q> {
    /// Of an empty queue.
    pub(crate) fn new(queue: Q) -> Self {
        Self(RefCell::new(queue))
    }

    /// The queue, between samples.
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

/// No queue: hands timers round in the order of their ids, and none when it is asked for what is
/// due. What it costs is the harness.
#[derive(Debug)]
pub(crate) struct Empty {
    next: u32,
    population: u32,
    last: u64,
}

impl Empty {
    /// With ids `0..population`.
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
