//! What is asked of the timer path, and the run.

use core::iter::once;

use clap::{ArgGroup, Args};

use super::counted::{self, Counted};
use super::report::{Path, Report, crossings, lines};
use super::sample::{Cell, Plan};
use super::slice::Lane;
use crate::counter::Counter;
use crate::error::LabError;
use crate::experiments::latency::order::PUBLISHED;
use crate::host::Host;
use crate::interrupt;
use crate::models::scenario::{Population, Rounds};
use crate::output::{OutputArgs, Run};
use crate::structures::registry::{self, STRUCTURES, Structure, Ties};

/// What is about wake-ups, of which there are none here: taken in silence, it would be a file that
/// is missing or a limit that always holds.
const WAKE_UPS: [&str; 7] =
    ["compare_cyclictest", "histogram", "gnuplot", "svg", "hdr", "fail_if_max_over", "load"];

/// The queue's share of the lateness, and from where on the list is not the best.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("path").multiple(true))]
pub(crate) struct PathArgs {
    /// What the queue alone costs a tick, instead: read the head, take it, callback, re-arm, read
    /// the head. Only --structures, --population, --rounds, --seed, --instructions and the outputs
    /// count
    #[arg(long, group = "path", conflicts_with_all = WAKE_UPS)]
    timer_path: bool,

    /// From how many timers on each structure overtakes the list, instead; by the same tick, of
    /// timers with periods from 1ms to 10ms [structures: all exact ones of ours in both storages]
    #[arg(long, group = "path", conflicts_with_all = WAKE_UPS)]
    crossover: bool,

    /// Timers pending, for --timer-path (1 and 2 if not given) and --crossover (1 to 512)
    #[arg(long, requires = "path", value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = Population::parse)]
    population: Vec<Population>,

    /// Slices of each structure and population, for --timer-path and --crossover; below 6 no
    /// difference can be shown, among the published four below 8
    #[arg(long, requires = "path", allow_hyphen_values = true, default_value = "21", value_parser = Rounds::parse)]
    rounds: Rounds,

    /// Count instructions too, for --timer-path and --crossover: this program runs itself under
    /// valgrind
    #[arg(long, requires = "path")]
    instructions: bool,

    /// The part of the program that valgrind runs
    #[arg(long, hide = true, requires = "path")]
    counted: bool,
}

/// From few timers to many.
const SIZES: [usize; 16] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512];
/// Ticks in a slice by the clock, and one under valgrind, which is fifty times as slow and counts
/// exactly.
const TICKS: usize = 2048;
const COUNTED_TICKS: usize = 256;

/// Whether a structure can be held to the oracle, tick by tick.
fn takes_part(structure: &Structure) -> bool {
    structure.exact_head && structure.ties == Ties::Fifo
}

impl PathArgs {
    /// Whether it is asked for.
    pub(crate) fn asked(&self) -> bool {
        self.timer_path || self.crossover
    }

    /// Runs it and prints the report.
    ///
    /// # Errors
    /// A request that cannot be served, a wrong answer, or Ctrl-C.
    pub(crate) fn execute(&self, structures: &[String], seed: u64, to: &OutputArgs) -> Result<(), LabError> {
        let mut notes = Vec::new();
        let plans = self.plans(structures, seed, &mut notes)?;
        if self.counted {
            return plans
                .iter()
                .try_for_each(|(_, plan)| counted::child(&Plan { ticks: COUNTED_TICKS, ..plan.clone() }));
        }
        let files = to.open()?;
        let host = Host::read();
        notes.extend(host.doubts());
        let counter = Counter::start();
        let mut report = Report {
            experiment: "timer path",
            host,
            counter: counter.calibrated(),
            bits: usize::BITS,
            arch: std::env::consts::ARCH,
            rounds: plans.first().map_or(0, |(_, plan)| plan.rounds),
            ticks: TICKS,
            seed,
            verified: 0,
            paths: Vec::new(),
            crossovers: Vec::new(),
            notes,
            interrupted: false,
            lines: Vec::new(),
        };
        for (kind, plan) in &plans {
            report.verified += plan.verify()?;
            report.take(*kind, &plan.by_clock(&counter, kind.flag())?);
            if self.instructions && !interrupt::requested() {
                let plan = Plan { ticks: COUNTED_TICKS, ..plan.clone() };
                match counted::run(&plan, &arguments(*kind, &plan)) {
                    Ok(Counted::Cells(cells)) => report.take(*kind, &cells),
                    Ok(Counted::Skipped(why)) => report.notes.push(why),
                    Err(LabError::Interrupted) => {}
                    Err(other) => return Err(other),
                }
            }
        }
        report.notes.dedup();
        report.interrupted = interrupt::requested();
        let run = Run { interrupted: report.interrupted, host: &report.host };
        files.finish(run, || report.text(), &report, &report.lines)
    }

