//! `tickwright latency path` and `crossover`: what the queue alone adds to the lateness of a timer.
//!
//! End-to-end lateness comes mostly from the host. Here nothing waits: the virtual time jumps from
//! expiry to expiry. A tick consists of the queue's operations, in the order of Xenomai's handler:
//! read the head, take it, call back, re-arm it, read the head.
//!
//! - [`mod@slice`]: the path, and the points at which a clock may be read
//! - [`sample`]: slices of all structures in turns, timed by the cycle counter
//! - [`counted`]: the same slices by instruction counts, in a separate process under callgrind
//! - [`tables`]: the report

mod counted;
mod sample;
mod slice;
mod tables;

use clap::Args;

use self::sample::{Cell, Plan, Ticks};
use self::slice::Lane;
use super::structures::choose;
use crate::counter::Counter;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters, execute};
use crate::experiments::request;
use crate::interrupt;
use crate::models::scenario::{Population, Rounds, Seed};
use crate::output::OutputArgs;
use crate::result::{Better, Finding, Section, Series, Unit, labels};
use crate::structures::registry::{STRUCTURES, Structure, Ties};

/// Arguments that `latency path` and `latency crossover` share.
#[derive(Debug, Clone, Args)]
pub(crate) struct TickArgs {
    /// Structures, as patterns: * matches anything, ! excludes
    /// [default: list, heap2, rb and rb-cached, by hooks; for the crossover our exact ones]
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    structures: Vec<String>,

    /// Numbers of pending timers, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = Population::parse)]
    n: Vec<Population>,

    /// Slices of each structure at each N; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "21", value_parser = Rounds::parse)]
    rounds: Rounds,

    /// Count instructions too: this program runs itself under valgrind
    #[arg(long)]
    instructions: bool,

    /// Run only the slices that valgrind counts
    #[arg(long, hide = true)]
    counted: bool,

    /// Seed of periods, phases and the order of turns
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,

    #[command(flatten)]
    output: OutputArgs,
}

/// What the queue alone costs a tick: read the head, take it, callback, re-arm, read the head
///
/// Nothing waits. The cycle counter times each tick. The cost of the same loop over a slot for one
/// timer is subtracted. Before that, an oracle checks what each structure delivers.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("n", |n| n.default_value("1,2")))]
pub(crate) struct PathArgs {
    #[command(flatten)]
    pub(super) ticks: TickArgs,
}

/// From how many timers on each structure overtakes the list, by the tick of `latency path`
///
/// Timers have periods from 1ms to 10ms. Each structure is compared with the list in the same
/// storage.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("n", |n| n.default_value("1,2,3,4,6,8,12,16,24,32,48,64,96,128,256,512")))]
pub(crate) struct CrossoverArgs {
    #[command(flatten)]
    pub(super) ticks: TickArgs,
}

/// Ticks in a timed slice. [`COUNTED_TICKS`] is for valgrind, which counts exactly but is fifty
/// times as slow.
const TICKS: usize = 2048;
const COUNTED_TICKS: usize = 256;

const WHY_NOT: &str = "the path needs an exact head, and first in, first out";

/// Whether the oracle can check a structure tick by tick.
fn takes_part(structure: &Structure) -> bool {
    structure.exact_head && structure.ties == Ties::Fifo
}

impl TickArgs {
    fn plan(&self, structures: Vec<&'static Structure>, notes: Vec<String>) -> Plan {
        Plan {
            lanes: [Lane::Loop].into_iter().chain(structures.into_iter().map(Lane::Of)).collect(),
            sizes: request::sizes(&self.n),
            rounds: self.rounds.get() as usize,
            ticks: TICKS,
            seed: self.seed.get(),
            instructions: self.instructions,
            notes,
        }
    }

    /// Runs the experiment. With `--counted`, runs only the slices of its plan, for valgrind.
    pub(super) fn execute<E: Experiment<Plan = Plan>>(&self, experiment: &E) -> Result<(), LabError> {
        if self.counted {
            return counted::child(&Plan { ticks: COUNTED_TICKS, ..experiment.plan()? });
        }
        execute(experiment, &self.output)
    }
}

impl CrossoverArgs {
    /// The structures that take part, and notes. The list of each storage that a pattern names is
    /// added.
    fn select(&self) -> Result<(Vec<&'static Structure>, Vec<String>), LabError> {
        let ours = |structure: &Structure| structure.id.contains('/');
        let own =
            || STRUCTURES.iter().filter(|s| ours(s) && takes_part(s)).map(|s| s.id.to_owned()).collect();
        let mut patterns: Vec<String> =
            if self.ticks.structures.is_empty() { own() } else { self.ticks.structures.clone() };
        let (named, mut notes) = choose(&patterns, takes_part, WHY_NOT)?;
        let foreign = named.iter().filter(|s| !ours(s));
        notes.extend(foreign.map(|s| format!("{} is left out: there is no list of its storage", s.id)));
        let named: Vec<&Structure> = named.into_iter().filter(|s| ours(s)).collect();
        if named.is_empty() {
            return Err(LabError::usage(notes.join("; ")));
        }
        patterns = named.iter().map(|s| s.id.to_owned()).collect();
        for storage in ["hook", "slab"] {
            if named.iter().any(|s| s.id.ends_with(storage)) {
                patterns.push(format!("list/{storage}"));
            }
        }
        Ok((choose(&patterns, takes_part, WHY_NOT)?.0, notes))
    }
}

