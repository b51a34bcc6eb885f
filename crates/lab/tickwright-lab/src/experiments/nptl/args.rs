//! The arguments of `reproduce nptl`, and the plan that follows from them.

use clap::Args;

use super::column::Column;
use super::model::Knobs;
use super::plan::{Part, Plan};
use crate::error::LabError;
use crate::models::scenario::{Rounds, Seed, Within};

/// Threads created in a cell.
type Starts = Within<1, 100_000_000>;
/// The number of kernel threads that run the M:N threads.
type Workers = Within<1, 255>;

/// The original's upper bound on the number of threads that exist at once.
const MOST_AT_ONCE: usize = 100_000;

/// Numbers of threads, such as `5`, `1..20` (both ends included) or `1,2,4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Threads(pub(super) Vec<usize>);

impl Threads {
    /// Parses a value of the command line.
    ///
    /// # Errors
    /// If the text has a mistake. The error describes the mistake and states the valid range.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not like 5, 1..20 or 1,2,4, with numbers from 1 to 1000");
        let number = |part: &str| {
            part.parse::<usize>().ok().filter(|number| (1..=1000).contains(number)).ok_or_else(wrong)
        };
        let mut all = Vec::new();
        for part in text.split(',') {
            let (low, high) = part.split_once("..").unwrap_or((part, part));
            let (low, high) = (number(low)?, number(high)?);
            if low > high {
                return Err(wrong());
            }
            all.extend(low..=high);
        }
        all.sort_unstable();
        all.dedup();
        Ok(Self(all))
    }
}

/// The experiment that settled Linux's threads in 2002: one kernel thread for each thread, M:N, or
/// a manager?
#[derive(Debug, Clone, Args)]
pub(crate) struct NptlArgs {
    /// Parts to run, separated by commas
    #[arg(long, value_enum, value_name = "PARTS", value_delimiter = ',', default_value = "table,ladder")]
    only: Vec<Part>,

    /// Models and peers, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Column::parse)]
    models: Vec<Column>,

    /// Number of threads that create: 4, 1..20 or 1,2,4; the ladder uses the first
    #[arg(long, value_name = "P", allow_hyphen_values = true, default_value = "1..20", value_parser = Threads::parse)]
    toplevel: Threads,

    /// Number of threads that each creator keeps at once: 4, 1..10 or 1,2,4; the ladder uses
    /// the last
    #[arg(long, value_name = "C", allow_hyphen_values = true, default_value = "1..10", value_parser = Threads::parse)]
    children: Threads,

    /// Threads created in a sample; the original created 100k in each cell of the table, which
    /// takes about an hour [default: 1k for the table, 10k for the ladder]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Starts::parse)]
    starts: Option<Starts>,

    /// Samples per lane; with fewer than 6, no difference can be shown [default: 1 for the table, 9
    /// for the ladder]
    #[arg(long, allow_hyphen_values = true, value_parser = Rounds::parse)]
    rounds: Option<Rounds>,

    /// Kernel threads under the threads of m:n, may and tokio [default: one for each core]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Workers::parse)]
    workers: Option<Workers>,

    /// Seed of all random choices
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
}

/// Converts a number. The number fits, because its type bounds it.
fn narrow<const LOW: u64, const HIGH: u64, T: TryFrom<u64>>(number: Within<LOW, HIGH>) -> Option<T> {
    T::try_from(number.get()).ok()
}

impl NptlArgs {
    /// Checks the request.
    ///
    /// # Errors
    /// If a run of the request would measure nothing.
    pub(super) fn to_plan(&self) -> Result<Plan, LabError> {
        let sorted = |mut columns: Vec<Column>| {
            columns.sort_unstable();
            columns.dedup();
            columns
        };
        let mut parts = self.only.clone();
        parts.sort_unstable();
        parts.dedup();
        if cfg!(not(unix)) {
            parts.retain(|part| *part != Part::Ladder);
            if parts.is_empty() {
                return Err(LabError::usage(
                    "the ladder runs M:N threads, which need Unix: --only table runs here",
                ));
            }
        }
        let asked = if self.models.is_empty() { Column::all() } else { self.models.clone() };
        self.refuse()?;
        let knobs = Knobs { workers: self.workers.and_then(narrow), ..Knobs::default() };
        Ok(Plan {
            toplevel: self.toplevel.0.clone(),
            children: self.children.0.clone(),
            starts: self.starts.map(Within::get),
            rounds: self.rounds.and_then(narrow),
            seed: self.seed.get(),
            knobs,
            parts,
            columns: sorted(asked),
        })
    }

    fn refuse(&self) -> Result<(), LabError> {
        let most = |threads: &Threads| threads.0.last().copied().unwrap_or(1);
        let at_once = most(&self.toplevel) * most(&self.children);
        if at_once > MOST_AT_ONCE {
            return Err(LabError::usage(format!(
                "{at_once} threads at once are more than the original's {MOST_AT_ONCE}: take a smaller --toplevel or --children; nothing was run"
            )));
        }
        Ok(())
    }
}
