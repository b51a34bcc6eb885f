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

use crate::models::scenario::{Completions, Measure, OneShots};
use crate::models::tape::{Again, Ask, Does, Exchange, Server, Source, Step, Tape};

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
}

impl Source for OneShot {
    /// The deadlines of a server that has been running for a long time.
    fn deadlines(&mut self) -> Vec<u64> {
        (0..self.population).map(|id| self.pending(id, &mut |_, _| {})).collect()
    }

    fn next(&mut self, _: Measure) -> Tape {
        let (begin, again, operations) = (self.now, self.again, self.operations);
        let mut deliveries = 0;
        let turnover = |_| {
            let Reverse((at, id, has_expired)) = self.ends.pop()?;
            let delay = if has_expired { again.delay(id, at) } else { self.delay() };
            let Fate { life, expires } = self.fate(delay);
            self.ends.push(Reverse((at + life, id, expires)));
            // The value is at most the longest delay, so it fits into 32 bits, as delays do.
            let after = u32::try_from(at - self.now).unwrap_or(u32::MAX);
            self.now = at;
            deliveries += usize::from(has_expired);
            let does = if has_expired { Does::Nothing } else { Does::Renew };
            Some(Exchange { after, id, delay: u32::try_from(delay).unwrap_or(u32::MAX), does })
        };
        let exchanges = (0..operations).map_while(turnover).collect();
        let server = Server::new(begin, exchanges, again, Ask::Nothing);
        Tape { server, deliveries, ..Tape::of([Step::Serve]) }
    }

    /// Passes each timer that was cancelled and would expire after the first tick. If there are
    /// more than `most` of them, only the last `most` are passed.
    fn past(&self, most: usize, each: &mut dyn FnMut(u32, u64)) {
        let mut again = Self::new(self.one_shots, self.population as usize, 0, self.seed);
        let mut all = Vec::new();
        for id in 0..self.population {
            again.pending(id, &mut |ago, deadline| all.push((Reverse(ago), id, deadline)));
        }
        all.sort_unstable();
        let earlier = all.len().saturating_sub(most);
        all.into_iter().skip(earlier).for_each(|(_, id, deadline)| each(id, deadline));
    }

    /// A granular structure is late by less than one delay.
    fn end(&self) -> Option<u64> {
        Some(self.now + 2 * self.one_shots.longest.get())
    }
}

#[cfg(test)]
mod tests;