/// Implements both experiments. The two experiments differ in their structures, findings and
/// sections.
macro_rules! experiment {
    ($args:ty, $name:literal, $plan:expr, $findings:path, $sections:path) => {
        impl Experiment for $args {
            type Plan = Plan;
            type Data = Ticks;

            fn name(&self) -> String {
                $name.into()
            }

            fn plan(&self) -> Result<Plan, LabError> {
                let select: fn(&Self) -> _ = $plan;
                let (structures, notes) = select(self)?;
                Ok(self.ticks.plan(structures, notes))
            }

            fn parameters(&self, plan: &Plan) -> Parameters {
                parameters(plan)
            }

            fn seed(&self, plan: &Plan) -> Option<u64> {
                Some(plan.seed)
            }

            /// `false`: the cycle counter times the ticks, and the sections describe it.
            fn is_timed(&self) -> bool {
                false
            }

            fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Ticks, LabError> {
                run(plan, lab, $name)
            }

            fn series(&self, _: &Plan, ticks: &Ticks) -> Vec<Series> {
                ticks.cells.iter().flat_map(series).collect()
            }

            fn findings(&self, _: &Plan, ticks: &Ticks) -> Vec<Finding> {
                $findings(&ticks.cells)
            }

            fn sections(&self, _: &Plan, ticks: &Ticks, findings: &[Finding]) -> Vec<Section> {
                $sections(ticks, findings)
            }
        }
    };
}

experiment!(
    PathArgs,
    "latency path",
    |args| choose(&args.ticks.structures, takes_part, WHY_NOT),
    tables::path_findings,
    tables::path
);
experiment!(
    CrossoverArgs,
    "latency crossover",
    CrossoverArgs::select,
    tables::crossover_findings,
    tables::crossover
);

fn parameters(plan: &Plan) -> Parameters {
    let structures: Vec<&str> =
        plan.lanes.iter().filter(|lane| **lane != Lane::Loop).map(|lane| lane.id()).collect();
    request::parameters([
        ("structures", request::list(&structures).into()),
        ("n", request::list(&plan.sizes).into()),
        ("rounds", plan.rounds.into()),
        ("ticks", plan.ticks.into()),
        ("instructions", plan.instructions.into()),
        ("arch", std::env::consts::ARCH.into()),
        ("bits", usize::BITS.into()),
    ])
}

/// Checks the structures against the oracle, then samples them by the counter and by instructions.
fn run(plan: &Plan, lab: &mut Lab<'_>, what: &'static str) -> Result<Ticks, LabError> {
    lab.notes.extend(plan.notes.iter().cloned());
    let verified = plan.verify()?;
    let counter = Counter::start();
    let mut cells = plan.by_clock(&counter, what)?;
    if plan.instructions && !interrupt::requested() {
        match counted::run(&Plan { ticks: COUNTED_TICKS, ..plan.clone() }) {
            Ok(Ok(counted)) => cells.extend(counted),
            Ok(Err(why)) => lab.notes.push(why),
            Err(LabError::Interrupted) => {}
            Err(other) => return Err(other),
        }
    }
    lab.interrupted = interrupt::requested();
    Ok(Ticks { counter: counter.calibrated(), verified, cells })
}

fn series(cell: &Cell) -> Vec<Series> {
    let rows = [&cell.overhead].into_iter().chain(&cell.rows);
    let of_row = |row: &sample::Row| {
        let of = || labels([("structure", row.structure.into()), ("n", cell.population.into())]);
        let better = if row.structure == Lane::Loop.id() { Better::Neither } else { Better::Lower };
        let series = |name: &str, samples: &[f64]| {
            let series = Series::new(name, cell.unit, of()).better(better);
            series.per("tick").of(samples.iter().copied())
        };
        let whole = if cell.unit == Unit::Ns { "tick" } else { "tick, counted" };
        [series(whole, &row.tick), series("to the callback", &row.to_callback)]
    };
    rows.flat_map(of_row).filter(|series| !series.samples.is_empty()).collect()
}

/// Runs each structure that can take part through the path at a few populations, without timing.
///
/// # Errors
/// The first wrong result, in words.
pub(crate) fn check() -> Result<String, String> {
    let ticks = || {
        let args: PathArgs = request::words(&["--structures", "*", "--n", "1,2,3,17,300"])?;
        Plan { ticks: 500, ..args.plan()? }.verify()
    };
    ticks()
        .map(|ticks| format!("{ticks} ticks in the oracle's order"))
        .map_err(|error: LabError| error.to_string())
}

#[cfg(test)]
mod tests;
