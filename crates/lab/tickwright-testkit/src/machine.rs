//! The op machine: runs a script on a queue and on the oracle, and compares every result.
//!
//! The machine itself never panics: it returns a difference as a [`Mismatch`], so that runs can be
//! judged, shrunk and printed. An exact queue has to keep the whole contract. A granular queue has
//! to deliver at the expiries that it chose, and these expiries must be within its bound. Timers of
//! equal expiry can leave a granular queue in any order, if the queue shows this order beforehand.
//! [`clauses`](crate::clauses) judges queues that keep only parts of the contract.

use core::fmt;

use crate::oracle::Oracle;
use crate::script::{Op, When, Whom};
use crate::subject::{Advanced, Fired, Full, Make, Offers, Stale, Subject};

/// An event of a timer. All exact structures must produce the same log of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The timer became pending.
    Inserted(u32),
    /// The insert was refused.
    Refused(u32),
    /// The timer was removed.
    Removed(u32),
    /// The timer was rescheduled.
    Rescheduled(u32),
    /// The timer was delivered at this `now`.
    Delivered(Fired, u64),
    /// The timer was due and was armed again at this `now`.
    Rearmed(Fired, u64),
    /// All timers were removed.
    Cleared,
}

/// The first difference between a queue and the oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The number of the op in the script, from 0.
    pub at: usize,
    /// The op.
    pub op: Op,
    /// The question that was asked.
    pub question: &'static str,
    /// The oracle's answer.
    pub expected: String,
    /// The queue's answer.
    pub got: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, op, question, expected, got } = self;
        write!(f, "op {at}, {op:?}: {question}: expected {expected}, got {got}")
    }
}

impl core::error::Error for Mismatch {}

/// How often the machine compares everything that a queue shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// After each op.
    Always,
    /// After the last op: for enumerations that also run each prefix as a separate script.
    AtTheEnd,
}

/// A queue, its oracle, and every key that the queue has returned.
struct Machine<S: Subject> {
    subject: S,
    oracle: Oracle,
    /// The keys, indexed by value. Values count up from 0, one per insert; refused inserts count
    /// too.
    keys: Vec<Option<S::Key>>,
    offers: Offers,
    lateness: Option<fn(u64) -> u64>,
    moves: bool,
    log: Vec<Event>,
    at: usize,
    op: Op,
}

type Checked = Result<(), Mismatch>;

/// Runs `script` on a fresh queue.
///
/// # Errors
/// The first [`Mismatch`].
pub fn run<M: Make>(script: &[Op]) -> Result<Vec<Event>, Mismatch> {
    let arena = M::arena(inserts(script));
    run_in::<M>(&arena, script, Watch::Always)
}

/// Runs `script` on a fresh queue that refuses to hold more than `most` timers.
///
/// # Errors
/// The first [`Mismatch`].
pub fn run_bounded<M: Make>(script: &[Op], most: usize) -> Result<Vec<Event>, Mismatch> {
    let arena = M::arena(inserts(script));
    let subject = M::make_bounded(&arena, most);
    Machine::new::<M>(subject, Oracle::bounded(most)).play(script, Watch::Always)
}

/// Runs `script` on a fresh queue of a kind that never holds more than `most` timers.
///
/// # Errors
/// The first [`Mismatch`].
pub fn run_within<M: Make>(script: &[Op], most: usize) -> Result<Vec<Event>, Mismatch> {
    let arena = M::arena(inserts(script));
    Machine::new::<M>(M::make(&arena, most), Oracle::bounded(most)).play(script, Watch::Always)
}

/// Runs `script` on a fresh queue in an arena that other runs may have used before.
///
/// # Errors
/// The first [`Mismatch`].
pub fn run_in<M: Make>(arena: &M::Arena, script: &[Op], watch: Watch) -> Result<Vec<Event>, Mismatch> {
    Machine::new::<M>(M::make(arena, 0), Oracle::new()).play(script, watch)
}

/// Returns the number of nodes that a script needs.
#[must_use]
pub fn inserts(script: &[Op]) -> usize {
    script.iter().filter(|op| matches!(op, Op::Insert(_))).count()
}

/// Returns the part of `op` that the queue offers. If the queue does not offer a re-arm, the op
/// becomes a pop. If the queue does not offer a pop either, the op becomes an advance. A `tell`
/// becomes an advance with a budget of 0.
pub(crate) fn offered(op: Op, offers: Offers) -> Option<Op> {
    match op {
        Op::Rearm(when, _) if !offers.rearm => offered(Op::Pop(when), offers),
        Op::Pop(when) if !offers.pop => Some(Op::Advance(when, usize::MAX)),
        Op::Tell(when) if !offers.tell => offered(Op::Advance(when, 0), offers),
        Op::Advance(when, _) if !offers.budget => Some(Op::Advance(when, usize::MAX)),
        Op::Reschedule(..) if !offers.reschedule => None,
        Op::Clear if !offers.clear => None,
        op => Some(op),
    }
}

