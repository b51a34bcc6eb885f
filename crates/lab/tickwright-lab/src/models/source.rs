//! The work of a scenario at one population, written before any clock starts. Equal seeds give
//! equal work.
//!
//! - *Hold*: the earliest timer of a constant population is popped and inserted again with a later
//!   deadline.
//! - *Expire*: the deadlines of n timers are random over n ticks. The clock then advances tick by
//!   tick until no timer is left.
//! - *Idle*: all timers are far ahead, and a driver polls at each tick. No timer is ever due.
//! - [`network`] and [`one_shot`]: time-outs and one-shot timers of servers.

use rand::RngExt;

use crate::models::draw::Draw;
use crate::models::network;
use crate::models::one_shot::OneShot;
use crate::models::scenario::{Distribution, Increments, Measure, Model, Scenario, Timeouts};
use crate::models::tape::{Step, Tape};

/// Writes the work of one scenario at one population.
#[derive(Debug)]
pub(crate) struct Source {
    draw: Draw,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Hold(Increments),
    Network(Timeouts),
    OneShot(OneShot),
    Expire,
    Idle,
}

/// Ticks from the start to the first deadline of idle timers. This is more than the number of ticks
/// that all samples poll. The deadlines are spread over `RANGE` ticks.
const FAR: u64 = 1 << 30;
const RANGE: u64 = 1 << 20;

impl Scenario {
    /// Creates the source of this scenario's work.
    pub(crate) fn source(&self, population: usize, operations: usize, seed: u64) -> Source {
        let work = match (self.increments, self.timeouts, self.one_shots) {
            (Some(increments), ..) => Work::Hold(increments),
            (_, Some(timeouts), _) => Work::Network(timeouts),
            (.., Some(one_shots)) => Work::OneShot(OneShot::new(one_shots)),
            _ if self.model == Model::Idle => Work::Idle,
            _ => Work::Expire,
        };
        Source { draw: Draw::new(population, operations, seed), work }
    }
}

impl Source {
    /// Returns the deadlines with which a run begins. For models of a server, these are the
    /// deadlines in a server that has been running for a long time. Each round of *expire* arms its
    /// own timers.
    pub(crate) fn deadlines(&mut self) -> Vec<u64> {
        let Self { draw, work } = self;
        match work {
            Work::Hold(increments) => {
                let count = draw.population as usize;
                delays(draw, *increments, count)
            }
            Work::Network(timeouts) => network::deadlines(draw, timeouts),
            Work::OneShot(one_shot) => one_shot.deadlines(draw),
            Work::Expire => Vec::new(),
            Work::Idle => (0..draw.population).map(|_| FAR + draw.rng.random_range(0..RANGE)).collect(),
        }
    }

    /// Returns the work of the next sample of a measure.
    pub(crate) fn next(&mut self, measure: Measure) -> Tape {
        let Self { draw, work } = self;
        match work {
            Work::Hold(increments) => hold(draw, *increments, measure),
            Work::Network(timeouts) => network::next(draw, timeouts, measure),
            Work::OneShot(one_shot) => one_shot.next(draw, measure),
            Work::Expire => expire(draw, measure),
            Work::Idle => idle(draw),
        }
    }

    /// Calls `each` with the timers that were moved or cancelled before the first tick. Only about
    /// the last `most` of these timers are passed: see [`Past`](crate::models::sampler::Past).
    pub(crate) fn past(&self, most: usize, each: &mut dyn FnMut(u32, u64)) {
        match &self.work {
            Work::Network(timeouts) => network::past(&self.draw, timeouts, most, each),
            Work::OneShot(one_shot) => one_shot.past(&self.draw, most, each),
            Work::Hold(_) | Work::Expire | Work::Idle => {}
        }
    }

    /// Returns a tick at which all timers are due, even in granular structures, which are late by
    /// less than one delay. At the end of a run, all timers are delivered at this tick to prove
    /// that none was lost. Returns `None` if each sample already proves this.
    pub(crate) fn end(&self) -> Option<u64> {
        match &self.work {
            Work::Network(timeouts) => Some(self.draw.now + 2 * timeouts.longest()),
            Work::OneShot(one_shot) => Some(self.draw.now + 2 * one_shot.longest()),
            Work::Idle => Some(2 * (FAR + RANGE)),
            Work::Hold(_) | Work::Expire => None,
        }
    }
}

/// Returns the next `count` delays, each at least one tick.
fn delays(draw: &mut Draw, Increments { distribution, mean }: Increments, count: usize) -> Vec<u64> {
    let mean = mean.get();
    let delay = |_| match distribution {
        Distribution::Uniform => draw.rng.random_range(1..=mean * 2),
        Distribution::Periodic => draw.rng.random_range(mean - mean / 20..=mean + mean / 20).max(1),
        Distribution::Exponential => {
            // 1 - u is in (0, 1], so the logarithm is finite.
            let u: f64 = draw.rng.random();
            ((-(1.0 - u).ln() * mean as f64).round() as u64).max(1)
        }
    };
    (0..count).map(delay).collect()
}

fn hold(draw: &mut Draw, increments: Increments, measure: Measure) -> Tape {
    // Every measure draws delays, so that its rounds do not depend on the other measures of the
    // run.
    let count = draw.operations;
    let delays = delays(draw, increments, count);
    match measure {
        Measure::Rearm => Tape::over(Step::Rearm, delays),
        Measure::Head => Tape::of([Step::Head { count: u32::try_from(delays.len()).unwrap_or(u32::MAX) }]),
        _ => Tape::over(Step::Hold, delays),
    }
}

/// Rounds of two samples: [`Measure::Expire`] delivers what [`Measure::Insert`] armed.
fn expire(draw: &mut Draw, measure: Measure) -> Tape {
    // Exact structures are empty after the last tick.
    let (count, last) = (draw.population, draw.now + u64::from(draw.population));
    if measure == Measure::Insert {
        let deadlines = (0..count).map(|_| draw.rng.random_range(draw.now + 1..=last));
        return Tape::over(Step::Fill, deadlines.collect());
    }
    // A granular structure still holds some timers, because it delivers a timer with a delay of d
    // ticks up to d ticks late.
    let (after, all) = (draw.now, last + u64::from(count) + 1);
    draw.now = all;
    let steps = [Step::Poll { after, count }, Step::Deliver { now: all }];
    Tape { deliveries: count as usize, ..Tape::of(steps) }
}

fn idle(draw: &mut Draw) -> Tape {
    let (after, count) = (draw.now, u32::try_from(draw.operations).unwrap_or(u32::MAX));
    // Many samples of many polls would reach the deadlines, so the clock stops before them.
    let polls = u64::from(count);
    draw.now = if draw.now + 2 * polls < FAR { draw.now + polls } else { draw.now };
    Tape::of([Step::Poll { after, count }])
}

#[cfg(test)]
mod tests;
