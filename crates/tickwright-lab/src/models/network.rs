//! Time-outs of a network server. Most are moved before they expire, a few are cancelled and set
//! again, and about one in a hundred expires.
//!
//! Each operation is an exchange on a random connection, at a steady rate. Exchanges advance the
//! clock. At each new tick, due timers are delivered and armed again at once.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::scenario::{Measure, Timeouts};
use crate::models::tape::{Again, Ask, Does, Exchange, Server, Source, Step, Tape};

/// Generates exchanges on a number of connections from a seed.
#[derive(Debug)]
pub(crate) struct Network {
    rng: Pcg64,
    timeouts: Timeouts,
    population: u32,
    operations: usize,
    seed: u64,
    /// The number of exchanges so far.
    done: u64,
    /// The tick of the last exchange.
    now: u64,
}

impl Network {
    /// Creates the generator of one cell.
    pub(crate) fn new(timeouts: Timeouts, population: usize, operations: usize, seed: u64) -> Self {
        let population = u32::try_from(population).unwrap_or(u32::MAX).max(1);
        Self { rng: Pcg64::seed_from_u64(seed), timeouts, population, operations, seed, done: 0, now: 0 }
    }

    fn delay(&mut self) -> u64 {
        self.rng.random_range(self.timeouts.shortest.get()..=self.timeouts.longest())
    }
}

impl Source for Network {
    /// The deadlines of a server that has been running for a long time. Each connection had its
    /// last exchange some time ago and has not timed out since.
    fn deadlines(&mut self) -> Vec<u64> {
        let revisit = self.timeouts.revisit.get() as f64;
        let left = (0..self.population).map(|_| {
            loop {
                let u: f64 = self.rng.random();
                let ago = (-(1.0 - u).ln() * revisit) as u64;
                if let Some(left) = self.delay().checked_sub(ago).filter(|left| *left > 0) {
                    break left;
                }
            }
        });
        left.collect()
    }

    fn next(&mut self, measure: Measure) -> Tape {
        let revisit = self.timeouts.revisit.get();
        let one_in = u32::try_from(self.timeouts.anew_one_in.get()).unwrap_or(u32::MAX);
        let (begin, operations) = (self.now, self.operations);
        let exchange = |_| {
            self.done += 1;
            let now = self.done * revisit / u64::from(self.population);
            // The value is at most `revisit`, so it fits into 32 bits, as delays do.
            let after = u32::try_from(now - self.now).unwrap_or(u32::MAX);
            self.now = now;
            Exchange {
                after,
                id: self.rng.random_range(0..self.population),
                delay: u32::try_from(self.delay()).unwrap_or(u32::MAX),
                does: if self.rng.random_range(0..one_in) == 0 { Does::Renew } else { Does::Move },
            }
        };
        let exchanges = (0..operations).map(exchange).collect();
        let again = Again::new(self.timeouts.shortest.get(), self.timeouts.longest());
        let server = Server::new(begin, exchanges, again, Ask::of(measure));
        Tape { server, deliveries: operations / 16, ..Tape::of([Step::Serve]) }
    }

    /// Passes the time-outs that an exchange moved or cancelled, and that would expire after the
    /// first tick. Only the last `most` exchanges count. They equal those before
    /// [`deadlines`](Self::deadlines) in number and spread, but are drawn separately.
    fn past(&self, most: usize, each: &mut dyn FnMut(u32, u64)) {
        let (longest, revisit) = (self.timeouts.longest(), self.timeouts.revisit.get());
        let mut past = Self::new(self.timeouts, self.population as usize, 0, !self.seed);
        let exchanges = longest.saturating_mul(u64::from(self.population)) / revisit;
        for exchange in (1..=exchanges.min(most as u64)).rev() {
            let ago = exchange * revisit / u64::from(self.population);
            let (id, delay) = (past.rng.random_range(0..self.population), past.delay());
            // Exchanges on a connection are memoryless. The time-out that is pending at the first
            // tick was armed by the last exchange before that tick.
            let is_last = past.rng.random::<f64>() < (-(ago as f64) / revisit as f64).exp();
            if delay > ago && !is_last {
                each(id, delay - ago);
            }
        }
    }

    /// A granular structure is late by less than one delay.
    fn end(&self) -> Option<u64> {
        Some(self.now + 2 * self.timeouts.longest())
    }
}

#[cfg(test)]
mod tests;
