//! One-shot timers of a server in a steady state: for each timer that leaves, another one comes.
//! Most are cancelled before they expire.
//!
//! ```text
//! id 0   ├── insert ──── cancel ┤├── insert ─────────── expire ┤├── insert ──
//! id 1   ─── cancel ┤├── insert ────── cancel ┤├── insert ──────────── ...
//!                    └─ a turnover: one timer leaves, another is inserted under its id
//! ```
//!
//! Each id always has one pending timer. Which timers are cancelled, and when, is drawn before any
//! clock starts. Between two turnovers the driver sleeps, so the queue only advances at turnovers.

use core::cmp::Reverse;
use core::f64::consts::TAU;
use std::collections::BinaryHeap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::network::Again;
use crate::models::scenario::{Completions, OneShots};
use crate::models::verify::{Notes, Witness};
use crate::structures::candidate::BenchQueue;

/// One turnover.
#[derive(Debug, Clone, Copy)]
struct Turnover {
    /// Ticks since the previous turnover.
    after: u32,
    id: u32,
    /// The delay of the timer that is inserted, in ticks. If the leaving timer expires, this is 0:
    /// the id and the tick of the delivery then determine the successor's delay.
    delay: u32,
}

/// The turnovers of a sample.
#[derive(Debug, Clone)]
pub(crate) struct Turnovers {
    begin: u64,
    all: Vec<Turnover>,
    again: Again,
}

impl Turnovers {
    /// An estimate of the number of answers.
    pub(crate) fn notes(&self) -> Notes {
        Notes { deliveries: self.all.iter().filter(|turnover| turnover.delay == 0).count(), reads: 0 }
    }
}

/// The timed loop.
#[inline(never)]
pub(crate) fn run<Q: BenchQueue, W: Witness>(queue: &mut Q, turnovers: &Turnovers, witness: &mut W) {
    let mut now = turnovers.begin;
    let mut due = Vec::new();
    for turnover in &turnovers.all {
        if turnover.after > 0 {
            now += u64::from(turnover.after);
            queue.advance(now, usize::MAX, &mut |id, expiry| due.push((id, expiry)));
            for (id, expiry) in due.drain(..) {
                witness.delivered(id, expiry, now);
                queue.insert(id, now + turnovers.again.delay(id, now));
            }
        }
        if turnover.delay > 0 {
            queue.remove(turnover.id);
            queue.insert(turnover.id, now + u64::from(turnover.delay));
        }
    }
}

/// How a timer will leave.
#[derive(Debug, Clone, Copy)]
struct Fate {
    /// Ticks from the timer's insert until the timer leaves.
    life: u64,
    expires: bool,
}

/// Generates turnovers of a number of timers from a seed.
#[derive(Debug)]
pub(crate) struct OneShot {
    rng: Pcg64,
    one_shots: OneShots,
    again: Again,
    population: u32,
    operations: usize,
    seed: u64,
    /// The tick of the last turnover.
    now: u64,
    /// When each pending timer leaves, its id, and whether it expires.
    ends: BinaryHeap<Reverse<(u64, u32, bool)>>,
}

/// The upper quartile of the standard normal distribution.
const QUARTILE: f64 = 0.674_489_750_196_081_7;

/// Before the first tick, each id has had timers for this many times the longest delay.
const HISTORY: u64 = 4;

impl OneShot {
    /// Creates the generator of one cell.
    pub(crate) fn new(one_shots: OneShots, population: usize, operations: usize, seed: u64) -> Self {
        Self {
            rng: Pcg64::seed_from_u64(seed),
            one_shots,
            again: Again::new(one_shots.shortest.get(), one_shots.longest.get()),
            population: u32::try_from(population).unwrap_or(u32::MAX).max(1),
            operations,
            seed,
            now: 0,
            ends: BinaryHeap::new(),
        }
    }

    fn delay(&mut self) -> u64 {
        self.rng.random_range(self.one_shots.shortest.get()..=self.one_shots.longest.get())
    }

