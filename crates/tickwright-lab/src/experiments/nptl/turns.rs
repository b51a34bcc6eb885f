//! Samples by turns: each lane once a round, in random order.

use crate::error::LabError;
use crate::progress::Progress;
use crate::rounds::Rounds;

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
