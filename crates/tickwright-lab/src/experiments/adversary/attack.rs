//! The calls of an attack, one by one under the clock.

use std::fmt;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::pattern::Pattern;
use crate::clock::Meter;
use crate::models::verify::{Notes, Script, Witness};
use crate::structures::candidate::BenchQueue;

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    /// One insert.
    Insert,
    /// One removal.
    Remove,
    /// One delivery, with the search for it.
    Pop,
    /// One advance, however much is due.
    Advance,
    /// One advance that may deliver and move so much and no more.
    AdvanceWithin,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Insert => "insert",
            Self::Remove => "remove",
            Self::Pop => "pop",
            Self::Advance => "advance",
            Self::AdvanceWithin => "advance within",
        })
    }
}

/// Every kind of call.
pub(crate) const ALL: [Call; 5] = [Call::Insert, Call::Remove, Call::Pop, Call::Advance, Call::AdvanceWithin];

/// The times of calls, by kind, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Calls([Vec<u64>; ALL.len()]);

impl Calls {
    /// The times by kind.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Call, &[u64])> {
        ALL.into_iter().zip(self.0.iter().map(Vec::as_slice))
    }

    /// The calls of another part of the same round.
    pub(crate) fn append(&mut self, other: Self) {
        for (mine, more) in self.0.iter_mut().zip(other.0) {
            mine.extend(more);
        }
    }

    /// The same calls in another round: the lesser time of each.
    pub(crate) fn keep_least(&mut self, other: &Self) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            for (mine, other) in mine.iter_mut().zip(other) {
                *mine = (*mine).min(*other);
            }
        }
    }
}

/// What stands around a call.
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

/// A part of an attack, begun on a fresh queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Insert all, remove half, pop the rest.
    OneByOne,
    /// Insert all, untimed; advance from tick to tick.
    Advance,
    /// The same within a budget, as often as it takes.
    AdvanceWithin,
}

impl Part {
    /// Every part.
    pub(crate) const ALL: [Self; 3] = [Self::OneByOne, Self::Advance, Self::AdvanceWithin];
}

/// An attack, drawn before any clock starts.
#[derive(Debug)]
pub(crate) struct Attack {
    /// The kind of deadlines.
    pub(crate) pattern: Pattern,
    deadlines: Vec<u64>,
    /// Who is removed, in this order.
    removed: Vec<u32>,
    /// The ticks of the advances.
    ticks: Vec<u64>,
    budget: usize,
}

/// Idle ticks before the first deadline, so that the median advance is one that finds little.
const IDLE: u64 = 1000;

impl Attack {
    /// Draws one.
    pub(crate) fn new(pattern: Pattern, population: usize, budget: usize, seed: u64) -> Self {
        let deadlines = pattern.deadlines(population, seed);
        let mut removed: Vec<u32> = (0u32..).take(population).collect();
        removed.shuffle(&mut Pcg64::seed_from_u64(!seed));
        removed.truncate(population / 2);
        Self { pattern, ticks: ticks(&deadlines), deadlines, removed, budget: budget.max(1) }
    }

    /// Timers.
    pub(crate) fn population(&self) -> usize {
        self.deadlines.len()
    }

    /// A part for the judge.
    pub(crate) fn script(&self, part: Part) -> PartOf<'_> {
        PartOf { attack: self, part }
    }

    /// Runs a part with the clock around each call.
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

    /// Has the queue use all of its memory once, or calls would pay for the system's pages. The
    /// first id that it leaves armed, as late as may be.
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

/// One timer in so many stays from the touching of memory, until its own turn: `timer-queue` gives
/// memory back when it holds less than a sixteenth, and would be charged for taking it anew.
const KEPT_ONE_IN: usize = 8;

/// The ticks at which something is due, with the two before each, after some idle ones; then one by
/// which the granular are done.
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

/// One part of an attack, without the clock.
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
