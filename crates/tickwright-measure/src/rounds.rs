//! Lanes that take turns: each is sampled once a round, in random order.
//!
//! ```text
//! round 0 (warms up)   cell 0: lane 2, lane 0, lane 1   cell 1: lane 0, lane 1, lane 2
//! round 1              cell 0: lane 1, lane 2, lane 0   cell 1: ...
//! ```
//!
//! A cell is one thing to measure on every lane: most runs have one. Cells keep their order, since
//! one may prepare the next.
//!
//! What disturbs the machine for a while disturbs the lanes of a round alike, so ratios are taken
//! round by round. For that all lanes have the same number of samples: a round that is interrupted
//! counts for none.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::interrupt;
use crate::stats::FEWEST_ROUNDS;

/// How often, and in which order.
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
    /// The round, from 0 on; the one that warms up is among them.
    pub round: usize,
    /// What is measured.
    pub cell: usize,
    /// How many lanes had their turn in this cell and round before.
    pub place: usize,
    /// Whose turn it is.
    pub lane: usize,
}

impl Turn {
    /// Whether the cell of n lanes ends with it.
    #[must_use]
    pub fn is_last_of(self, lanes: usize) -> bool {
        self.place + 1 == lanes
    }
}

/// The samples of whole rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken<S> {
    /// By cell and lane, in the order of rounds.
    pub cells: Vec<Vec<Vec<S>>>,
    /// SIGINT or SIGTERM ended it before its time.
    pub interrupted: bool,
}

impl<S> Taken<S> {
    /// Of each lane, where there is one cell; in the order of rounds.
    #[must_use]
    pub fn lanes(self) -> Vec<Vec<S>> {
        self.cells.into_iter().next().unwrap_or_default()
    }
}

impl Rounds {
    /// This many rounds count, after one that warms up. Equal seeds make equal orders.
    #[must_use]
    pub fn new(counted: usize, seed: u64) -> Self {
        Self { counted, warm_up: 1, cells: 1, random: Pcg64Mcg::seed_from_u64(seed ^ ORDER) }
    }

    /// The first round counts as well.
    #[must_use]
    pub fn without_warm_up(mut self) -> Self {
        self.warm_up = 0;
        self
    }

    /// Each round measures this many things.
    #[must_use]
    pub fn cells(mut self, cells: usize) -> Self {
        self.cells = cells;
        self
    }

    /// How many rounds are run, the one that warms up among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.warm_up + self.counted
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the samples of `lanes` lanes. A second run has other orders.
    ///
    /// # Errors
    /// The first of `sample`.
    pub fn run<S, E>(
        &mut self,
        lanes: usize,
        sample: impl FnMut(Turn) -> Result<S, E>,
    ) -> Result<Taken<S>, E> {
        self.run_while(lanes, || true, sample)
    }

    /// The same while there is time: `more` is asked before each round, once there are enough for
    /// an interval.
    ///
    /// # Errors
    /// The first of `sample`.
    pub fn run_while<S, E>(
        &mut self,
        lanes: usize,
        more: impl FnMut() -> bool,
        sample: impl FnMut(Turn) -> Result<S, E>,
    ) -> Result<Taken<S>, E> {
        self.run_until(lanes, more, interrupt::requested, sample)
    }

    /// Like [`run_while`](Self::run_while), but `stop` replaces the check for SIGINT and SIGTERM.
    /// It is called before each sample. When it returns `true`, the run ends as interrupted.
    ///
    /// # Errors
    /// The first of `sample`.
    pub fn run_until<S, E>(
        &mut self,
        lanes: usize,
        mut more: impl FnMut() -> bool,
        mut stop: impl FnMut() -> bool,
        mut sample: impl FnMut(Turn) -> Result<S, E>,
    ) -> Result<Taken<S>, E> {
        let of_cell = || (0..lanes).map(|_| Vec::new()).collect::<Vec<Vec<S>>>();
        let mut cells: Vec<_> = (0..self.cells).map(|_| of_cell()).collect();
        let mut interrupted = false;
        let mut order: Vec<usize> = (0..lanes).collect();
        'rounds: for round in 0..self.len() {
            if round >= self.warm_up + FEWEST_ROUNDS as usize && !more() {
                break;
            }
            for (cell, taken) in cells.iter_mut().enumerate() {
                order.shuffle(&mut self.random);
                for (place, &lane) in order.iter().enumerate() {
                    if stop() {
                        interrupted = true;
                        break 'rounds;
                    }
                    let sample = sample(Turn { round, cell, place, lane })?;
                    if round >= self.warm_up {
                        taken[lane].push(sample);
                    }
                }
            }
        }
        let whole = cells.iter().flatten().map(Vec::len).min().unwrap_or(0);
        cells.iter_mut().flatten().for_each(|samples| samples.truncate(whole));
        Ok(Taken { cells, interrupted })
    }
}

/// Separates the stream of orders from the work that callers draw from the same seed.
const ORDER: u64 = 0x5f0f_1e5c_a11d_1ce5;

#[cfg(test)]
mod tests;
