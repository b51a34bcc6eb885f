//! `tickwright bench [SCENARIO...]`: compares all structures on the chosen workloads.
//!
//! Each structure is sampled in every round. The structure's answers are
//! [verified](crate::models::verify) before its time counts.
//!
//! - [`run`]: runs the rounds. All [queues live at the same time](crate::models::live): each is
//!   filled once and sampled in every round
//! - [`floor`]: measures references that are not queues; [`cell`]: computes medians and ratios;
//!   [`findings`], [`tables`]: write the report
//! - [`matrix`] with [`drain`], [`worst`], [`memory`]: the results that the flags `--matrix`,
//!   `--worst` and `--memory` show instead of times

pub(crate) mod cell;
mod drain;
pub(crate) mod findings;
pub(crate) mod floor;
mod matrix;
mod memory;
pub(crate) mod run;
pub(crate) mod tables;
mod worst;

use core::time::Duration;
use std::path::Path;

use clap::Args;

use self::cell::Cell;
use self::run::{Part, can_be_baseline};
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request;
use crate::models::scenario::{Operations, Population, Rounds, Scenario, Seed, is_file};
use crate::output::OutputArgs;
use crate::output::table::count;
use crate::result::{Finding, Section, Series, workload};
use crate::structures::registry::{self, Structure};

/// Arguments of `bench`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BenchArgs {
    /// A scenario by name, all scenarios of a model (hold, network, one-shot, expire, idle, reads),
    /// or a file that ends in .toml; ! leaves out: network '!one-delay', or '!idle' for all others
    /// [default: hold-exp-sparse and network, as with --quick]
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Instead of times, print the bytes of each pending timer and of an empty queue
    #[arg(long, group = "column", help_heading = "What is measured")]
    memory: bool,
    /// Time single calls under deadlines that an attacker chooses: the worst beside the median
    ///
    /// Inserts, re-arms, removals, pops and advances, each call timed alone. SCENARIO is then a
    /// file of the same form as scenarios/adversary.toml, with other defaults. --n 1M attacks with
    /// a million timers.
    #[arg(long, group = "column", help_heading = "What is measured")]
    worst: bool,
    /// Compare the best of ours with the best of others, for each work and population
    ///
    /// Takes some forty minutes. --only makes it shorter, and --quick takes half a minute. --only
    /// default shows what the default queue must reach, and whether it does.
    #[arg(long, group = "column", help_heading = "What is measured")]
    matrix: bool,
    /// Structures to measure, as patterns: * matches anything, ! excludes: 'heap4/*,!list/*'
    /// [default: the scenario's]
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    structures: Option<Vec<String>>,
    /// Structure to which ratios refer [default: the fastest baseline of each population]
    #[arg(long, value_name = "STRUCTURE", conflicts_with = "column")]
    baseline: Option<String>,
    /// Populations, separated by commas: 2,16,1k [default: the scenario's]
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "matrix",
        value_parser = Population::parse
    )]
    n: Option<Vec<Population>>,
    /// Number of operations in a sample [default: the scenario's]
    #[arg(long, allow_hyphen_values = true, conflicts_with = "column", value_parser = Operations::parse)]
    operations: Option<Operations>,
    /// Number of samples of each structure; fewer than 6 cannot show a difference. In --worst and
    /// in the calls of --matrix, the number of times that each call is timed; its least time is
    /// reported [default: the scenario's]
    #[arg(long, allow_hyphen_values = true, conflicts_with = "memory", value_parser = Rounds::parse)]
    rounds: Option<Rounds>,
    /// Begin no new round after this time, which all populations share; filling the queues is not
    /// included
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        conflicts_with = "column",
        value_parser = duration::parse
    )]
    within: Option<Duration>,
    /// Seed of the delays, of removals and of the order of structures [default: the scenario's]
    #[arg(
        long,
        allow_hyphen_values = true,
        conflicts_with_all = ["memory", "matrix"],
        value_parser = Seed::parse
    )]
    seed: Option<Seed>,
    /// Run for seconds instead of minutes: populations up to 10,000, at most 9 rounds, at most
    /// 10,000 operations in a sample
    #[arg(long, conflicts_with_all = ["memory", "worst"])]
    quick: bool,
    /// Parts of --matrix to run [default: all]
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Of --matrix and --worst")]
    only: Vec<matrix::Part>,
    /// Kinds of attacks of --worst; may be repeated [default: the scenario's]
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        requires = "worst",
        help_heading = "Of --matrix and --worst"
    )]
    pattern: Vec<worst::Pattern>,
    /// Budget of an advance of --worst: the most timers that one call may deliver or move
    /// [default: the scenario's]
    #[arg(
        long,
        allow_hyphen_values = true,
        requires = "worst",
        value_parser = Operations::parse,
        help_heading = "Of --matrix and --worst"
    )]
    budget: Option<Operations>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
