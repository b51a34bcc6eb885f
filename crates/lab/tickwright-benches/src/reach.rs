//! `benches reach`: the targets of our timers relative to other libraries' timers, in one table.
//!
//! It runs `c-peers`, `async` and `sleeps`, and keeps the findings that have a bound.

use clap::Args;

use crate::async_timers::AsyncArgs;
use crate::c_peers::PeersArgs;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::number::{Rounds, Seed};
use crate::output::OutputArgs;
use crate::render::Format;
use crate::request;
use crate::result::{Finding, Section, Series, findings_table};
use crate::sleeps::SleepsArgs;

/// Arguments of `reach`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReachArgs {
    /// Samples of each lane; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "7", value_parser = Rounds::parse)]
    rounds: Rounds,
    /// Seed of delays, and of the order of runs
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A part that ran: its series, and its findings.
type Part = (Vec<Series>, Vec<Finding>);

impl ReachArgs {
    fn part<E: Experiment>(experiment: &E, lab: &mut Lab<'_>) -> Result<Part, LabError> {
        let plan = experiment.plan()?;
        let data = experiment.run(&plan, lab)?;
        let findings = experiment.findings(&plan, &data);
        let bounded = findings.into_iter().filter(|finding| finding.bound.is_some()).collect();
        Ok((experiment.series(&plan, &data), bounded))
    }
}

impl Experiment for ReachArgs {
    type Plan = (PeersArgs, AsyncArgs, SleepsArgs);
    type Data = Vec<Part>;

    fn name(&self) -> String {
        "bench reach".into()
    }

    fn plan(&self) -> Result<Self::Plan, LabError> {
        let (rounds, seed) = (self.rounds.get().to_string(), self.seed.get().to_string());
        let words = ["--rounds", &rounds, "--seed", &seed];
        let peers: PeersArgs = request::words(&words)?;
        peers.plan()?;
        let timers = request::words(&[&words[..], &["--sleeps", "0", "--races", "0"]].concat())?;
        Ok((peers, timers, request::words(&words)?))
    }

    fn parameters(&self, _: &Self::Plan) -> Parameters {
        request::parameters([("rounds", self.rounds.get().into())])
    }

    fn seed(&self, _: &Self::Plan) -> Option<u64> {
        Some(self.seed.get())
    }

    fn run(&self, (peers, timers, sleeps): &Self::Plan, lab: &mut Lab<'_>) -> Result<Self::Data, LabError> {
        let mut parts = vec![Self::part(peers, lab)?];
        if !lab.interrupted {
            parts.push(Self::part(timers, lab)?);
        }
        if !lab.interrupted {
            parts.push(Self::part(sleeps, lab)?);
        }
        Ok(parts)
    }

    fn series(&self, _: &Self::Plan, parts: &Self::Data) -> Vec<Series> {
        parts.iter().flat_map(|(series, _)| series.clone()).collect()
    }

    fn findings(&self, _: &Self::Plan, parts: &Self::Data) -> Vec<Finding> {
        parts.iter().flat_map(|(_, findings)| findings.clone()).collect()
    }

    fn sections(&self, _: &Self::Plan, _: &Self::Data, findings: &[Finding]) -> Vec<Section> {
        vec![Section::new("Targets").table(findings_table("target", Format::Fixed(2), findings))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_parts_take_its_rounds_and_its_seed() {
        let args: ReachArgs = request::words(&["--rounds", "8", "--seed", "3"]).unwrap();
        let (peers, timers, sleeps) = args.plan().unwrap();
        let seeds = [peers.seed(&peers.plan().unwrap()), timers.seed(&timers.plan().unwrap())];
        assert_eq!(seeds, [Some(3); 2]);
        assert_eq!(sleeps.plan().unwrap().rounds, 8);
    }
}