/// Returns the tick that `when` names in the current state of `oracle`.
pub(crate) fn resolve(oracle: &Oracle, when: When) -> u64 {
    let now = oracle.now();
    match when {
        When::After(span) => now.saturating_add(span),
        When::Before(span) => now.saturating_sub(span),
        When::At(tick) => tick,
        When::Like(nth) => oracle.nth(nth).map_or(now, |fired| fired.expiry),
        When::JustBefore(nth) => oracle.nth(nth).map_or(now, |fired| fired.expiry.saturating_sub(1)),
    }
}

/// Returns the value of the timer that `whom` names, if there is one.
pub(crate) fn pick(oracle: &Oracle, inserted: usize, whom: Whom) -> Option<u32> {
    match whom {
        Whom::Live(nth) => oracle.nth(nth).map(|fired| fired.value),
        Whom::Any(nth) => {
            let back = usize::from(nth).checked_rem(inserted)?;
            u32::try_from(inserted - 1 - back).ok()
        }
    }
}

impl<S: Subject> Machine<S> {
    fn new<M: Make>(subject: S, oracle: Oracle) -> Self {
        Self {
            subject,
            oracle,
            keys: Vec::new(),
            offers: M::OFFERS,
            lateness: M::LATENESS,
            moves: M::MOVES,
            log: Vec::new(),
            at: 0,
            op: Op::Clear,
        }
    }

    fn play(mut self, script: &[Op], watch: Watch) -> Result<Vec<Event>, Mismatch> {
        for (at, &op) in script.iter().enumerate() {
            self.at = at;
            self.op = op;
            self.step(op)?;
            if watch == Watch::Always || at + 1 == script.len() {
                self.look()?;
            }
        }
        Ok(self.log)
    }

    fn agree<T: PartialEq + fmt::Debug>(&self, question: &'static str, expected: &T, got: &T) -> Checked {
        if expected == got {
            Ok(())
        } else {
            self.differ(question, format!("{expected:?}"), format!("{got:?}"))
        }
    }

    fn differ(&self, question: &'static str, expected: String, got: String) -> Checked {
        Err(Mismatch { at: self.at, op: self.op, question, expected, got })
    }

    fn step(&mut self, op: Op) -> Checked {
        let wake = self.wake();
        let Some(op) = offered(op, self.offers) else { return Ok(()) };
        match op {
            Op::Insert(when) => {
                let reported = self.insert(resolve(&self.oracle, when))?;
                self.head_change(wake, reported)
            }
            Op::Remove(whom) => {
                let reported = self.remove(whom)?;
                self.head_change(wake, reported)
            }
            Op::Reschedule(whom, when) => {
                let reported = self.reschedule(whom, resolve(&self.oracle, when))?;
                self.head_change(wake, reported)
            }
            Op::Pop(when) => self.pop(resolve(&self.oracle, when)),
            Op::Advance(when, budget) => self.advance(resolve(&self.oracle, when), budget),
            Op::Tell(when) => {
                let now = resolve(&self.oracle, when);
                self.oracle.tell(now);
                self.subject.tell(now);
                self.head_change(wake, Some(false))
            }
            Op::Rearm(when, delay) => self.rearm(resolve(&self.oracle, when), delay),
            Op::Clear => {
                self.subject.clear();
                self.oracle.clear();
                self.log.push(Event::Cleared);
                Ok(())
            }
        }
    }

    fn wake(&mut self) -> Option<u64> {
        if self.offers.next_wake { self.subject.next_wake() } else { None }
    }

    /// Checks a report about the head. A queue is allowed to report a change that did not happen,
    /// but must not miss a change.
    fn head_change(&mut self, before: Option<u64>, reported: Option<bool>) -> Checked {
        if self.offers.head_change && self.offers.next_wake && reported == Some(false) {
            let after = self.wake();
            return self.agree("next wake, after no head change was reported", &before, &after);
        }
        Ok(())
    }

