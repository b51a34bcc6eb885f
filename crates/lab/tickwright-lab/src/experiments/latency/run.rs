//! `tickwright latency run`: structures alternate in slices, in random order.

use core::time::Duration;
use std::time::Instant;

use clap::{Args, ValueEnum};

use super::clock::{Clock, thread_cpu};
use super::lane;
use super::lines::Lines;
use super::load::Generator;
use super::overhead::Overhead;
use super::plan::{Data, Plan};
use super::settings::WakeArgs;
use super::slice::{Drive, Seen};
use super::structures::choose;
use super::tables;
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request;
use crate::interrupt;
use crate::models::scenario::Within;
use crate::output::OutputArgs;
use crate::result::{Finding, Section, Series};
use crate::rounds::Rounds;

/// How late one periodic timer wakes up, over each structure in turn
///
/// At most two timers are pending: one periodic timer, and the tick of an emulated host. Structures
/// take turns in short slices, in random order. Once a second, a line shows the last slices of one
/// structure, as in the original. The summary, the order by averages and a verdict follow.
///
/// Lateness is the time at which the timer's owner runs, minus its time on the grid. A missed
/// period is an overrun and a sample of its own. A gap is different: nothing ran for a second and
/// for a hundred periods, or the process was stopped.
///
/// Real-time priority, locked memory and a pinned thread are used where the system allows them. A
/// refusal is noted, and the run goes on. For CI: --fail-if 'max(worst lateness) > 500us', which
/// counts gaps as lateness.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    wake: WakeArgs,

    /// Length of a turn
    /// [default: 250ms, less for a short run, at least 20 periods]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse)]
    slice: Option<Duration>,

    /// Rate of the emulated host's tick, a second timer halfway between two periods; 0 for none
    #[arg(
        long,
        value_name = "HZ",
        allow_hyphen_values = true,
        default_value = "100",
        value_parser = Within::<0, 10_000>::parse
    )]
    host_hz: Within<0, 10_000>,

    /// Print the cells of the histogram
    #[arg(long, short = 'H')]
    histogram: bool,

    /// Cells of the histogram; the last one also counts everything above
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        default_value = "300",
        value_parser = Within::<1, 1_000_000>::parse
    )]
    cells: Within<1, 1_000_000>,

    /// Width of a cell, from 1ns to 10s
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        default_value = "1us",
        value_parser = duration::within::<1, 10_000_000_000>
    )]
    bucket: Duration,

    /// Print no lines during the run
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Experiment for RunArgs {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "latency run".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        self.wake.check()?;
        let (structures, notes) = choose(&self.wake.structures)?;
        let plan = Plan {
            slice: self.slice.unwrap_or_else(|| Plan::usual_slice(&self.wake, structures.len())),
            cells: usize::try_from(self.cells.get()).unwrap_or(usize::MAX),
            structures,
            notes,
            host_hz: self.host_hz.get(),
            bucket: self.bucket,
            histogram: self.histogram,
            wake: self.wake.clone(),
        };
        plan.check()?;
        Ok(plan)
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        let mut all = plan.wake.parameters();
        all.extend(request::parameters([
            ("structures", request::ids(&plan.structures).into()),
            ("slice", duration::show(plan.slice).into()),
            ("turns", plan.turns().into()),
            ("host-hz", plan.host_hz.into()),
            ("cells", plan.cells.into()),
            ("bucket", duration::show(plan.bucket).into()),
        ]));
        all
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.wake.seed.get())
    }

    /// Always `false`, because `--clock` chooses one of the system's clocks. [`Overhead`] has the
    /// cost of a clock reading.
    fn is_timed(&self) -> bool {
        false
    }

    /// Measures all structures alternately.
    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        lab.notes.extend(plan.notes.iter().cloned());
        let (turn, mut host, mut lanes) = (plan.turn(), plan.wake.system()?, plan.lanes());
        let mut seen = Seen::new(turn.points);
        let load = plan.wake.start_load()?;
        let (rights, refused) = plan.wake.ask();
        let granted = rights.priority;
        lab.notes.extend(refused);
        let overhead = Overhead::measure(&mut host);
        let mut lines = Lines::begin(self.output.terminal() && !self.quiet, &plan.wake.words(granted))?;
        let (began, cpu_before) = (Instant::now(), thread_cpu());
        let taken = Rounds::new(plan.turns(), plan.wake.seed.get()).run(lanes.len(), |at| {
            let structure = plan.structures[at.lane];
            let drive = Drive { turn, host: &mut host, seen: &mut seen, stop: &interrupt::requested };
            drive.run(structure)?;
            if at.round > 0 {
                lanes[at.lane].add(&seen);
                lines.turn((structure.id, &seen.gaps), &mut lanes, began.elapsed())?;
            }
            Ok::<_, LabError>(lane::row(&seen))
        })?;
        let (used, wall) = (thread_cpu().saturating_sub(cpu_before), began.elapsed());
        drop(rights);
        lab.notes.extend(load.and_then(Generator::end));
        lab.interrupted = taken.interrupted;
        for (lane, rows) in lanes.iter_mut().zip(taken.lanes()) {
            lane.rows = rows;
        }
        let cpu_percent = used.as_secs_f64() / wall.as_secs_f64().max(f64::MIN_POSITIVE) * 100.0;
        Ok(Data { lanes, granted, overhead, cpu_percent })
    }

    fn expected(&self, plan: &Plan) -> Vec<Series> {
        plan.lanes().iter().flat_map(lane::series).collect()
    }

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        data.lanes.iter().flat_map(lane::series).collect()
    }

    fn findings(&self, _: &Plan, data: &Data) -> Vec<Finding> {
        let order = data.order();
        let first = order.finding("the order in which structures wake up");
        [first].into_iter().chain(order.pairs()).collect()
    }

    fn sections(&self, plan: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
        tables::sections(plan, data, &data.order(), findings)
    }
}

/// Returns short runs for `tickwright check`: every structure, then each clock.
///
/// # Errors
/// If the words below are not valid arguments. The tests show that they are valid.
pub(crate) fn checks() -> Result<Vec<RunArgs>, LabError> {
    // A turn has 20 periods, and the host ticks every fifth period.
    let common = ["--quiet", "--priority", "none", "-i", "500us", "--slice", "10ms", "--host-hz", "400"];
    let args = |words: &[&str]| request::words(&[&common, words].concat());
    let mut runs = vec![args(&["--structures", "*", "--duration", "1s"])?];
    for clock in Clock::value_variants() {
        let clock = request::word(clock);
        runs.push(args(&["--clock", &clock, "--structures", "list/hook", "--duration", "20ms"])?);
    }
    Ok(runs)
}
