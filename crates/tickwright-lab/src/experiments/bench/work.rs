//! What one sample does: operations that were drawn before any clock started, and the loop that
//! runs them.

use crate::models::expire::Expire;
use crate::models::hold::Hold;
use crate::models::network::Network;
use crate::models::scenario::{Measure, Scenario};
use crate::models::verify::{Notes, Script, Witness};
use crate::models::{expire, hold, network};
use crate::structures::candidate::BenchQueue;

/// The operations of a sample.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// Arm idle timers: id `i` at the `i`-th tick.
    Fill(Vec<u64>),
    /// Pop the earliest, insert it anew; a delay each.
    Hold(Vec<u64>),
    /// The same in one step.
    Rearm(Vec<u64>),
    /// Ask for the head, so often.
    Head(usize),
    /// Re-arm and cancel as a server does.
    Network(network::Exchanges),
    /// Deliver all there is, tick by tick.
    Expire(expire::Ticks),
    /// Deliver all that is due at a tick at which everything is: no measure, but the proof that
    /// nothing was lost.
    Drain(u64),
}

impl Work {
    /// The same work without its questions, for structures that cannot answer them.
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
            Self::Expire(ticks) => expire::run(queue, *ticks, witness),
            Self::Drain(now) => {
                queue.advance(*now, usize::MAX, &mut |id, expiry| witness.delivered(id, expiry, *now));
            }
        }
    }

    fn notes(&self) -> Notes {
        let deliveries = |deliveries| Notes { deliveries, reads: 0 };
        match self {
            Self::Fill(_) | Self::Drain(_) => deliveries(0),
            Self::Hold(delays) | Self::Rearm(delays) => deliveries(delays.len()),
            Self::Head(count) => Notes { deliveries: 0, reads: *count },
            Self::Network(exchanges) => exchanges.notes(),
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

/// Draws the work of one scenario at one population, sample by sample.
pub(crate) trait Source {
    /// What every queue begins with, untimed.
    fn fill(&mut self) -> Work;

    /// The next sample of a measure.
    fn next(&mut self, measure: Measure) -> Work;

    /// What ends the run, untimed.
    fn last(&mut self) -> Option<Work> {
        None
    }
}

impl Source for Hold {
    fn fill(&mut self) -> Work {
        Work::Fill(self.delays(self.population))
    }

    fn next(&mut self, measure: Measure) -> Work {
        // Each measure draws, so that the rounds of one do not depend on which others there are.
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

    fn last(&mut self) -> Option<Work> {
        Some(Work::Drain(self.end()))
    }
}

impl Source for Expire {
    /// Nothing: each round arms its own.
    fn fill(&mut self) -> Work {
        Work::Fill(Vec::new())
    }

    /// Rounds of two: what [`Measure::Insert`] arms, [`Measure::Expire`] delivers.
    fn next(&mut self, measure: Measure) -> Work {
        if measure == Measure::Insert { Work::Fill(self.deadlines()) } else { Work::Expire(self.ticks()) }
    }
}

impl Scenario {
    /// Where its work comes from.
    pub(crate) fn source(&self, population: usize, operations: usize, seed: u64) -> Box<dyn Source> {
        match (self.increments, self.timeouts) {
            (Some(increments), _) => Box::new(Hold::new(increments, population, operations, seed)),
            (_, Some(timeouts)) => Box::new(Network::new(timeouts, population, operations, seed)),
            _ => Box::new(Expire::new(population, seed)),
        }
    }
}
