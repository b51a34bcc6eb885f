//! `tickwright bench hold | network | one-shot | expire | idle | reads`: compares all structures
//! under one workload.
//!
//! Each structure takes a sample in every round. Its answers are [verified](crate::models::verify)
//! before its time counts.
//!
//! - [`run`]: the rounds, on [queues that live at once](crate::models::live): each is filled once
//!   and sampled in every round
//! - [`floor`]: references that are no queues; [`cell`]: medians and ratios; [`findings`], [`tables`]: the report

pub(crate) mod cell;
pub(crate) mod findings;
pub(crate) mod floor;
pub(crate) mod run;
pub(crate) mod tables;

use core::time::Duration;

use clap::Args;

use self::cell::Cell;
use self::run::{Part, Plan, can_be_baseline};
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request;
use crate::models::scenario::{Model, Operations, Population, Rounds, Scenario, Seed};
use crate::output::OutputArgs;
use crate::result::{Finding, Section, Series};
use crate::structures::registry;

/// Arguments of the comparisons in which the number of operations per sample is free.
#[derive(Debug, Clone, Args)]
pub(crate) struct CountedArgs {
    /// Number of operations in a sample [default: the scenario's]
    #[arg(long, allow_hyphen_values = true, value_parser = Operations::parse)]
    pub(crate) operations: Option<Operations>,
    #[command(flatten)]
    pub(crate) timed: TimedArgs,
}

/// Arguments of all comparisons that take samples in rounds.
#[derive(Debug, Clone, Args)]
pub(crate) struct TimedArgs {
    /// A scenario by name, or a file that ends in .toml; may be repeated
    /// [default: all that are built in]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) scenario: Vec<String>,
    /// Structures to measure, as patterns: * matches anything, ! excludes: 'heap4/*,!list/*'
    /// [default: the scenario's]
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    pub(crate) structures: Option<Vec<String>>,
    /// Structure to which ratios refer [default: the fastest baseline of each population]
    #[arg(long, value_name = "STRUCTURE")]
    pub(crate) baseline: Option<String>,
    /// Populations, separated by commas: 2,16,1k [default: the scenario's]
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = Population::parse)]
    pub(crate) n: Option<Vec<Population>>,
    /// Number of samples of each structure; fewer than 6 cannot show a difference
    /// [default: the scenario's]
    #[arg(long, allow_hyphen_values = true, value_parser = Rounds::parse)]
    pub(crate) rounds: Option<Rounds>,
    /// Begin no new round after this time, which all populations share; filling the queues is not
    /// included
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse)]
    pub(crate) within: Option<Duration>,
    /// Seed of the delays [default: the scenario's]
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    pub(crate) seed: Option<Seed>,
    /// Run for seconds instead of minutes: populations up to 10,000, 9 rounds, at most 10,000
    /// operations in a sample
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Limits that `--quick` sets.
const QUICK_POPULATIONS: u64 = 10_000;
const QUICK_OPERATIONS: u64 = 10_000;
const QUICK_ROUNDS: u64 = 9;

/// A comparison of structures under one model.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    /// The workload.
    pub(crate) model: Model,
    /// What was asked for.
    pub(crate) args: CountedArgs,
}

impl Comparison {
    /// Creates a comparison from the arguments of the command line.
    pub(crate) fn new(model: Model, args: CountedArgs) -> Self {
        Self { model, args }
    }

    /// A comparison whose samples have one operation per timer.
    pub(crate) fn timed(model: Model, timed: TimedArgs) -> Self {
        Self::new(model, CountedArgs { operations: None, timed })
    }

    fn populations(&self, scenario: &Scenario) -> Vec<usize> {
        let args = &self.args.timed;
        if let Some(asked) = &args.n {
            return request::sizes(asked);
        }
        let mut own = request::sizes(&scenario.populations);
        if args.quick {
            let most = QUICK_POPULATIONS as usize;
            own.retain(|n| *n <= most);
            if own.is_empty() {
                own.push(most);
            }
        }
        own
    }
}

impl Experiment for Comparison {
    type Plan = Plan;
    type Data = Vec<Cell>;

    fn name(&self) -> String {
        format!("bench {}", self.model.name())
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let args = &self.args.timed;
        let quick = |value: u64| args.quick.then_some(value);
        let baseline = args.baseline.as_deref().map(registry::find).transpose()?;
        let mut parts = Vec::new();
        for scenario in Scenario::choose(self.model, &args.scenario)? {
            let patterns = args.structures.clone().unwrap_or_else(|| scenario.structures());
            let mut chosen = registry::select(&patterns)?;
            // The baseline must run, even if no pattern names it.
            chosen.extend(baseline.filter(|baseline| !chosen.contains(baseline)));
            let operations = self.args.operations.map(|n| n.get()).or(quick(QUICK_OPERATIONS));
            for population in self.populations(&scenario) {
                if let Some(baseline) = baseline {
                    can_be_baseline(baseline, &scenario, population)?;
                }
                let able = chosen.iter().map(|s| Ok((*s, registry::why_not(s, population)?)));
                parts.push(Part {
                    population,
                    rounds: args
                        .rounds
                        .map(|n| n.get())
                        .or(quick(QUICK_ROUNDS))
                        .unwrap_or(scenario.run.rounds.get()),
                    operations: scenario.operations(operations, population),
                    seed: args.seed.unwrap_or(scenario.run.seed).get(),
                    structures: able.collect::<Result<_, LabError>>()?,
                    scenario: scenario.clone(),
                });
            }
        }
        Ok(Plan { parts, baseline, within: args.within })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        let mut parameters = Parameters::new();
        for part in &plan.parts {
            let what = format!("{} n={}", part.scenario.name, part.population);
            let how = format!("{} rounds of {} operations", part.rounds, part.operations);
            parameters.insert(what, how.into());
        }
        if let Some(baseline) = plan.baseline {
            parameters.insert("baseline".into(), baseline.id.into());
        }
        parameters
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        plan.parts.first().map(|part| part.seed)
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Vec<Cell>, LabError> {
        run::run(plan, lab)
    }

    fn series(&self, _: &Plan, cells: &Vec<Cell>) -> Vec<Series> {
        cells.iter().flat_map(Cell::series).collect()
    }

    fn findings(&self, _: &Plan, cells: &Vec<Cell>) -> Vec<Finding> {
        let mut all = findings::fastest(cells);
        all.extend(cells.iter().flat_map(findings::of));
        all
    }

    fn sections(&self, _: &Plan, cells: &Vec<Cell>, _: &[Finding]) -> Vec<Section> {
        let mut sections = tables::sections(cells);
        sections.push(findings::section(cells));
        sections
    }
}

#[cfg(test)]
mod tests;
