//! The calls of an attack, each of which is timed separately.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::pattern::Pattern;
use crate::models::tape::{Step, Tape};

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    /// One insert.
    Insert,
    /// One re-arm.
    Rearm,
    /// One removal.
    Remove,
    /// One delivery, including the search for the head.
    Pop,
    /// One advance without a budget.
    Advance,
    /// One advance, with a budget of timers to deliver or move.
    AdvanceWithin,
}

impl Call {
    pub(crate) fn name(self) -> &'static str {
        ["insert", "re-arm", "remove", "pop", "advance", "advance within"][self as usize]
    }
}

/// All kinds of calls.
pub(crate) const ALL: [Call; 6] =
    [Call::Insert, Call::Rearm, Call::Remove, Call::Pop, Call::Advance, Call::AdvanceWithin];

/// Times of calls in ns, grouped by kind, and within a kind in the order of the calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Calls([Vec<u64>; ALL.len()]);

impl Calls {
    /// Iterates over the kinds of calls and their times.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Call, &[u64])> {
        ALL.into_iter().zip(self.0.iter().map(Vec::as_slice))
    }

    /// Appends the time of a call.
    pub(crate) fn note(&mut self, step: Step, ns: u64) {
        let call = match step {
            Step::Insert { .. } => Call::Insert,
            Step::Reschedule { .. } => Call::Rearm,
            Step::Remove { .. } => Call::Remove,
            Step::Pop => Call::Pop,
            Step::Within { .. } => Call::AdvanceWithin,
            _ => Call::Advance,
        };
        self.0[call as usize].push(ns);
    }

    /// Merges another round of the same calls: of the two times of each call, the smaller one is
    /// kept.
    pub(crate) fn keep_least(&mut self, other: Self) {
        for (mine, other) in self.0.iter_mut().zip(other.0) {
            mine.iter_mut().zip(&other).for_each(|(mine, other)| *mine = (*mine).min(*other));
            mine.extend(other.get(mine.len()..).unwrap_or_default());
        }
    }
}

/// A part of an attack. Each part begins with a fresh queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Inserts all timers, re-arms all, removes half of them (or all), and pops the remaining
    /// timers.
    OneByOne,
    /// Inserts all timers. Re-arms or removes timers without timing, if the pattern demands it.
    /// Then advances from tick to tick.
    Advance,
    /// As `Advance`, but with a budget: the call is repeated until no timer is due at the tick.
    AdvanceWithin,
}

impl Part {
    /// All parts.
    pub(crate) const ALL: [Self; 3] = [Self::OneByOne, Self::Advance, Self::AdvanceWithin];
}

/// An attack. An attack is generated before any clock starts.
#[derive(Debug)]
pub(crate) struct Attack {
    /// The kind of deadlines.
    pub(crate) pattern: Pattern,
    deadlines: Vec<u64>,
    /// The deadlines to which the timers are re-armed.
    moved: Vec<u64>,
    /// Ids of the timers to remove, in the order of removal.
    removed: Vec<u32>,
    /// The ticks to which the advances go.
    ticks: Vec<u64>,
    budget: usize,
}

/// The number of idle ticks before the first deadline, so that the median advance finds little to
/// do.
const IDLE: u64 = 1000;

impl Attack {
    /// Generates an attack from a seed.
    pub(crate) fn new(pattern: Pattern, population: usize, budget: usize, seed: u64) -> Self {
        let deadlines = pattern.deadlines(population, seed);
        let mut removed: Vec<u32> = (0u32..).take(population).collect();
        removed.shuffle(&mut Pcg64::seed_from_u64(!seed));
        removed.truncate(pattern.removed(population));
        let moved = pattern.moved(&deadlines);
        let last = if pattern.is_rearm() { &moved } else { &deadlines };
        Self { pattern, ticks: ticks(last), deadlines, moved, removed, budget: budget.max(1) }
    }

    /// Returns the number of timers.
    pub(crate) fn population(&self) -> usize {
        self.deadlines.len()
    }

    /// Returns steps that make the queue use all of its memory once, so that the timed calls do not
    /// pay for page faults. Also returns the first id that stays armed. All armed timers have the
    /// latest deadline of the pattern.
    fn touch(&self) -> (Vec<Step>, u32) {
        let all = u32::try_from(self.population()).unwrap_or(u32::MAX);
        let kept = u32::try_from(self.population() - self.population() / KEPT_ONE_IN).unwrap_or(u32::MAX);
        let deadline = self.pattern.furthest(self.population());
        let armed = (0..all).map(|id| Step::Insert { id, deadline });
        (armed.chain((0..kept).map(|id| Step::Remove { id })).collect(), kept)
    }

    /// Writes the tapes of a part: first the steps that prepare the part, then the timed steps.
    pub(crate) fn tapes(&self, part: Part) -> [Tape; 2] {
        let (mut before, kept) = self.touch();
        let inserts = (0u32..).zip(&self.deadlines).flat_map(|(id, &deadline)| {
            let clear = (id >= kept).then_some(Step::Clear { id });
            clear.into_iter().chain([Step::Insert { id, deadline }])
        });
        let moves = (0u32..).zip(&self.moved).map(|(id, &deadline)| Step::Reschedule { id, deadline });
        let removals = self.removed.iter().map(|&id| Step::Remove { id });
        let timed: Vec<Step> = if part == Part::OneByOne {
            let popped = self.population() - self.removed.len();
            inserts.chain(moves).chain(removals).chain(core::iter::repeat_n(Step::Pop, popped)).collect()
        } else {
            before.extend(inserts);
            before.extend(moves.filter(|_| self.pattern.is_rearm()));
            before.extend(removals.filter(|_| self.pattern == Pattern::CancelAll));
            let budget = u32::try_from(self.budget).unwrap_or(u32::MAX);
            let call = |&now| match part {
                Part::AdvanceWithin => Step::Within { now, budget },
                _ => Step::Deliver { now },
            };
            self.ticks.iter().map(call).collect()
        };
        [Tape::of(before), Tape { deliveries: self.population(), ..Tape::of(timed) }]
    }
}

/// The least number of bytes per timer that the tapes of a part need.
pub(crate) const BYTES_PER_TIMER: usize = 7 * size_of::<Step>();

/// After `touch`, one timer in `KEPT_ONE_IN` stays armed until the part inserts that id.
/// `timer-queue` frees memory when it is less than a sixteenth full; without these timers, a timed
/// call would pay for allocating it again.
const KEPT_ONE_IN: usize = 8;

/// Returns the ticks of the advances: idle ticks, then each deadline with the two ticks before it.
/// The last tick is late enough for granular structures to have delivered everything.
fn ticks(deadlines: &[u64]) -> Vec<u64> {
    let first = deadlines.iter().min().copied().unwrap_or(0);
    let last = deadlines.iter().max().copied().unwrap_or(0);
    let around = deadlines.iter().flat_map(|d| d.saturating_sub(2)..=*d);
    let mut ticks: Vec<u64> = (first.saturating_sub(IDLE)..first).chain(around).collect();
    ticks.push(last.saturating_mul(2));
    ticks.sort_unstable();
    ticks.dedup();
    ticks
}