/// The number of operations in a sample and the number of rounds with `--quick`.
const QUICK_OPERATIONS: u64 = 10_000;
const QUICK_ROUNDS: u64 = 9;

/// The scenarios that are measured if the user names none.
const DEFAULT: [&str; 2] = ["hold-exp-sparse", "network"];

/// What `bench` measures: the arguments, with the files that they name.
#[derive(Debug)]
pub(crate) struct Bench {
    args: BenchArgs,
    what: What,
}

#[derive(Debug)]
enum What {
    Times(Vec<Scenario>),
    Matrix(matrix::Matrix),
    Worst(worst::Attacks),
    Memory,
}

/// Everything that a run measures. Most runs use only one of these fields.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) timed: run::Plan,
    drained: drain::Plan,
    calls: worst::Plan,
    weighed: memory::Plan,
}

/// The measurements.
#[derive(Debug, Default)]
pub(crate) struct Data {
    pub(crate) cells: Vec<Cell>,
    drained: drain::Data,
    calls: worst::Data,
    weighed: memory::Data,
}

impl Plan {
    /// Returns the parameters of the drains and the calls of the matrix.
    fn others(&self) -> Parameters {
        let drained = (!self.drained.structures.is_empty()).then(|| self.drained.parameters());
        let calls = (!self.calls.structures.is_empty()).then(|| self.calls.parameters());
        drained.into_iter().chain(calls).flatten().collect()
    }
}

impl Bench {
    /// Finds the scenarios that the arguments name, and reads their files.
    ///
    /// # Errors
    /// If a scenario cannot be found or read, has a mistake, or cannot be measured with these
    /// arguments.
    pub(crate) fn new(mut args: BenchArgs) -> Result<Self, LabError> {
        if !args.only.is_empty() && !args.matrix {
            return Err(LabError::usage("--only names parts of --matrix: add --matrix, or leave --only out"));
        }
        let own =
            [(args.memory, "--memory"), (args.matrix, "--matrix")].into_iter().find(|(asked, _)| *asked);
        if let Some((_, flag)) = own.filter(|_| !args.scenarios.is_empty()) {
            let words = args.scenarios.join(" ");
            return Err(LabError::usage(format!("{flag} has scenarios of its own: leave '{words}' out")));
        }
        let what = match &args {
            BenchArgs { memory: true, .. } => What::Memory,
            BenchArgs { worst: true, scenarios, .. } => What::Worst(worst::Attacks::choose(scenarios)?),
            BenchArgs { matrix: true, .. } => What::Matrix(matrix::Matrix::built_in()?),
            BenchArgs { scenarios, .. } if scenarios.is_empty() => {
                What::Times(DEFAULT.iter().map(|name| Scenario::find(name)).collect::<Result<_, _>>()?)
            }
            BenchArgs { scenarios, .. } => What::Times(choose(scenarios)?),
        };
        args.quick |= args.scenarios.is_empty() && matches!(what, What::Times(_));
        Ok(Self { args, what })
    }

    /// Creates the bench of one scenario. The scenarios that the arguments name are ignored.
    pub(crate) fn of(scenario: Scenario, args: BenchArgs) -> Self {
        Self { args, what: What::Times(vec![scenario]) }
    }

    /// Returns where the result goes.
    pub(crate) fn output(&self) -> &OutputArgs {
        &self.args.output
    }

    /// Returns the populations of a scenario. With `--quick`, only the small populations are kept.
    fn populations(&self, scenario: &Scenario) -> Vec<usize> {
        if let Some(asked) = &self.args.n {
            return request::sizes(asked);
        }
        let mut own = request::sizes(&scenario.populations);
        if self.args.quick {
            own.retain(|n| *n <= cell::QUICK_POPULATIONS);
            if own.is_empty() {
                own.push(cell::QUICK_POPULATIONS);
            }
        }
        own
    }

