//! Time-outs of a network server. Most are moved before they expire, a few are cancelled and armed
//! again, and about one in a hundred expires.
//!
//! Each operation is an exchange on a random connection, at a steady rate. Exchanges advance the
//! clock. At each new tick, due timers are delivered and armed again at once.

use rand::RngExt;

use crate::models::draw::Draw;
use crate::models::scenario::{Measure, Timeouts};
use crate::models::tape::{Again, Does, Exchange, Server, Step, Tape};

fn delay(draw: &mut Draw, timeouts: &Timeouts) -> u64 {
    draw.rng.random_range(timeouts.shortest.get()..=timeouts.longest())
}

/// Draws the deadlines at the start. Each connection had its last exchange some time ago and has
/// not timed out since then.
pub(super) fn deadlines(draw: &mut Draw, timeouts: &Timeouts) -> Vec<u64> {
    let revisit = timeouts.revisit.get() as f64;
    let left = (0..draw.population).map(|_| {
        loop {
            let u: f64 = draw.rng.random();
            let ago = (-(1.0 - u).ln() * revisit) as u64;
            if let Some(left) = delay(draw, timeouts).checked_sub(ago).filter(|left| *left > 0) {
                break left;
            }
        }
    });
    left.collect()
}

pub(super) fn next(draw: &mut Draw, timeouts: &Timeouts, measure: Measure) -> Tape {
    let one_in = u32::try_from(timeouts.anew_one_in.get()).unwrap_or(u32::MAX);
    let (begin, operations) = (draw.now, draw.operations);
    let exchange = |_| {
        draw.done += 1;
        let now = draw.done * timeouts.revisit.get() / u64::from(draw.population);
        // The value is at most `revisit`, so it fits into 32 bits, as delays do.
        let after = u32::try_from(now - draw.now).unwrap_or(u32::MAX);
        draw.now = now;
        Exchange {
            after,
            id: draw.rng.random_range(0..draw.population),
            delay: u32::try_from(delay(draw, timeouts)).unwrap_or(u32::MAX),
            does: if draw.rng.random_range(0..one_in) == 0 { Does::Renew } else { Does::Move },
        }
    };
    let exchanges = (0..operations).map(exchange).collect();
    let again = Again::new(timeouts.shortest.get(), timeouts.longest());
    let server = Server::new(begin, exchanges, again, measure);
    Tape { server, deliveries: operations / 16, ..Tape::of([Step::Serve]) }
}

/// Passes to `each` the time-outs that an exchange moved or cancelled and that would expire after
/// the first tick. Only the last `most` exchanges count. These exchanges have the same number and
/// distribution as the exchanges that led to [`deadlines`], but they are drawn separately.
pub(super) fn past(draw: &Draw, timeouts: &Timeouts, most: usize, each: &mut dyn FnMut(u32, u64)) {
    let (longest, revisit) = (timeouts.longest(), timeouts.revisit.get());
    let mut past = Draw::new(draw.population as usize, 0, !draw.seed);
    let exchanges = longest.saturating_mul(u64::from(draw.population)) / revisit;
    for exchange in (1..=exchanges.min(most as u64)).rev() {
        let ago = exchange * revisit / u64::from(draw.population);
        let (id, delay) = (past.rng.random_range(0..draw.population), delay(&mut past, timeouts));
        // Exchanges on a connection are memoryless. The time-out that is pending at the first tick
        // was armed by the last exchange before that tick.
        let is_last = past.rng.random::<f64>() < (-(ago as f64) / revisit as f64).exp();
        if delay > ago && !is_last {
            each(id, delay - ago);
        }
    }
}
