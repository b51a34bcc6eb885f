//! Runs lanes alternately: each lane is sampled once per round, in random order.
//!
//! ```text
//! round 0 (warms up)   cell 0: lane 2, lane 0, lane 1   cell 1: lane 0, lane 1, lane 2
//! round 1              cell 0: lane 1, lane 2, lane 0   cell 1: ...
//! ```
//!
//! A cell is one quantity that is measured on every lane, and most runs have only one cell. Cells
//! keep their order, because a cell can prepare the next cell.
//!
//! A disturbance of the machine affects all lanes of a round alike, so ratios are computed round by
//! round. All lanes therefore need the same number of samples, and an interrupted round counts for
//! no lane.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::interrupt;
use crate::stats::FEWEST_ROUNDS;

/// The number of rounds, and the random order of the lanes.
#[derive(Debug, Clone)]
pub struct Rounds {
    counted: usize,
    warm_up: usize,
    cells: usize,
    random: Pcg64Mcg,
}

/// One sample to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The round, from 0 on, including the warm-up round.
    pub round: usize,
    /// The cell that is measured.
    pub cell: usize,
    /// The number of lanes that had their turn earlier in this cell and round.
    pub place: usize,
    /// The lane to sample.
    pub lane: usize,
}

impl Turn {
    /// Returns whether this turn is the last turn of a cell that has n lanes.
    #[must_use]
    pub fn is_last_of(self, lanes: usize) -> bool {
        self.place + 1 == lanes
    }
}

/// The samples of complete rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken<S> {
    /// The samples by cell and lane, in the order of rounds.
    pub cells: Vec<Vec<Vec<S>>>,
    /// Whether SIGINT or SIGTERM ended the run early.
    pub interrupted: bool,
}

impl<S> Taken<S> {
    /// Returns the samples of each lane in the first cell, in the order of rounds.
    #[must_use]
    pub fn lanes(self) -> Vec<Vec<S>> {
        self.cells.into_iter().next().unwrap_or_default()
    }
}

impl Rounds {
    /// Creates `counted` rounds that count, after one warm-up round. Equal seeds give equal orders.
    #[must_use]
    pub fn new(counted: usize, seed: u64) -> Self {
        Self { counted, warm_up: 1, cells: 1, random: Pcg64Mcg::seed_from_u64(seed ^ ORDER) }
    }

    /// Removes the warm-up round, so that the first round counts too.
    #[must_use]
    pub fn without_warm_up(mut self) -> Self {
        self.warm_up = 0;
        self
    }

    /// Sets the number of cells that each round measures.
    #[must_use]
    pub fn cells(mut self, cells: usize) -> Self {
        self.cells = cells;
        self
    }

    /// Returns the number of rounds, including the warm-up round.
    #[must_use]
    pub fn len(&self) -> usize {
        self.warm_up + self.counted
    }

    /// Returns whether there are no rounds.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the samples of `lanes` lanes. A second call uses different random orders.
    ///
    /// # Errors
    /// The first error of `sample`.
    pub fn run<S, E>(
        &mut self,
        lanes: usize,
        sample: impl FnMut(Turn) -> Result<S, E>,
    ) -> Result<Taken<S>, E> {
        self.run_while(lanes, || true, sample)
    }

    /// Like [`run`](Self::run), but stops when `more` returns `false`. As soon as there are enough
    /// rounds for an interval, `more` is called before each further round.
    ///
    /// # Errors
    /// The first error of `sample`.
    pub fn run_while<S, E>(
        &mut self,
        lanes: usize,
        more: impl FnMut() -> bool,
        sample: impl FnMut(Turn) -> Result<S, E>,
    ) -> Result<Taken<S>, E> {
        self.run_until(lanes, more, interrupt::requested, sample)
    }

    /// Like [`run_while`](Self::run_while), but `stop` replaces the check for SIGINT and SIGTERM.
    /// `stop` is called before each sample. When it returns `true`, the run ends as an interrupted
    /// run.
    ///
    /// # Errors
    /// The first error of `sample`.
    pub fn run_until<S, E>(
        &mut self,
        lanes: usize,
        mut more: impl FnMut() -> bool,
        mut stop: impl FnMut() -> bool,
        mut sample: impl FnMut(Turn) -> Result<S, E>,
    ) -> Result<Taken<S>, E> {
        let of_cell = || (0..lanes).map(|_| Vec::new()).collect::<Vec<Vec<S>>>();
        let mut cells: Vec<_> = (0..self.cells).map(|_| of_cell()).collect();
        let (warm_up, mut wrong) = (self.warm_up, None);
        let interrupted = self.each(lanes, &mut more, &mut stop, &mut |turn| match sample(turn) {
            Ok(sample) => {
                if turn.round >= warm_up {
                    cells[turn.cell][turn.lane].push(sample);
                }
                true
            }
            Err(error) => {
                wrong = Some(error);
                false
            }
        });
        if let Some(error) = wrong {
            return Err(error);
        }
        let whole = cells.iter().flatten().map(Vec::len).min().unwrap_or(0);
        cells.iter_mut().flatten().for_each(|samples| samples.truncate(whole));
        Ok(Taken { cells, interrupted })
    }

    /// Calls `sample` for each turn until `sample` returns `false`. Returns whether `stop` ended
    /// the run. This function does not depend on the type of the samples, so it is compiled once.
    fn each(
        &mut self,
        lanes: usize,
        more: &mut dyn FnMut() -> bool,
        stop: &mut dyn FnMut() -> bool,
        sample: &mut dyn FnMut(Turn) -> bool,
    ) -> bool {
        let mut order: Vec<usize> = (0..lanes).collect();
        for round in 0..self.len() {
            if round >= self.warm_up + FEWEST_ROUNDS as usize && !more() {
                break;
            }
            for cell in 0..self.cells {
                order.shuffle(&mut self.random);
                for (place, &lane) in order.iter().enumerate() {
                    if stop() {
                        return true;
                    }
                    if !sample(Turn { round, cell, place, lane }) {
                        return false;
                    }
                }
            }
        }
        false
    }
}

/// Mixed into the seed, so that the random orders are independent of the work that callers draw
/// from the same seed.
const ORDER: u64 = 0x5f0f_1e5c_a11d_1ce5;

#[cfg(test)]
mod tests;
