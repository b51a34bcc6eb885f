//! `tickwright reproduce asterisk` and `tickwright sched test`.

use core::time::Duration;

use clap::{Args, ValueEnum};
use tickwright::service::Structure;

use super::beat::{self, Load};
use super::column::{Column, Mode};
use super::report::{Report, span};
use super::sample::Delays;
use super::table::{Plan, Table, What};
use super::{comparisons, crossover, table, verify};
use crate::clock::{OsClock, calibrate};
use crate::duration;
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::models::scenario::{Population, Rounds, Seed};
use crate::output::{OutputArgs, Run, table as tables};
use crate::structures::registry;

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// N adds and N deletes, beside the published times
    Table,
    /// Up to how many timers the list is as good as the best
    Crossover,
    /// Whether a heap can degrade to a list: comparisons counted
    Comparisons,
    /// Whether the load of short calls shows a period
    Beat,
}

/// Which schedulers.
#[derive(Debug, Clone, Args)]
struct Columns {
    /// The schedulers of 2009, this project's, or both
    #[arg(long, value_enum, value_delimiter = ',', default_value = "faithful,ours")]
    mode: Vec<Mode>,

    /// Structures of this project's scheduler, separated by commas
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "LIST",
        default_value = "list,heap2,heap4,rb,rb-cached,avl,wheel",
        value_parser = registry::family
    )]
    structures: Vec<Structure>,
}

impl Columns {
    fn all(&self) -> Vec<Column> {
        let then = Column::THEN.into_iter().filter(|_| self.mode.contains(&Mode::Faithful));
        let mut columns: Vec<Column> = then.collect();
        if self.mode.contains(&Mode::Ours) {
            for &structure in &self.structures {
                let column = Column::Ours(structure);
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
        }
        columns
    }
}

/// Asterisk's scheduler experiment of 2009: a sorted list or a heap under a scheduler of callbacks?
#[derive(Debug, Clone, Args)]
pub(crate) struct AsteriskArgs {
    /// What to run [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Part>,

    #[command(flatten)]
    columns: Columns,

    /// How many timers: 100,10k,1M
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "100,500,1k,5k,10k,100k,1M", value_parser = Population::parse)]
    n: Vec<Population>,

    /// Samples of each structure at each N, at most; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "9", value_parser = Rounds::parse)]
    rounds: Rounds,

    /// What a structure may take at one N; what does not fit is extrapolated. The list at a million
    /// takes hours
    #[arg(long, allow_hyphen_values = true, default_value = "10s", value_parser = duration::parse)]
    budget: Duration,

    /// How long calls arrive, to look for a beat
    #[arg(long, allow_hyphen_values = true, default_value = "5s", value_parser = duration::parse)]
    beat: Duration,

    /// What all random choices follow from (but not those of the faithful mode)
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    seed: Option<Seed>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Times N adds at random delays from 0 to 60 s, and N deletes by id.
#[derive(Debug, Clone, Args)]
pub(crate) struct TestArgs {
    /// How many timers: 100, 10k, 1M
    #[arg(value_name = "N", allow_hyphen_values = true, value_parser = Population::parse)]
    n: Population,

    #[command(flatten)]
    columns: Columns,

    /// Samples of each structure, at most; the median counts
    #[arg(long, allow_hyphen_values = true, default_value = "3", value_parser = Rounds::parse)]
    rounds: Rounds,

    /// What a structure may take; what does not fit is extrapolated
    #[arg(long, allow_hyphen_values = true, default_value = "10s", value_parser = duration::parse)]
    budget: Duration,

