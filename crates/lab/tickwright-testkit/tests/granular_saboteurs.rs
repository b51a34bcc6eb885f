//! Tests of the suite itself with granular queues: it must detect a queue that breaks its bound on
//! purpose.

use core::cell::Cell;
use std::collections::HashMap;

use tickwright_core::CoarseWheel;
use tickwright_core::structures::Geometry;
use tickwright_testkit::clauses::{self, NAMES, Tools};
use tickwright_testkit::machine;
use tickwright_testkit::ours::{NoWalk, Slab, SlabSubject};
use tickwright_testkit::script::{decode, noise};
use tickwright_testkit::subject::{Advanced, Fired, Full, Make, Offers, Stale, Subject};

/// The fault of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The queue rounds up one bucket too far, and states that expiry.
    LateBeyondItsBound,
    /// The queue's timers leave one tick after the expiry that it stated.
    LateByOne,
    /// The queue states an expiry before the deadline.
    SaysOneTooEarly,
    /// The queue's timers leave one tick before the expiry that it stated.
    EarlyByOne,
    /// The queue does not state when a timer is due.
    SaysNothing,
    /// A rescheduled timer stays in its coarse bucket, although it belongs to a finer level.
    RescheduleStaysCoarse,
    /// The queue shows one timer, but another timer of equal expiry leaves.
    PeeksAtAnEqual,
    SecondIsAnotherEqual,
    RearmIsLate,
    DeadlineIsTheExpiry,
    WakesOneTooEarly,
    PastWaitsForATick,
    /// The queue ignores the time that it is told, so its delays count from an earlier tick.
    SleepsOn,
    /// When the queue is told the time, it removes a due timer without delivering it.
    LosesWhenTold,
}

/// Each fault and the clause that must find it.
const FAULTS: [(Fault, &str); 14] = {
    use Fault::*;
    [
        (LateBeyondItsBound, "never_early"),
        (LateByOne, "order"),
        (SaysOneTooEarly, "never_early"),
        (EarlyByOne, "never_early"),
        (SaysNothing, "never_early"),
        (RescheduleStaysCoarse, "reschedule_is_remove_and_insert"),
        (PeeksAtAnEqual, "order"),
        (SecondIsAnotherEqual, "second_is_the_next_after_the_head"),
        (RearmIsLate, "pop_and_reinsert_is_pop_then_insert"),
        (DeadlineIsTheExpiry, "order"),
        (WakesOneTooEarly, "next_wake_is_a_lower_bound"),
        (PastWaitsForATick, "never_early"),
        (SleepsOn, "never_early"),
        (LosesWhenTold, "none_lost_none_twice"),
    ]
};

thread_local! {
    /// The fault of the queues that this thread creates from now on.
    static FAULT: Cell<Fault> = const { Cell::new(Fault::None) };
}

type Inner = SlabSubject<CoarseWheel, NoWalk>;
type Key = <Inner as Subject>::Key;
type Standard = Geometry<64, 3, 9>;

/// A correct queue in an adapter that has a fault.
struct Saboteur {
    fault: Fault,
    inner: Inner,
    /// The greatest `now` that was passed so far.
    told: u64,
    /// The deadline and the level of each timer that was inserted.
    filed: HashMap<Key, (u64, Option<usize>)>,
}

struct Sabotage;

impl Make for Sabotage {
    type Arena = ();
    type Subject<'a> = Saboteur;

    const OFFERS: Offers = Offers { bound: false, idle: false, ..Offers::ALL };
    const EXACT: bool = false;
    const LATENESS: Option<fn(u64) -> u64> = Some(Standard::lateness);
    const MOVES: bool = true;

    fn name() -> String {
        format!("{:?}", FAULT.get())
    }

    fn arena(_: usize) {}

    fn make((): &(), capacity: usize) -> Saboteur {
        let inner = Slab::<CoarseWheel>::make(&(), capacity);
        Saboteur { fault: FAULT.get(), inner, told: 0, filed: HashMap::with_capacity(capacity) }
    }
}

impl Saboteur {
    /// Returns the tick that the inner queue gets instead of `now`.
    fn twist(&mut self, now: u64) -> u64 {
        self.told = self.told.max(now);
        match self.fault {
            Fault::EarlyByOne => now.saturating_add(1),
            Fault::LateByOne if now < u64::MAX => now.saturating_sub(1),
            _ => now,
        }
    }

    fn later(&self, deadline: u64) -> u64 {
        let now = self.inner.now();
        match self.fault {
            Fault::LateBeyondItsBound if deadline > now => {
                deadline.saturating_add(Standard::lateness(deadline - now))
            }
            Fault::PastWaitsForATick if deadline <= now => now.saturating_add(1),
            _ => deadline,
        }
    }

    fn said(fault: Fault, fired: Fired) -> Fired {
        match fault {
            Fault::DeadlineIsTheExpiry => fired.asked(fired.expiry),
            // The inner queue got another deadline, so it cannot state the requested deadline.
            Fault::LateBeyondItsBound | Fault::PastWaitsForATick | Fault::RescheduleStaysCoarse => {
                Fired::new(fired.value, fired.expiry)
            }
            _ => fired,
        }
    }

    fn filed(&mut self, key: Key, deadline: u64) {
        if self.fault == Fault::RescheduleStaysCoarse {
            let delay = deadline.saturating_sub(self.inner.now());
            self.filed.insert(key, (deadline, Standard::level(delay)));
        }
    }
}

