//! The cost of ticks: slices of all structures in turns, minus the cost of the loop and the
//! measurement.

use super::slice::{Cost, Lane, Slice, Timers, Watched, expected};
use crate::counter::{Calibrated, Counter};
use crate::error::LabError;
use crate::experiments::crossover::{Sampled, in_turns};
use crate::result::Unit;

/// The plan of an experiment.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// All lanes, [`Lane::Loop`] first.
    pub(super) lanes: Vec<Lane>,
    pub(super) sizes: Vec<usize>,
    pub(super) rounds: usize,
    pub(super) ticks: usize,
    pub(super) seed: u64,
    /// Whether instructions are counted too.
    pub(super) instructions: bool,
    /// Notes on structures that were left out.
    pub(super) notes: Vec<String>,
}

/// The samples of one structure at one population, in the order of rounds. The cost of the loop and
/// the measurement is subtracted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) structure: &'static str,
    pub(super) to_callback: Vec<f64>,
    pub(super) tick: Vec<f64>,
}

/// The data of a run.
#[derive(Debug)]
pub(crate) struct Ticks {
    pub(super) counter: Calibrated,
    /// The number of ticks whose order agreed with the oracle.
    pub(super) verified: usize,
    pub(super) cells: Vec<Cell>,
}

/// The samples of all structures at one population, in ns or in instructions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) population: usize,
    pub(super) unit: Unit,
    /// The subtracted cost: the loop and its readings of the counter.
    pub(super) overhead: Row,
    pub(super) rows: Vec<Row>,
}

/// The least cost of a tick: a lower cost is raised to this value. A difference of two measurements
/// may be 0 or negative, but a ratio needs a positive value.
const LEAST: f64 = 0.1;

impl Plan {
    /// The timers of a round. Each round has other phases and periods.
    pub(super) fn timers(&self, population: usize, round: usize) -> Timers {
        Timers::new(population, self.seed.wrapping_add(round as u64))
    }

    /// Compares the deliveries of every structure with those of the oracle. Returns the number of
    /// correct deliveries.
    pub(super) fn verify(&self) -> Result<usize, LabError> {
        let mut right = 0;
        for &population in &self.sizes {
            let timers = self.timers(population, 0);
            let wanted = expected(&timers, self.ticks);
            for lane in self.lanes.iter().filter(|lane| **lane != Lane::Loop) {
                let slice =
                    Slice { timers: &timers, ticks: self.ticks, watch: &mut (), around: &mut |run| run() };
                if wanted.is_none() || lane.run(slice) != wanted {
                    return Err(LabError::failed(format!(
                        "{}: {population} timers do not tick in the oracle's order",
                        lane.id()
                    )));
                }
                right += self.ticks;
            }
        }
        Ok(right)
    }

    /// Samples by the cycle counter. After an interruption, some populations are missing.
    pub(super) fn by_clock(&self, counter: &Counter, what: &str) -> Result<Vec<Cell>, LabError> {
        let sampled =
            in_turns(&self.lanes, &self.sizes, self.rounds, self.seed, what.to_owned(), |lane, n, round| {
                let timers = self.timers(n, round);
                let mut watch = Watched::new(counter, self.ticks);
                let slice =
                    Slice { timers: &timers, ticks: self.ticks, watch: &mut watch, around: &mut |run| run() };
                lane.run(slice).ok_or_else(|| LabError::failed(format!("{}: a timer is lost", lane.id())))?;
                Ok(watch.means())
            })?;
        Ok(sampled.iter().filter_map(|sampled| self.cell(sampled, Unit::Ns)).collect())
    }

    /// Subtracts the loop's cost, round by round.
    pub(super) fn cell(&self, sampled: &Sampled<Cost>, unit: Unit) -> Option<Cell> {
        let row = |lane: &Lane, costs: &[Cost], off: &[Cost]| Row {
            structure: lane.id(),
            to_callback: costs
                .iter()
                .zip(off)
                .filter_map(|(cost, off)| Some((cost.to_callback? - off.to_callback?).max(LEAST)))
                .collect(),
            tick: costs.iter().zip(off).map(|(cost, off)| (cost.tick - off.tick).max(LEAST)).collect(),
        };
        let (own, others) = sampled.samples.split_first()?;
        let (lane, lanes) = self.lanes.split_first()?;
        let nothing = vec![Cost { to_callback: Some(0.0), tick: 0.0 }; own.len()];
        Some(Cell {
            population: sampled.n,
            unit,
            overhead: row(lane, own, &nothing),
            rows: lanes.iter().zip(others).map(|(lane, costs)| row(lane, costs, own)).collect(),
        })
    }
}