    /// Returns a text that says how `--quick` shortens the run, and which populations it leaves
    /// out.
    fn shortened(&self) -> String {
        let [most, operations] = [cell::QUICK_POPULATIONS, QUICK_OPERATIONS as usize].map(count);
        let mut words = format!(
            "a short run, as --quick says: at most {QUICK_ROUNDS} rounds of {operations} operations, and \
             populations up to {most}, where no option says otherwise"
        );
        if let (What::Times(scenarios), None) = (&self.what, &self.args.n) {
            for scenario in scenarios {
                let kept = self.populations(scenario);
                let own = request::sizes(&scenario.populations);
                let gone: Vec<String> = own.into_iter().filter(|n| !kept.contains(n)).map(count).collect();
                if !gone.is_empty() {
                    words += &format!("; {} without n={}", scenario.name, gone.join(", "));
                }
            }
        }
        words
    }

    /// Returns a part for each population. The baseline runs even if no pattern names it.
    fn parts(
        &self,
        scenario: &Scenario,
        populations: &[usize],
        patterns: &[String],
        baseline: Option<&'static Structure>,
    ) -> Result<Vec<Part>, LabError> {
        let args = &self.args;
        if args.operations.is_some() && scenario.run.operations.is_none() {
            return Err(LabError::usage(format!(
                "--operations has no meaning in '{}', whose samples have one operation for each timer: \
                 leave out the option or the scenario",
                scenario.name
            )));
        }
        // `--quick` bounds the scenario's own numbers, but not the numbers that the user gave.
        let [most_rounds, most_operations] =
            if args.quick { [QUICK_ROUNDS, QUICK_OPERATIONS] } else { [u64::MAX; 2] };
        let rounds = args.rounds.map_or(scenario.run.rounds.get().min(most_rounds), |n| n.get());
        let operations = |population| {
            let own = scenario.operations(population);
            // Without `run.operations`, a sample has one operation per timer.
            let most = scenario.run.operations.map_or(own, |_| most_operations);
            args.operations.map_or(own.min(most), |n| n.get())
        };
        let mut chosen = registry::select(patterns)?;
        chosen.extend(baseline.filter(|baseline| !chosen.contains(baseline)));
        let part = |&population: &usize| {
            if let Some(baseline) = baseline {
                can_be_baseline(baseline, scenario, population)?;
            }
            let able = chosen.iter().map(|s| Ok((*s, registry::why_not(s, population)?)));
            Ok(Part {
                population,
                rounds,
                operations: usize::try_from(operations(population)).unwrap_or(usize::MAX),
                seed: args.seed.unwrap_or(scenario.run.seed).get(),
                structures: able.collect::<Result<_, LabError>>()?,
                scenario: scenario.clone(),
            })
        };
        populations.iter().map(part).collect()
    }

    /// Returns which parts of the matrix ran.
    fn ran<'d>(&'d self, plan: &'d Plan, data: &'d Data) -> matrix::Ran<'d> {
        let calls = (&plan.calls, &data.calls);
        matrix::Ran { parts: &self.args.only, cells: &data.cells, drained: &data.drained, calls }
    }

    /// Returns the patterns of the structures for a run without a scenario.
    fn patterns(&self, default: &str) -> Vec<String> {
        let own = || default.split(',').map(str::to_owned).collect();
        self.args.structures.clone().unwrap_or_else(own)
    }
}

