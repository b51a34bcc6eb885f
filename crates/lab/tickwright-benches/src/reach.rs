//! `benches reach`: the targets of our timers and threads relative to other libraries' in one
//! table.
//!
//! It runs `c-peers`, `async`, `sleeps` and `threads`, and keeps the findings that have a bound.

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
use crate::threads::ThreadsArgs;

/// Arguments of `reach`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReachArgs {
    /// Samples of each lane; below 6 no difference can be shown [default: 7, and 1 with --quick]
    #[arg(long, allow_hyphen_values = true, value_parser = Rounds::parse)]
    rounds: Option<Rounds>,
    /// Run for a minute, with populations up to 10,000, to see that each row is printed
    #[arg(long)]
    quick: bool,
    /// Seed of delays, and of the order of runs
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A part that ran: its series, and its findings.
type Part = (Vec<Series>, Vec<Finding>);

impl ReachArgs {
    fn rounds(&self) -> u64 {
        self.rounds.map_or(if self.quick { 1 } else { 7 }, Rounds::get)
    }

    /// Parses the arguments of a part: the rounds and the seed, `words`, and with `--quick` also
    /// `quick`.
    fn part<A: Args>(&self, words: &[&str], quick: &[&str]) -> Result<A, LabError> {
        let (rounds, seed) = (self.rounds().to_string(), self.seed.get().to_string());
        let quick = if self.quick { quick } else { &[] };
        request::words(&[&["--rounds", &rounds, "--seed", &seed], words, quick].concat())
    }
}

/// Runs a part, unless a signal has ended the run before.
fn run<E: Experiment>(experiment: &E, lab: &mut Lab<'_>) -> Result<Part, LabError> {
    if lab.interrupted {
        return Ok(Part::default());
    }
    let plan = experiment.plan()?;
    let data = experiment.run(&plan, lab)?;
    let findings = experiment.findings(&plan, &data);
    let bounded = findings.into_iter().filter(|finding| finding.bound.is_some()).collect();
    Ok((experiment.series(&plan, &data), bounded))
}

impl Experiment for ReachArgs {
    type Plan = (PeersArgs, AsyncArgs, SleepsArgs, ThreadsArgs);
    type Data = Vec<Part>;

    fn name(&self) -> String {
        "bench reach".into()
    }

    fn plan(&self) -> Result<Self::Plan, LabError> {
        let peers: PeersArgs = self.part(&[], &["--n", "1k"])?;
        peers.plan()?;
        let quick = ["--n", "1k", "--operations", "1k"];
        let timers = self.part(&["--sleeps", "0", "--races", "0"], &quick)?;
        let sleeps = self.part(&[], &["--n", "10k"])?;
        let threads = self.part(&[], &["--operations", "1k", "--parked", "1k"])?;
        Ok((peers, timers, sleeps, threads))
    }

    fn parameters(&self, _: &Self::Plan) -> Parameters {
        request::parameters([("rounds", self.rounds().into()), ("quick", self.quick.into())])
    }

    fn seed(&self, _: &Self::Plan) -> Option<u64> {
        Some(self.seed.get())
    }

    fn run(&self, plan: &Self::Plan, lab: &mut Lab<'_>) -> Result<Self::Data, LabError> {
        let (peers, timers, sleeps, threads) = plan;
        Ok(vec![run(peers, lab)?, run(timers, lab)?, run(sleeps, lab)?, run(threads, lab)?])
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
        let (peers, timers, sleeps, threads) = args.plan().unwrap();
        let seeds = [peers.seed(&peers.plan().unwrap()), timers.seed(&timers.plan().unwrap())];
        assert_eq!(seeds, [Some(3); 2]);
        assert_eq!([sleeps.plan().unwrap().rounds, threads.plan().unwrap().rounds], [8; 2]);
    }

    #[test]
    fn a_quick_run_is_short() {
        let args: ReachArgs = request::words(&["--quick"]).unwrap();
        let (peers, _, sleeps, threads) = args.plan().unwrap();
        assert_eq!(peers.plan().unwrap(), [1_000]);
        assert_eq!([sleeps.plan().unwrap().rounds, threads.plan().unwrap().rounds], [1; 2]);
    }
}
