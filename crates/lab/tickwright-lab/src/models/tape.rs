//! A workload as data: the steps of a tape, which is written before any clock starts, and the loop
//! that runs them. Clock, oracle, ledger and replay run the same steps.
//!
//! ```text
//!   seed + scenario ─ model ─┐                 ┌─ run     every answer to a witness
//!   trace ─ decoder ─────────┴─▶ Tape of Steps ┴─ calls   the same, each call timed alone
//! ```
//! What a queue delivers may decide what is armed next: an [`Exchange`] says how, so a queue that
//! delivers late arms later, as a program would.
//!
//! To decode a step takes about a nanosecond. Operations that cost little more have loops of their
//! own, each over numbers of the tape, and one step stands for the whole loop ([`Step::Hold`],
//! [`Step::Poll`], [`Step::Serve`]). A loop that is a part of [`run`] would also get other machine
//! code: with the exchanges of a server in it, a wheel took 10 % more instructions.

use core::hint::black_box;

use crate::models::scenario::Measure;
use crate::models::witness::{Notes, SPREAD, Witness};
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
    /// The driver wakes: deliver what is due, then ask for the next wake-up.
    Advance {
        /// The tick.
        now: u64,
    },
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
    /// Run the tape's exchanges.
    Serve,
}

/// The kinds of operations of a replay, in the order of tables.
pub(crate) const KINDS: [&str; 4] = ["insert", "re-arm", "remove", "advance"];

impl Step {
    /// The index of its kind in [`KINDS`].
    pub(crate) fn kind(self) -> usize {
        match self {
            Self::Insert { .. } => 0,
            Self::Reschedule { .. } => 1,
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

    /// Runs a call of the step. Returns whether it was the last one. The loops take the parts of a
    /// step in the order in which insert and reschedule do, so that none changes its register.
    #[inline(always)]
    pub(super) fn run<Q: BenchQueue, W: Witness>(self, tape: &Tape, queue: &mut Q, witness: &mut W) -> bool {
        match self {
            Self::Insert { id, deadline } => queue.insert(id, deadline),
            Self::Reschedule { id, deadline } => queue.reschedule(id, deadline),
            Self::Remove { id } | Self::Clear { id } => queue.remove(id),
            Self::Clock { at } => queue.tell(at),
            Self::Advance { now } => {
                queue.advance(now, usize::MAX, &mut |id, expiry| witness.delivered(id, expiry, now));
                witness.read(queue.wake());
            }
            Self::Deliver { now } => return within(queue, u32::MAX, now, witness),
            Self::Within { now, budget } => return within(queue, budget, now, witness),
            Self::Pop => pop(queue, witness),
            Self::Fill => fill(queue, &tape.ticks),
            Self::Hold => hold(queue, &tape.ticks, witness),
            Self::Rearm => rearm(queue, &tape.ticks, witness),
            Self::Head { count } => head(queue, count, witness),
            Self::Poll { after, count } => poll(queue, count, after, witness),
            Self::Serve => match &tape.server {
                server @ Server { hints: true, .. } => {
                    serve::<Q, W, true, false, true>(queue, server, witness);
                }
                server @ Server { moves: false, .. } => {
                    serve::<Q, W, false, false, false>(queue, server, witness);
                }
                server if W::ASKED && server.ask != Ask::Nothing => {
                    serve::<Q, W, true, true, false>(queue, server, witness);
                }
                server => serve::<Q, W, true, false, false>(queue, server, witness),
            },
        }
        true
    }
}

#[inline(never)]
fn within<Q: BenchQueue, W: Witness>(queue: &mut Q, budget: u32, now: u64, witness: &mut W) -> bool {
    queue.advance(now, budget as usize, &mut |id, expiry| witness.delivered(id, expiry, now))
}

#[inline(never)]
fn pop<Q: BenchQueue, W: Witness>(queue: &mut Q, witness: &mut W) {
    if let Some((id, expiry)) = queue.pop() {
        witness.delivered(id, expiry, expiry);
    }
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
fn poll<Q: BenchQueue, W: Witness>(queue: &mut Q, count: u32, after: u64, witness: &mut W) {
    for now in after + 1..=after + u64::from(count) {
        queue.advance(now, usize::MAX, &mut |id, expiry| witness.delivered(id, expiry, now));
    }
}

/// How many exchanges ahead a server hints at the key of a timer, and at the timer.
const AHEAD: [usize; 2] = [16, 8];

/// The loop of a server. Whether there are moves, questions and hints is known before the loop, so
/// that a loop without them has no code for them.
#[inline(never)]
fn serve<Q: BenchQueue, W: Witness, const MOVES: bool, const ASKS: bool, const HINTS: bool>(
    queue: &mut Q,
    server: &Server,
    witness: &mut W,
) {
    let mut now = server.begin;
    let mut due = Vec::new();
    for (at, exchange) in server.exchanges.iter().enumerate() {
        if HINTS {
            let soon = |ahead| server.exchanges.get(at + ahead).unwrap_or(exchange).id;
            queue.hint(soon(AHEAD[0]), soon(AHEAD[1]));
        }
        if exchange.after > 0 {
            now += u64::from(exchange.after);
            queue.advance(now, usize::MAX, &mut |id, expiry| due.push((id, expiry)));
            for (id, expiry) in due.drain(..) {
                witness.delivered(id, expiry, now);
                queue.insert(id, now + server.again.delay(id, now));
            }
        }
        let deadline = now + u64::from(exchange.delay);
        match exchange.does {
            Does::Move if MOVES => queue.reschedule(exchange.id, deadline),
            Does::Renew => {
                queue.remove(exchange.id);
                queue.insert(exchange.id, deadline);
            }
            Does::Move | Does::Nothing => {}
        }
        if ASKS {
            witness.read(match server.ask {
                Ask::Wake => queue.wake(),
                Ask::Expiry => queue.head(),
                _ => queue.look_at_head(),
            });
        }
    }
}

/// What a server does at a time. If time has passed, what is due is delivered first, and each of
/// these timers is armed again: see [`Again`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Ticks since the exchange before.
    pub(crate) after: u32,
    /// The timer.
    pub(crate) id: u32,
    /// Its new deadline, in ticks from now.
    pub(crate) delay: u32,
    /// What becomes of the timer.
    pub(crate) does: Does,
}

/// What an exchange does to a pending timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Move it.
    Move,
    /// Disarm it and arm it again.
    Renew,
    /// Nothing: it has expired.
    Nothing,
}

/// The question to the queue after each exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ask {
    /// Nothing.
    #[default]
    Nothing,
    /// The next wake-up.
    Wake,
    /// The exact next expiry.
    Expiry,
    /// The head, with its key.
    Peek,
}

