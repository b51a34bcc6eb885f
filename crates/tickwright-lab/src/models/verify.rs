//! This module alone defines right answers.
//!
//! - An exact structure must answer as the oracle does: the same expiries in the same order. A FIFO
//!   structure must also deliver the same ids.
//! - A granular structure has an order of its own. Such a structure must deliver each timer once,
//!   never early, and within its bound. A ledger checks these rules. The work runs again with the
//!   structure's answers, so that the ledger knows when each timer was armed.
//! - The next wake-up may be early by any time, but must never be late.

#[cfg(test)]
pub(crate) mod faulty;
mod judge;
mod ledger;
pub(crate) mod oracle;

pub(crate) use self::judge::Judge;
pub(crate) use self::ledger::Ledger;
use crate::models::scenario::Measure;
use crate::structures::candidate::BenchQueue;
use crate::structures::registry::Structure;

/// Work that runs on any queue, and again on a stand-in for a queue.
pub(crate) trait Script {
    /// Runs the work and reports each answer of the queue to `witness`.
    fn run<Q: BenchQueue, W: Witness>(&self, queue: &mut Q, witness: &mut W);

    /// An estimate of the number of answers.
    fn notes(&self) -> Notes;

    /// Whether an answer may be a lower bound of the head.
    fn reads_a_bound(&self) -> bool {
        false
    }

    /// Whether all timers of an expiry are delivered in one piece of work.
    fn delivers_whole_expiries(&self) -> bool {
        false
    }
}

/// The number of answers of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Notes {
    /// The number of delivered timers.
    pub(crate) deliveries: usize,
    /// The number of questions for the head or the next wake-up.
    pub(crate) reads: usize,
}

/// Receives each answer inside a timed loop.
pub(crate) trait Witness {
    /// Called when a timer was delivered at `now`.
    fn delivered(&mut self, id: u32, expiry: u64, now: u64);

    /// Called when the queue returned `answer` for the head or the next wake-up.
    fn read(&mut self, answer: Option<u64>);
}

/// Answers folded into three numbers. Two queues with the same answers in the same order have equal
/// folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fold {
    /// The number of answers that are timers, and not `None`.
    found: u64,
    /// A hash of the expiries in order.
    times: u64,
    /// A hash of the ids and expiries in order.
    order: u64,
}

/// The fraction of the golden ratio, odd and without a pattern: a product spreads every bit
/// upwards.
pub(crate) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn fold(so_far: u64, next: u64) -> u64 {
    (so_far.rotate_left(5) ^ next).wrapping_mul(SPREAD)
}

impl Witness for Fold {
    #[inline]
    fn delivered(&mut self, id: u32, expiry: u64, _now: u64) {
        self.found += 1;
        self.times = fold(self.times, expiry);
        self.order = fold(self.order, expiry ^ u64::from(id) << 40);
    }

    #[inline]
    fn read(&mut self, answer: Option<u64>) {
        self.found += u64::from(answer.is_some());
        let answer = answer.unwrap_or(u64::MAX);
        self.times = fold(self.times, answer);
        self.order = fold(self.order, answer);
    }
}

/// A timer that was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delivery {
    id: u32,
    expiry: u64,
    now: u64,
}

/// All answers, each kind in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Log {
    deliveries: Vec<Delivery>,
    reads: Vec<Option<u64>>,
}

impl Log {
    /// An empty log with enough capacity for the answers of some work.
    pub(crate) fn of(work: &impl Script) -> Self {
        let Notes { deliveries, reads } = work.notes();
        Self { deliveries: Vec::with_capacity(deliveries), reads: Vec::with_capacity(reads) }
    }

    /// The bytes that the log has allocated.
    pub(crate) fn bytes(&self) -> usize {
        self.deliveries.capacity() * size_of::<Delivery>() + self.reads.capacity() * size_of::<Option<u64>>()
    }
}

impl Witness for Log {
    #[inline]
    fn delivered(&mut self, id: u32, expiry: u64, now: u64) {
        self.deliveries.push(Delivery { id, expiry, now });
    }

    #[inline]
    fn read(&mut self, answer: Option<u64>) {
        self.reads.push(answer);
    }
}

/// The kinds of records of the answers. Recording takes time inside the loop. This time is the same
/// for all structures with the same evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Record a [`Fold`].
    Fold,
    /// Record a [`Log`].
    Log,
}

impl Evidence {
    /// The evidence that the judge needs of a structure, inside or outside a measure.
    pub(crate) fn of(structure: &Structure, measure: Option<Measure>) -> Self {
        if structure.ties.exact() { Self::oracle(measure) } else { Self::Log }
    }

    /// The evidence that the oracle records. If a structure may answer with a lower bound, the
    /// oracle records each answer, because the judge compares each bound with an exact answer.
    pub(crate) fn oracle(measure: Option<Measure>) -> Self {
        let asked = measure.is_some_and(|m| matches!(m, Measure::Wake | Measure::Expiry | Measure::Peek));
        if asked { Self::Log } else { Self::Fold }
    }
}

/// The answers to some work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The answers as a fold.
    Folded(Fold),
    /// The answers in full.
    Logged(Log),
}

#[cfg(test)]
mod tests;
