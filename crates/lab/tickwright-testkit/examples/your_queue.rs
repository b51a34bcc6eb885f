//! Runs the suite on a queue, and prints a verdict for each clause of the contract.
//!
//! `cargo run -p tickwright-testkit --example your_queue`. Replace `Sorted` by an adapter for your
//! queue. If your queue lacks an operation, leave it out of `OFFERS`.

use std::process::ExitCode;

use tickwright_testkit::clauses::{NAMES, Tools, verdicts};
use tickwright_testkit::subject::{Fired, Full, Make, Offers, Stale, Subject};

/// Timers as (expiry, value), sorted so that the next timer to leave is last. No two timers have
/// the same value, so the value is the key.
#[derive(Debug, Default)]
struct Sorted {
    timers: Vec<(u64, u32)>,
    now: u64,
}

impl Subject for Sorted {
    type Key = u32;

    fn now(&self) -> u64 {
        self.now
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(u32, bool), Full> {
        let expiry = deadline.max(self.now);
        let place = self.timers.partition_point(|timer| timer.0 > expiry);
        // Timers with an equal expiry that were inserted earlier are nearer to the end, so they
        // leave earlier.
        self.timers.insert(place, (expiry, value));
        Ok((value, place + 1 == self.timers.len()))
    }

    fn remove(&mut self, key: u32) -> Result<(u32, bool), Stale> {
        let place = self.timers.iter().position(|timer| timer.1 == key).ok_or(Stale)?;
        Ok((self.timers.remove(place).1, place == self.timers.len()))
    }

    fn tell(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        self.tell(now);
        let (expiry, value) = self.timers.pop_if(|timer| timer.0 <= self.now)?;
        Some(Fired::new(value, expiry))
    }

    fn next_wake(&mut self) -> Option<u64> {
        self.timers.last().map(|timer| timer.0)
    }
}

/// Creates `Sorted` queues.
struct Factory;

impl Make for Factory {
    type Arena = ();
    type Subject<'a> = Sorted;
    const OFFERS: Offers = Offers {
        stale_keys: true,
        pop: true,
        tell: true,
        next_wake: true,
        head_change: true,
        ..Offers::NONE
    };
    const EXACT: bool = true;

    fn name() -> String {
        "a sorted vector".into()
    }

    fn arena(_: usize) {}

    fn make((): &(), _: usize) -> Sorted {
        Sorted::default()
    }
}

fn main() -> ExitCode {
    let verdicts = verdicts::<Factory>(&Tools::default());
    for (name, verdict) in NAMES.iter().zip(&verdicts) {
        println!("{name}: {verdict}");
    }
    ExitCode::from(u8::from(verdicts.iter().any(|verdict| verdict.is_broken())))
}
