//! The operations of a sample, generated before any clock starts, and the loop that runs them.

use crate::models::expire::Expire;
use crate::models::hold::Hold;
use crate::models::idle::Idle;
use crate::models::network::Network;
use crate::models::one_shot::OneShot;
use crate::models::scenario::{Measure, Model, Scenario};
use crate::models::verify::{Notes, Script, Witness};
use crate::models::{expire, hold, idle, network, one_shot};
use crate::structures::candidate::BenchQueue;

/// The operations of a sample.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// Arm idle timers: timer `i` at the `i`-th tick of the list.
    Fill(Vec<u64>),
    /// Pop the earliest timer and insert it again; one delay per operation.
    Hold(Vec<u64>),
    /// Re-arm the earliest timer in one step; one delay per operation.
    Rearm(Vec<u64>),
    /// Read the head, this number of times.
    Head(usize),
    /// Re-arm and cancel time-outs as a server does.
    Network(network::Exchanges),
    /// Cancel one-shot timers, or deliver them, and insert others.
    OneShot(one_shot::Turnovers),
    /// Deliver all timers, tick by tick.
    Expire(expire::Ticks),
    /// Poll at ticks at which nothing is due.
    Poll(idle::Polls),
    /// Deliver all timers at a tick at which all timers are due. This is not a measure; it proves
    /// that no timer was lost.
    Drain(u64),
}

impl Work {
    /// Returns the work without its questions, for structures that cannot answer them.
    pub(crate) fn unasked(&self) -> Self {
        match self {
            Self::Head(_) => Self::Head(0),
            Self::Network(exchanges) => Self::Network(exchanges.clone().unasked()),
            other => other.clone(),
        }
    }
}

impl Script for Work {
    fn run<Q: BenchQueue, W: Witness>(&self, queue: &mut Q, witness: &mut W) {
        match self {
            Self::Fill(deadlines) => fill(queue, deadlines),
            Self::Hold(delays) => hold::hold(queue, delays, witness),
            Self::Rearm(delays) => hold::rearm(queue, delays, witness),
            Self::Head(count) => hold::head(queue, *count, witness),
            Self::Network(exchanges) => network::run(queue, exchanges, witness),
            Self::OneShot(turnovers) => one_shot::run(queue, turnovers, witness),
            Self::Expire(ticks) => expire::run(queue, *ticks, witness),
            Self::Poll(polls) => idle::run(queue, *polls, witness),
            Self::Drain(now) => {
                queue.advance(*now, usize::MAX, &mut |id, expiry| witness.delivered(id, expiry, *now));
            }
        }
    }

    fn notes(&self) -> Notes {
        let deliveries = |deliveries| Notes { deliveries, reads: 0 };
        match self {
            Self::Fill(_) | Self::Drain(_) | Self::Poll(_) => deliveries(0),
            Self::Hold(delays) | Self::Rearm(delays) => deliveries(delays.len()),
            Self::Head(count) => Notes { deliveries: 0, reads: *count },
            Self::Network(exchanges) => exchanges.notes(),
            Self::OneShot(turnovers) => turnovers.notes(),
            Self::Expire(ticks) => deliveries(ticks.timers),
        }
    }

    fn reads_a_bound(&self) -> bool {
        matches!(self, Self::Network(exchanges) if exchanges.ask == network::Ask::Wake)
    }
}

#[inline(never)]
fn fill<Q: BenchQueue>(queue: &mut Q, deadlines: &[u64]) {
    for (id, deadline) in (0u32..).zip(deadlines) {
        queue.insert(id, *deadline);
    }
}

/// Generates the work of one scenario at one population, sample by sample.
pub(crate) trait Source {
    /// Untimed work at the beginning of a run.
    fn fill(&mut self) -> Work;

    /// The work of the next sample of a measure.
    fn next(&mut self, measure: Measure) -> Work;

    /// Calls `each` with the timers that were moved or cancelled before the first tick. Only
    /// the latest of them are passed, roughly `most`: see
    /// [`Past`](crate::experiments::bench::sampler::Past). By default there are no such timers.
    fn past(&self, most: usize, each: &mut dyn FnMut(u32, u64)) {
        let _ = (most, each);
    }

    /// Untimed work at the end of a run, if any.
    fn last(&mut self) -> Option<Work> {
        None
    }
}

impl Source for Hold {
    fn fill(&mut self) -> Work {
        Work::Fill(self.delays(self.population))
    }

    fn next(&mut self, measure: Measure) -> Work {
        // Every measure draws delays, so that its rounds do not depend on the other measures of the
        // run.
        let delays = self.delays(self.operations);
        match measure {
            Measure::Rearm => Work::Rearm(delays),
            Measure::Head => Work::Head(self.operations),
            _ => Work::Hold(delays),
        }
    }
}

impl Source for Network {
    fn fill(&mut self) -> Work {
        Work::Fill(self.deadlines())
    }

    fn next(&mut self, measure: Measure) -> Work {
        Work::Network(self.exchanges(measure))
    }

    fn past(&self, most: usize, each: &mut dyn FnMut(u32, u64)) {
        self.moved(most, each);
    }

    fn last(&mut self) -> Option<Work> {
        Some(Work::Drain(self.end()))
    }
}

impl Source for OneShot {
    fn fill(&mut self) -> Work {
        Work::Fill(self.deadlines())
    }

    fn next(&mut self, _: Measure) -> Work {
        Work::OneShot(self.turnovers())
    }

    fn past(&self, most: usize, each: &mut dyn FnMut(u32, u64)) {
        self.cancelled(most, each);
    }

    fn last(&mut self) -> Option<Work> {
        Some(Work::Drain(self.end()))
    }
}

impl Source for Expire {
    /// There is no work: each round arms its own timers.
    fn fill(&mut self) -> Work {
        Work::Fill(Vec::new())
    }

    /// Rounds of two samples: [`Measure::Expire`] delivers what [`Measure::Insert`] armed.
    fn next(&mut self, measure: Measure) -> Work {
        if measure == Measure::Insert { Work::Fill(self.deadlines()) } else { Work::Expire(self.ticks()) }
    }
}

impl Source for Idle {
    fn fill(&mut self) -> Work {
        Work::Fill(self.deadlines())
    }

    fn next(&mut self, _: Measure) -> Work {
        Work::Poll(self.polls())
    }

    fn last(&mut self) -> Option<Work> {
        Some(Work::Drain(self.end()))
    }
}

impl Scenario {
    /// Creates the source of this scenario's work.
    pub(crate) fn source(&self, population: usize, operations: usize, seed: u64) -> Box<dyn Source> {
        match (self.increments, self.timeouts, self.one_shots) {
            (Some(increments), ..) => Box::new(Hold::new(increments, population, operations, seed)),
            (_, Some(timeouts), _) => Box::new(Network::new(timeouts, population, operations, seed)),
            (.., Some(one_shots)) => Box::new(OneShot::new(one_shots, population, operations, seed)),
            _ if self.model == Model::Idle => Box::new(Idle::new(population, operations, seed)),
            _ => Box::new(Expire::new(population, seed)),
        }
    }
}
