//! Why an answer is believed: the one place that says what a right answer is.
//!
//! - An exact structure answers as the oracle: the same expiries in the same order, and the same
//!   ids where it is first-in-first-out.
//! - A granular one has an order of its own. It must deliver each timer once, never early and
//!   within its bound, which a ledger says; the work is run once more with what the structure
//!   answered, so that the ledger knows what was armed when.
//! - The next wake-up may be early, as far as a structure likes, and never late.

mod judge;
mod ledger;
pub(crate) mod oracle;

pub(crate) use self::judge::Judge;
pub(crate) use self::ledger::Ledger;
use crate::models::scenario::Measure;
use crate::structures::candidate::BenchQueue;
use crate::structures::registry::Structure;

/// Work that can be run on any queue, and again on what stands for one.
pub(crate) trait Script {
    /// Runs it and tells `witness` what the queue answered.
    fn run<Q: BenchQueue, W: Witness>(&self, queue: &mut Q, witness: &mut W);

    /// About how many answers there will be.
    fn notes(&self) -> Notes;

    /// Whether what is read may be a lower bound of the head.
    fn reads_a_bound(&self) -> bool {
        false
    }
}

/// Numbers of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Notes {
    /// Timers that are delivered.
    pub(crate) deliveries: usize,
    /// Questions for the head or the next wake-up.
    pub(crate) reads: usize,
}

/// Sees answers go by, inside of timed loops.
pub(crate) trait Witness {
    /// A timer was delivered at `now`.
    fn delivered(&mut self, id: u32, expiry: u64, now: u64);

    /// The head or the next wake-up was asked for.
    fn read(&mut self, answer: Option<u64>);
}

/// Answers folded into three numbers: two queues that answered the same in the same order have
/// equal folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fold {
    /// Answers that named a timer.
    found: u64,
    /// Expiries in order.
    times: u64,
    /// Ids and expiries in order.
    order: u64,
}

/// Odd and without structure (the golden ratio's fraction), so that a product spreads every bit
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
    /// An empty one that does not grow before it has the answers of some work.
    pub(crate) fn of(work: &impl Script) -> Self {
        let Notes { deliveries, reads } = work.notes();
        Self { deliveries: Vec::with_capacity(deliveries), reads: Vec::with_capacity(reads) }
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

/// What is kept of the answers. It costs time inside of the loop, the same for all that keep the
/// same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// A [`Fold`].
    Fold,
    /// A [`Log`].
    Log,
}

impl Evidence {
    /// What judging a structure takes, in a measure or in none.
    pub(crate) fn of(structure: &Structure, measure: Option<Measure>) -> Self {
        if structure.ties.exact() { Self::oracle(measure) } else { Self::Log }
    }

    /// What the oracle gives to compare with: each of its answers where one question may have a
    /// lower bound for an answer, and the others are compared with it.
    pub(crate) fn oracle(measure: Option<Measure>) -> Self {
        let asked = measure.is_some_and(|m| matches!(m, Measure::Wake | Measure::Expiry | Measure::Peek));
        if asked { Self::Log } else { Self::Fold }
    }
}

/// The answers to some work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// In short.
    Folded(Fold),
    /// In full.
    Logged(Log),
}

#[cfg(test)]
mod tests;
