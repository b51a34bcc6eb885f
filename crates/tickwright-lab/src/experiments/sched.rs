//! `tickwright sched`: the callback scheduler by itself.

use clap::Subcommand;

use crate::error::LabError;
use crate::experiments::asterisk::{BeatArgs, TestArgs};

/// What can be tried on it.
#[derive(Debug, Subcommand)]
pub(crate) enum Sched {
    /// Time N adds at random delays and N deletes by id, over each structure
    Test(TestArgs),
    /// Look for a beat under thousands of short calls a second
    Beat(BeatArgs),
}

impl Sched {
    /// Runs it and prints its report.
    ///
    /// # Errors
    /// Those of the command.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        match self {
            Self::Test(args) => args.execute(),
            Self::Beat(args) => args.execute(),
        }
    }
}