    fn fate(&mut self, delay: u64) -> Fate {
        let life = match (self.one_shots.cancelled_percent, self.one_shots.completions) {
            (Some(percent), _) if self.rng.random_range(0..100) < percent.get() => {
                self.rng.random_range(0..delay)
            }
            (None, Some(completions)) => self.completion(completions),
            _ => delay,
        };
        Fate { life: life.min(delay), expires: life >= delay }
    }

    /// Draws the time that a request takes.
    fn completion(&mut self, Completions { p50, p75 }: Completions) -> u64 {
        let (u, v): (f64, f64) = (self.rng.random(), self.rng.random());
        // Box and Muller's method; 1 - u lies in (0, 1], so the logarithm is finite.
        let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (TAU * v).cos();
        let deviation = (p75.get() as f64 / p50.get() as f64).ln() / QUARTILE;
        (p50.get() as f64 * (deviation * normal).exp()).round() as u64
    }

    /// Generates the initial deadlines of a server that has been running for a long time.
    pub(crate) fn deadlines(&mut self) -> Vec<u64> {
        (0..self.population).map(|id| self.pending(id, &mut |_, _| {})).collect()
    }

    /// Calls `each` with the id and the deadline of each timer that was cancelled before the first
    /// tick and would expire after that tick. If there are more than `most` timers, only the last
    /// `most` of them are passed.
    pub(crate) fn cancelled(&self, most: usize, each: &mut dyn FnMut(u32, u64)) {
        let mut again = Self::new(self.one_shots, self.population as usize, 0, self.seed);
        let mut all = Vec::new();
        for id in 0..self.population {
            again.pending(id, &mut |ago, deadline| all.push((Reverse(ago), id, deadline)));
        }
        all.sort_unstable();
        let earlier = all.len().saturating_sub(most);
        all.into_iter().skip(earlier).for_each(|(_, id, deadline)| each(id, deadline));
    }

    /// Simulates the timers of an id, one after the other, until the first tick. Returns the
    /// deadline of the timer that is pending then. Calls `cancelled(age, deadline)` for each
    /// cancelled timer that would expire after the first tick. `age` is the number of ticks since
    /// it was armed.
    fn pending(&mut self, id: u32, cancelled: &mut dyn FnMut(u64, u64)) -> u64 {
        let first = HISTORY * self.one_shots.longest.get();
        // Each id begins at a random tick. The earliest possible one is `-first`.
        let mut before = first - self.rng.random_range(0..self.one_shots.longest.get());
        loop {
            let delay = self.delay();
            let Fate { life, expires } = self.fate(delay);
            match before.checked_sub(life) {
                Some(left) => {
                    if delay > before {
                        cancelled(before, delay - before);
                    }
                    before = left;
                }
                None => {
                    self.ends.push(Reverse((life - before, id, expires)));
                    return delay - before;
                }
            }
        }
    }

    /// Generates the turnovers of the next sample.
    pub(crate) fn turnovers(&mut self) -> Turnovers {
        let (begin, again) = (self.now, self.again);
        let all = (0..self.operations).map_while(|_| {
            let Reverse((at, id, expired)) = self.ends.pop()?;
            let delay = if expired { again.delay(id, at) } else { self.delay() };
            let Fate { life, expires } = self.fate(delay);
            self.ends.push(Reverse((at + life, id, expires)));
            // The value is at most the longest delay, so it fits into 32 bits, as delays do.
            let after = u32::try_from(at - self.now).unwrap_or(u32::MAX);
            self.now = at;
            let drawn = if expired { 0 } else { delay };
            Some(Turnover { after, id, delay: u32::try_from(drawn).unwrap_or(u32::MAX) })
        });
        let all = all.collect();
        Turnovers { begin, all, again }
    }

    /// The tick by which every timer is due. A granular structure is late by less than one delay.
    pub(crate) fn end(&self) -> u64 {
        self.now + 2 * self.one_shots.longest.get()
    }
}

#[cfg(test)]
mod tests;
