//! Samples lanes alternately: each lane once per round, in random order.

use crate::error::LabError;
use crate::progress::Progress;
use crate::rounds::Rounds;

/// The rounds of a measurement.
#[derive(Debug, Clone)]
pub struct Turns {
    /// What is measured, for the progress bar.
    pub what: &'static str,
    /// The number of samples of each lane.
    pub rounds: usize,
    /// The seed of the order.
    pub seed: u64,
}

impl Turns {
    /// Samples all lanes and keeps the samples of complete rounds. If there is more than one round,
    /// a warm-up round is added before them, and its samples are dropped.
    ///
    /// # Errors
    /// The errors of `sample`.
    pub fn run<S>(
        &self,
        lanes: &[String],
        mut sample: impl FnMut(usize) -> Result<S, LabError>,
    ) -> Result<Vec<Vec<S>>, LabError> {
        let mut rounds = Rounds::new(self.rounds, self.seed);
        if self.rounds <= 1 {
            rounds = rounds.without_warm_up();
        }
        let progress = Progress::steps((rounds.len() * lanes.len()) as u64, self.what);
        let taken = rounds.run(lanes.len(), |turn| {
            progress.doing(lanes[turn.lane].clone());
            let taken = sample(turn.lane)?;
            progress.step();
            Ok(taken)
        })?;
        Ok(taken.lanes())
    }
}
