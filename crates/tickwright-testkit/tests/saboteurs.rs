//! The suite is held to its own standard: a queue that breaks one clause on purpose must be caught by that clause.

use core::cell::Cell;
use core::hint::black_box;

use tickwright_core::SortedList;
use tickwright_testkit::clauses::{self, NAMES, Tools, Verdict};
use tickwright_testkit::ours::{NoWalk, Slab, SlabSubject};
use tickwright_testkit::subject::{Advanced, Fired, Full, Make, Offers, Stale, Subject};

/// What is wrong with a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    EarlyByOne,
    LosesEverySeventh,
    DeliversTwice,
    HandsOutTheWrongValue,
    LastInFirstOutAmongEquals,
    LateByOne,
    PeeksAtTheSecond,
    RescheduleKeepsItsPlace,
    RescheduleIsIgnored,
    ClockGoesBack,
    PastIsPutOff,
    PanicsFarAway,
    ForgetsHighBits,
    NextExpiryOffByOne,
    WakesTooLate,
    WakesAtOnce,
    WakesForNothing,
    InsertDoesNotReport,
    RemoveDoesNotReport,
    RescheduleDoesNotReport,
    DeadKeysAreAccepted,
    DeadKeysPanic,
    FullLosesTheValue,
    FullTakesOneMore,
    CheckFails,
    WalksThroughIdleTime,
    IgnoresTheBudget,
    SaysComplete,
    NeverComplete,
    BatchIsLostInAPanic,
    SecondIsTheLast,
    SecondIsTheHead,
    RearmGetsANewKey,
    RearmGoesFirst,
    RearmAsksAboutNow,
    LenForgetsDeliveries,
    ClearLeavesOne,
    ClearResetsTheClock,
}

/// Each fault and the clause that must find it.
const FAULTS: [(Fault, &str); 38] = {
    use Fault::*;
    [
        (EarlyByOne, "never_early"),
        (LosesEverySeventh, "none_lost_none_twice"),
        (DeliversTwice, "none_lost_none_twice"),
        (HandsOutTheWrongValue, "none_lost_none_twice"),
        (LastInFirstOutAmongEquals, "order"),
        (LateByOne, "order"),
        (PeeksAtTheSecond, "order"),
        (RescheduleKeepsItsPlace, "reschedule_is_remove_and_insert"),
        (RescheduleIsIgnored, "reschedule_is_remove_and_insert"),
        (ClockGoesBack, "now_is_monotone"),
        (PastIsPutOff, "past_deadlines_are_legal"),
        (PanicsFarAway, "every_deadline_is_ordinary"),
        (ForgetsHighBits, "every_deadline_is_ordinary"),
        (NextExpiryOffByOne, "next_expiry_is_exact"),
        (WakesTooLate, "next_wake_is_a_lower_bound"),
        (WakesAtOnce, "next_wake_is_a_lower_bound"),
        (WakesForNothing, "next_wake_is_a_lower_bound"),
        (InsertDoesNotReport, "head_change_is_reported"),
        (RemoveDoesNotReport, "head_change_is_reported"),
        (RescheduleDoesNotReport, "head_change_is_reported"),
        (DeadKeysAreAccepted, "stale_keys_stay_stale"),
        (DeadKeysPanic, "stale_keys_stay_stale"),
        (FullLosesTheValue, "full_hands_the_value_back"),
        (FullTakesOneMore, "full_hands_the_value_back"),
        (CheckFails, "check_verifies_every_invariant"),
        (WalksThroughIdleTime, "idle_time_is_free"),
        (IgnoresTheBudget, "budget_bounds_an_advance"),
        (SaysComplete, "budget_bounds_an_advance"),
        (NeverComplete, "budget_bounds_an_advance"),
        (BatchIsLostInAPanic, "user_code_runs_on_a_whole_queue"),
        (SecondIsTheLast, "second_is_the_next_after_the_head"),
        (SecondIsTheHead, "second_is_the_next_after_the_head"),
        (RearmGetsANewKey, "pop_and_reinsert_is_pop_then_insert"),
        (RearmGoesFirst, "pop_and_reinsert_is_pop_then_insert"),
        (RearmAsksAboutNow, "pop_and_reinsert_is_pop_then_insert"),
        (LenForgetsDeliveries, "len_counts_what_is_pending"),
        (ClearLeavesOne, "clear_empties"),
        (ClearResetsTheClock, "clear_empties"),
    ]
};

thread_local! {
    /// The fault of the queues that this thread makes from now on. (A type for each would be compiled for each.)
    static FAULT: Cell<Fault> = const { Cell::new(Fault::None) };
}

