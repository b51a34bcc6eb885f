//! The answers of a queue, as a timed loop records them.

use crate::models::scenario::Measure;
use crate::structures::registry::Structure;

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
    /// Whether the witness receives the answers to a server's questions. If not, no loop with
    /// questions is compiled for it.
    const ASKED: bool = true;

    /// Called when a timer was delivered at `now`.
    fn delivered(&mut self, id: u32, expiry: u64, now: u64);

    /// Called when the queue returned `answer` for the head or the next wake-up.
    fn read(&mut self, answer: Option<u64>);
}

/// Answers that are folded into a few numbers. Two queues with the same deliveries in the same
/// order, and with the same reads in the same order, have equal folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fold {
    /// The number of answers that are timers, and not `None`.
    pub(super) found: u64,
    /// A hash of the expiries in order.
    pub(super) times: u64,
    /// A hash of the ids and expiries in order.
    pub(super) order: u64,
    /// A hash of the reads in order.
    pub(super) reads: u64,
}

/// 2^64 divided by the golden ratio. The number is odd, and its bits have no pattern, so that a
/// multiplication by it spreads each bit over the higher bits.
pub(crate) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
pub(crate) fn fold(so_far: u64, next: u64) -> u64 {
    (so_far.rotate_left(5) ^ next).wrapping_mul(SPREAD)
}

impl Witness for Fold {
    // The answers to questions are lower bounds, which must be judged one by one.
    const ASKED: bool = false;

    #[inline]
    fn delivered(&mut self, id: u32, expiry: u64, _now: u64) {
        self.found += 1;
        self.times = fold(self.times, expiry);
        self.order = fold(self.order, expiry ^ u64::from(id) << 40);
    }

    #[inline]
    fn read(&mut self, answer: Option<u64>) {
        self.found += u64::from(answer.is_some());
        self.reads = fold(self.reads, answer.unwrap_or(u64::MAX));
    }
}

impl Fold {
    /// Appends the answers to the next piece of work. If the folds of two runs are equal for each
    /// piece, they are also equal for all pieces together.
    pub(crate) fn append(&mut self, next: Self) {
        self.found += next.found;
        self.times = fold(self.times, next.times);
        self.order = fold(self.order, next.order);
        self.reads = fold(self.reads, next.reads);
    }
}

/// A timer that was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(super) id: u32,
    pub(super) expiry: u64,
    pub(super) now: u64,
}

/// All answers, each kind in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Log {
    pub(super) deliveries: Vec<Delivery>,
    pub(super) reads: Vec<Option<u64>>,
}

impl Log {
    /// Creates an empty log with capacity for this many answers. The log's memory is written once,
    /// so that a timed loop does not pay for page faults.
    pub(crate) fn of(Notes { deliveries, reads }: Notes) -> Self {
        let delivery = Delivery { id: u32::MAX, expiry: u64::MAX, now: u64::MAX };
        let mut log = Self { deliveries: vec![delivery; deliveries], reads: vec![Some(u64::MAX); reads] };
        core::hint::black_box(&mut log);
        log.deliveries.clear();
        log.reads.clear();
        log
    }

    /// Returns the bytes that the log has allocated.
    fn bytes(&self) -> usize {
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

/// How the answers are recorded. Recording takes time inside the timed loop, and this time is the
/// same for all structures with the same evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Record a [`Fold`].
    Fold,
    /// Record a [`Log`].
    Log,
}

impl Evidence {
    /// Returns the evidence that the judge needs about a structure, within a measure or outside any
    /// measure.
    pub(crate) fn of(structure: &Structure, measure: Option<Measure>) -> Self {
        if structure.ties.exact() { Self::oracle(measure) } else { Self::Log }
    }

    /// Returns the evidence that the oracle records. If a structure is allowed to answer with a
    /// lower bound, the oracle records each answer, because the judge compares each bound with an
    /// exact answer.
    pub(crate) fn oracle(measure: Option<Measure>) -> Self {
        let asked = measure.is_some_and(Measure::asks);
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

impl Answer {
    /// Creates an empty answer with room in its log for these numbers of answers.
    pub(crate) fn none(notes: Notes, evidence: Evidence) -> Self {
        match evidence {
            Evidence::Fold => Self::Folded(Fold::default()),
            Evidence::Log => Self::Logged(Log::of(notes)),
        }
    }

    /// Returns the bytes that the answers have allocated.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Folded(_) => 0,
            Self::Logged(log) => log.bytes(),
        }
    }

    /// Returns the answers as a fold.
    pub(crate) fn fold(&self) -> Fold {
        match self {
            Self::Folded(fold) => *fold,
            Self::Logged(Log { deliveries, reads }) => {
                let mut fold = Fold::default();
                deliveries.iter().for_each(|one| fold.delivered(one.id, one.expiry, one.now));
                reads.iter().for_each(|read| fold.read(*read));
                fold
            }
        }
    }
}

impl Witness for Answer {
    fn delivered(&mut self, id: u32, expiry: u64, now: u64) {
        match self {
            Self::Folded(fold) => fold.delivered(id, expiry, now),
            Self::Logged(log) => log.delivered(id, expiry, now),
        }
    }

    fn read(&mut self, answer: Option<u64>) {
        match self {
            Self::Folded(fold) => fold.read(answer),
            Self::Logged(log) => log.read(answer),
        }
    }
}
