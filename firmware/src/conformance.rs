//! The conformance machine: it runs random operations on a queue and on the oracle, and requires
//! equal results.

use core::fmt;

use tickwright_core::{Family, HookQueue, KeyError, Order, Pending, Reject, Timer, TimerQueue, TimerRef};

use crate::oracle::Oracle;
use crate::random::Random;

/// The number of timers. The bounds of bounded structures are smaller, so that these structures
/// fill up.
pub const TIMERS: usize = 16;

/// Timers of one family, numbered by their payloads.
pub type Timers<F> = [Timer<F, u8>; TIMERS];

/// The first difference between a queue and the oracle.
#[derive(Clone, Copy, Debug)]
pub struct Mismatch {
    /// The number of the operation.
    pub at: u32,
    /// The operation whose results differ.
    pub question: &'static str,
    /// The oracle's answer.
    pub expected: u64,
    /// The queue's answer.
    pub got: u64,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, question, expected, got } = self;
        write!(f, "operation {at}: {question}: expected {expected}, got {got}")
    }
}

/// Stands for "none" in a [`Mismatch`]. All expiries are smaller.
const NONE: u64 = u64::MAX - 1000;

struct Machine<'q, F: Family> {
    queue: &'q mut HookQueue<'static, F, u8>,
    timers: &'static Timers<F>,
    oracle: Oracle<TIMERS>,
    random: Random,
    /// The largest number of timers that the queue can hold.
    bound: usize,
    at: u32,
}

type Checked = Result<(), Mismatch>;
type Key<F> = TimerRef<'static, F, u8>;

/// Runs `operations` random operations on a queue and on `oracle`. The queue can hold at most
/// `bound` timers.
///
/// # Errors
/// The first difference.
pub fn run<F: Family>(
    queue: &mut HookQueue<'static, F, u8>,
    timers: &'static Timers<F>,
    oracle: Oracle<TIMERS>,
    bound: usize,
    operations: u32,
    seed: u64,
) -> Checked {
    let mut machine = Machine { queue, timers, oracle, random: Random::new(seed), bound, at: 0 };
    machine.oracle.now = machine.queue.now();
    for at in 0..operations {
        machine.at = at;
        machine.step()?;
        machine.look()?;
    }
    machine.queue.clear();
    machine.oracle.clear();
    machine.look()
}

