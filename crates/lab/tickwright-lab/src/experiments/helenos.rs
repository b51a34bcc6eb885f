//! HelenOS's question of 2018: the kernel keeps its tasks in a tree. Does the kind of tree change
//! the speed of a ping-pong over IPC?
//!
//! Jiri Svoboda replaced the kernel's AVL trees by an ordered dictionary on a red-black tree. He
//! timed the only existing benchmark, in which a client calls a server and waits for the answer.
//! With the dictionary, the benchmark seemed 1 to 8 % faster. The author doubted that the benchmark
//! used the trees at all, and it did not: in HelenOS, these trees hold the tasks and threads. The
//! kernel searches them when a task begins, ends, or is looked up by its id.
//!
//! # The experiment here
//!
//! One server serves all tasks of a registry. In a **round trip**, the client draws a task at
//! random and looks up the task's id in the registry, which returns the task's token. The client
//! sends the token to the task through a [`mailbox`]. The server verifies the token and answers.
//! The client verifies the answer and its number, so each round trip searches the tree once. The
//! runs of two dictionaries differ only in the tree, because they share the loop, the server and
//! the mailbox.
//!
//! - [`registry`]: tasks with ids 1 ..= N, registered in ascending order as in a kernel. Every task
//!   has the same probability of being drawn.
//! - [`mailbox`], [`channel`], [`link`]: a mailbox with a futex, and a server thread
//! - [`timing`]: both timing methods of the original, with any clock
//! - [`share`]: how much of a round trip the tree can change
//! - [`tables`]: the report

mod channel;
mod cpu;
mod link;
mod mailbox;
mod published;
mod registry;
mod run;
mod share;
mod tables;
mod timing;

use core::time::Duration;

use clap::Args;

use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request::{self, names, word};
use crate::models::scenario::{Seed, Within};
use crate::result::{Finding, Section, Series};
use cpu::Pin;
pub(crate) use published::FILE;
use registry::Tree;
use run::{Data, Part, Plan};
use timing::Method;

/// Number of tasks in a registry.
type Tasked = Within<1, 1_000_000>;
/// Number of samples for each structure.
type Samples = Within<2, 1000>;
/// Number of times a waiter checks the mailbox before it sleeps.
type Spins = Within<0, 1_000_000>;

/// HelenOS's ping-pong of 2018: does it matter which tree the registry of tasks is?
#[derive(Debug, Clone, Args)]
pub(crate) struct HelenosArgs {
    /// Processors on which client and server run
    #[arg(long, value_enum, default_value = "same")]
    pin: Pin,
    /// Timing methods of the original
    #[arg(long, value_enum, value_delimiter = ',', default_value = "v1,v2")]
    method: Vec<Method>,
    /// Dictionaries that hold the tasks
    #[arg(long, value_enum, value_delimiter = ',', default_value = "avl,odict")]
    structures: Vec<Tree>,
    /// Number of tasks in a registry
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "2,100,10k,100k", value_parser = Tasked::parse)]
    n: Vec<Tasked>,
    /// Length of a sample; the original used 10s
    #[arg(long, allow_hyphen_values = true, default_value = "200ms", value_parser = duration::parse)]
    duration: Duration,
    /// Samples of each dictionary
    #[arg(long, allow_hyphen_values = true, default_value = "10", value_parser = Samples::parse)]
    rounds: Samples,
    /// How often a waiter checks the mailbox before it sleeps
    #[arg(long, value_name = "LOOKS", allow_hyphen_values = true, default_value = "0", value_parser = Spins::parse)]
    spin: Spins,
    /// Parts to run
    #[arg(long, value_enum, value_delimiter = ',', default_value = "look-ups,calls")]
    only: Vec<Part>,
    /// Seed of the targets and of the order of the dictionaries
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
}

impl HelenosArgs {
    fn spins(&self) -> u32 {
        u32::try_from(self.spin.get()).unwrap_or(u32::MAX)
    }
}

impl Experiment for HelenosArgs {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "reproduce helenos".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let mut populations: Vec<usize> =
            self.n.iter().filter_map(|n| usize::try_from(n.get()).ok()).collect();
        populations.sort_unstable();
        populations.dedup();
        Ok(Plan {
            pin: self.pin,
            processors: self.pin.processors()?,
            methods: request::once(&self.method),
            trees: request::once(&self.structures),
            populations,
            duration: self.duration,
            rounds: usize::try_from(self.rounds.get()).unwrap_or(usize::MAX),
            spins: self.spins(),
            parts: request::once(&self.only),
            seed: self.seed.get(),
        })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        request::parameters([
            ("pin", word(&plan.pin).into()),
            ("method", names(&plan.methods).into()),
            ("structures", names(&plan.trees).into()),
            ("n", request::list(&plan.populations).into()),
            ("duration", duration::show(plan.duration).into()),
            ("rounds", plan.rounds.into()),
            ("spin", plan.spins.into()),
            ("only", names(&plan.parts).into()),
        ])
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.seed)
    }

    fn run(&self, plan: &Plan, _: &mut Lab<'_>) -> Result<Data, LabError> {
        run::run(plan)
    }

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        let calls = data.cells.iter().flat_map(run::Cell::series);
        let asked = data.asked.iter().flat_map(registry::Asked::series);
        calls.chain(asked).collect()
    }

    fn findings(&self, _: &Plan, data: &Data) -> Vec<Finding> {
        share::findings(data)
    }

    fn sections(&self, plan: &Plan, data: &Data, _: &[Finding]) -> Vec<Section> {
        tables::sections(plan, data)
    }
}

#[cfg(test)]
mod tests;
