//! Lanes that take turns: each is sampled once a round, in random order.
//!
//! What disturbs the machine for a while disturbs the lanes of a round alike, so ratios are taken
//! round by round. For that all lanes have the same number of samples: a round that is interrupted
//! counts for none.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::interrupt;

/// How often, and in which order.
#[derive(Debug)]
pub struct Rounds {
    counted: usize,
    warm_up: usize,
    random: Pcg64Mcg,
}

/// One sample to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The round, from 0 on; the one that warms up is among them.
    pub round: usize,
    /// How many lanes had their turn in this round before.
    pub place: usize,
    /// Whose turn it is.
    pub lane: usize,
}

impl Turn {
    /// Whether the round of so many lanes ends with it.
    #[must_use]
    pub fn is_last_of(self, lanes: usize) -> bool {
        self.place + 1 == lanes
    }
}

/// The samples of whole rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken<S> {
    /// Of each lane, in the order of rounds.
    pub lanes: Vec<Vec<S>>,
    /// SIGINT or SIGTERM ended it before its time.
    pub interrupted: bool,
}

impl Rounds {
    /// So many rounds that count, after one that warms up. Equal seeds make equal orders.
    #[must_use]
    pub fn new(counted: usize, seed: u64) -> Self {
        Self { counted, warm_up: 1, random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// The first round counts as well.
    #[must_use]
    pub fn without_warm_up(mut self) -> Self {
        self.warm_up = 0;
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
        self.run_until(lanes, interrupt::requested, sample)
    }

    fn run_until<S, E>(
        &mut self,
        lanes: usize,
        mut stop: impl FnMut() -> bool,
        mut sample: impl FnMut(Turn) -> Result<S, E>,
    ) -> Result<Taken<S>, E> {
        let mut taken = Taken { lanes: (0..lanes).map(|_| Vec::new()).collect(), interrupted: false };
        let mut order: Vec<usize> = (0..lanes).collect();
        'rounds: for round in 0..self.len() {
            order.shuffle(&mut self.random);
            for (place, &lane) in order.iter().enumerate() {
                if stop() {
                    taken.interrupted = true;
                    break 'rounds;
                }
                let sample = sample(Turn { round, place, lane })?;
                if round >= self.warm_up {
                    taken.lanes[lane].push(sample);
                }
            }
        }
        let whole = taken.lanes.iter().map(Vec::len).min().unwrap_or(0);
        taken.lanes.iter_mut().for_each(|samples| samples.truncate(whole));
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;
