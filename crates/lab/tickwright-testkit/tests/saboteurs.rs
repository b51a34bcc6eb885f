//! Tests of the suite itself: if a queue breaks one clause on purpose, the test of that clause must
//! detect it.

use core::cell::Cell;
use core::hint::black_box;

use tickwright_core::SortedList;
use tickwright_testkit::clauses::{self, NAMES, Tools, Verdict};
use tickwright_testkit::ours::{NoWalk, Slab, SlabSubject};
use tickwright_testkit::subject::{Advanced, Fired, Full, Make, Offers, Stale, Subject};

/// The fault of a queue.
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
    /// The queue delivers nothing under a finite budget, and reports that it used the whole budget.
    StandsStillUnderABudget,
    /// The queue reports moves that it did not make, and delivers only half of the budget.
    CountsMovesThatAreNone,
    /// Each timer that arrives takes 1 from the next budget.
    StarvesUnderInserts,
    /// The first advance moves all timers, regardless of the budget.
    MovesMoreThanTheBudget,
    BatchIsLostInAPanic,
    SecondIsTheLast,
    SecondIsTheHead,
    RearmGetsANewKey,
    RearmGoesFirst,
    RearmAsksAboutNow,
    LenForgetsDeliveries,
    ClearLeavesOne,
    ClearResetsTheClock,
    IdleKeyIsRefused,
    DisarmIsIgnored,
    IdleIsRescheduled,
    ArmIsEarly,
    PopAndKeepForgetsTheKey,
}

/// Each fault and the clause that must find it.
const FAULTS: [(Fault, &str); 46] = {
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
        (StandsStillUnderABudget, "budget_bounds_an_advance"),
        (CountsMovesThatAreNone, "budget_bounds_an_advance"),
        (StarvesUnderInserts, "budget_bounds_an_advance"),
        (BatchIsLostInAPanic, "user_code_runs_on_a_whole_queue"),
        (SecondIsTheLast, "second_is_the_next_after_the_head"),
        (SecondIsTheHead, "second_is_the_next_after_the_head"),
        (RearmGetsANewKey, "pop_and_reinsert_is_pop_then_insert"),
        (RearmGoesFirst, "pop_and_reinsert_is_pop_then_insert"),
        (RearmAsksAboutNow, "pop_and_reinsert_is_pop_then_insert"),
        (LenForgetsDeliveries, "len_counts_what_is_pending"),
        (ClearLeavesOne, "clear_empties"),
        (ClearResetsTheClock, "clear_empties"),
        (IdleKeyIsRefused, "idle_timers_keep_their_keys"),
        (DisarmIsIgnored, "idle_timers_keep_their_keys"),
        (IdleIsRescheduled, "idle_timers_keep_their_keys"),
        (ArmIsEarly, "idle_timers_keep_their_keys"),
        (PopAndKeepForgetsTheKey, "idle_timers_keep_their_keys"),
    ]
};

thread_local! {
    /// The fault of the queues that this thread makes from now on. A separate type for each fault
    /// would have to be compiled for each fault.
    static FAULT: Cell<Fault> = const { Cell::new(Fault::None) };
}

/// A correct queue in an adapter that has a fault.
struct Saboteur {
    fault: Fault,
    inner: SlabSubject<SortedList, NoWalk>,
    told: u64,
    delivered: usize,
    /// The number of timers inserted since the last advance.
    arrived: usize,
}

type Key = <SlabSubject<SortedList, NoWalk> as Subject>::Key;

/// Creates saboteurs, and declares whether they are allowed to move timers inside, although no
/// saboteur moves timers.
struct Sabotage<const MOVES: bool = false>;

impl Saboteur {
    fn new(inner: SlabSubject<SortedList, NoWalk>) -> Self {
        Self { fault: FAULT.get(), inner, told: 0, delivered: 0, arrived: 0 }
    }