impl Subject for Saboteur {
    type Key = Key;

    fn now(&self) -> u64 {
        if self.fault == Fault::None { self.inner.now() } else { self.told }
    }

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn tell(&mut self, now: u64) {
        let now = self.twist(now);
        match self.fault {
            Fault::SleepsOn => {}
            Fault::LosesWhenTold => drop(self.inner.pop_expired(now)),
            _ => self.inner.tell(now),
        }
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(Key, bool), Full> {
        let (key, head) = self.inner.insert(self.later(deadline), value)?;
        self.filed(key, deadline);
        Ok((key, head))
    }

    fn remove(&mut self, key: Key) -> Result<(u32, bool), Stale> {
        self.inner.remove(key)
    }

    fn reschedule(&mut self, key: Key, deadline: u64) -> Result<bool, Stale> {
        if let Some(&(old, Some(level))) = self.filed.get(&key)
            && self.inner.expiry(key).is_some_and(|expiry| expiry > self.inner.now())
            && Standard::same_bucket(old, deadline, level)
            && deadline > self.inner.now()
        {
            return Ok(false);
        }
        let head = self.inner.reschedule(key, self.later(deadline))?;
        self.filed(key, deadline);
        Ok(head)
    }

    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        let now = self.twist(now);
        self.inner.pop_expired(now).map(|fired| Self::said(self.fault, fired))
    }

    fn advance(&mut self, now: u64, budget: usize, sink: &mut dyn FnMut(Fired)) -> Advanced {
        let now = self.twist(now);
        let fault = self.fault;
        self.inner.advance(now, budget, &mut |fired| sink(Self::said(fault, fired)))
    }

    fn peek(&mut self) -> Option<Fired> {
        let (head, second) = (self.inner.peek()?, self.inner.second());
        let equal =
            second.filter(|second| self.fault == Fault::PeeksAtAnEqual && second.expiry == head.expiry);
        equal.or(Some(head))
    }

    fn second(&mut self) -> Option<Fired> {
        let (head, second) = (self.inner.peek()?, self.inner.second()?);
        let swapped = match self.fault {
            Fault::PeeksAtAnEqual | Fault::SecondIsAnotherEqual => head.expiry == second.expiry,
            _ => false,
        };
        Some(if swapped { head } else { second })
    }

    fn next_expiry(&mut self) -> Option<u64> {
        self.inner.next_expiry()
    }

    fn next_wake(&mut self) -> Option<u64> {
        let wake = self.inner.next_wake()?;
        // A driver that wakes at this tick repeatedly finds no due timer.
        Some(if self.fault == Fault::WakesOneTooEarly { wake.saturating_sub(1) } else { wake })
    }

    fn expiry(&self, key: Key) -> Option<u64> {
        let expiry = self.inner.expiry(key)?;
        match self.fault {
            Fault::SaysNothing => None,
            Fault::SaysOneTooEarly => Some(expiry.saturating_sub(9)),
            _ => Some(expiry),
        }
    }

    fn rearm_expired(&mut self, now: u64, rearm: &mut dyn FnMut(u64) -> u64) -> Option<Fired> {
        let now = self.twist(now);
        let late = self.fault == Fault::RearmIsLate;
        let fired = self.inner.rearm_expired(now, &mut |expiry| {
            let deadline = rearm(expiry);
            if late { deadline.saturating_add(70) } else { deadline }
        })?;
        Some(if late { Fired::new(fired.value, fired.expiry) } else { Self::said(self.fault, fired) })
    }

    fn clear(&mut self) {
        self.inner.clear();
    }

    fn check(&self) -> Result<(), String> {
        self.inner.check()
    }
}

/// Returns whether the machine detects the current fault with at least one of 60 random scripts.
fn machine_finds() -> bool {
    (0..60).any(|seed| machine::run::<Sabotage>(&decode(&noise(seed, 4 * 250))).is_err())
}

#[test]
fn every_saboteur_is_found_by_its_clause_and_by_the_machine() {
    let all = clauses::all::<Sabotage>();
    for (fault, name) in FAULTS {
        FAULT.set(fault);
        let clause = all.iter().find(|clause| clause.name == name).expect("a clause of that name");
        let verdict = (clause.verdict)(&Tools::default());
        assert!(verdict.is_broken(), "{fault:?} is not found by {name}: {verdict}");
        assert!(machine_finds(), "{fault:?} is not found by the machine");
    }
}

/// Only every fifth fault is tried, because the same function judges all clauses from the same
/// transcripts.
#[test]
fn a_saboteur_is_found_where_all_clauses_are_judged_together() {
    for (fault, name) in FAULTS.into_iter().step_by(5) {
        FAULT.set(fault);
        let at = NAMES.iter().position(|clause| *clause == name).expect("a clause of that name");
        let verdicts = clauses::verdicts::<Sabotage>(&Tools::default());
        assert!(verdicts[at].is_broken(), "{fault:?} is not found by {name}: {}", verdicts[at]);
    }
}

#[test]
fn the_adapter_without_a_fault_keeps_every_clause() {
    for (name, verdict) in NAMES.iter().zip(clauses::verdicts::<Sabotage>(&Tools::default())) {
        assert!(!verdict.is_broken(), "{name}: {verdict}");
    }
    assert!(!machine_finds());
}
