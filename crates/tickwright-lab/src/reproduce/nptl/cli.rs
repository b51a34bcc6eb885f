//! `tickwright reproduce nptl`.

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;

use super::column::{Cell, Column};
use super::model::{Knobs, Model};
use super::published::{CHILDREN, STARTS, TOPLEVEL};
use super::report::Report;
use super::table::{self, Plan};
use super::verify;
use crate::clock::{OsClock, calibrate};
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::output::{self, OutputArgs, RowsFile};
use crate::scenario::{Rounds, Seed, Within};

/// Threads created in a cell.
type Starts = Within<1, 100_000_000>;
/// Kernel threads under M:N ones.
type Workers = Within<1, 256>;
/// The original's bound on threads at once.
const MOST_AT_ONCE: usize = 100_000;

/// Numbers of threads: `5`, `1..20` (both ends included), `1,2,4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Threads(pub(super) Vec<usize>);

impl Threads {
    /// A value parser for the command line.
    ///
    /// # Errors
    /// What is wrong, with the range.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not like 5, 1..20 or 1,2,4, with numbers from 1 to 1000");
        let number = |part: &str| {
            part.parse::<usize>().ok().filter(|number| (1..=1000).contains(number)).ok_or_else(wrong)
        };
        let mut all = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                None => all.push(number(part)?),
                Some((low, high)) => {
                    let (low, high) = (number(low)?, number(high)?);
                    if low > high {
                        return Err(wrong());
                    }
                    all.extend(low..=high);
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        Ok(Self(all))
    }
}

/// The experiment that settled Linux's threads in 2002: one kernel thread for each, M:N, or a manager?
#[derive(Debug, Clone, Args)]
pub(crate) struct NptlArgs {
    /// Models and peers [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Column::parse)]
    models: Vec<Column>,

    /// Threads that create: 1..20, 4 or 1,2,4
    #[arg(long, value_name = "P", allow_hyphen_values = true, default_value_t = Threads((1..=TOPLEVEL).collect()), value_parser = Threads::parse)]
    toplevel: Threads,

    /// Threads that each of them keeps at once: 1..10, 4 or 1,2,4
    #[arg(long, value_name = "C", allow_hyphen_values = true, default_value_t = Threads((1..=CHILDREN).collect()), value_parser = Threads::parse)]
    children: Threads,

    /// Threads created in each cell; the original's 100k take half an hour in all
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value = "100k", value_parser = Starts::parse)]
    starts: Starts,

    /// Times that each cell is run; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Rounds::parse)]
    rounds: Rounds,

    /// Kernel threads under those of m:n, may and tokio [default: one for each core]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Workers::parse)]
    workers: Option<Workers>,

    /// What the order of runs follows from
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,

    /// Draw the two summaries into an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

impl core::fmt::Display for Threads {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0.as_slice() {
            [low, .., high] if high - low + 1 == self.0.len() => write!(f, "{low}..{high}"),
            all => f.write_str(&all.iter().map(usize::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

/// Threads of the verifying pass, in each cell of it.
const VERIFIED: u64 = 100;

impl NptlArgs {
    /// Runs it and prints the report.
    ///
    /// # Errors
    /// A request that cannot be served, a wrong answer, or Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        self.report(false)
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let most = |threads: &Threads| threads.0.last().copied().unwrap_or(1);
        let at_once = most(&self.toplevel) * most(&self.children);
        if at_once > MOST_AT_ONCE {
            return Err(LabError::usage(format!(
                "{at_once} threads at once are more than the original's {MOST_AT_ONCE}: take a smaller --toplevel or --children"
            )));
        }
        let mut columns = self.models.clone();
        if columns.is_empty() {
            columns = Column::all();
        }
        columns.sort_unstable();
        columns.dedup();
        Ok(Plan {
            columns,
            toplevel: self.toplevel.0.clone(),
            children: self.children.0.clone(),
            starts: self.starts.get(),
            rounds: usize::try_from(self.rounds.get()).unwrap_or(usize::MAX),
            knobs: Knobs {
                workers: self.workers.and_then(|workers| usize::try_from(workers.get()).ok()),
                ..Knobs::default()
            },
            seed: self.seed.get(),
        })
    }

    fn report(&self, brief: bool) -> Result<(), LabError> {
        let plan = self.plan()?;
        let files = self.output.open()?;
        let svg = self.svg.as_deref().map(|path| RowsFile::open("--svg", path, &self.output)).transpose()?;
        let clock = OsClock::start();
        let mut report = Report::new(output::command_line(), Host::read(), calibrate(&clock), plan.seed);
        report.brief = brief;
        report.verified = verified(&plan, clock).map_err(LabError::failed)?;
        report.table = Some(table::run(&plan, clock)?);
        report.interrupted = interrupt::requested();
        if files.terminal() {
            output::print(&format!("{}\n{}", report.host, report.text()))?;
        }
        files.json(&report)?;
        files.csv(report.lines())?;
        if let Some(svg) = svg {
            svg.text(&report.svg())?;
        }
        if report.interrupted { Err(LabError::Interrupted) } else { Ok(()) }
    }
}

/// The corners of the table, for each model in it.
fn verified(plan: &Plan, clock: OsClock) -> Result<u64, String> {
    let ends = |keys: &[usize]| {
        let mut ends: Vec<usize> = keys.first().into_iter().chain(keys.last()).copied().collect();
        ends.dedup();
        ends
    };
    let mut threads = 0;
    for column in &plan.columns {
        let Column::Ours(model) = column else { continue };
        for toplevel in ends(&plan.toplevel) {
            for children in ends(&plan.children) {
                let cell = Cell { toplevel, children, starts: VERIFIED.min(plan.starts) };
                threads += verify::run(*model, &plan.knobs, cell, clock)?;
            }
        }
    }
    Ok(threads)
}

/// The experiment as a part of the tour.
///
/// # Errors
/// As [`NptlArgs::execute`].
pub(crate) fn tour(_within: Duration) -> Result<(), LabError> {
    let args = NptlArgs {
        models: Vec::new(),
        toplevel: Threads(vec![1, 4, 20]),
        children: Threads(vec![1, 10]),
        starts: Starts::try_from(TOUR).map_err(LabError::usage)?,
        rounds: Rounds::try_from(7).map_err(LabError::usage)?,
        workers: None,
        seed: Seed::try_from(1).map_err(LabError::usage)?,
        svg: None,
        output: OutputArgs::default(),
    };
    args.report(true)
}

/// Creations in a cell of the tour: the table within two seconds at 60 us each.
const TOUR: i64 = 100;

/// Every model and peer under the original's rules with few threads; nothing is timed.
///
/// # Errors
/// What is wrong.
pub(crate) fn check() -> Result<String, String> {
    let clock = OsClock::start();
    let plan = Plan {
        columns: Column::all(),
        toplevel: vec![1, 3],
        children: vec![1, 4],
        starts: 50,
        rounds: 1,
        knobs: Knobs::default(),
        seed: 1,
    };
    let looked = verified(&plan, clock)?;
    let table = table::run(&plan, clock).map_err(|error| error.to_string())?;
    if interrupt::requested() {
        return Err("interrupted".into());
    }
    let models = Model::ALL.len();
    let runs = table.samples.len();
    Ok(format!(
        "{looked} threads of {models} models looked at themselves, {runs} runs joined all they created"
    ))
}

const _: () = assert!(STARTS == 100_000, "the default of --starts is the original's");
