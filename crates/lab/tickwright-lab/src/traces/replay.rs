//! `tickwright replay`: runs the operations of a trace on every structure, on a virtual clock.
//!
//! ```text
//!   trace ─ decode ─▶ steps ─┬─ verify   once: answers against the oracle, memory, idle wake-ups
//!                            ├─ time     each round: all operations between two reads of the clock
//!                            └─ calls    some rounds: each operation alone, for percentiles
//! ```
//! A round runs every structure once, on a fresh queue. The order of the structures is random.

mod data;
mod pass;
mod run;
mod tables;

use core::time::Duration;
use std::path::Path;

use clap::Args;

#[cfg(test)]
pub(crate) use self::data::LeftOut;
pub(crate) use self::data::{Data, Limits, P50, P999, Plan, Row};
use super::describe::TraceArgs;
use super::input::Input;
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request;
use crate::models::scenario::{Rounds, Seed};
use crate::output::OutputArgs;
use crate::result::{Finding, Section, Series};
use crate::structures::registry::{self, Structure};

/// How a workload is replayed.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReplaySettings {
    /// Length of a tick, to which deadlines are rounded up
    /// [default: the tick of the trace, or one that suits its delays]
    #[arg(long, value_name = "DURATION", value_parser = super::tick)]
    pub(crate) tick: Option<Duration>,
    /// Superpose this number of copies of the trace, shifted in time
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) scale: u32,
    /// Overwrite the caches before each batch of operations
    #[arg(long)]
    pub(crate) cold: bool,
    /// Rounds at most; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "21", value_parser = Rounds::parse)]
    pub(crate) rounds: Rounds,
    /// Start no new round after this time, once 6 rounds are done. Answers are compared before
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = crate::duration::parse)]
    pub(crate) within: Duration,
    /// Seed of the order of structures
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    pub(crate) seed: Seed,
}

impl ReplaySettings {
    /// Returns the plan of a replay.
    pub(crate) fn plan(&self, input: Input, structures: Vec<&'static Structure>) -> Plan {
        Plan {
            input,
            structures,
            tick_ns: self.tick.map(|tick| u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX)),
            scale: self.scale,
            cold: self.cold,
            rounds: self.rounds.get() as usize,
            within: self.within,
            seed: self.seed.get(),
        }
    }
}

/// Arguments of `replay`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    /// Structures, as patterns: * matches anything, ! excludes
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', default_value = "*")]
    pub(crate) structures: Vec<String>,
    #[command(flatten)]
    pub(crate) settings: ReplaySettings,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Experiment for ReplayArgs {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "replay".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let input = Input::of(&self.trace.trace, &self.trace.base, self.settings.seed.get())?;
        Ok(self.settings.plan(input, registry::select(&self.structures)?))
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        plan.parameters()
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.seed)
    }

    fn workload(&self, plan: &Plan) -> String {
        plan.input.workload(self.seed(plan), &self.parameters(plan))
    }

    fn expected(&self, plan: &Plan) -> Vec<Series> {
        tables::series(&tables::made_up(&plan.structures, plan.scale))
    }

    fn inputs(&self) -> Vec<&Path> {
        vec![self.trace.trace.as_path()]
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        run::run(plan, None, lab)
    }

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        tables::series(data)
    }

    fn findings(&self, _: &Plan, data: &Data) -> Vec<Finding> {
        tables::findings(data)
    }

    fn sections(&self, _: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
        tables::sections(data, findings)
    }
}

pub(crate) use self::run::run;
pub(crate) use self::tables::{made_up, series};

impl Plan {
    /// Returns the parameters of the request, for the report.
    pub(crate) fn parameters(&self) -> Parameters {
        let tick = self.tick_ns.map(|ns| duration::show(Duration::from_nanos(ns)));
        request::parameters([
            ("trace", self.input.name().into()),
            ("base", request::list(self.input.bases()).into()),
            ("structures", request::ids(&self.structures).into()),
            ("tick", tick.unwrap_or_else(|| "of the trace".into()).into()),
            ("scale", self.scale.into()),
            ("cold", self.cold.into()),
            ("rounds", self.rounds.into()),
        ])
    }
}

#[cfg(test)]
mod tests;