/// Finds the scenarios that the words name. A word with a leading `!` excludes the scenarios that
/// it names. If all words begin with `!`, the result contains the built-in scenarios without the
/// excluded scenarios.
///
/// # Errors
/// If a scenario cannot be found or read, if two scenarios have the same name, or if no scenario is
/// left.
fn choose(words: &[String]) -> Result<Vec<Scenario>, LabError> {
    let built_in = Scenario::built_in()?;
    let named = |word: &str| -> Result<Vec<Scenario>, LabError> {
        let of_model: Vec<Scenario> =
            built_in.iter().filter(|scenario| scenario.model.name() == word).cloned().collect();
        let flag = [("matrix", "--matrix"), ("memory", "--memory"), ("adversary", "--worst")];
        match flag.iter().find(|(name, _)| *name == word) {
            _ if !of_model.is_empty() => Ok(of_model),
            Some((_, flag)) => Err(LabError::usage(format!(
                "'{word}' is no scenario that is timed: say `tickwright bench {flag}`"
            ))),
            // The word is a file for results that was given after a blank instead of an equals
            // sign.
            None => match word.rsplit_once('.').filter(|(_, end)| ["json", "csv", "svg"].contains(end)) {
                Some((_, end)) => Err(LabError::usage(format!(
                    "there is no scenario '{word}'; to write to the file '{word}', say --{end}={word}"
                ))),
                None => Scenario::find(word).map(|scenario| vec![scenario]),
            },
        }
    };
    let mut gone: Vec<Scenario> = Vec::new();
    for bare in words.iter().filter_map(|word| word.strip_prefix('!')) {
        gone.extend(named(bare)?);
    }
    let (mut chosen, mut all): (Vec<Scenario>, _) = (Vec::new(), true);
    for word in words.iter().filter(|word| !word.starts_with('!')) {
        all = false;
        for scenario in named(word)? {
            match chosen.iter().find(|known| known.name == scenario.name) {
                None => chosen.push(scenario),
                Some(known) if *known == scenario => {}
                Some(_) => {
                    return Err(LabError::usage(format!(
                        "two scenarios have the name '{}', and the report could not tell them apart: \
                         change it in '{word}'",
                        scenario.name
                    )));
                }
            }
        }
    }
    if all {
        chosen.clone_from(&built_in);
    }
    chosen.retain(|scenario| !gone.contains(scenario));
    if chosen.is_empty() {
        return Err(LabError::usage(format!("'{}' takes away every scenario", words.join(" "))));
    }
    Ok(chosen)
}

/// Returns the attacks of a file, after the arguments have overridden some of the file's values.
fn overriding(args: &BenchArgs, own: &worst::Attacks) -> worst::Attacks {
    let mut attacks = own.clone();
    if !args.pattern.is_empty() {
        attacks.patterns.clone_from(&args.pattern);
    }
    attacks.populations = args.n.clone().unwrap_or(attacks.populations);
    attacks.budget = args.budget.unwrap_or(attacks.budget);
    attacks.rounds = args.rounds.unwrap_or(attacks.rounds);
    attacks.seed = args.seed.unwrap_or(attacks.seed);
    attacks.structures = args.structures.clone().unwrap_or(attacks.structures);
    attacks
}

impl Experiment for Bench {
    type Plan = Plan;
    type Data = Data;

    /// Results with the same name can be compared. The name does not change when flags are renamed,
    /// so that old results can still be compared with new ones.
    fn name(&self) -> String {
        let what = match &self.what {
            What::Matrix(_) => "matrix",
            What::Worst(_) => "adversary",
            What::Memory => "memory",
            What::Times(scenarios) => match scenarios.first().map(|first| first.model) {
                Some(model) if scenarios.iter().all(|one| one.model == model) => model.name(),
                _ => return "bench".into(),
            },
        };
        format!("bench {what}")
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let args = &self.args;
        let mut plan = Plan::default();
        match &self.what {
            What::Times(scenarios) => {
                let baseline = args.baseline.as_deref().map(registry::find).transpose()?;
                plan.timed = run::Plan { baseline, within: args.within, ..run::Plan::default() };
                for scenario in scenarios {
                    let patterns = args.structures.clone().unwrap_or_else(|| scenario.structures());
                    let populations = self.populations(scenario);
                    plan.timed.parts.extend(self.parts(scenario, &populations, &patterns, baseline)?);
                }
            }
            What::Matrix(matrix) => {
                for work in matrix.asked(&args.only) {
                    let mut patterns = self.patterns(matrix::STRUCTURES);
                    patterns.extend(work.without.iter().map(|id| format!("!{id}")));
                    let populations: Vec<usize> = work.columns(args.quick).map(|(n, _)| n).collect();
                    plan.timed.parts.extend(self.parts(&work.scenario()?, &populations, &patterns, None)?);
                }
                if !plan.timed.parts.is_empty() {
                    plan.drained.structures = registry::select(&self.patterns(matrix::STRUCTURES))?;
                    plan.drained.population = matrix::attacked(args.quick);
                    plan.drained.rounds = args.rounds.map_or(matrix::DRAINS, |rounds| rounds.get());
                }
                if matrix::Part::Calls.is_asked(&args.only) {
                    let mut attacks = overriding(args, &worst::Attacks::built_in()?);
                    attacks.structures = self.patterns(matrix::ATTACKED);
                    plan.calls = worst::Plan::new(&attacks)?;
                    plan.calls.populations = vec![matrix::attacked(args.quick)];
                }
            }
            What::Worst(own) => plan.calls = worst::Plan::new(&overriding(args, own))?,
            What::Memory => {
                plan.weighed.structures = registry::select(&self.patterns("*"))?;
                plan.weighed.populations =
                    args.n.as_deref().map_or(memory::POPULATIONS.to_vec(), request::sizes);
            }
        }
        Ok(plan)
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        match &self.what {
            What::Times(_) => plan.timed.parameters(),
            What::Matrix(_) => {
                let mut all = plan.timed.parameters();
                all.extend(plan.others());
                all
            }
            What::Worst(_) => plan.calls.parameters(),
            What::Memory => plan.weighed.parameters(),
        }
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        let of_calls = (!plan.calls.structures.is_empty()).then_some(plan.calls.seed);
        plan.timed.parts.first().map(|part| part.seed).or(of_calls)
    }