    fn insert(&mut self, deadline: u64) -> Result<Option<bool>, Mismatch> {
        let value = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        let expected = if self.oracle.insert(deadline, value) { Ok(()) } else { Err(Full(value)) };
        let got = self.subject.insert(deadline, value);
        self.agree("insert", &expected, &got.as_ref().map(|_| ()).map_err(|&full| full))?;
        self.log.push(if got.is_ok() { Event::Inserted(value) } else { Event::Refused(value) });
        let (key, reported) = got.ok().unzip();
        self.keys.push(key);
        self.settle(value)?;
        Ok(reported)
    }

    /// Asks a granular queue for the expiry of a timer that has just arrived, and requires that the
    /// expiry is within the bound.
    fn settle(&mut self, value: u32) -> Checked {
        let Some(lateness) = self.lateness else { return Ok(()) };
        let Some(deadline) = self.oracle.deadline(value) else { return Ok(()) };
        let said = self.keys.get(value as usize).copied().flatten().and_then(|key| self.subject.expiry(key));
        let latest = deadline.saturating_add(lateness(deadline - self.oracle.now()));
        match said {
            Some(said) if (deadline..=latest).contains(&said) => {
                self.oracle.settle(value, said);
                Ok(())
            }
            _ => {
                self.differ("expiry within the bound", format!("{deadline}..={latest}"), format!("{said:?}"))
            }
        }
    }

    /// Returns the two timers that leave next. For a granular queue the answer comes from the queue
    /// itself, because only the queue knows the order of timers with equal expiry.
    fn shown(&mut self) -> [Option<Fired>; 2] {
        let (head, second) = (self.offers.peek, self.offers.second);
        match self.lateness {
            Some(_) => {
                [head.then(|| self.subject.peek()).flatten(), second.then(|| self.subject.second()).flatten()]
            }
            None => [None; 2],
        }
    }

    /// Requires that `got` is `expected`, or in a granular queue a timer with the same expiry. If
    /// `got` has a deadline, the deadline must be right.
    fn stands_for(&self, question: &'static str, expected: Option<Fired>, got: Option<Fired>) -> Checked {
        let right = match (expected, got) {
            (None, None) => true,
            (Some(expected), Some(got)) => {
                let equal = self.lateness.is_some() && self.oracle.expiry(got.value) == Some(expected.expiry);
                (expected.value == got.value || equal)
                    && expected.expiry == got.expiry
                    && (got.deadline.is_none() || got.deadline == self.oracle.deadline(got.value))
            }
            _ => false,
        };
        if right {
            return Ok(());
        }
        let deadline = expected.and_then(|expected| self.oracle.deadline(expected.value));
        let expected = expected.map(|expected| Fired { deadline, ..expected });
        self.differ(question, format!("{expected:?}"), format!("{got:?}"))
    }