    /// Returns the part of a budget that the saboteur claims to have used for moves.
    fn idle(&mut self, now: u64, budget: usize) -> usize {
        let arrived = core::mem::take(&mut self.arrived);
        let due = self.inner.next_wake().is_some_and(|wake| wake <= now.max(self.inner.now()));
        match self.fault {
            _ if budget == usize::MAX || !due => 0,
            Fault::StandsStillUnderABudget => budget,
            Fault::CountsMovesThatAreNone => budget / 2,
            Fault::StarvesUnderInserts => arrived.min(budget),
            _ => 0,
        }
    }

    /// Returns the tick that the inner queue gets instead of `now`.
    fn twist(&mut self, now: u64) -> u64 {
        let before = self.told;
        self.told = if self.fault == Fault::ClockGoesBack { now } else { before.max(now) };
        match self.fault {
            Fault::EarlyByOne => now.saturating_add(1),
            Fault::LateByOne if now < u64::MAX => now.saturating_sub(1),
            Fault::WalksThroughIdleTime => {
                // The loop is bounded, so that runs without a pending timer also end.
                for tick in before..now.min(before.saturating_add(1 << 22)) {
                    black_box(tick);
                }
                now
            }
            _ => now,
        }
    }
}

impl<const MOVES: bool> Make for Sabotage<MOVES> {
    type Arena = ();
    type Subject<'a> = Saboteur;

    fn name() -> String {
        format!("{:?}", FAULT.get())
    }

    const OFFERS: Offers = Offers::ALL;
    const EXACT: bool = true;
    const MOVES: bool = MOVES;

    fn arena(_: usize) {}

    fn make((): &(), capacity: usize) -> Saboteur {
        Saboteur::new(Slab::<SortedList>::make(&(), capacity))
    }

    fn make_bounded((): &(), capacity: usize) -> Saboteur {
        let extra = usize::from(FAULT.get() == Fault::FullTakesOneMore);
        Saboteur::new(Slab::<SortedList>::make_bounded(&(), capacity + extra))
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
        self.arrived += 1;
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

    fn tell(&mut self, now: u64) {
        let now = self.twist(now);
        self.inner.tell(now);
    }

    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        let now = self.twist(now);
        let fired = self.inner.pop_expired(now)?;
        self.delivered += 1;
        Some(fired)
    }

    fn waits(&self, _: Key) -> bool {
        self.fault == Fault::MovesMoreThanTheBudget && self.delivered == 0
    }

