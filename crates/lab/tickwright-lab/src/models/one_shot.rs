//! One-shot timers of a server in a steady state: each timer that leaves is replaced by another
//! timer. Most timers are cancelled before they expire.
//!
//! ```text
//! id 0   ├── insert ──── cancel ┤├── insert ─────────── expire ┤├── insert ──
//! id 1   ─── cancel ┤├── insert ────── cancel ┤├── insert ──────────── ...
//!                    └─ a turnover: one timer leaves, another is inserted under its id
//! ```
//!
//! Each id always has one pending timer. Before any clock starts, we draw which timers are
//! cancelled and when. The driver sleeps between two turnovers, so the queue advances only at
//! turnovers.

use core::cmp::Reverse;
use core::f64::consts::TAU;
use std::collections::BinaryHeap;

use rand::RngExt;

use crate::models::draw::Draw;
use crate::models::scenario::{Completions, Measure, OneShots};
use crate::models::tape::{Again, Does, Exchange, Server, Step, Tape};

/// How a timer will leave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fate {
    /// Ticks from the timer's insert until the timer leaves.
    pub(super) life: u64,
    expires: bool,
}

/// The timers of a server.
#[derive(Debug)]
pub(super) struct OneShot {
    one_shots: OneShots,
    pub(super) again: Again,
    /// When each pending timer leaves, its id, and whether it expires.
    pub(super) ends: BinaryHeap<Reverse<(u64, u32, bool)>>,
}

/// The upper quartile of the standard normal distribution.
const QUARTILE: f64 = 0.674_489_750_196_081_7;

/// Before the first tick, the timers of each id are simulated for this many times the longest
/// delay.
const HISTORY: u64 = 4;

impl OneShot {
    /// Creates a server without timers.
    pub(super) fn new(one_shots: OneShots) -> Self {
        let again = Again::new(one_shots.shortest.get(), one_shots.longest.get());
        Self { one_shots, again, ends: BinaryHeap::new() }
    }

    /// Returns the longest delay, in ticks.
    pub(super) fn longest(&self) -> u64 {
        self.one_shots.longest.get()
    }

    pub(super) fn delay(&self, draw: &mut Draw) -> u64 {
        draw.rng.random_range(self.one_shots.shortest.get()..=self.longest())
    }

    pub(super) fn fate(&self, draw: &mut Draw, delay: u64) -> Fate {
        let life = match (self.one_shots.cancelled_percent, self.one_shots.completions) {
            (Some(percent), _) if draw.rng.random_range(0..100) < percent.get() => {
                draw.rng.random_range(0..delay)
            }
            (None, Some(completions)) => completion(draw, completions),
            _ => delay,
        };
        Fate { life: life.min(delay), expires: life >= delay }
    }

    /// Simulates the timers of an id, one after the other, until the first tick. Returns the
    /// deadline of the timer that is pending at that tick. Calls `cancelled(age, deadline)` for
    /// each cancelled timer that would expire after the first tick. `age` is the number of ticks
    /// since that timer was armed.
    fn pending(&mut self, draw: &mut Draw, id: u32, cancelled: &mut dyn FnMut(u64, u64)) -> u64 {
        let first = HISTORY * self.longest();
        // Each id begins at a random tick. The earliest possible tick is `-first`.
        let mut before = first - draw.rng.random_range(0..self.longest());
        loop {
            let delay = self.delay(draw);
            let Fate { life, expires } = self.fate(draw, delay);
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

    pub(super) fn deadlines(&mut self, draw: &mut Draw) -> Vec<u64> {
        (0..draw.population).map(|id| self.pending(draw, id, &mut |_, _| {})).collect()
    }

    pub(super) fn next(&mut self, draw: &mut Draw, measure: Measure) -> Tape {
        let (begin, again, operations) = (draw.now, self.again, draw.operations);
        let mut deliveries = 0;
        let turnover = |_| {
            let Reverse((at, id, has_expired)) = self.ends.pop()?;
            let delay = if has_expired { again.delay(id, at) } else { self.delay(draw) };
            let Fate { life, expires } = self.fate(draw, delay);
            self.ends.push(Reverse((at + life, id, expires)));
            // The value is at most the longest delay, so it fits into 32 bits, as delays do.
            let after = u32::try_from(at - draw.now).unwrap_or(u32::MAX);
            draw.now = at;
            deliveries += usize::from(has_expired);
            let does = if has_expired { Does::Nothing } else { Does::Renew };
            Some(Exchange { after, id, delay: u32::try_from(delay).unwrap_or(u32::MAX), does })
        };
        let exchanges = (0..operations).map_while(turnover).collect();
        let server = Server::new(begin, exchanges, again, measure);
        Tape { server, deliveries, ..Tape::of([Step::Serve]) }
    }

    /// Passes to `each` every timer that was cancelled and would expire after the first tick. If
    /// there are more than `most` such timers, only the last `most` are passed.
    pub(super) fn past(&self, draw: &Draw, most: usize, each: &mut dyn FnMut(u32, u64)) {
        let mut again = Self::new(self.one_shots);
        let mut draw = Draw::new(draw.population as usize, 0, draw.seed);
        let mut all = Vec::new();
        for id in 0..draw.population {
            again.pending(&mut draw, id, &mut |ago, deadline| all.push((Reverse(ago), id, deadline)));
        }
        all.sort_unstable();
        let earlier = all.len().saturating_sub(most);
        all.into_iter().skip(earlier).for_each(|(_, id, deadline)| each(id, deadline));
    }
}

/// Draws the time that a request takes.
fn completion(draw: &mut Draw, Completions { p50, p75 }: Completions) -> u64 {
    let (u, v): (f64, f64) = (draw.rng.random(), draw.rng.random());
    // Box and Muller's method; 1 - u is in (0, 1], so the logarithm is finite.
    let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (TAU * v).cos();
    let deviation = (p75.get() as f64 / p50.get() as f64).ln() / QUARTILE;
    (p50.get() as f64 * (deviation * normal).exp()).round() as u64
}
