//! A workload as data: the steps of a tape, which is written before any clock starts, and the loop
//! that runs them. Clock, oracle, ledger and replay run the same steps.
//!
//! ```text
//!   seed + scenario ─ model ─┐                 ┌─ run     every answer to a witness
//!   trace ─ decoder ─────────┴─▶ Tape of Steps ┴─ calls   the same, each call timed alone
//! ```
//! What a queue delivers may decide what is armed next. A step says how ([`Step::Serve`]), so that a
//! queue that delivers late arms later, as a program would.
//!
//! To decode a step takes about a nanosecond. Operations that take little more have loops of their
//! own, and one step stands for all of them ([`Step::Hold`], [`Step::Poll`]).

use core::hint::black_box;

use crate::clock::Meter;
use crate::models::scenario::Measure;
use crate::models::witness::{Answer, Notes, SPREAD, Witness};
use crate::structures::candidate::BenchQueue;

/// One operation, or a loop of equal ones. Ids name timers; ticks are those of the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Arm an idle timer.
    Insert {
        /// The timer.
        id: u32,
        /// Its deadline.
        deadline: u64,
    },
    /// Move a pending timer.
    Reschedule {
        /// The timer.
        id: u32,
        /// Its new deadline.
        deadline: u64,
    },
    /// Disarm a pending timer.
    Remove {
        /// The timer.
        id: u32,
    },
    /// The same in preparation of a step. It is not counted.
    Clear {
        /// The timer.
        id: u32,
    },
    /// Disarm a pending timer, and arm it again.
    Renew {
        /// The timer.
        id: u32,
        /// Its new deadline.
        deadline: u64,
    },
    /// The program woke at this tick for another reason, and tells its queue the time. It is no
    /// operation on a timer, and is not counted.
    Clock {
        /// The tick.
        at: u64,
    },
    /// Deliver what is due.
    Deliver {
        /// The tick.
        now: u64,
    },
    /// Deliver what is due, in as many calls as it takes.
    Within {
        /// The tick.
        now: u64,
        /// A call delivers at most this many timers.
        budget: u32,
    },
    /// Take the head, whenever it is due.
    Pop,
    /// Deliver what is due, and arm each of these timers again: see [`Again`].
    Serve {
        /// The tick.
        now: u64,
    },
    /// The driver wakes: deliver what is due, then ask for the next wake-up.
    Advance {
        /// The tick.
        now: u64,
    },
    /// Ask for the next wake-up.
    Wake,
    /// Ask for the exact next expiry.
    Expiry,
    /// Ask for the head, with its key.
    Peek,
    /// Arm idle timers: timer `i` at the `i`-th of the tape's ticks.
    Fill,
    /// Pop the earliest timer and insert it again, once for each of the tape's ticks, which are
    /// delays.
    Hold,
    /// The same, in one step of the queue.
    Rearm,
    /// Read the head.
    Head {
        /// This number of times.
        count: u32,
    },
    /// Deliver what is due, tick by tick.
    Poll {
        /// The tick before the first one.
        after: u64,
        /// The number of ticks.
        count: u32,
    },
}

/// The kinds of operations of a replay, in the order of tables.
pub(crate) const KINDS: [&str; 4] = ["insert", "re-arm", "remove", "advance"];

impl Step {
    /// The index of its kind in [`KINDS`].
    pub(crate) fn kind(self) -> usize {
        match self {
            Self::Insert { .. } => 0,
            Self::Reschedule { .. } | Self::Renew { .. } => 1,
            Self::Remove { .. } => 2,
            _ => 3,
        }
    }

    /// The tick that it names: a deadline, or the time. 0 if it names none.
    pub(crate) fn reaches(self) -> u64 {
        match self {
            Self::Insert { deadline, .. } | Self::Reschedule { deadline, .. } => deadline,
            Self::Clock { at } => at,
            Self::Advance { now } => now,
            _ => 0,
        }
    }

    /// Whether it counts as an operation.
    pub(crate) fn is_operation(self) -> bool {
        !matches!(self, Self::Clock { .. } | Self::Clear { .. })
    }

    /// Whether it is a question, which some structures cannot answer.
    fn is_question(self) -> bool {
        matches!(self, Self::Wake | Self::Expiry | Self::Peek | Self::Head { .. })
    }

