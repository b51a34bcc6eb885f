//! Time-outs of a network server. Most are moved before they expire, a few are cancelled and set
//! again, and about one in a hundred expires.
//!
//! Each operation is an exchange on a random connection, at a steady rate. Exchanges advance the
//! clock. At each new tick, due timers are delivered and armed again at once.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::scenario::{Measure, Timeouts};
use crate::models::verify::{Notes, SPREAD, Witness};
use crate::structures::candidate::BenchQueue;

/// The question to the queue after each exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Nothing.
    Nothing,
    /// The next wake-up.
    Wake,
    /// The exact next expiry.
    Expiry,
    /// The head, with its key.
    Peek,
}

impl Ask {
    fn of(measure: Measure) -> Self {
        match measure {
            Measure::Wake => Self::Wake,
            Measure::Expiry => Self::Expiry,
            Measure::Peek => Self::Peek,
            _ => Self::Nothing,
        }
    }
}

/// One exchange on one connection.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    /// Ticks since the previous exchange.
    after: u32,
    connection: u32,
    /// The new time-out, in ticks from now.
    delay: u32,
    /// Whether the time-out is cancelled and inserted, instead of moved.
    anew: bool,
}

/// The exchanges of a sample.
#[derive(Debug, Clone)]
pub(crate) struct Exchanges {
    begin: u64,
    all: Vec<Exchange>,
    again: Again,
    /// The question after each exchange.
    pub(crate) ask: Ask,
}

impl Exchanges {
    /// The same exchanges without a question.
    pub(crate) fn unasked(self) -> Self {
        Self { ask: Ask::Nothing, ..self }
    }

    /// An estimate of the number of answers.
    pub(crate) fn notes(&self) -> Notes {
        let reads = if self.ask == Ask::Nothing { 0 } else { self.all.len() };
        Notes { deliveries: self.all.len() / 16, reads }
    }
}

/// Computes the delay of a timer that expired and is armed again. The delay depends only on the id
/// and the tick, not on the order among equals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Again {
    shortest: u64,
    span: u64,
}

impl Again {
    /// Creates the delays from `shortest` to `longest`.
    pub(crate) fn new(shortest: u64, longest: u64) -> Self {
        Self { shortest, span: longest.saturating_sub(shortest) + 1 }
    }

    /// Returns the delay of a timer that is armed again at `now`.
    #[inline]
    pub(crate) fn delay(self, id: u32, now: u64) -> u64 {
        let random = (u64::from(id) ^ now << 24).wrapping_mul(SPREAD) >> 32;
        self.shortest + ((random * self.span) >> 32)
    }
}

/// The timed loop. The question is chosen before the loop, so that a loop without a question does
/// not test for a question.
pub(crate) fn run<Q: BenchQueue, W: Witness>(queue: &mut Q, exchanges: &Exchanges, witness: &mut W) {
    match exchanges.ask {
        Ask::Nothing => serve(queue, exchanges, witness, |_, _| {}),
        Ask::Wake => serve(queue, exchanges, witness, |queue, witness| witness.read(queue.wake())),
        Ask::Expiry => serve(queue, exchanges, witness, |queue, witness| witness.read(queue.head())),
        Ask::Peek => serve(queue, exchanges, witness, |queue, witness| witness.read(queue.look_at_head())),
    }
}

#[inline(never)]
fn serve<Q: BenchQueue, W: Witness>(
    queue: &mut Q,
    exchanges: &Exchanges,
    witness: &mut W,
    ask: impl Fn(&mut Q, &mut W),
) {
    let mut now = exchanges.begin;
    let mut due = Vec::new();
    for exchange in &exchanges.all {
        if exchange.after > 0 {
            now += u64::from(exchange.after);
            queue.advance(now, usize::MAX, &mut |id, expiry| due.push((id, expiry)));
            for (id, expiry) in due.drain(..) {
                witness.delivered(id, expiry, now);
                queue.insert(id, now + exchanges.again.delay(id, now));
            }
        }
        let deadline = now + u64::from(exchange.delay);
        if exchange.anew {
            queue.remove(exchange.connection);
            queue.insert(exchange.connection, deadline);
        } else {
            queue.reschedule(exchange.connection, deadline);
        }
        ask(queue, witness);
    }
}

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

    /// Generates the initial deadlines of a server that has been running for a long time. Each
    /// connection had its last exchange some time ago and has not timed out since.
    pub(crate) fn deadlines(&mut self) -> Vec<u64> {
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

    /// Calls `each` with the id and the deadline of each time-out that an exchange moved or
    /// cancelled before the first tick. Only time-outs that would expire after the first tick are
    /// passed. Only the last `most` exchanges count. Those exchanges equal the ones before
    /// [`deadlines`](Self::deadlines) in number and spread, but are drawn separately.
    pub(crate) fn moved(&self, most: usize, each: &mut dyn FnMut(u32, u64)) {
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

    /// Generates the exchanges of the next sample.
    pub(crate) fn exchanges(&mut self, measure: Measure) -> Exchanges {
        let (begin, revisit) = (self.now, self.timeouts.revisit.get());
        let one_in = u32::try_from(self.timeouts.anew_one_in.get()).unwrap_or(u32::MAX);
        let all = (0..self.operations).map(|_| {
            self.done += 1;
            let now = self.done * revisit / u64::from(self.population);
            // The value is at most `revisit`, so it fits into 32 bits, as delays do.
            let after = u32::try_from(now - self.now).unwrap_or(u32::MAX);
            self.now = now;
            Exchange {
                after,
                connection: self.rng.random_range(0..self.population),
                delay: u32::try_from(self.delay()).unwrap_or(u32::MAX),
                anew: self.rng.random_range(0..one_in) == 0,
            }
        });
        let all = all.collect();
        let again = Again::new(self.timeouts.shortest.get(), self.timeouts.longest());
        Exchanges { begin, all, again, ask: Ask::of(measure) }
    }

    /// The tick by which every time-out has passed. A granular structure is late by less than one
    /// delay.
    pub(crate) fn end(&self) -> u64 {
        self.now + 2 * self.timeouts.longest()
    }
}

#[cfg(test)]
mod tests;