impl Ask {
    /// The question of a measure.
    fn of(measure: Measure) -> Self {
        match measure {
            Measure::Wake => Self::Wake,
            Measure::Expiry => Self::Expiry,
            Measure::Peek => Self::Peek,
            _ => Self::Nothing,
        }
    }
}

/// The exchanges of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Server {
    /// The tick before the first exchange.
    begin: u64,
    /// In order.
    pub(crate) exchanges: Vec<Exchange>,
    /// The delays of timers that expire.
    again: Again,
    /// Whether some exchange [moves](Does::Move) a timer, or asks.
    moves: bool,
    /// The question after each exchange.
    ask: Ask,
    /// Whether the server gives hints.
    hints: bool,
}

impl Server {
    /// Exchanges after the tick `begin`, as a measure wants them.
    pub(crate) fn new(begin: u64, exchanges: Vec<Exchange>, again: Again, measure: Measure) -> Self {
        let (ask, hints) = (Ask::of(measure), measure == Measure::Hinted);
        let moves = ask != Ask::Nothing || exchanges.iter().any(|exchange| exchange.does == Does::Move);
        Self { begin, exchanges, again, moves, ask, hints }
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
    /// What [`Step::Serve`] runs.
    pub(crate) server: Server,
    /// An estimate of the number of timers that are delivered, beside those of steps that deliver
    /// about one each.
    pub(crate) deliveries: usize,
}

impl Tape {
    /// Some steps that need nothing else of a tape.
    pub(crate) fn of(steps: impl Into<Vec<Step>>) -> Self {
        Self { steps: steps.into(), ..Self::default() }
    }

    /// One step over some ticks.
    pub(crate) fn over(step: Step, ticks: Vec<u64>) -> Self {
        Self { ticks, ..Self::of([step]) }
    }

    /// The number of its operations.
    pub(crate) fn operations(&self) -> u64 {
        self.steps.iter().filter(|step| step.is_operation()).count() as u64
    }

    /// Returns the tape without its questions, which some structures cannot answer.
    pub(crate) fn unasked(&self) -> Self {
        let mut tape = self.clone();
        tape.server.ask = Ask::Nothing;
        tape.steps.retain(|step| !matches!(step, Step::Head { .. }));
        tape
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
                Step::Serve if self.server.ask != Ask::Nothing => {
                    notes.reads += self.server.exchanges.len();
                }
                _ => {}
            }
        }
        notes
    }

    /// Whether it consists of exchanges of a server that asks after each.
    pub(crate) fn asks(&self) -> bool {
        self.server.ask != Ask::Nothing && self.steps.iter().all(|step| *step == Step::Serve)
    }

    /// Whether an answer may be a lower bound of the head.
    pub(crate) fn reads_a_bound(&self) -> bool {
        self.server.ask == Ask::Wake || self.steps.iter().any(|step| matches!(step, Step::Advance { .. }))
    }

    /// Whether all timers of an expiry are delivered on this tape.
    pub(crate) fn delivers_whole_expiries(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step, Step::Hold | Step::Rearm))
    }
}

/// Runs all steps, and reports each answer of the queue to `witness`.
#[inline(never)]
pub(crate) fn run<Q: BenchQueue, W: Witness>(tape: &Tape, queue: &mut Q, witness: &mut W) {
    for step in &tape.steps {
        while !step.run(tape, queue, witness) {}
    }
}

/// Runs the exchanges of a server that [asks](Tape::asks), and nothing else.
pub(crate) fn serve_all<Q: BenchQueue, W: Witness>(tape: &Tape, queue: &mut Q, witness: &mut W) {
    for _ in tape.steps.iter().filter(|step| **step == Step::Serve) {
        serve::<Q, W, true, true, false>(queue, &tape.server, witness);
    }
}

#[cfg(test)]
mod tests;