    /// Runs a call of the step. Returns whether it was the last one. `due` is empty before and after;
    /// its memory is used again.
    #[inline(always)]
    fn run<Q: BenchQueue, W: Witness>(
        self,
        tape: &Tape,
        queue: &mut Q,
        witness: &mut W,
        due: &mut Vec<(u32, u64)>,
    ) -> bool {
        match self {
            Self::Insert { id, deadline } => queue.insert(id, deadline),
            Self::Reschedule { id, deadline } => queue.reschedule(id, deadline),
            Self::Remove { id } | Self::Clear { id } => queue.remove(id),
            Self::Renew { id, deadline } => {
                queue.remove(id);
                queue.insert(id, deadline);
            }
            Self::Clock { at } => queue.tell(at),
            Self::Deliver { now } => deliver(queue, now, witness),
            Self::Within { now, budget } => {
                let sink = &mut |id, expiry| witness.delivered(id, expiry, now);
                return queue.advance(now, budget as usize, sink);
            }
            Self::Pop => {
                if let Some((id, expiry)) = queue.pop() {
                    witness.delivered(id, expiry, expiry);
                }
            }
            Self::Serve { now } => {
                queue.advance(now, usize::MAX, &mut |id, expiry| due.push((id, expiry)));
                for (id, expiry) in due.drain(..) {
                    witness.delivered(id, expiry, now);
                    queue.insert(id, now + tape.again.delay(id, now));
                }
            }
            Self::Advance { now } => {
                deliver(queue, now, witness);
                witness.read(queue.wake());
            }
            Self::Wake => witness.read(queue.wake()),
            Self::Expiry => witness.read(queue.head()),
            Self::Peek => witness.read(queue.look_at_head()),
            Self::Fill => fill(queue, &tape.ticks),
            Self::Hold => hold(queue, &tape.ticks, witness),
            Self::Rearm => rearm(queue, &tape.ticks, witness),
            Self::Head { count } => head(queue, count, witness),
            Self::Poll { after, count } => poll(queue, after, count, witness),
        }
        true
    }
}

#[inline(always)]
fn deliver<Q: BenchQueue, W: Witness>(queue: &mut Q, now: u64, witness: &mut W) {
    queue.advance(now, usize::MAX, &mut |id, expiry| witness.delivered(id, expiry, now));
}

#[inline(never)]
fn fill<Q: BenchQueue>(queue: &mut Q, deadlines: &[u64]) {
    for (id, deadline) in (0u32..).zip(deadlines) {
        queue.insert(id, *deadline);
    }
}

/// The calls of a driver: read the deadline of the head, take the due timer, insert it again. The
/// driver's wait is left out.
#[inline(never)]
fn hold<Q: BenchQueue, W: Witness>(queue: &mut Q, delays: &[u64], witness: &mut W) {
    for delay in delays {
        let Some((id, expiry)) = queue.pop() else { break };
        witness.delivered(id, expiry, expiry);
        queue.insert(id, expiry.saturating_add(*delay));
    }
}

#[inline(never)]
fn rearm<Q: BenchQueue, W: Witness>(queue: &mut Q, delays: &[u64], witness: &mut W) {
    for delay in delays {
        let Some((id, expiry)) = queue.pop_and_reinsert(*delay) else { break };
        witness.delivered(id, expiry, expiry);
    }
}

#[inline(never)]
fn head<Q: BenchQueue, W: Witness>(queue: &mut Q, count: u32, witness: &mut W) {
    for _ in 0..count {
        // `black_box` keeps the compiler from reading the head only once.
        let head = black_box(&mut *queue).head();
        witness.read(head);
    }
}

#[inline(never)]
fn poll<Q: BenchQueue, W: Witness>(queue: &mut Q, after: u64, count: u32, witness: &mut W) {
    for now in after + 1..=after + u64::from(count) {
        deliver(queue, now, witness);
    }
}

/// The delay of a timer that expired and is armed again. It depends only on the id and the tick,
/// not on the order among equals.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Again {
    shortest: u64,
    span: u64,
}

impl Again {
    /// Creates the delays from `shortest` to `longest`.
    pub(crate) fn new(shortest: u64, longest: u64) -> Self {
        Self { shortest, span: longest.saturating_sub(shortest) + 1 }
    }

