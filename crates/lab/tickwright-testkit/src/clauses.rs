//! Computes one verdict for each clause of the contract. The clauses have the names and numbers
//! that `tickwright_core::TimerQueue` gives them.
//!
//! `transcript` runs the `scripts`, and the verdicts on most clauses follow from these same
//! transcripts. Clauses that need more than an op script are in `directed`. Each function is
//! generic over [`Make`], so it judges our queues and other crates' queues alike.

mod directed;
mod idle;
mod late;
mod progress;
mod quiet;
mod readings;
mod scripts;
mod transcript;
mod verdict;

use core::{fmt, slice};

use crate::clauses::transcript::{Case, Judge, Manner, Transcript, judge, transcribe};
use crate::subject::Make;

pub use directed::{
    full_hands_the_value_back, idle_time_is_free, no_allocation_after_reserve,
    user_code_runs_on_a_whole_queue,
};
pub use idle::idle_timers_keep_their_keys;
pub use verdict::{Tools, Verdict};

/// A clause for queues of one kind.
pub struct Clause {
    /// The clause's number in the contract.
    pub number: usize,
    /// The clause's name in the contract.
    pub name: &'static str,
    /// Computes the verdict.
    pub verdict: fn(&Tools) -> Verdict,
}

impl fmt::Debug for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.name)
    }
}

macro_rules! clauses {
    ($($number:literal $name:ident)+) => {
        /// The names of all clauses, in the order of their numbers.
        pub const NAMES: [&str; 22] = [$(stringify!($name)),+];

        /// All clauses for queues of one kind, in the order of their numbers.
        #[must_use]
        pub fn all<M: Make>() -> [Clause; 22] {
            [$(Clause { number: $number, name: stringify!($name), verdict: $name::<M> }),+]
        }
    };
}

clauses! {
    1 never_early
    2 none_lost_none_twice
    3 order
    4 reschedule_is_remove_and_insert
    5 now_is_monotone
    6 past_deadlines_are_legal
    7 every_deadline_is_ordinary
    8 next_expiry_is_exact
    9 next_wake_is_a_lower_bound
    10 head_change_is_reported
    11 stale_keys_stay_stale
    12 no_allocation_after_reserve
    13 full_hands_the_value_back
    14 check_verifies_every_invariant
    15 idle_time_is_free
    16 budget_bounds_an_advance
    17 user_code_runs_on_a_whole_queue
    18 second_is_the_next_after_the_head
    19 pop_and_reinsert_is_pop_then_insert
    20 len_counts_what_is_pending
    21 clear_empties
    22 idle_timers_keep_their_keys
}

/// Returns the verdicts of all clauses on queues of one kind, in the order of their numbers. The
/// clauses of one scope share one run of each script, which is several times faster than one run
/// per clause.
#[must_use]
pub fn verdicts<M: Make>(tools: &Tools) -> [Verdict; 22] {
    let read: Vec<(&str, Verdict)> = [Scope::All, Scope::DeadKeys, Scope::Edges]
        .into_iter()
        .flat_map(|scope| {
            let readings: Vec<Reading> =
                readings::<M>().into_iter().filter(|reading| reading.scope == scope).collect();
            let verdicts = read::<M>(scope, &readings);
            readings.into_iter().map(|reading| reading.name).zip(verdicts)
        })
        .collect();
    all::<M>().map(|clause| {
        let found = read.iter().find(|(name, _)| *name == clause.name);
        found.map_or_else(|| (clause.verdict)(tools), |(_, verdict)| verdict.clone())
    })
}

/// The scripts that judge a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// All scripts.
    All,
    /// All scripts, and the runs also use dead keys.
    DeadKeys,
    /// The scripts about far deadlines and clocks.
    Edges,
}

impl Scope {
    /// Returns the scripts, first the plain scripts and then the random scripts. A random script is
    /// made when the iterator reaches it.
    fn scripts(self) -> impl Iterator<Item = scripts::Named> {
        let plain = move || match self {
            Self::Edges => scripts::horizons(),
            Self::All | Self::DeadKeys => [scripts::singles(), scripts::cases()].concat(),
        };
        let random = move || match self {
            Self::Edges => scripts::sweeps(),
            Self::All | Self::DeadKeys => {
                [scripts::breezes(), scripts::gusts(), scripts::sweeps(), scripts::storms()].concat()
            }
        };
        let all: [Box<dyn Fn() -> Vec<scripts::Named>>; 2] = [Box::new(plain), Box::new(random)];
        all.into_iter().flat_map(|scripts| scripts())
    }

    fn manner<M: Make>(self) -> Manner {
        Manner { reach: directed::reach::<M>(), dead_keys: self == Self::DeadKeys, clamped: false }
    }
}

/// A clause that is judged from transcripts.
struct Reading {
    name: &'static str,
    scope: Scope,
    offered: bool,
    by: Judge,
    /// Judges each transcript as a whole.
    at_the_end: fn(&Transcript) -> Option<String>,
    /// Judges behavior that no script shows. This function is called if no transcript breaks the
    /// clause.
    beyond: fn() -> Option<String>,
}