    fn workload(&self, plan: &Plan) -> String {
        let timed: String = plan.timed.parts.iter().map(run::Part::workload).collect();
        let others = match &self.what {
            What::Times(_) => return timed,
            What::Matrix(_) => plan.others(),
            What::Worst(_) => plan.calls.parameters(),
            What::Memory => plan.weighed.parameters(),
        };
        timed + &workload::words(self.seed(plan), &others)
    }

    fn inputs(&self) -> Vec<&Path> {
        let words = self.args.scenarios.iter().map(|word| word.trim_start_matches('!'));
        words.filter(|word| is_file(word)).map(Path::new).collect()
    }

    fn expected(&self, plan: &Plan) -> Vec<Series> {
        match &self.what {
            What::Times(_) => {}
            What::Memory => return plan.weighed.expected(),
            What::Matrix(_) | What::Worst(_) => return Vec::new(),
        }
        let cells = plan.timed.parts.iter().flat_map(run::Part::empty_cells);
        cells.flat_map(|cell| cell.expected().collect::<Vec<_>>()).collect()
    }

    fn is_timed(&self) -> bool {
        !matches!(self.what, What::Memory)
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        lab.notes.extend(self.args.quick.then(|| self.shortened()));
        let mut data = Data { cells: run::run(&plan.timed, lab)?, ..Data::default() };
        if !lab.interrupted {
            data.drained = drain::run(&plan.drained, lab)?;
        }
        if !lab.interrupted {
            data.calls = worst::run(&plan.calls, lab)?;
        }
        if !lab.interrupted {
            data.weighed = memory::run(&plan.weighed, lab)?;
        }
        Ok(data)
    }

    fn series(&self, _: &Plan, Data { cells, drained, calls, weighed }: &Data) -> Vec<Series> {
        let times = cells.iter().flat_map(Cell::series);
        let (held, figures): (Vec<Series>, &[&str]) = match &self.what {
            // The matrix shows only the worst call of each kind. The tails of the calls are a
            // result of `--worst`.
            What::Matrix(_) => (cells.iter().flat_map(Cell::memory).collect(), &["worst"]),
            _ => (Vec::new(), &worst::FIGURES),
        };
        let times = times.chain(held).chain(drained.series());
        times.chain(calls.series(figures)).chain(weighed.series.iter().cloned()).collect()
    }

    fn findings(&self, plan: &Plan, data: &Data) -> Vec<Finding> {
        let Data { cells, calls, weighed, .. } = data;
        match &self.what {
            What::Matrix(matrix) => matrix::findings(matrix, &self.ran(plan, data)),
            What::Times(_) => {
                let mut all = findings::fastest(cells);
                all.extend(cells.iter().flat_map(findings::of));
                all
            }
            What::Worst(_) => calls.findings(&plan.calls),
            What::Memory => weighed.findings(&plan.weighed),
        }
    }

    fn sections(&self, plan: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
        let Data { cells, calls, weighed, .. } = data;
        match &self.what {
            What::Matrix(matrix) => matrix::sections(matrix, &self.ran(plan, data), findings),
            What::Times(_) => {
                let mut sections = tables::sections(cells);
                sections.push(findings::section(findings));
                sections
            }
            What::Worst(_) => worst::tables::sections(&plan.calls, calls),
            What::Memory => weighed.sections(),
        }
    }
}

#[cfg(test)]
mod tests;
