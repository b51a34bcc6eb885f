//! `tickwright reproduce xenomai` as an experiment.

use core::time::Duration;
use std::path::{Path, PathBuf};

use clap::Args;

use super::instrument::Op;
use super::run::{Lane, Mode, Plan, Wait, run};
use super::scenario::{FILE, Scenario};
use super::tables;
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::{request, row};
use crate::models::scenario::Seed;
use crate::result::{Better, Finding, Report, Section, Series, Unit, labels, workload};
use crate::stats::Verdict;
use crate::structures::registry::{self, Structure};

/// Xenomai's timer list experiment of 2016: which structure for around 500 timers?
#[derive(Debug, Clone, Args)]
pub(crate) struct XenomaiArgs {
    /// Real time, or virtual time, which runs at full speed without a clock around each operation
    #[arg(long, value_enum, default_value = "real")]
    mode: Mode,

    /// How to wait in real time; 'spin' uses a whole processor and keeps up on any host
    #[arg(long, value_enum, default_value = "sleep")]
    wait: Wait,

    /// Time for each structure, such as 3s, 5m or 2h (virtual time in that mode); the original ran
    /// for 2h
    #[arg(long, allow_hyphen_values = true, value_parser = duration::parse, default_value = "3s")]
    duration: Duration,

    /// Put a clock around each operation in virtual time too (real time always does)
    #[arg(long)]
    instrument: bool,

    /// Structures, as patterns: * matches anything, ! excludes
    #[arg(
        long,
        value_name = "PATTERNS",
        value_delimiter = ',',
        default_value = "heap2/hook,rb/hook,rb-cached/hook,list/hook"
    )]
    structures: Vec<String>,

    /// Seed of all random choices
    #[arg(long, allow_hyphen_values = true, default_value = "0", value_parser = Seed::parse)]
    seed: Seed,

    /// Read another workload, of the same form as scenarios/xenomai.toml
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
}

impl XenomaiArgs {
    /// Returns the structures that run, and notes on structures that the user named but that cannot
    /// run.
    fn select(&self, timers: usize) -> Result<(Vec<&'static Structure>, Vec<String>), LabError> {
        let (able, unable): (Vec<&'static Structure>, Vec<_>) =
            registry::select(&self.structures)?.into_iter().partition(|structure| takes_part(structure));
        let left_out: Vec<String> = unable
            .iter()
            .map(|structure| {
                let id = structure.id;
                format!("{id} is left out: the experiment asks for the exact head and for the second")
            })
            .collect();
        if able.is_empty() {
            return Err(LabError::usage(left_out.join("; ")));
        }
        for structure in &able {
            if !registry::holds(structure, timers)? {
                let id = structure.id;
                return Err(LabError::usage(format!(
                    "'{id}' cannot hold {timers} timers: take it away with --structures '!{id}'; nothing was run"
                )));
            }
        }
        Ok((able, left_out))
    }
}

impl Experiment for XenomaiArgs {
    type Plan = Plan;
    type Data = Vec<Lane>;

    fn name(&self) -> String {
        "reproduce xenomai".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let scenario = self.scenario.as_deref().map_or_else(Scenario::built_in, Scenario::read)?;
        let params = scenario.params(self.seed.get());
        // The host tick is one more timer.
        let (structures, left_out) = self.select(params.timers as usize + 1)?;
        Ok(Plan {
            params,
            published: row::published(FILE)?,
            scenario,
            mode: self.mode,
            wait: self.wait,
            duration: self.duration,
            instrument: self.instrument || self.mode == Mode::Real,
            structures,
            left_out,
        })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        request::parameters([
            ("scenario", plan.scenario.name.clone().into()),
            ("mode", request::word(&plan.mode).into()),
            ("wait", request::word(&plan.wait).into()),
            ("duration", duration::show(plan.duration).into()),
            ("instrument", plan.instrument.into()),
            ("structures", request::ids(&plan.structures).into()),
            ("timers", plan.params.timers.into()),
        ])
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.params.seed)
    }

    fn workload(&self, plan: &Plan) -> String {
        let params = serde_json::to_string(&plan.params).unwrap_or_default();
        format!("{params}\n{}", workload::words(None, &self.parameters(plan)))
    }

    fn expected(&self, plan: &Plan) -> Vec<Series> {
        // A made-up sample of each quantity that is measured.
        let lane = |structure: &&'static Structure| {
            let mut lane = Lane::new(structure, plan.instrument);
            lane.per_tick.push(1.0);
            lane.means.iter_mut().filter(|_| plan.instrument).for_each(|means| means.push(1.0));
            lane
        };
        self.series(plan, &plan.structures.iter().map(lane).collect())
    }

    fn inputs(&self) -> Vec<&Path> {
        self.scenario.as_deref().into_iter().collect()
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Vec<Lane>, LabError> {
        run(plan, lab)
    }

    /// A sample is the mean over a slice, because single times would be hundreds of millions of
    /// samples.
    fn series(&self, _: &Plan, lanes: &Vec<Lane>) -> Vec<Series> {
        let of_lane = |lane: &Lane| {
            let of = || labels([("structure", lane.structure.id.into())]);
            let ns = |name: &str, per, samples: &[f64]| {
                Series::new(name, Unit::Ns, of())
                    .per(per)
                    .of(samples.iter().copied().filter(|ns| ns.is_finite()))
            };
            let count = |name: &str, count: u64| {
                Series::new(name, Unit::Count, of()).better(Better::Neither).of([count as f64])
            };
            let mut all = vec![ns("tick", "tick", &lane.per_tick)];
            for (op, means) in Op::ALL.into_iter().zip(&lane.means) {
                all.push(ns(op.name(), "operation", means));
                all.push(count(&format!("{} calls", op.name()), lane.total.counts[op as usize]));
            }
            all.push(count("ticks", lane.total.ticks));
            all.push(count("wake-ups", lane.total.wakes));
            all.push(count("overruns", lane.overruns));
            all.retain(|series| !series.samples.is_empty());
            all
        };
        lanes.iter().flat_map(of_lane).collect()
    }

    fn findings(&self, plan: &Plan, lanes: &Vec<Lane>) -> Vec<Finding> {
        tables::findings(plan, lanes)
    }

    fn sections(&self, plan: &Plan, lanes: &Vec<Lane>, findings: &[Finding]) -> Vec<Section> {
        tables::sections(plan, lanes, &self.series(plan, lanes), findings)
    }
}

/// Checks that every structure in a report reproduced the experiment. Otherwise the figures
/// describe another workload.
///
/// # Errors
/// If a structure did not reproduce the experiment. The error names all such structures, with the
/// reasons.
pub(crate) fn accepted(report: &Report) -> Result<(), String> {
    let missed = report.findings.iter().filter(|finding| finding.verdict == Verdict::Missed);
    let missed: Vec<String> = missed.map(|finding| format!("{}: {}", finding.about, finding.here)).collect();
    if missed.is_empty() { Ok(()) } else { Err(format!("not the experiment: {}", missed.join("; "))) }
}

/// Returns whether a structure supports the experiment, which needs an exact head, the entry after
/// the head, and delivery on the tick.
fn takes_part(structure: &Structure) -> bool {
    structure.second && structure.exact_head && structure.ties.exact()
}