    fn plans(
        &self,
        structures: &[String],
        seed: u64,
        notes: &mut Vec<String>,
    ) -> Result<Vec<(Kind, Plan)>, LabError> {
        let sizes = |usual: &[usize]| {
            let mut sizes: Vec<usize> =
                self.population.iter().filter_map(|n| usize::try_from(n.get()).ok()).collect();
            sizes.sort_unstable();
            sizes.dedup();
            if sizes.is_empty() { usual.to_vec() } else { sizes }
        };
        let rounds = usize::try_from(self.rounds.get()).unwrap_or(usize::MAX);
        let mut plan = |kind: Kind, usual: &[usize]| {
            let lanes = once(Ok(Lane::Loop))
                .chain(kind.select(structures, notes)?.into_iter().map(|structure| Ok(Lane::Of(structure))))
                .collect::<Result<_, LabError>>()?;
            Ok::<_, LabError>((kind, Plan { lanes, sizes: sizes(usual), rounds, ticks: TICKS, seed }))
        };
        let mut plans = Vec::new();
        if self.timer_path {
            plans.push(plan(Kind::Path, &[1, 2])?);
        }
        if self.crossover {
            plans.push(plan(Kind::Crossover, &SIZES)?);
        }
        Ok(plans)
    }
}

/// What is made of the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Path,
    Crossover,
}

impl Kind {
    fn flag(self) -> &'static str {
        match self {
            Self::Path => "--timer-path",
            Self::Crossover => "--crossover",
        }
    }

    /// What takes part; what a pattern names but cannot, is said to be left out. To a crossover
    /// belongs the list.
    fn select(
        self,
        patterns: &[String],
        notes: &mut Vec<String>,
    ) -> Result<Vec<&'static Structure>, LabError> {
        if patterns.is_empty() {
            return match self {
                Self::Path => PUBLISHED.into_iter().map(registry::find).collect(),
                Self::Crossover => {
                    Ok(STRUCTURES.iter().filter(|s| s.id.contains('/') && takes_part(s)).collect())
                }
            };
        }
        let (mut able, unable): (Vec<&'static Structure>, Vec<_>) =
            registry::select(patterns)?.into_iter().partition(|structure| takes_part(structure));
        notes.extend(unable.iter().map(|structure| {
            format!("{} is left out: the path asks for an exact head, and first in, first out", structure.id)
        }));
        if self == Self::Crossover {
            for list in ["list/hook", "list/slab"] {
                let storage = list.trim_start_matches("list");
                if able.iter().any(|s| s.id.ends_with(storage)) && !able.iter().any(|s| s.id == list) {
                    able.insert(0, registry::find(list)?);
                }
            }
            able.retain(|structure| {
                let rival = structure.id.contains('/');
                if !rival {
                    notes.push(format!("{} is left out: a list of its storage is not known", structure.id));
                }
                rival
            });
        }
        if able.is_empty() { Err(LabError::usage(notes.join("; "))) } else { Ok(able) }
    }
}

/// How this program is told to run a plan for counting.
fn arguments(kind: Kind, plan: &Plan) -> Vec<String> {
    let ids: Vec<&str> =
        plan.lanes.iter().filter(|lane| **lane != Lane::Loop).map(|lane| lane.id()).collect();
    let sizes: Vec<String> = plan.sizes.iter().map(usize::to_string).collect();
    [
        "latency",
        kind.flag(),
        "--counted",
        "--structures",
        &ids.join(","),
        "--population",
        &sizes.join(","),
        "--rounds",
        &plan.rounds.to_string(),
        "--seed",
        &plan.seed.to_string(),
    ]
    .map(str::to_owned)
    .to_vec()
}

impl Report {
    fn take(&mut self, kind: Kind, cells: &[Cell]) {
        match kind {
            Kind::Path => self.paths.extend(cells.iter().map(Path::of)),
            Kind::Crossover => self.crossovers.extend(crossings(cells)),
        }
        self.lines.extend(lines(cells));
    }
}

/// Every structure that can, through the path at a few populations, nothing timed.
///
/// # Errors
/// What is wrong.
pub(crate) fn check() -> Result<String, String> {
    let lanes = once(Lane::Loop).chain(STRUCTURES.iter().filter(|s| takes_part(s)).map(Lane::Of)).collect();
    let plan = Plan { lanes, sizes: vec![1, 2, 3, 17, 300], rounds: 1, ticks: 500, seed: 1 };
    plan.verify()
        .map(|ticks| format!("{ticks} ticks in the oracle's order"))
        .map_err(|error| error.to_string())
}