impl<F: Family> Machine<'_, F> {
    const ORDER: Order = <HookQueue<'static, F, u8> as TimerQueue>::ORDER;

    fn agree(&self, question: &'static str, expected: u64, got: u64) -> Checked {
        let at = self.at;
        if expected == got { Ok(()) } else { Err(Mismatch { at, question, expected, got }) }
    }

    /// Draws a deadline: mostly near; sometimes past, far, at the end of time, or equal to a
    /// pending timer's deadline.
    fn deadline(&mut self) -> u64 {
        let now = self.oracle.now;
        match self.random.below(16) {
            0 => now.saturating_sub(self.random.below(100).into()),
            1 => now.saturating_add(1 << self.random.below(64)),
            2 => u64::MAX - u64::from(self.random.below(3)),
            3..=6 => self.oracle.nth(0).map_or(now, |(_, expiry)| expiry),
            7..=11 => now.saturating_add(self.random.below(24).into()),
            _ => now.saturating_add(self.random.below(5_000).into()),
        }
    }

    /// Draws the next `now`: mostly the next expiry or shortly after it. The next `now` is rarely
    /// far ahead, because the clock never goes back.
    fn stride(&mut self) -> u64 {
        let now = self.oracle.now;
        match self.random.below(32) {
            0 => now.saturating_sub(self.random.below(50).into()),
            1 => now.saturating_add(1 << self.random.below(40)),
            2..=15 => self
                .oracle
                .nth(0)
                .map_or(now, |(_, expiry)| if expiry < now + 1_000_000 { expiry } else { now + 999 }),
            _ => now.saturating_add(self.random.below(60).into()),
        }
    }

    fn step(&mut self) -> Checked {
        let timer = self.random.below(TIMERS as u32) as usize;
        match self.random.below(16) {
            0..=4 => self.insert(timer),
            5 | 6 => self.remove(timer),
            7 | 8 => self.reschedule(timer),
            9 | 10 => self.pop(),
            11 | 12 => self.advance(),
            13 | 14 => self.rearm(),
            _ if self.random.below(16) == 0 => {
                self.queue.clear();
                self.oracle.clear();
                Ok(())
            }
            _ => self.pop(),
        }
    }

    /// Reads the expiry that a granular queue chose for a deadline, and requires that it is within
    /// the bound.
    fn settle(&mut self, timer: usize, deadline: u64) -> Checked {
        let Order::Granular { lateness } = Self::ORDER else { return Ok(()) };
        let said = self.queue.expiry(&self.timers[timer]).unwrap_or(NONE);
        let latest = deadline.saturating_add(lateness(deadline - self.oracle.now));
        if !(deadline..=latest).contains(&said) {
            return self.agree("an expiry within the bound", latest, said);
        }
        self.oracle.settle(timer, said);
        Ok(())
    }

    fn insert(&mut self, timer: usize) -> Checked {
        let deadline = self.deadline();
        let linked = self.oracle.expiry(timer).is_some();
        let full = !linked && self.oracle.len() >= self.bound;
        let wake = self.queue.next_wake();
        let inserted = self.queue.driven().insert_at(deadline, &self.timers[timer], 0);
        let (expected, got) = match &inserted {
            Ok(_) => (u64::from(linked || full), 0),
            Err(rejected) if rejected.reason == Reject::AlreadyLinked => (u64::from(linked), 1),
            Err(rejected) if rejected.reason == Reject::Full => (u64::from(full), 1),
            Err(_) => (0, 2),
        };
        self.agree("insert (0: taken, 1: refused)", expected, got)?;
        if let Ok((_, change)) = inserted {
            if !change.is_changed() {
                self.wake("next_wake behind an insert that changed no head", wake)?;
            }
            let deadline = self.oracle.arm(timer, deadline);
            self.settle(timer, deadline)?;
        }
        Ok(())
    }

    fn wake(&self, question: &'static str, before: Option<u64>) -> Checked {
        self.agree(question, before.unwrap_or(NONE), self.queue.next_wake().unwrap_or(NONE))
    }

    fn remove(&mut self, timer: usize) -> Checked {
        let wake = self.queue.next_wake();
        let removed = self.queue.driven().remove(TimerRef::from(&self.timers[timer]));
        let pending = self.oracle.disarm(timer);
        self.agree("remove", pending.into(), removed.is_ok().into())?;
        match removed {
            Ok((_, change)) if !change.is_changed() => {
                self.wake("next_wake behind a removal that changed no head", wake)
            }
            Err(error) if error != KeyError::Stale => self.agree("remove: stale", 1, 0),
            _ => Ok(()),
        }
    }

    fn reschedule(&mut self, timer: usize) -> Checked {
        let deadline = self.deadline();
        let wake = self.queue.next_wake();
        let moved = self.queue.driven().reschedule_at(TimerRef::from(&self.timers[timer]), deadline, 0);
        let pending = self.oracle.expiry(timer).is_some();
        self.agree("reschedule", pending.into(), moved.is_ok().into())?;
        if let Ok(change) = moved {
            if !change.is_changed() {
                self.wake("next_wake behind a reschedule that changed no head", wake)?;
            }
            let deadline = self.oracle.arm(timer, deadline);
            self.settle(timer, deadline)?;
        }
        Ok(())
    }

    /// Requires that `timer` is the next timer to leave, and removes it from the oracle.
    fn leaves(&mut self, question: &'static str, timer: u8, expiry: u64) -> Checked {
        let Some((first, due)) = self.oracle.nth(0) else {
            return self.agree(question, NONE, timer.into());
        };
        self.agree("an expiry that has come", 1, u64::from(due <= self.oracle.now))?;
        self.agree("the expiry of a timer that leaves", due, expiry)?;
        // A granular queue chooses the order in which timers with equal expiries leave.
        let equal = !Self::ORDER.is_exact() && self.oracle.expiry(timer.into()) == Some(due);
        if !equal {
            self.agree(question, first as u64, timer.into())?;
        }
        self.oracle.disarm(timer.into());
        Ok(())
    }

    fn nothing_due(&self, question: &'static str) -> Checked {
        let due = self.oracle.nth(0).filter(|&(_, expiry)| expiry <= self.oracle.now);
        self.agree(question, due.map_or(NONE, |(timer, _)| timer as u64), NONE)
    }

    fn tell(&mut self, now: u64) {
        self.oracle.now = self.oracle.now.max(now);
    }

    fn pop(&mut self) -> Checked {
        let now = self.stride();
        self.tell(now);
        match self.queue.pop_expired(now) {
            Some(fired) => self.leaves("pop_expired", fired.value.payload, fired.expiry),
            None => self.nothing_due("pop_expired"),
        }
    }

    fn advance(&mut self) -> Checked {
        let now = self.stride();
        let budget = [usize::MAX, 0, 1, 3][self.random.below(4) as usize];
        self.tell(now);
        let mut left = [(0, 0); TIMERS];
        let mut count = 0;
        let advance = self.queue.advance_within(now, budget, |fired| {
            if let Some(place) = left.get_mut(count) {
                *place = (fired.value.payload, fired.expiry);
            }
            count += 1;
        });
        self.agree("how many an advance delivered", count as u64, advance.delivered as u64)?;
        for &(timer, expiry) in left.get(..count).unwrap_or(&[]) {
            self.leaves("advance", timer, expiry)?;
        }
        if budget == usize::MAX {
            self.agree("an advance without a budget is complete", 1, advance.complete.into())?;
        }
        if advance.complete { self.nothing_due("advance") } else { Ok(()) }
    }

    fn rearm(&mut self) -> Checked {
        let now = self.stride();
        let period = u64::from(self.random.below(200));
        self.tell(now);
        match self.queue.pop_and_reinsert(now, |expiry, _| expiry.saturating_add(period)) {
            Some(fired) => {
                let timer = fired.key.payload;
                self.leaves("pop_and_reinsert", timer, fired.expiry)?;
                let deadline = self.oracle.arm(timer.into(), fired.expiry.saturating_add(period));
                self.settle(timer.into(), deadline)
            }
            None => self.nothing_due("pop_and_reinsert"),
        }
    }

    /// Compares the results of all read-only methods.
    fn look(&self) -> Checked {
        self.agree("check", 1, self.queue.check().is_ok().into())?;
        self.agree("now", self.oracle.now, self.queue.now())?;
        self.agree("len", self.oracle.len() as u64, self.queue.len() as u64)?;
        let expected = |nth| self.oracle.nth(nth).map_or((NONE, NONE), |(timer, at)| (timer as u64, at));
        let shown = |pending: Option<Pending<Key<F>>>| {
            pending.map_or((NONE, NONE), |pending| (pending.key.payload.into(), pending.expiry))
        };
        let (first, second) = (expected(0), expected(1));
        let (head, next) = (shown(self.queue.peek()), shown(self.queue.second()));
        self.agree("the head's expiry", first.1, head.1)?;
        self.agree("the second's expiry", second.1, next.1)?;
        if Self::ORDER.is_exact() {
            self.agree("peek", first.0, head.0)?;
            self.agree("second", second.0, next.0)?;
        }
        self.agree("next_expiry", first.1, self.queue.next_expiry().unwrap_or(NONE))?;
        let wake = self.queue.next_wake().unwrap_or(NONE);
        self.agree("next_wake: not behind the next expiry", 1, u64::from(wake <= first.1))?;
        self.agree("next_wake: none without a timer", u64::from(first.0 == NONE), u64::from(wake == NONE))?;
        let timer = (self.at as usize) % TIMERS;
        let linked = self.oracle.expiry(timer);
        self.agree("is_linked", linked.is_some().into(), self.timers[timer].is_linked().into())?;
        self.agree("expiry", linked.unwrap_or(NONE), self.queue.expiry(&self.timers[timer]).unwrap_or(NONE))
    }
}
