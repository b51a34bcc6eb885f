//! A workload as data: the steps of a tape, which is written before any clock starts, and the loop
//! that runs the steps. The clock, the oracle, the ledger and a replay all run the same steps.
//!
//! ```text
//!   seed + scenario ─ model ─┐                 ┌─ run     every answer to a witness
//!   trace ─ decoder ─────────┴─▶ Tape of Steps ┴─ calls   the same, each call timed alone
//! ```
//! What a queue delivers can decide which timer is armed next. An [`Exchange`] describes this
//! dependence, so a queue that delivers late also arms later, as a program would.
//!
//! Decoding a step takes about a nanosecond. Operations that cost little more than the decoding
//! have their own loops over the tape's numbers, and one step stands for the whole loop
//! ([`Step::Hold`], [`Step::Poll`], [`Step::Serve`]). These loops are not inside [`run`], because
//! that would change its machine code: with the exchanges of a server in it, a wheel executed 10 %
//! more instructions.

use core::hint::black_box;

use crate::models::scenario::Measure;
use crate::models::witness::{Notes, SPREAD, Witness};
use crate::structures::candidate::BenchQueue;

/// One operation, or a loop of equal operations. Ids name timers, and ticks count from the tape's
/// tick 0.
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
    /// Disarm a pending timer in preparation of a later step. This does not count as an operation.
    Clear {
        /// The timer.
        id: u32,
    },
    /// Tell the queue the time, because the program woke at this tick for another reason. This does
    /// not count as an operation.
    Clock {
        /// The tick.
        at: u64,
    },
    /// Deliver what is due.
    Deliver {
        /// The time of the call.
        now: u64,
    },
    /// Deliver what is due, in as many calls as it takes.
    Within {
        /// The tick.
        now: u64,
        /// A call delivers at most this many timers.
        budget: u32,
    },
    /// Take the head, even if it is not due.
    Pop,
    /// The driver wakes: deliver what is due, then ask for the next wake-up.
    Advance {
        /// The tick.
        now: u64,
    },
    /// Arm idle timers: timer `i` gets the `i`-th of the tape's ticks as its deadline.
    Fill,
    /// Pop the earliest timer and insert it again with a new delay. Do this once for each of the
    /// tape's ticks, which are the delays.
    Hold,
    /// As `Hold`, but one call of the queue pops and inserts the timer.
    Rearm,
    /// Read the head.
    Head {
        /// How many times the head is read.
        count: u32,
    },
    /// Deliver what is due, tick by tick.
    Poll {
        /// The tick before the first polled tick.
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
    /// Returns the index of the step's kind in [`KINDS`].
    pub(crate) fn kind(self) -> usize {
        match self {
            Self::Insert { .. } => 0,
            Self::Reschedule { .. } => 1,
            Self::Remove { .. } => 2,
            _ => 3,
        }
    }

    /// Returns the tick that the step names, which is a deadline or the time, or 0 if the step
    /// names none.
    pub(crate) fn reaches(self) -> u64 {
        match self {
            Self::Insert { deadline, .. } | Self::Reschedule { deadline, .. } => deadline,
            Self::Clock { at } => at,
            Self::Advance { now } => now,
            _ => 0,
        }
    }

    /// Returns whether the step counts as an operation.
    pub(crate) fn is_operation(self) -> bool {
        !matches!(self, Self::Clock { .. } | Self::Clear { .. })
    }

    /// Runs one call of the step. Returns whether it was the step's last call. The loops pass the
    /// parts of a step in the order of the arguments of insert and reschedule, so that no value has
    /// to move to another register.
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

/// A server gives a hint for the key of the timer that is 16 exchanges ahead, and for the timer
/// that is 8 exchanges ahead.
const AHEAD: [usize; 2] = [16, 8];

/// The loop of a server. Constant parameters of the function state whether the exchanges have
/// moves, questions and hints, so that a loop without them contains no code for them.
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

/// What a server does at one moment. If time has passed since the previous exchange, the due timers
/// are delivered first, and each of them is armed again: see [`Again`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Ticks since the previous exchange.
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
    /// Returns the question that a measure asks.
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
    /// The exchanges, in order of time.
    pub(crate) exchanges: Vec<Exchange>,
    /// The delays of timers that expire.
    again: Again,
    /// Whether at least one exchange [moves](Does::Move) a timer.
    moves: bool,
    /// The question after each exchange.
    ask: Ask,
    /// Whether the server gives hints.
    hints: bool,
}

impl Server {
    /// Creates a server whose exchanges begin after the tick `begin` and ask the question of
    /// `measure`.
    pub(crate) fn new(begin: u64, exchanges: Vec<Exchange>, again: Again, measure: Measure) -> Self {
        let (ask, hints) = (Ask::of(measure), measure == Measure::Hinted);
        let moves = ask != Ask::Nothing || exchanges.iter().any(|exchange| exchange.does == Does::Move);
        Self { begin, exchanges, again, moves, ask, hints }
    }
}

/// The delay of a timer that expired and is armed again. The delay depends only on the id and the
/// tick, and not on the order in which timers of equal deadlines are delivered.
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

/// Steps in order: the work of one sample, or one piece of a trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tape {
    /// The steps.
    pub(crate) steps: Vec<Step>,
    /// The deadlines of [`Step::Fill`], or the delays of [`Step::Hold`] and [`Step::Rearm`].
    pub(crate) ticks: Vec<u64>,
    /// What [`Step::Serve`] runs.
    pub(crate) server: Server,
    /// An estimate of the number of delivered timers. Steps that deliver about one timer each are
    /// not included.
    pub(crate) deliveries: usize,
}

impl Tape {
    /// Creates a tape of steps that need no ticks and no server.
    pub(crate) fn of(steps: impl Into<Vec<Step>>) -> Self {
        Self { steps: steps.into(), ..Self::default() }
    }

    /// Creates a tape of one step over these ticks.
    pub(crate) fn over(step: Step, ticks: Vec<u64>) -> Self {
        Self { ticks, ..Self::of([step]) }
    }

    /// Returns the number of operations.
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

    /// Estimates the number of answers of the queue.
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

    /// Returns whether the tape consists of the exchanges of a server that asks a question after
    /// each exchange.
    pub(crate) fn asks(&self) -> bool {
        self.server.ask != Ask::Nothing && self.steps.iter().all(|step| *step == Step::Serve)
    }

    /// Returns whether an answer can be a lower bound of the head's deadline.
    pub(crate) fn reads_a_bound(&self) -> bool {
        self.server.ask == Ask::Wake || self.steps.iter().any(|step| matches!(step, Step::Advance { .. }))
    }

    /// Returns whether this tape delivers all timers that have the same expiry together.
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

/// Runs only the exchanges of a server that [asks](Tape::asks).
pub(crate) fn serve_all<Q: BenchQueue, W: Witness>(tape: &Tape, queue: &mut Q, witness: &mut W) {
    for _ in tape.steps.iter().filter(|step| **step == Step::Serve) {
        serve::<Q, W, true, true, false>(queue, &tape.server, witness);
    }
}

#[cfg(test)]
mod tests;