    /// Returns the delay of a timer that is armed again at `now`.
    #[inline]
    pub(crate) fn delay(self, id: u32, now: u64) -> u64 {
        let random = (u64::from(id) ^ now << 24).wrapping_mul(SPREAD) >> 32;
        self.shortest + ((random * self.span) >> 32)
    }
}

/// Steps in order: the work of a sample, or a piece of a trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tape {
    /// The steps.
    pub(crate) steps: Vec<Step>,
    /// The deadlines of [`Step::Fill`], or the delays of [`Step::Hold`] and [`Step::Rearm`].
    pub(crate) ticks: Vec<u64>,
    /// The delays of [`Step::Serve`].
    pub(crate) again: Again,
    /// An estimate of the number of timers that are delivered, beside those of steps that deliver
    /// about one each.
    pub(crate) deliveries: usize,
}

impl Tape {
    /// Some steps that need nothing else of a tape.
    pub(crate) fn of(steps: impl Into<Vec<Step>>) -> Self {
        Self { steps: steps.into(), ..Self::default() }
    }

    /// One step over all of some ticks.
    pub(crate) fn over(step: Step, ticks: Vec<u64>) -> Self {
        Self { ticks, ..Self::of([step]) }
    }

    /// The number of its operations.
    pub(crate) fn operations(&self) -> u64 {
        self.steps.iter().filter(|step| step.is_operation()).count() as u64
    }

    /// Returns the tape without its questions.
    pub(crate) fn unasked(&self) -> Self {
        let steps = self.steps.iter().copied().filter(|step| !step.is_question()).collect();
        Self { steps, ticks: self.ticks.clone(), ..*self }
    }

    /// An estimate of the number of answers.
    pub(crate) fn notes(&self) -> Notes {
        let mut notes = Notes { deliveries: self.deliveries, reads: 0 };
        for step in &self.steps {
            match step {
                Step::Hold | Step::Rearm => notes.deliveries += self.ticks.len(),
                Step::Head { count } => notes.reads += *count as usize,
                Step::Advance { .. } => {
                    notes.deliveries += 1;
                    notes.reads += 1;
                }
                Step::Pop => notes.deliveries += 1,
                Step::Wake | Step::Expiry | Step::Peek => notes.reads += 1,
                _ => {}
            }
        }
        notes
    }

    /// Whether an answer may be a lower bound of the head.
    pub(crate) fn reads_a_bound(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Wake | Step::Advance { .. }))
    }

    /// Whether all timers of an expiry are delivered on this tape.
    pub(crate) fn delivers_whole_expiries(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step, Step::Hold | Step::Rearm))
    }
}

/// Writes the work of one scenario at one population.
pub(crate) trait Source {
    /// The deadlines with which a run begins.
    fn deadlines(&mut self) -> Vec<u64>;

    /// The work of the next sample of a measure.
    fn next(&mut self, measure: Measure) -> Tape;

    /// Calls `each` with the timers that were moved or cancelled before the first tick. Only
    /// the latest of them are passed, roughly `most`: see [`Past`](crate::models::sampler::Past). By
    /// default there are no such timers.
    fn past(&self, most: usize, each: &mut dyn FnMut(u32, u64)) {
        let _ = (most, each);
    }

    /// A tick at which all timers are due, also in granular structures. The timers are delivered
    /// there at the end of a run, which proves that none was lost. `None`: each sample proves it.
    fn end(&self) -> Option<u64> {
        None
    }
}

/// Runs all steps, and reports each answer of the queue to `witness`.
#[inline(never)]
pub(crate) fn run<Q: BenchQueue, W: Witness>(tape: &Tape, queue: &mut Q, witness: &mut W) {
    let mut due = Vec::new();
    for step in &tape.steps {
        while !step.run(tape, queue, witness, &mut due) {}
    }
}

/// As [`run`], with a reading of the clock before and after each call of a step. Calls `call` with
/// the step and the time in ns, if the step counts as an operation.
#[inline(never)]
pub(crate) fn calls<Q: BenchQueue>(
    tape: &Tape,
    queue: &mut Q,
    answer: &mut Answer,
    meter: &dyn Meter,
    call: &mut dyn FnMut(Step, u64),
) {
    let mut due = Vec::new();
    for &step in &tape.steps {
        loop {
            let begun = meter.now();
            let is_last = step.run(tape, queue, answer, &mut due);
            let ns = meter.now().saturating_sub(begun);
            if step.is_operation() {
                call(step, ns);
            }
            if is_last {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests;