    /// What delays follow from (but not those of the faithful mode)
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    seed: Option<Seed>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Adds of the scripts in virtual time.
const SCRIPT: usize = 2000;
/// Timers whose comparisons are counted.
const COUNTED: u32 = 10_000;

fn plan(columns: Vec<Column>, n: &[Population], rounds: Rounds, budget: Duration, seed: u64) -> Plan {
    let mut sizes: Vec<usize> = n.iter().filter_map(|n| usize::try_from(n.get()).ok()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let rounds = usize::try_from(rounds.get()).unwrap_or(usize::MAX);
    Plan { columns, sizes, rounds, budget, seed }
}

impl AsteriskArgs {
    fn runs(&self, part: Part) -> bool {
        (self.only.is_empty() || self.only.contains(&part)) && !interrupt::requested()
    }

    /// Runs it and prints the report.
    ///
    /// # Errors
    /// A request that cannot be served, a wrong answer, or Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        self.report(false)
    }

    fn report(&self, brief: bool) -> Result<(), LabError> {
        let files = self.output.open()?;
        let seed = self.seed.map_or(0, Seed::get);
        let plan = plan(self.columns.all(), &self.n, self.rounds, self.budget, seed);
        let clock = OsClock::start();
        let mut report = Report::new(Host::read(), calibrate(&clock), self.budget, seed);
        report.brief = brief;
        report.verified = verify::run(&plan.columns, SCRIPT, seed)?;
        if self.runs(Part::Table) {
            report.table = Some(table::run(&plan, clock)?);
        }
        if self.runs(Part::Crossover) {
            report.crossovers = crossover::run(&plan.columns, plan.rounds, seed, clock)?;
        }
        if self.runs(Part::Comparisons) {
            report.comparisons = comparisons::run(COUNTED);
        }
        if self.runs(Part::Beat) {
            report.beat = Some(beat::run(&Load::usual(self.beat, seed))?);
        }
        report.interrupted = interrupt::requested();
        let run = Run { interrupted: report.interrupted, host: &report.host };
        files.finish(run, || format!("{}\n{}", report.host, report.text()), &report, report.lines())
    }
}

impl TestArgs {
    /// Runs it and prints the times.
    ///
    /// # Errors
    /// A request that cannot be served, a wrong answer, or Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let files = self.output.open()?;
        let seed = self.seed.map_or(0, Seed::get);
        let plan = plan(self.columns.all(), &[self.n], self.rounds, self.budget, seed);
        let clock = OsClock::start();
        let mut report = Report::new(Host::read(), calibrate(&clock), self.budget, seed);
        report.verified = verify::run(&plan.columns, SCRIPT, seed)?;
        let table = table::run(&plan, clock)?;
        report.interrupted = interrupt::requested();
        let text = format!("{}\n\n{}\n", report.host, times(&table));
        report.table = Some(table);
        let run = Run { interrupted: report.interrupted, host: &report.host };
        files.finish(run, || text, &report, report.lines())
    }
}

/// One line for each scheduler.
fn times(table: &Table) -> String {
    let n = table.sizes.first().copied().unwrap_or(0);
    let mut rows = tables::new([
        format!("{n} adds with delays of 0 to 60 s, then {n} deletes by id"),
        "add".into(),
        "del".into(),
        "total".into(),
        "ns per add".into(),
        "ns per del".into(),
    ]);
    for &column in &table.columns {
        let figures = What::ALL.map(|what| table.figure(column, n, what));
        let mut cells = vec![column.name()];
        cells.extend(figures.map(|figure| {
            figure.map_or("-".into(), |figure| span(figure.ns) + if figure.extrapolated { "~" } else { "" })
        }));
        cells.extend(
            figures[..2]
                .iter()
                .map(|figure| figure.map_or("-".into(), |figure| tables::ns(figure.ns / n as f64))),
        );
        rows.add_row(cells);
    }
    tables::show(&rows)
}

/// The experiment as a part of the tour; on a system without the random source of then, ours alone.
///
/// # Errors
/// As [`AsteriskArgs::execute`].
pub(crate) fn tour(within: Duration) -> Result<(), LabError> {
    let modes = [Mode::Faithful, Mode::Ours].into_iter();
    let sizes = [100, 1000, 10_000, 100_000, 1_000_000].into_iter();
    let args = AsteriskArgs {
        only: Vec::new(),
        columns: Columns {
            mode: modes.filter(|mode| *mode == Mode::Ours || Delays::system_is_there()).collect(),
            structures: usual(),
        },
        n: sizes.filter_map(|n| Population::try_from(n).ok()).collect(),
        rounds: Rounds::try_from(7).map_err(LabError::usage)?,
        // Eleven columns; only at the two largest N does one need it.
        budget: within / 50,
        beat: within * 2 / 5,
        seed: None,
        output: OutputArgs::default(),
    };
    args.report(true)
}

/// The structures of the experiment.
fn usual() -> Vec<Structure> {
    ["list", "heap2", "heap4", "rb", "rb-cached", "avl", "wheel"]
        .iter()
        .filter_map(|id| id.parse().ok())
        .collect()
}

/// Every structure and the schedulers of 2009, in virtual time and with a few timers on the real
/// clock; nothing is timed.
///
/// # Errors
/// What is wrong.
pub(crate) fn check() -> Result<String, String> {
    let words = |error: LabError| error.to_string();
    let mut columns = Column::THEN.to_vec();
    columns.retain(|_| Delays::system_is_there());
    columns.extend(Structure::all().into_iter().map(Column::Ours));
    let events = verify::run(&columns, 300, 1).map_err(words)?;
    let clock = OsClock::start();
    let plan = Plan { columns, sizes: vec![1, 2, 100], rounds: 1, budget: Duration::from_secs(60), seed: 1 };
    let table = table::run(&plan, clock).map_err(words)?;
    if interrupt::requested() {
        return Err("interrupted".into());
    }
    let samples: usize = table.cells.iter().map(|cell| cell.samples.len()).sum();
    let (add, del) = comparisons::heap_bounds(300);
    for row in comparisons::run(300).iter().filter(|row| row.structure == "heap") {
        if row.add.most > add || row.del.most > del {
            return Err(format!("the heap compares too often: {row:?}"));
        }
    }
    Ok(format!("{events} events as sorting orders them, {samples} runs of adds and deletes accounted for"))
}
