//! The timed loops, and the answers by which they are believed.

use core::cell::RefCell;
use core::hint::black_box;

use crate::candidate::BenchQueue;
use crate::clock::Meter;
use crate::registry::Ties;
use crate::scenario::Measure;

/// What a queue delivered, folded: two queues that delivered the same in the same order have equal answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    /// Operations that found a timer.
    pub(crate) found: u64,
    /// Expiries in order.
    pub(crate) times: u64,
    /// Ids and expiries in order.
    pub(crate) order: u64,
}

impl Answer {
    #[inline]
    fn add(&mut self, id: u32, expiry: u64) {
        self.found += 1;
        self.times = fold(self.times, expiry);
        self.order = fold(self.order, expiry ^ u64::from(id) << 40);
    }

    /// Whether it is the expected one, as far as a structure with these `ties` promises.
    pub(crate) fn agrees(&self, expected: &Self, ties: Ties) -> bool {
        let same = self.found == expected.found && self.times == expected.times;
        same && (ties == Ties::AnyOrder || self.order == expected.order)
    }
}

/// Odd and without structure (the golden ratio's fraction), so that a product spreads every bit upwards.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn fold(so_far: u64, next: u64) -> u64 {
    (so_far.rotate_left(5) ^ next).wrapping_mul(SPREAD)
}

/// One timed run of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// By the meter, for all operations together.
    pub(crate) ns: u64,
    /// What was delivered.
    pub(crate) answer: Answer,
}

/// A filled queue that can be sampled again and again; type-erased once per sample.
pub(crate) trait Sampler {
    /// Arms every timer: id `i` at delay `i`.
    fn fill(&self, delays: &[u64]);

    /// Runs one operation per delay and times them together.
    fn sample(&self, measure: Measure, delays: &[u64], meter: &dyn Meter) -> Sample;

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
}

impl<Q: BenchQueue> Sampler for Runner<Q> {
    fn fill(&self, delays: &[u64]) {
        let queue = &mut *self.0.borrow_mut();
        for (id, delay) in (0u32..).zip(delays) {
            queue.insert(id, *delay);
        }
    }

    fn sample(&self, measure: Measure, delays: &[u64], meter: &dyn Meter) -> Sample {
        let queue = &mut *self.0.borrow_mut();
        let start = meter.now();
        let answer = match measure {
            Measure::Hold => hold(queue, delays),
            Measure::Rearm => rearm(queue, delays),
            Measure::Head => head(queue, delays),
        };
        Sample { ns: meter.now().saturating_sub(start), answer }
    }

    fn callers_bytes(&self) -> usize {
        self.0.borrow().callers_bytes()
    }
}

/// As a driver does it: ask when, wait (not here), take what is due, arm it anew.
#[inline(never)]
fn hold<Q: BenchQueue>(queue: &mut Q, delays: &[u64]) -> Answer {
    let mut answer = Answer::default();
    for delay in delays {
        let Some((id, expiry)) = queue.pop() else { break };
        answer.add(id, expiry);
        queue.insert(id, expiry.saturating_add(*delay));
    }
    answer
}

#[inline(never)]
fn rearm<Q: BenchQueue>(queue: &mut Q, delays: &[u64]) -> Answer {
    let mut answer = Answer::default();
    for delay in delays {
        let Some((id, expiry)) = queue.pop_and_reinsert(*delay) else { break };
        answer.add(id, expiry);
    }
    answer
}

#[inline(never)]
fn head<Q: BenchQueue>(queue: &mut Q, delays: &[u64]) -> Answer {
    let mut answer = Answer::default();
    for _ in delays {
        // Opaque, or the compiler would ask once.
        let Some(head) = black_box(&mut *queue).head() else { break };
        answer.add(0, head);
    }
    answer
}

/// No queue: hands timers round in the order of their ids. What it costs is the harness.
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
    fn remove(&mut self, _id: u32) {}
    fn reschedule(&mut self, _id: u32, _deadline: u64) {}
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
}
