//! The command line of `bench registry`.

use clap::Args;

use super::report;
use super::run::{self, Options};
use super::subject::Kind;
use super::work::Keys;
use crate::clock::{FakeMeter, OsClock};
use crate::error::LabError;
use crate::output::{OutputArgs, Run};
use crate::scenario::{Operations, Population, Rounds, Seed, Within};

/// Threads in a sample.
type Threads = Within<0, 100_000>;

/// Registries of threads over each dictionary.
#[derive(Debug, Clone, Args)]
pub(crate) struct RegistryArgs {
    /// Dictionaries, separated by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    dictionaries: Vec<Kind>,

    /// What keys are like
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ascending,addresses,random")]
    keys: Vec<Keys>,

    /// Live entries
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "1,100,10k,100k,1M", value_parser = Population::parse)]
    n: Vec<Population>,

    /// Samples of each; below 6 nothing can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "15", value_parser = Rounds::parse)]
    rounds: Rounds,

    /// Calls in a sample
    #[arg(long, allow_hyphen_values = true, default_value = "20k", value_parser = Operations::parse)]
    operations: Operations,

    /// Threads that begin and end in a sample; 0 for none
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, default_value = "100", value_parser = Threads::parse)]
    threads: Threads,

    /// What keys and orders are generated from
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,

    #[command(flatten)]
    output: OutputArgs,
}

impl RegistryArgs {
    /// Runs it and prints the report.
    ///
    /// # Errors
    /// A wrong answer, a file that cannot be written, or Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let files = self.output.open()?;
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let mut populations: Vec<usize> = self.n.iter().map(|n| size(n.get())).collect();
        populations.sort_unstable();
        populations.dedup();
        let chosen = |kind: &Kind| self.dictionaries.is_empty() || self.dictionaries.contains(kind);
        let options = Options {
            kinds: Kind::ALL.into_iter().filter(chosen).collect(),
            keys: Keys::ALL.into_iter().filter(|keys| self.keys.contains(keys)).collect(),
            populations,
            rounds: self.rounds.get(),
            operations: size(self.operations.get()),
            threads: size(self.threads.get()),
            seed: self.seed.get(),
        };
        let report = run::run(&options, &OsClock::start())?;
        let run = Run { interrupted: report.interrupted, host: &report.host };
        files.finish(run, || report::text(&report), &report, report::lines(&report))
    }
}

/// Every dictionary with few entries; nothing is timed.
///
/// # Errors
/// What is wrong.
pub(crate) fn check() -> Result<String, String> {
    let options = Options {
        kinds: Kind::ALL.to_vec(),
        keys: Keys::ALL.to_vec(),
        populations: vec![1, 2, 3, 17, 300],
        rounds: 1,
        operations: 500,
        threads: 2,
        seed: 1,
    };
    let report = run::run(&options, &FakeMeter::steady(1)).map_err(|error| error.to_string())?;
    if report.interrupted {
        return Err("interrupted".into());
    }
    let samples: usize = report.cells.iter().flat_map(|cell| &cell.rows).map(|row| row.samples.len()).sum();
    Ok(format!("{samples} samples of {} dictionaries answered rightly", Kind::ALL.len()))
}
