//! Which model writes the tapes of a scenario.

use crate::models::expire::Expire;
use crate::models::hold::Hold;
use crate::models::idle::Idle;
use crate::models::network::Network;
use crate::models::one_shot::OneShot;
use crate::models::scenario::{Model, Scenario};
use crate::models::tape::Source;

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
