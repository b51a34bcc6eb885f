//! A queue of any type that runs tapes, one after the other.

use core::cell::{Cell, RefMut};

use crate::allocator;
use crate::clock::Meter;
use crate::models::erased::{Erased, Shared};
use crate::models::tape::{Step, Tape};
use crate::models::witness::{Answer, Evidence};
use crate::structures::candidate::{BenchQueue, Dead, Timed};

/// One timed run of a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The time of all operations together.
    pub(crate) ns: u64,
    /// What the queue delivered and what it returned when it was read.
    pub(crate) answer: Answer,
}

/// Calls its second argument with the id and the deadline of each timer that was moved or cancelled
/// before the first tick. Timers whose deadline is not after the first tick are left out. The order
/// of the calls is the order in which the timers were armed. The first argument is a rough limit on
/// the number of calls: only the timers that were armed last are passed.
pub(crate) type Past<'p> = dyn Fn(usize, &mut dyn FnMut(u32, u64)) + 'p;

/// A structure that sweeps reaches its steady state after each timer was armed this many times.
const ARMS: usize = 4;

/// What a queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    /// Bytes on the heap, without the bytes that stand for the caller's own objects.
    pub(crate) bytes: usize,
    /// See [`BenchQueue::dead_entries`].
    pub(crate) dead: Option<usize>,
}

/// A queue, and the bytes that it has allocated.
pub(crate) struct Sampler<'q> {
    queue: &'q (dyn Shared + 'q),
    /// Bytes that the queue has allocated and not freed.
    bytes: Cell<isize>,
}

impl<'q> Sampler<'q> {
    /// Creates a sampler of a queue. `before` is the value of [`allocator::live_bytes`] before the
    /// queue was created. All memory that this thread has allocated since then counts as the
    /// queue's memory.
    pub(crate) fn new(before: isize, queue: &'q (dyn Shared + 'q)) -> Self {
        Self { queue, bytes: Cell::new(allocator::live_bytes() - before) }
    }

    /// Returns the queue, between samples.
    pub(crate) fn queue(&self) -> RefMut<'_, dyn Erased + '_> {
        self.queue.queue()
    }

    /// Adds the bytes that were allocated since [`allocator::live_bytes`] was `before`, minus
    /// `others` bytes that do not belong to the queue.
    fn count(&self, before: isize, others: usize) {
        let others = isize::try_from(others).unwrap_or(isize::MAX);
        self.bytes.set(self.bytes.get() + allocator::live_bytes() - before - others);
    }

    /// Runs a tape and measures the time of all operations together.
    pub(crate) fn sample(&self, tape: &Tape, evidence: Evidence, meter: &dyn Meter) -> Sample {
        let mut answer = Answer::none(tape.notes(), evidence);
        let (mut queue, before, own) = (self.queue(), allocator::live_bytes(), answer.bytes());
        let start = meter.now();
        queue.run(tape, &mut answer);
        let ns = meter.now().saturating_sub(start);
        self.count(before, answer.bytes() - own);
        Sample { ns, answer }
    }

    /// Runs a tape and times each call separately. Calls `call` with each operation and its time in
    /// ns.
    pub(crate) fn calls(
        &self,
        tape: &Tape,
        evidence: Evidence,
        meter: &dyn Meter,
        call: &mut dyn FnMut(Step, u64),
    ) -> Answer {
        let mut answer = Answer::none(tape.notes(), evidence);
        self.queue().calls(tape, &mut answer, meter, call);
        answer
    }

    /// Returns whether the queue keeps entries of timers that were removed or moved.
    pub(crate) fn is_lazy(&self) -> bool {
        self.queue().dead() != Dead::Leave
    }

    /// Fills an empty queue with timers at `deadlines`, and with the entries that earlier work
    /// would have left. Before a timer gets its own deadline, it is armed at each deadline that
    /// `past` gives for it.
    pub(crate) fn fill_aged(&self, deadlines: &[u64], past: &Past<'_>) {
        let mut armed = vec![false; deadlines.len()];
        let before = allocator::live_bytes();
        let mut queue = self.queue();
        let most = match queue.dead() {
            Dead::Stay => usize::MAX,
            _ => deadlines.len().saturating_mul(ARMS),
        };
        let mut arm = |id: u32, deadline| {
            if core::mem::replace(&mut armed[id as usize], true) {
                queue.reschedule(id, deadline);
            } else {
                queue.insert(id, deadline);
            }
        };
        past(most, &mut arm);
        (0u32..).zip(deadlines).for_each(|(id, deadline)| arm(id, *deadline));
        self.count(before, 0);
    }

    /// See [`Held::bytes`].
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(self.bytes.get()).unwrap_or(0).saturating_sub(self.queue().callers_bytes())
    }

    /// Returns what the queue holds now.
    pub(crate) fn held(&self) -> Held {
        Held { bytes: self.bytes(), dead: self.queue().dead_entries() }
    }
}

/// Stands for a queue but stores no timers. Pops return all ids in ascending order and then start
/// over; an advance delivers nothing. The time of this null queue is the cost of the harness.
#[derive(Debug)]
pub(crate) struct Empty {
    next: u32,
    population: u32,
    last: u64,
}

impl Empty {
    /// Creates a null queue with ids `0..population`.
    pub(crate) fn new(population: usize) -> Self {
        Self { next: 0, population: u32::try_from(population).unwrap_or(u32::MAX), last: 0 }
    }
}

impl Timed for Empty {}

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