    /// Requires that `got`, the `nth` timer to leave in this op, is due and was shown beforehand.
    fn leaves(
        &self,
        question: &'static str,
        got: Option<Fired>,
        nth: usize,
        shown: [Option<Fired>; 2],
    ) -> Checked {
        let due = self.oracle.head().filter(|head| head.expiry <= self.oracle.now());
        self.stands_for(question, due, got)?;
        let shown = shown.get(nth).copied().flatten().map(|shown| shown.value);
        match got.map(|got| got.value) {
            Some(value) if shown.is_some_and(|shown| shown != value) => {
                self.differ("what peek or second showed leaves", format!("{shown:?}"), format!("{value}"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the timer that `whom` names, with its key. Returns `None` for a timer that was
    /// refused, and for a dead timer if the queue does not recognize stale keys.
    fn key(&self, whom: Whom) -> Option<(u32, S::Key)> {
        let value = pick(&self.oracle, self.keys.len(), whom)?;
        let key = (*self.keys.get(value as usize)?)?;
        (self.offers.stale_keys || self.oracle.expiry(value).is_some()).then_some((value, key))
    }

    fn remove(&mut self, whom: Whom) -> Result<Option<bool>, Mismatch> {
        let Some((value, key)) = self.key(whom) else { return Ok(None) };
        let expected = if self.oracle.remove(value) { Ok(value) } else { Err(Stale) };
        let got = self.subject.remove(key);
        self.agree("remove", &expected, &got.map(|(value, _)| value))?;
        if got.is_ok() {
            self.log.push(Event::Removed(value));
        }
        Ok(got.ok().map(|(_, reported)| reported))
    }

    fn reschedule(&mut self, whom: Whom, deadline: u64) -> Result<Option<bool>, Mismatch> {
        let Some((value, key)) = self.key(whom) else { return Ok(None) };
        let expected = if self.oracle.reschedule(value, deadline) { Ok(()) } else { Err(Stale) };
        let got = self.subject.reschedule(key, deadline);
        self.agree("reschedule", &expected, &got.map(|_| ()))?;
        if got.is_ok() {
            self.log.push(Event::Rescheduled(value));
            self.settle(value)?;
        }
        Ok(got.ok())
    }

    fn pop(&mut self, now: u64) -> Checked {
        let shown = self.shown();
        self.oracle.tell(now);
        let got = self.subject.pop_expired(now);
        self.leaves("pop_expired", got, 0, shown)?;
        if let Some(fired) = got {
            self.oracle.remove(fired.value);
        }
        self.log.extend(got.map(|fired| Event::Delivered(fired, self.oracle.now())));
        Ok(())
    }

    fn advance(&mut self, now: u64, budget: usize) -> Checked {
        let shown = self.shown();
        self.oracle.tell(now);
        let mut got = Vec::new();
        let advanced = self.subject.advance(now, budget, &mut |fired| got.push(fired));
        for (nth, &fired) in got.iter().enumerate() {
            self.leaves("advance delivers", Some(fired), nth, shown)?;
            self.oracle.remove(fired.value);
        }
        let due = self.oracle.has_due();
        let used = advanced.delivered.saturating_add(advanced.moved);
        if due && used < budget {
            let left = self.oracle.head();
            return self.differ("advance delivers", format!("{left:?} too"), format!("{got:?}"));
        }
        // When the budget is used up, a queue is allowed to return `complete: false` if only moving
        // more timers could show whether a due timer is left.
        let unsure = used == budget && !advanced.complete;
        let complete = !due && !unsure;
        let moved = if self.moves { advanced.moved } else { 0 };
        let right = Advanced { delivered: got.len(), moved, complete };
        self.agree("advance answers", &right, &advanced)?;
        if used > budget {
            return self.differ("advance uses", format!("at most {budget}"), format!("{advanced:?}"));
        }
        let wake = self.wake();
        if self.offers.next_wake && wake.is_some_and(|wake| (wake > self.oracle.now()) != complete) {
            let expected = if complete { "a tick after now" } else { "a tick that has come" };
            return self.differ("next_wake after an advance", expected.into(), format!("{wake:?}"));
        }
        let now = self.oracle.now();
        self.log.extend(got.into_iter().map(|fired| Event::Delivered(fired, now)));
        Ok(())
    }

    fn rearm(&mut self, now: u64, delay: u64) -> Checked {
        let shown = self.shown();
        self.oracle.tell(now);
        let mut asked = None;
        let got = self.subject.rearm_expired(now, &mut |expiry| {
            asked = Some(expiry);
            expiry.saturating_add(delay)
        });
        self.leaves("pop_and_reinsert", got, 0, shown)?;
        self.agree("pop_and_reinsert asks about", &got.map(|fired| fired.expiry), &asked)?;
        if let Some(fired) = got {
            self.oracle.reschedule(fired.value, fired.expiry.saturating_add(delay));
            self.settle(fired.value)?;
        }
        self.log.extend(got.map(|fired| Event::Rearmed(fired, self.oracle.now())));
        Ok(())
    }

    /// Compares the results of all read-only methods of the queue.
    fn look(&mut self) -> Checked {
        if self.offers.check {
            self.agree("check", &Ok(()), &self.subject.check())?;
        }
        self.agree("now", &self.oracle.now(), &self.subject.now())?;
        self.agree("len", &self.oracle.len(), &self.subject.len())?;
        self.agree("is_empty", &self.oracle.is_empty(), &self.subject.is_empty())?;
        let head = self.oracle.head();
        if self.offers.peek {
            let got = self.subject.peek();
            self.stands_for("peek", head, got)?;
        }
        if self.offers.second {
            let got = self.subject.second();
            self.stands_for("second", self.oracle.second(), got)?;
            if self.offers.peek && got.is_some() {
                let head = self.subject.peek();
                self.agree(
                    "second is another than peek",
                    &true,
                    &(head.map(|head| head.value) != got.map(|got| got.value)),
                )?;
            }
        }
        let expiry = head.map(|head| head.expiry);
        if self.offers.next_expiry {
            let got = self.subject.next_expiry();
            self.agree("next_expiry", &expiry, &got)?;
        }
        if self.offers.next_wake {
            let got = self.subject.next_wake();
            if got.is_some() != expiry.is_some() || got > expiry {
                return self.differ("next_wake", format!("at most {expiry:?}"), format!("{got:?}"));
            }
        }
        if let Some(got) = self.subject.in_order() {
            let expected: Vec<u32> = self.oracle.in_order().map(|fired| fired.value).collect();
            self.agree("in_order", &expected, &got)?;
        }
        Ok(())
    }
}