/// Runs the scripts of `scope` one after the other, until every reading has found a witness.
fn read<M: Make>(scope: Scope, readings: &[Reading]) -> Vec<Verdict> {
    let mut cases: Vec<Case> = readings
        .iter()
        .filter(|reading| reading.offered)
        .map(|reading| Case { by: reading.by, at_the_end: reading.at_the_end, witness: None })
        .collect();
    if !cases.is_empty() {
        let manner = scope.manner::<M>();
        for (title, script) in scope.scripts() {
            judge(&transcribe::<M>(&title, &script, manner), &mut cases);
            if cases.iter().all(|case| case.witness.is_some()) {
                break;
            }
        }
    }
    let mut cases = cases.into_iter();
    let mut verdict = |reading: &Reading| {
        if !reading.offered {
            return Verdict::NotOffered;
        }
        let found = cases.next().and_then(|case| case.witness);
        Verdict::from_witness(found.or_else(reading.beyond))
    };
    readings.iter().map(&mut verdict).collect()
}

/// Defines clauses each of which is one reading of the transcripts.
macro_rules! readings {
    ($($(#[$doc:meta])* $name:ident, $scope:ident $(, end $end:ident)? $(, beyond $beyond:expr)?
        $(, if $offer:ident)?;)+) =>
    {
        /// Returns all clauses for queues of one kind that are judged from transcripts.
        fn readings<M: Make>() -> Vec<Reading> {
            vec![$({
                let reading = Reading {
                    name: stringify!($name),
                    scope: Scope::$scope,
                    offered: true,
                    by: readings::$name,
                    at_the_end: |_| None,
                    beyond: || None,
                };
                $(let reading = Reading { offered: M::OFFERS.$offer, ..reading };)?
                $(let reading = Reading { at_the_end: readings::$end, ..reading };)?
                $(let reading = Reading { beyond: $beyond, ..reading };)?
                reading
            }),+]
        }

        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name<M: Make>(_: &Tools) -> Verdict {
                read_alone::<M>(stringify!($name))
            }
        )+
    };
}

/// Returns the verdict of one reading.
fn read_alone<M: Make>(name: &str) -> Verdict {
    let reading: Vec<Reading> = readings::<M>().into_iter().filter(|reading| reading.name == name).collect();
    let verdicts = reading.first().map(|reading| read::<M>(reading.scope, slice::from_ref(reading)));
    verdicts.into_iter().flatten().next().unwrap_or(Verdict::NotOffered)
}

readings! {
    /// A timer leaves only when `now >= deadline`. A granular queue keeps its bound, also measured
    /// from the caller's time, after any uptime and any sleep.
    never_early, All, beyond || late::from_the_callers_time::<M>(directed::reach::<M>());
    /// Each inserted timer is delivered or removed exactly once.
    none_lost_none_twice, All, end lost;
    /// Timers leave in the order of (expiry, arrival), each at its expiry; `peek` shows the first
    /// timer.
    order, All;
    /// A rescheduled timer keeps its key and goes after all timers of equal deadline.
    reschedule_is_remove_and_insert, All, if reschedule;
    /// A timer whose deadline has passed leaves at the next pop.
    past_deadlines_are_legal, All;
    /// Nothing panics, even if clocks and deadlines are at any power of two.
    every_deadline_is_ordinary, Edges, end panicked;
    /// `next_expiry()` is the expiry of the head.
    next_expiry_is_exact, All, if next_expiry;
    /// A driver that sleeps until `next_wake()` misses no timer, and does not wake repeatedly
    /// without a due timer.
    next_wake_is_a_lower_bound, All, if next_wake;
    /// The tick of the next wake-up never changes without a report.
    head_change_is_reported, All, if head_change;
    /// Every operation refuses a dead key, forever.
    stale_keys_stay_stale, DeadKeys, end panicked_over_a_dead_key, if stale_keys;
    /// `check()` finds nothing, at any time. (The tests of each structure check that `check()`
    /// finds what is broken.)
    check_verifies_every_invariant, All, if check;
    /// An advance delivers and moves at most `budget` timers, and reports whether due timers
    /// remain; the remaining timers leave later, in order. Every due timer leaves after a bounded
    /// number of calls.
    budget_bounds_an_advance, All, beyond || progress::stalls::<M>(directed::reach::<M>()), if budget;
    /// `second()` is the second timer in order: `peek()` returns this timer after the head was
    /// removed.
    second_is_the_next_after_the_head, All, beyond directed::second_becomes_head::<M>, if second;
    /// A re-arm takes the head, keeps its key valid, and puts the timer after all timers of equal
    /// deadline.
    pop_and_reinsert_is_pop_then_insert, All, if rearm;
    /// `len()` is right after every operation.
    len_counts_what_is_pending, All;
    /// No timer that was cleared comes back, and `now()` is unchanged.
    clear_empties, DeadKeys, if clear;
}

/// A `now` that is smaller than an earlier `now` is clamped: the same timers leave at the same
/// calls as if the caller had clamped it.
#[must_use]
pub fn now_is_monotone<M: Make>(_: &Tools) -> Verdict {
    let plain = Scope::All.manner::<M>();
    let clamped = Manner { clamped: true, ..plain };
    let found = Scope::All.scripts().find_map(|(title, script)| {
        let transcript = transcribe::<M>(&title, &script, plain);
        let mut case = Case { by: readings::now_is_monotone, at_the_end: |_| None, witness: None };
        judge(&transcript, slice::from_mut(&mut case));
        let clamped = || transcribe::<M>(&title, &script, clamped);
        case.witness.or_else(|| readings::clamping_matters(&transcript, &clamped()))
    });
    Verdict::from_witness(found)
}
