//! Samples by turns: each lane once a round, in random order.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::error::LabError;
use crate::interrupt;
use crate::progress::Progress;

/// What goes round.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    pub(crate) what: &'static str,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
}

impl Turns {
    /// The samples of each lane, of complete rounds alone. The first round warms up and is not kept
    /// when there is more than one.
    ///
    /// # Errors
    /// Those of `sample`.
    pub(crate) fn run<S>(
        &self,
        lanes: &[String],
        mut sample: impl FnMut(usize) -> Result<S, LabError>,
    ) -> Result<Vec<Vec<S>>, LabError> {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let mut order: Vec<usize> = (0..lanes.len()).collect();
        let warm = usize::from(self.rounds > 1);
        let progress = Progress::steps(((self.rounds + warm) * lanes.len()) as u64, self.what);
        let mut samples: Vec<Vec<S>> = lanes.iter().map(|_| Vec::new()).collect();
        'all: for round in 0..self.rounds + warm {
            order.shuffle(&mut random);
            for &lane in &order {
                if interrupt::requested() {
                    break 'all;
                }
                progress.doing(lanes[lane].clone());
                let taken = sample(lane)?;
                if round >= warm {
                    samples[lane].push(taken);
                }
                progress.step();
            }
        }
        let complete = samples.iter().map(Vec::len).min().unwrap_or(0);
        samples.iter_mut().for_each(|lane| lane.truncate(complete));
        Ok(samples)
    }
}
