//! `registry` as an experiment.

use clap::{Args, ValueEnum};

use super::run::{self, Cell, Plan, What};
use super::subject::Kind;
use super::tables;
use super::work::Keys;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::number::{Operations, Population, Rounds, Seed, Within};
use crate::output::OutputArgs;
use crate::request;
use crate::result::{Finding, Section, Series, Unit, labels};

/// Threads in a sample.
type Threads = Within<0, 100_000>;

/// Registries of threads over each dictionary.
#[derive(Debug, Clone, Args)]
pub(crate) struct RegistryArgs {
    /// Dictionaries, separated by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    structures: Vec<Kind>,

    /// Kinds of keys, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ascending,addresses,random")]
    keys: Vec<Keys>,

    /// Numbers of live entries, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "1,100,10k,100k,1M", value_parser = Population::parse)]
    n: Vec<Population>,

    /// Samples of each dictionary; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "15", value_parser = Rounds::parse)]
    rounds: Rounds,

    /// Calls in a sample
    #[arg(long, allow_hyphen_values = true, default_value = "20k", value_parser = Operations::parse)]
    operations: Operations,

    /// Threads that begin and end in a sample; 0 for none
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, default_value = "100", value_parser = Threads::parse)]
    threads: Threads,

    /// Seed of keys and orders
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Experiment for RegistryArgs {
    type Plan = Plan;
    type Data = Vec<Cell>;

    fn name(&self) -> String {
        "bench registry".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let mut populations = request::sizes(&self.n);
        populations.sort_unstable();
        populations.dedup();
        let kinds = if self.structures.is_empty() { Kind::value_variants() } else { &self.structures };
        Ok(Plan {
            kinds: request::once(kinds),
            keys: request::once(&self.keys),
            populations,
            rounds: size(self.rounds.get()),
            operations: size(self.operations.get()),
            threads: size(self.threads.get()),
            seed: self.seed.get(),
        })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        request::parameters([
            ("structures", request::names(&plan.kinds).into()),
            ("keys", request::names(&plan.keys).into()),
            ("n", request::list(&plan.populations).into()),
            ("rounds", plan.rounds.into()),
            ("operations", plan.operations.into()),
            ("threads", plan.threads.into()),
        ])
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.seed)
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Vec<Cell>, LabError> {
        run::run(plan, lab)
    }

    fn series(&self, _: &Plan, cells: &Vec<Cell>) -> Vec<Series> {
        let of_cell = |cell: &Cell| {
            let rows = cell.rows.iter().filter(|row| !row.samples.is_empty());
            let series = rows.map(|row| {
                let mut of = labels([("structure", row.kind.name().into()), ("n", cell.population.into())]);
                if let What::Calls(_, keys) = cell.what {
                    of.insert("keys".into(), keys.name().into());
                }
                Series::new(cell.what.words(), Unit::Ns, of).per("call").of(row.samples.iter().copied())
            });
            series.collect::<Vec<_>>()
        };
        cells.iter().flat_map(of_cell).collect()
    }

    fn findings(&self, _: &Plan, cells: &Vec<Cell>) -> Vec<Finding> {
        tables::targets(cells)
    }

    fn sections(&self, plan: &Plan, cells: &Vec<Cell>, findings: &[Finding]) -> Vec<Section> {
        tables::sections(plan, cells, findings)
    }
}