    fn advance(&mut self, now: u64, budget: usize, sink: &mut dyn FnMut(Fired)) -> Advanced {
        let now = self.twist(now);
        let moved = self.idle(now, budget);
        let budget = if self.fault == Fault::IgnoresTheBudget { usize::MAX } else { budget - moved };
        let mut batch = Vec::new();
        let mut answer = match self.fault {
            Fault::DeliversTwice | Fault::BatchIsLostInAPanic | Fault::LastInFirstOutAmongEquals => {
                self.inner.advance(now, budget, &mut |fired| batch.push(fired))
            }
            _ => self.inner.advance(now, budget, sink),
        };
        self.delivered += answer.delivered;
        answer.moved += moved;
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
            Fault::IdleIsRescheduled => return self.inner.arm(key, deadline),
            Fault::DeadKeysAreAccepted => return self.inner.reschedule(key, deadline).or(Ok(false)),
            Fault::RescheduleKeepsItsPlace => {
                // Only the head shows its tick, so the fault applies only if the head already has
                // this deadline.
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

    fn keep(&mut self, value: u32) -> Result<Key, Full> {
        self.inner.keep(value)
    }

    fn arm(&mut self, key: Key, deadline: u64) -> Result<bool, Stale> {
        match self.fault {
            // Pending timers can still be rescheduled, but idle timers cannot.
            Fault::IdleKeyIsRefused => self.inner.reschedule(key, deadline),
            Fault::ArmIsEarly => self.inner.arm(key, deadline.saturating_sub(1)),
            _ => self.inner.arm(key, deadline),
        }
    }

    fn disarm(&mut self, key: Key) -> Result<bool, Stale> {
        if self.fault == Fault::DisarmIsIgnored { Ok(false) } else { self.inner.disarm(key) }
    }

    fn pop_and_keep(&mut self, now: u64) -> Option<Fired> {
        match self.fault {
            Fault::PopAndKeepForgetsTheKey => self.inner.pop_expired(now),
            _ => self.inner.pop_and_keep(now),
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

/// If a queue moves timers, the budget that it spends on moves must lead to deliveries, although it
/// is allowed to spend half of the budget on moves every time. The budget must also cover all
/// moves.
#[test]
fn moves_without_progress_or_budget_are_found() {
    let verdict = || clauses::budget_bounds_an_advance::<Sabotage<true>>(&Tools::default());
    assert_eq!(verdict(), Verdict::Kept);
    for (fault, arrivals) in [
        (Fault::StandsStillUnderABudget, "arrivals None"),
        (Fault::StarvesUnderInserts, "arrivals Past"),
        (Fault::MovesMoreThanTheBudget, "advance 0 delivers 1 and moves 319"),
    ] {
        FAULT.set(fault);
        match verdict() {
            Verdict::Broken(witness) => assert!(witness.contains(arrivals), "{fault:?}: {witness}"),
            verdict => panic!("{fault:?} is not found: {verdict}"),
        }
    }
}

/// The saboteur for `no_allocation_after_reserve` is in `no_allocation.rs`, which has a counting
/// allocator.
#[test]
fn every_clause_finds_a_saboteur() {
    for name in NAMES.iter().filter(|name| **name != "no_allocation_after_reserve") {
        assert!(FAULTS.iter().any(|(_, clause)| clause == name), "nothing shows that {name} can fail");
    }
}

/// There is at least one saboteur for each scope, and for each way to reach a verdict.
#[test]
fn a_saboteur_is_found_where_all_clauses_are_judged_together() {
    const SOME: [Fault; 8] = [
        Fault::EarlyByOne,
        Fault::ClockGoesBack,
        Fault::PanicsFarAway,
        Fault::DeadKeysPanic,
        Fault::FullTakesOneMore,
        Fault::StarvesUnderInserts,
        Fault::SecondIsTheHead,
        Fault::ClearLeavesOne,
    ];
    for (fault, name) in FAULTS.into_iter().filter(|(fault, _)| SOME.contains(fault)) {
        FAULT.set(fault);
        let at = NAMES.iter().position(|clause| *clause == name).expect("a clause of that name");
        let verdicts = clauses::verdicts::<Sabotage>(&Tools::default());
        assert!(verdicts[at].is_broken(), "{fault:?} is not found by {name}: {}", verdicts[at]);
    }
}

#[test]
fn the_adapter_without_a_fault_keeps_every_clause() {
    for (name, verdict) in NAMES.iter().zip(clauses::verdicts::<Sabotage>(&Tools::default())) {
        assert!(matches!(verdict, Verdict::Kept | Verdict::NotRun(_)), "{name}: {verdict}");
    }
}

/// The page lists faults that other projects' timers had, and which clause finds each fault.
#[test]
fn the_page_of_timers_that_broke_names_faults_and_their_clauses() {
    let page = include_str!("../../../../docs/compare.md");
    let named: Vec<(&str, &str)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix("` |")?.rsplit_once("` | `"))
        .map(|(row, fault)| (row.rsplit('`').next().unwrap_or(row), fault))
        // The queue with this fault is in `one_way_heap.rs`.
        .filter(|(_, fault)| !fault.contains('`'))
        .collect();
    assert!(named.len() >= 4, "{named:?}");
    for (clause, fault) in named {
        let is_so = FAULTS.iter().any(|(one, by)| format!("{one:?}") == fault && *by == clause);
        assert!(is_so, "{fault} is not the fault that {clause} finds");
    }
}
