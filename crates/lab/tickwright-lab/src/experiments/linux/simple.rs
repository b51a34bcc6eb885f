//! The simple test: timers of one delay are re-armed at random, in virtual or in real time.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::counts::Counts;
use super::oracle::{Did, Model, level};
use super::subject::{Column, Outcome, Subject};
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::interrupt;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Workload {
    /// Number of timers.
    pub(crate) timers: usize,
    pub(crate) hz: u64,
    /// Delay of each re-arm, in ms.
    pub(crate) delay_ms: u64,
    /// Mean time between two re-arms of a timer, in ms (which are ticks at 1000 Hz).
    pub(crate) step_ms: f64,
    pub(crate) seed: u64,
}

/// Mean gap, in ms, for which 5.5 % of the re-arms fall into the tick of the previous re-arm. At
/// 1000 Hz, a tick is 1 ms. The parent module has the formula.
pub(crate) const STEP_MS: f64 = 8.75;

impl Workload {
    /// Returns the delay in ticks, rounded up as in a kernel. The result is at least 1.
    pub(crate) fn delay(&self) -> u64 {
        (self.delay_ms * self.hz).div_ceil(1000).max(1)
    }

    /// Returns the mean gap between re-arms of one timer, in ticks.
    pub(crate) fn step(&self) -> f64 {
        self.step_ms * self.hz as f64 / 1000.0
    }

    /// Returns the match rates by the formulas, in percent: for equal deadlines, and for granules.
    pub(crate) fn expected(&self) -> (f64, f64) {
        let within = |ticks: f64| {
            let m = self.step() / ticks;
            100.0 * (1.0 - m * (1.0 - (-1.0 / m).exp()))
        };
        (within(1.0), within((1u64 << (3 * level(self.delay()))) as f64))
    }
}

/// The times of the re-arms, and the timer of each re-arm. The gaps of one timer are exponential
/// with mean m. Therefore n timers together have exponential gaps with mean m/n, and each re-arm
/// picks a random timer.
struct Rearms {
    random: Pcg64Mcg,
    timers: usize,
    mean: f64,
    at: f64,
}

impl Rearms {
    fn new(work: &Workload, mean: f64) -> Self {
        let random = Pcg64Mcg::seed_from_u64(work.seed);
        Self { random, timers: work.timers, mean: mean / work.timers as f64, at: 0.0 }
    }
}

impl Iterator for Rearms {
    type Item = (f64, usize);

    fn next(&mut self) -> Option<(f64, usize)> {
        let uniform: f64 = self.random.random();
        self.at -= (1.0 - uniform).ln() * self.mean;
        Some((self.at, self.random.random_range(0..self.timers)))
    }
}

/// A test that makes `rearms` re-arms in virtual time, and compares each with the oracle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Virtual<'a> {
    pub(crate) work: &'a Workload,
    pub(crate) column: Column,
    pub(crate) rearms: u64,
}

impl Virtual<'_> {
    /// Returns the counts of the re-arms.
    ///
    /// # Errors
    /// If an answer or a count differs from the oracle's.
    pub(crate) fn run(self) -> Result<Counts, LabError> {
        let Self { work, column, rearms } = self;
        let wrong = |what: String| LabError::failed(format!("{}: {what}", column.title()));
        let shard = column.shard();
        let timers = shard.timers(work.timers)?;
        let mut models = vec![Model::default(); work.timers];
        let mut expected = Counts::default();
        for (which, model) in models.iter_mut().enumerate() {
            timers.modify(which, work.delay()).map_err(|error| wrong(error.to_string()))?;
            model.arm(column.way(), 0, work.delay());
        }
        let begun = shard.counts();
        let mut now = 0;
        let rearms = Rearms::new(work, work.step()).take(usize::try_from(rearms).unwrap_or(usize::MAX));
        for (at, which) in rearms {
            if at as u64 > now {
                now = at as u64;
                shard.advance(now)?;
            }
            let did = models[which].arm(column.way(), now, work.delay());
            expected.note(did);
            let pending =
                timers.modify(which, now + work.delay()).map_err(|error| wrong(error.to_string()))?;
            if pending == (did == Did::Start) {
                return Err(wrong(format!(
                    "timer {which} at {now} was pending: {pending}, expected {did:?}"
                )));
            }
        }
        let got = shard.counts().since(&begun);
        expected = Counts {
            recalculated: got.recalculated,
            locks: got.locks,
            lost_races: got.lost_races,
            ..expected
        };
        if got != expected {
            return Err(wrong(format!("counted {got:?}, expected {expected:?}")));
        }
        shard.check().map_err(|violation| wrong(violation.to_string()))?;
        Ok(got)
    }
}

/// A test that re-arms in real time. Another thread advances the shard at every tick, so the clock
/// advances during the re-arms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Real<'a> {
    pub(crate) work: &'a Workload,
    pub(crate) column: Column,
    pub(crate) lasts: Duration,
}

impl Real<'_> {
    /// Returns the counts of the re-arms.
    ///
    /// # Errors
    /// If the shard's invariants do not hold, or the shard has no room.
    pub(crate) fn run(self) -> Result<Outcome, LabError> {
        let Self { work, column, lasts } = self;
        let shard = column.shard();
        let timers = shard.timers(work.timers)?;
        for which in 0..work.timers {
            timers.modify(which, work.delay()).map_err(|error| LabError::failed(error.to_string()))?;
        }
        let begun = shard.counts();
        let done = AtomicBool::new(false);
        let clock = OsClock::start();
        let mut late = 0;
        let fired = std::thread::scope(|scope| {
            let ending = SetOnDrop(&done);
            let ticking = scope.spawn(|| tick(&*shard, work.hz, &clock, &done));
            let tick_ns = 1e9 / work.hz as f64;
            for (at, which) in Rearms::new(work, work.step() * tick_ns) {
                while clock.now() < at as u64 {
                    core::hint::spin_loop();
                }
                let now = clock.now();
                if now >= lasts.as_nanos() as u64 || interrupt::requested() {
                    break;
                }
                late += u64::from((now - at as u64) as f64 > tick_ns);
                let deadline = ticks(&clock, work.hz) + work.delay();
                // This fails only for a timer that was shut down, and no timer was shut down.
                let _ = timers.modify(which, deadline);
            }
            drop(ending);
            ticking.join().unwrap_or_default()
        });
        let counts = shard.counts().since(&begun);
        shard.check().map_err(|violation| LabError::failed(format!("{}: {violation}", column.title())))?;
        Ok(Outcome { column, counts, fired, late })
    }
}

/// Sets the flag when it is dropped, so threads that wait for the flag also end after a panic.
pub(super) struct SetOnDrop<'a>(pub(super) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the current tick, like Linux's jiffies.
pub(super) fn ticks(clock: &OsClock, hz: u64) -> u64 {
    (u128::from(clock.now()) * u128::from(hz) / 1_000_000_000) as u64
}

/// Advances the shard at each tick until `done`. Returns how many timers fired.
fn tick(shard: &dyn Subject, hz: u64, clock: &OsClock, done: &AtomicBool) -> u64 {
    let mut fired = 0;
    while !done.load(Ordering::Relaxed) {
        let now = ticks(clock, hz);
        // This fails only during another pass, and no other thread advances the shard.
        fired += shard.advance(now).unwrap_or(0);
        let next = (u128::from(now + 1) * 1_000_000_000).div_ceil(u128::from(hz)) as u64;
        std::thread::sleep(Duration::from_nanos(next.saturating_sub(clock.now())));
    }
    fired
}
