//! The calls of an attack, each timed alone.

use std::fmt;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::pattern::Pattern;
use crate::clock::Meter;
use crate::models::verify::{Notes, Script, Witness};
use crate::structures::candidate::BenchQueue;

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

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Insert => "insert",
            Self::Rearm => "re-arm",
            Self::Remove => "remove",
            Self::Pop => "pop",
            Self::Advance => "advance",
            Self::AdvanceWithin => "advance within",
        })
    }
}

/// All kinds of calls.
pub(crate) const ALL: [Call; 6] =
    [Call::Insert, Call::Rearm, Call::Remove, Call::Pop, Call::Advance, Call::AdvanceWithin];

/// Times of calls in ns, grouped by kind, in the order of the calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Calls([Vec<u64>; ALL.len()]);

impl Calls {
    /// Iterates over the kinds of calls and their times.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Call, &[u64])> {
        ALL.into_iter().zip(self.0.iter().map(Vec::as_slice))
    }

    /// Appends the calls of another part of the same round.
    pub(crate) fn append(&mut self, other: Self) {
        for (mine, more) in self.0.iter_mut().zip(other.0) {
            mine.extend(more);
        }
    }

    /// Merges another round of the same calls: each call keeps the lesser of its two times.
    pub(crate) fn keep_least(&mut self, other: &Self) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            for (mine, other) in mine.iter_mut().zip(other) {
                *mine = (*mine).min(*other);
            }
        }
    }
}

/// Hooks before and after a call.
trait Stopwatch {
    fn start(&mut self);
    fn stop(&mut self, call: Call);
}

struct Timed<'m> {
    meter: &'m dyn Meter,
    begun: u64,
    calls: Calls,
}

impl Stopwatch for Timed<'_> {
    #[inline]
    fn start(&mut self) {
        self.begun = self.meter.now();
    }

    #[inline]
    fn stop(&mut self, call: Call) {
        let ns = self.meter.now().saturating_sub(self.begun);
        self.calls.0[call as usize].push(ns);
    }
}

struct Untimed;

impl Stopwatch for Untimed {
    fn start(&mut self) {}
    fn stop(&mut self, _call: Call) {}
}

/// A part of an attack. Each part begins with a fresh queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Inserts all timers, re-arms all, removes half of them (or all), and pops the rest.
    OneByOne,
    /// Inserts all timers. If the pattern re-arms or removes timers, does so untimed. Then advances
    /// from tick to tick.
    Advance,
    /// As `Advance`, but with a budget: the call is repeated until the tick is complete.
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

    /// The number of timers.
    pub(crate) fn population(&self) -> usize {
        self.deadlines.len()
    }

    /// Returns a part as a script for the judge.
    pub(crate) fn script(&self, part: Part) -> PartOf<'_> {
        PartOf { attack: self, part }
    }

    /// Runs a part and times each call.
    pub(crate) fn timed<Q: BenchQueue, W: Witness>(
        &self,
        part: Part,
        queue: &mut Q,
        witness: &mut W,
        meter: &dyn Meter,
    ) -> Calls {
        let mut watch = Timed { meter, begun: 0, calls: Calls::default() };
        self.run(part, queue, witness, &mut watch);
        watch.calls
    }

    /// Makes the queue use all of its memory once, so that the timed calls do not pay for page
    /// faults. Returns the first id that stays armed. All armed timers have the latest deadline of
    /// the pattern.
    fn touch<Q: BenchQueue>(&self, queue: &mut Q) -> u32 {
        let all = u32::try_from(self.population()).unwrap_or(u32::MAX);
        let kept = u32::try_from(self.population() - self.population() / KEPT_ONE_IN).unwrap_or(u32::MAX);
        let late = self.pattern.furthest(self.population());
        (0..all).for_each(|id| queue.insert(id, late));
        (0..kept).for_each(|id| queue.remove(id));
        kept
    }

    fn run<Q: BenchQueue, W: Witness>(
        &self,
        part: Part,
        queue: &mut Q,
        witness: &mut W,
        watch: &mut impl Stopwatch,
    ) {
        let kept = self.touch(queue);
        let each = (0u32..).zip(&self.deadlines);
        match part {
            Part::OneByOne => {
                for (id, deadline) in each {
                    if id >= kept {
                        queue.remove(id);
                    }
                    watch.start();
                    queue.insert(id, *deadline);
                    watch.stop(Call::Insert);
                }
                for (id, deadline) in (0u32..).zip(&self.moved) {
                    watch.start();
                    queue.reschedule(id, *deadline);
                    watch.stop(Call::Rearm);
                }
                for id in &self.removed {
                    watch.start();
                    queue.remove(*id);
                    watch.stop(Call::Remove);
                }
                for _ in self.removed.len()..self.deadlines.len() {
                    watch.start();
                    let popped = queue.pop();
                    watch.stop(Call::Pop);
                    let Some((id, expiry)) = popped else { break };
                    witness.delivered(id, expiry, expiry);
                }
            }
            Part::Advance | Part::AdvanceWithin => {
                let (call, budget) = match part {
                    Part::AdvanceWithin => (Call::AdvanceWithin, self.budget),
                    _ => (Call::Advance, usize::MAX),
                };
                for (id, deadline) in each {
                    if id >= kept {
                        queue.remove(id);
                    }
                    queue.insert(id, *deadline);
                }
                if self.pattern.is_rearm() {
                    (0u32..).zip(&self.moved).for_each(|(id, deadline)| queue.reschedule(id, *deadline));
                }
                if self.pattern == Pattern::CancelAll {
                    self.removed.iter().for_each(|id| queue.remove(*id));
                }
                for &now in &self.ticks {
                    loop {
                        watch.start();
                        let complete = queue.advance(now, budget, &mut |id, expiry| {
                            witness.delivered(id, expiry, now);
                        });
                        watch.stop(call);
                        if complete {
                            break;
                        }
                    }
                }
            }
        }
    }
}

/// After `touch`, one timer in `KEPT_ONE_IN` stays armed until the part inserts that id.
/// `timer-queue` frees memory when it is less than a sixteenth full; a timed call would then pay
/// for allocating it again.
const KEPT_ONE_IN: usize = 8;

/// The ticks of the advances: idle ticks, then each deadline and the two ticks before the deadline.
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

/// One part of an attack, run without the clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartOf<'a> {
    attack: &'a Attack,
    part: Part,
}

impl Script for PartOf<'_> {
    fn run<Q: BenchQueue, W: Witness>(&self, queue: &mut Q, witness: &mut W) {
        self.attack.run(self.part, queue, witness, &mut Untimed);
    }

    fn notes(&self) -> Notes {
        Notes { deliveries: self.attack.population(), reads: 0 }
    }
}