/// A right queue behind an adapter with a fault.
struct Saboteur {
    fault: Fault,
    inner: SlabSubject<SortedList, NoWalk>,
    told: u64,
    delivered: usize,
}

type Key = <SlabSubject<SortedList, NoWalk> as Subject>::Key;

struct Sabotage;

impl Saboteur {
    /// What the inner queue is told instead of `now`.
    fn twist(&mut self, now: u64) -> u64 {
        let before = self.told;
        self.told = if self.fault == Fault::ClockGoesBack { now } else { before.max(now) };
        match self.fault {
            Fault::EarlyByOne => now.saturating_add(1),
            Fault::LateByOne if now < u64::MAX => now.saturating_sub(1),
            Fault::WalksThroughIdleTime => {
                // An end, so that runs without a pending timer end too.
                for tick in before..now.min(before.saturating_add(1 << 22)) {
                    black_box(tick);
                }
                now
            }
            _ => now,
        }
    }
}

impl Make for Sabotage {
    type Arena = ();
    type Subject<'a> = Saboteur;

    fn name() -> String {
        format!("{:?}", FAULT.get())
    }

    const OFFERS: Offers = Offers::ALL;
    const EXACT: bool = true;

    fn arena(_: usize) {}

    fn make((): &(), capacity: usize) -> Saboteur {
        Saboteur { fault: FAULT.get(), inner: Slab::<SortedList>::make(&(), capacity), told: 0, delivered: 0 }
    }

    fn make_bounded((): &(), capacity: usize) -> Saboteur {
        let extra = usize::from(FAULT.get() == Fault::FullTakesOneMore);
        Saboteur {
            fault: FAULT.get(),
            inner: Slab::<SortedList>::make_bounded(&(), capacity + extra),
            told: 0,
            delivered: 0,
        }
    }
}

impl Subject for Saboteur {
    type Key = Key;

    fn now(&self) -> u64 {
        match self.fault {
            Fault::None => self.inner.now(),
            _ => self.told,
        }
    }

    fn len(&self) -> usize {
        self.inner.len() + if self.fault == Fault::LenForgetsDeliveries { self.delivered } else { 0 }
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(Key, bool), Full> {
        let twisted = match self.fault {
            Fault::PastIsPutOff if deadline < self.inner.now() => self.inner.now().saturating_add(1),
            Fault::ForgetsHighBits => deadline % (1 << 40),
            _ => deadline,
        };
        assert!(self.fault != Fault::PanicsFarAway || deadline < 1 << 40, "too far");
        let fault = self.fault;
        let (key, head) = self
            .inner
            .insert(twisted, value)
            .map_err(|Full(value)| Full(if fault == Fault::FullLosesTheValue { 0 } else { value }))?;
        if self.fault == Fault::LosesEverySeventh && value % 7 == 6 {
            let _ = self.inner.remove(key);
        }
        Ok((key, head && self.fault != Fault::InsertDoesNotReport))
    }

    fn remove(&mut self, key: Key) -> Result<(u32, bool), Stale> {
        match (self.inner.remove(key), self.fault) {
            (Err(Stale), Fault::DeadKeysAreAccepted) => Ok((0, false)),
            (Err(Stale), Fault::DeadKeysPanic) => panic!("no such timer"),
            (Ok((value, head)), Fault::HandsOutTheWrongValue) => Ok((value + 1, head)),
            (Ok((value, _)), Fault::RemoveDoesNotReport) => Ok((value, false)),
            (answer, _) => answer,
        }
    }

    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        let now = self.twist(now);
        let fired = self.inner.pop_expired(now)?;
        self.delivered += 1;
        Some(fired)
    }

    fn advance(&mut self, now: u64, budget: usize, sink: &mut dyn FnMut(Fired)) -> Advanced {
        let now = self.twist(now);
        let budget = if self.fault == Fault::IgnoresTheBudget { usize::MAX } else { budget };
        let mut batch = Vec::new();
        let mut answer = match self.fault {
            Fault::DeliversTwice | Fault::BatchIsLostInAPanic | Fault::LastInFirstOutAmongEquals => {
                self.inner.advance(now, budget, &mut |fired| batch.push(fired))
            }
            _ => self.inner.advance(now, budget, sink),
        };
        self.delivered += answer.delivered;
        match self.fault {
            Fault::DeliversTwice => batch.extend(batch.first().copied()),
            Fault::LastInFirstOutAmongEquals => {
                batch.reverse();
                batch.sort_by_key(|fired| fired.expiry);
            }
            Fault::SaysComplete => answer.complete = true,
            Fault::NeverComplete => answer.complete = false,
            _ => {}
        }
        batch.into_iter().for_each(sink);
        answer
    }

