//! Records what granular structures have to deliver, and checks their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::vec;

use crate::models::tape::{Tape, run};
use crate::models::witness::{Answer, Delivery, Fold, Log};
use crate::structures::candidate::BenchQueue;

/// The armed timers, with the last tick at which each timer is allowed to be delivered.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    lateness: fn(u64) -> u64,
    now: u64,
    /// Deadline and last tick of each armed timer, by id.
    armed: BTreeMap<u32, (u64, u64)>,
    by_last: BTreeSet<(u64, u32)>,
}

impl Ledger {
    /// Creates an empty ledger at tick 0.
    pub(crate) fn new(lateness: fn(u64) -> u64) -> Self {
        Self { lateness, now: 0, armed: BTreeMap::new(), by_last: BTreeSet::new() }
    }

    /// Records that a timer was armed.
    pub(crate) fn arm(&mut self, id: u32, deadline: u64) {
        self.disarm(id);
        let deadline = deadline.max(self.now);
        let last = deadline.saturating_add((self.lateness)(deadline - self.now));
        self.armed.insert(id, (deadline, last));
        self.by_last.insert((last, id));
    }

    /// Records that a timer was disarmed.
    pub(crate) fn disarm(&mut self, id: u32) {
        if let Some((_, last)) = self.armed.remove(&id) {
            self.by_last.remove(&(last, id));
        }
    }

    /// Records that a timer was delivered at `now`.
    ///
    /// # Errors
    /// If the timer was not armed, or the delivery is early or late.
    pub(crate) fn deliver(&mut self, id: u32, expiry: u64, now: u64) -> Result<(), String> {
        let Some(&(deadline, last)) = self.armed.get(&id) else {
            return Err(format!("timer {id} was delivered, and is not armed"));
        };
        if expiry < deadline || now < expiry {
            return Err(format!("timer {id} for {deadline}, due at {expiry}, was delivered early, at {now}"));
        }
        if expiry > last {
            return Err(format!(
                "timer {id} for {deadline} is due at {expiry}, later than its bound, {last}"
            ));
        }
        self.disarm(id);
        self.tell(now);
        Ok(())
    }

    /// Records that the structure was told the time. The bounds of later arms count from this time.
    pub(crate) fn tell(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Checks that no timer is overdue when the structure has nothing left that is due at `now`.
    ///
    /// # Errors
    /// If a timer's last tick is at or before `now`.
    pub(crate) fn complete(&mut self, now: u64) -> Result<(), String> {
        self.tell(now);
        match self.by_last.first() {
            Some((last, id)) if *last <= now => {
                Err(format!("timer {id}, due at {last} at the latest, was not delivered by {now}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks `answer` to a question for the head or the next wake-up.
    ///
    /// # Errors
    /// If the answer is later than a timer's last tick, or `answer` and the ledger disagree on
    /// whether a timer is armed.
    pub(crate) fn read(&self, answer: Option<u64>) -> Result<(), String> {
        let first = self.by_last.first().map(|(last, _)| *last);
        if answer.is_some() == first.is_some() && answer <= first {
            return Ok(());
        }
        Err(format!("the next is said to be {answer:?}, and must come by {first:?}"))
    }
}

/// Replaces a queue when the queue's work runs again. Returns the queue's recorded answers and
/// updates the ledger.
#[derive(Debug, Clone)]
pub(super) struct Follower {
    ledger: Ledger,
    deliveries: vec::IntoIter<Delivery>,
    reads: vec::IntoIter<Option<u64>>,
    wrong: Result<(), String>,
}

impl Follower {
    pub(super) fn new(lateness: fn(u64) -> u64) -> Self {
        let (deliveries, reads) = (Vec::new().into_iter(), Vec::new().into_iter());
        Self { ledger: Ledger::new(lateness), deliveries, reads, wrong: Ok(()) }
    }

    pub(super) fn follow(&mut self, tape: &Tape, log: &Log) -> Result<(), String> {
        self.deliveries = log.deliveries.clone().into_iter();
        self.reads = log.reads.clone().into_iter();
        run(tape, self, &mut Answer::Folded(Fold::default()));
        if let Some(more) = self.deliveries.next() {
            self.note(Err(format!("a delivery too many: {more:?}")));
        }
        core::mem::replace(&mut self.wrong, Ok(()))
    }

    /// Keeps the first mistake.
    fn note(&mut self, result: Result<(), String>) {
        if self.wrong.is_ok() {
            self.wrong = result;
        }
    }

    /// Returns the next recorded delivery, if it was at tick `at`. `at: None` accepts any tick.
    fn next(&mut self, at: Option<u64>) -> Option<(u32, u64)> {
        let next = self.deliveries.as_slice().first();
        let &Delivery { id, expiry, now } = next.filter(|next| at.is_none_or(|at| at == next.now))?;
        self.deliveries.next();
        let delivered = self.ledger.deliver(id, expiry, now);
        self.note(delivered);
        Some((id, expiry))
    }
}

impl BenchQueue for Follower {
    fn insert(&mut self, id: u32, deadline: u64) {
        self.ledger.arm(id, deadline);
    }

    fn remove(&mut self, id: u32) {
        self.ledger.disarm(id);
    }

    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.ledger.arm(id, deadline);
    }

    fn head(&mut self) -> Option<u64> {
        let Some(answer) = self.reads.next() else {
            self.note(Err("an answer is missing".into()));
            return None;
        };
        let read = self.ledger.read(answer);
        self.note(read);
        answer
    }

    fn tell(&mut self, now: u64) {
        self.ledger.tell(now);
    }

    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        let next = self.next(Some(now));
        if next.is_none() {
            let complete = self.ledger.complete(now);
            self.note(complete);
        }
        next
    }

    fn pop(&mut self) -> Option<(u32, u64)> {
        let next = self.next(None);
        if next.is_none() && !self.ledger.armed.is_empty() {
            self.note(Err("a timer is armed, and none was found".into()));
        }
        next
    }
}
