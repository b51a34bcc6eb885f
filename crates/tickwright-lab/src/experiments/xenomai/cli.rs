//! `tickwright reproduce xenomai`.

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;

use super::machine::prepare_real_time;
use super::report::Report;
use super::run::{Mode, Outcome, Plan, Wait, run};
use super::scenario::Scenario;
use super::verdict::{Acceptance, Prediction};
use crate::clock::{FakeMeter, OsClock, calibrate};
use crate::duration;
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::models::scenario::Seed;
use crate::output::{OutputArgs, Run};
use crate::progress::Progress;
use crate::structures::registry::{self, STRUCTURES, Structure};

/// The structures of the experiment, as a kernel holds them: nodes inside the timers.
const EXPERIMENT: [&str; 4] = ["heap2/hook", "rb/hook", "rb-cached/hook", "list/hook"];

/// Xenomai's timer list experiment of 2016: which structure for around 500 timers?
#[derive(Debug, Clone, Args)]
pub(crate) struct XenomaiArgs {
    /// Real time, or virtual time: as fast as it goes, timed without a clock around each operation
    #[arg(long, value_enum, default_value = "real")]
    mode: Mode,

    /// How real time is waited for; 'spin' takes a whole processor and keeps up on any host
    #[arg(long, value_enum, default_value = "sleep")]
    wait: Wait,

    /// Time for each structure (virtual time in that mode), as 3s, 5m or 2h; the original ran for
    /// 2h
    #[arg(long, allow_hyphen_values = true, value_parser = duration::parse, default_value = "3s")]
    duration: Duration,

    /// Put a clock around each operation in virtual time too (real time always does)
    #[arg(long)]
    instrument: bool,

    /// Structures to compare, separated by commas, '*' allowed; by default the four of the
    /// experiment
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    structures: Vec<String>,

    /// What all random choices follow from
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    seed: Option<Seed>,

    /// Another workload of the same form as scenarios/xenomai.toml
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

impl XenomaiArgs {
    fn plan(&self, scenario: &Scenario, lost: &mut Vec<String>) -> Result<Plan, LabError> {
        Ok(Plan {
            params: scenario.params(self.seed.map_or(0, Seed::get)),
            mode: self.mode,
            wait: self.wait,
            duration: self.duration,
            instrument: self.instrument || self.mode == Mode::Real,
            structures: self.select(lost)?,
        })
    }

    /// What takes part; what a pattern names but cannot, is left out and said to be.
    fn select(&self, lost: &mut Vec<String>) -> Result<Vec<&'static Structure>, LabError> {
        if self.structures.is_empty() {
            return EXPERIMENT.into_iter().map(registry::find).collect();
        }
        let (able, unable): (Vec<&'static Structure>, Vec<_>) =
            registry::select(&self.structures)?.into_iter().partition(|structure| takes_part(structure));
        lost.extend(unable.iter().map(|structure| {
            format!("{} is left out: the experiment asks for the exact head and for the second", structure.id)
        }));
        if able.is_empty() { Err(LabError::usage(lost.join("; "))) } else { Ok(able) }
    }

    /// Runs it and prints the report.
    ///
    /// # Errors
    /// A request that cannot be served, a wrong answer, a run that was not the experiment, or
    /// Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let scenario = self.scenario.as_deref().map_or_else(Scenario::built_in, Scenario::read)?;
        let mut lost = Vec::new();
        let plan = self.plan(&scenario, &mut lost)?;
        let files = self.output.open()?;
        // Before the host is read, which states the timer slack of this run.
        let punctual = (plan.mode == Mode::Real).then(prepare_real_time);
        lost.extend(punctual.iter().flat_map(|(_, lost)| lost.clone()));
        let host = Host::read();
        let meter = OsClock::start();
        let clock = calibrate(&meter);
        lost.extend(host.doubts());
        let whole = plan.duration.saturating_mul(plan.structures.len() as u32);
        let progress = Progress::lasting(whole, "xenomai");
        let outcome = run(&plan, &meter, &interrupt::requested, &progress)?;
        drop((progress, punctual));
        let report = Report { scenario: &scenario, plan: &plan, outcome: &outcome, clock, lost: &lost };
        let run = Run { interrupted: outcome.interrupted, host: &host };
        files.finish(run, || format!("{host}\n\n{}", report.text()), &report.json(), report.csv())?;
        let refused: Vec<_> = report
            .acceptances()
            .into_iter()
            .filter(|(_, acceptance)| !acceptance.failures.is_empty())
            .map(|(id, acceptance)| format!("{id}: {}", acceptance.failures.join("; ")))
            .collect();
        if refused.is_empty() {
            Ok(())
        } else {
            Err(LabError::failed(format!("not the experiment: {}", refused.join("; "))))
        }
    }
}

/// The experiment as a part of the tour: `within` in all, one second of it for the oracle.
///
/// # Errors
/// As [`XenomaiArgs::execute`].
pub(crate) fn tour(within: Duration) -> Result<(), LabError> {
    let structures = u32::try_from(EXPERIMENT.len()).unwrap_or(1);
    let args = XenomaiArgs {
        mode: Mode::Real,
        wait: Wait::Sleep,
        duration: within.saturating_sub(Duration::from_secs(1)) / structures,
        instrument: false,
        structures: Vec::new(),
        seed: None,
        scenario: None,
        output: OutputArgs::default(),
    };
    args.execute()
}

/// Whether a structure can answer what the experiment asks.
fn takes_part(structure: &Structure) -> bool {
    structure.second && structure.exact_head && structure.ties.exact()
}

/// Every structure through a second of virtual time, nothing timed.
///
/// # Errors
/// What is wrong.
pub(crate) fn check() -> Result<String, String> {
    let words = |error: LabError| error.to_string();
    let plan = Plan {
        params: Scenario::built_in().map_err(words)?.params(0),
        mode: Mode::Virtual,
        wait: Wait::Sleep,
        duration: Duration::from_secs(1),
        instrument: false,
        structures: STRUCTURES.iter().filter(|structure| takes_part(structure)).collect(),
    };
    let progress = Progress::lasting(plan.duration * plan.structures.len() as u32, "xenomai");
    let meter = FakeMeter::steady(1);
    let Outcome { lanes, interrupted } =
        run(&plan, &meter, &interrupt::requested, &progress).map_err(words)?;
    if interrupted {
        return Err("interrupted before every structure had its second".into());
    }
    let prediction = Prediction::of(&plan.params);
    for lane in &lanes {
        let acceptance = Acceptance::of(lane, &prediction, plan.mode);
        if acceptance.too_short || !acceptance.failures.is_empty() {
            return Err(format!("{}: {acceptance}", lane.structure.id));
        }
    }
    let ticks: u64 = lanes.iter().map(|lane| lane.verified.ticks).sum();
    Ok(format!("{ticks} ticks in the oracle's order, in {} structures", lanes.len()))
}