    fn reschedule(&mut self, key: Key, deadline: u64) -> Result<bool, Stale> {
        match self.fault {
            Fault::RescheduleIsIgnored => return Ok(false),
            Fault::DeadKeysAreAccepted => return self.inner.reschedule(key, deadline).or(Ok(false)),
            Fault::RescheduleKeepsItsPlace => {
                // Whether it is at that tick already shows when it is the head.
                let head = self.inner.peek().map(|head| head.expiry);
                if head == Some(deadline) {
                    return Ok(false);
                }
            }
            _ => {}
        }
        let head = self.inner.reschedule(key, deadline)?;
        Ok(head && self.fault != Fault::RescheduleDoesNotReport)
    }

    fn peek(&mut self) -> Option<Fired> {
        match self.fault {
            Fault::PeeksAtTheSecond => self.inner.second().or_else(|| self.inner.peek()),
            _ => self.inner.peek(),
        }
    }

    fn second(&mut self) -> Option<Fired> {
        match self.fault {
            Fault::SecondIsTheHead if self.inner.len() == 1 => self.inner.peek(),
            Fault::SecondIsTheLast if self.inner.len() > 4 => self.inner.peek(),
            _ => self.inner.second(),
        }
    }

    fn next_expiry(&mut self) -> Option<u64> {
        let off = u64::from(self.fault == Fault::NextExpiryOffByOne && self.inner.len() == 3);
        self.inner.next_expiry().map(|expiry| expiry.saturating_sub(off))
    }

    fn next_wake(&mut self) -> Option<u64> {
        let wake = self.inner.next_wake();
        match self.fault {
            Fault::WakesTooLate => wake.map(|wake| wake.saturating_add(1)),
            Fault::WakesAtOnce => wake.map(|_| self.inner.now()),
            Fault::WakesForNothing => wake.or(Some(u64::MAX)),
            _ => wake,
        }
    }

    fn rearm_expired(&mut self, now: u64, rearm: &mut dyn FnMut(u64) -> u64) -> Option<Fired> {
        let now = self.twist(now);
        match self.fault {
            Fault::RearmGetsANewKey => {
                let fired = self.inner.pop_expired(now)?;
                let _ = self.inner.insert(rearm(fired.expiry), fired.value);
                Some(fired)
            }
            Fault::RearmGoesFirst => {
                self.inner.rearm_expired(now, &mut |expiry| rearm(expiry).saturating_sub(1))
            }
            Fault::RearmAsksAboutNow => {
                let now = self.inner.now().max(now);
                self.inner.rearm_expired(now, &mut |_| rearm(now))
            }
            _ => self.inner.rearm_expired(now, rearm),
        }
    }

    fn clear(&mut self) {
        match self.fault {
            Fault::ClearLeavesOne => {
                let one = self.inner.peek();
                self.inner.clear();
                if let Some(Fired { value, expiry, .. }) = one {
                    let _ = self.inner.insert(expiry, value);
                }
            }
            Fault::ClearResetsTheClock => {
                self.inner.clear();
                self.told = 0;
            }
            _ => self.inner.clear(),
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.fault == Fault::CheckFails && self.inner.len() == 4 {
            return Err("as planned".into());
        }
        self.inner.check()
    }
}

#[test]
fn every_saboteur_is_found_by_its_clause() {
    let all = clauses::all::<Sabotage>();
    for (fault, name) in FAULTS {
        FAULT.set(fault);
        let clause = all.iter().find(|clause| clause.name == name).expect("a clause of that name");
        let verdict = (clause.verdict)(&Tools::default());
        assert!(verdict.is_broken(), "{fault:?} is not found by {name}: {verdict}");
    }
}

/// `no_allocation_after_reserve` has its saboteur beside it, where an allocator counts.
#[test]
fn every_clause_finds_a_saboteur() {
    for name in NAMES.iter().filter(|name| **name != "no_allocation_after_reserve") {
        assert!(FAULTS.iter().any(|(_, clause)| clause == name), "nothing shows that {name} can fail");
    }
}

#[test]
fn the_adapter_without_a_fault_keeps_every_clause() {
    for clause in clauses::all::<Sabotage>() {
        let verdict = (clause.verdict)(&Tools::default());
        assert!(matches!(verdict, Verdict::Kept | Verdict::NotRun(_)), "{}: {verdict}", clause.name);
    }
}
