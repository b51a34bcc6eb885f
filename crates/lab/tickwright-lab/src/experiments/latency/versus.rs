//! `tickwright latency versus-cyclictest`: compares our lateness with cyclictest's. Both run
//! alternately, with the same interval, priority and clock.
//!
//! Both histograms have cells of a microsecond, which is cyclictest's own resolution. Percentiles
//! are interpolated within a cell. Our runs have no host tick, because cyclictest has no host tick.
//! The processor time of a cyclictest run includes cyclictest's start and its report, so the
//! processor time of a run with a single loop is subtracted.

mod data;
mod tables;
mod tool;

use core::time::Duration;

use clap::Args;

pub(crate) use self::data::{Data, Plan};
use self::data::{Leg, ROUNDS, TOOLS};
use self::tool::{CELL_NS, Call};
use super::clock::thread_cpu;
use super::histogram::Cells;
use super::load::Generator;
use super::rights::Priority;
use super::settings::WakeArgs;
use super::slice::{Drive, Seen, Turn};
use super::structures::choose;
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request;
use crate::interrupt;
use crate::output::OutputArgs;
use crate::progress::Progress;
use crate::result::{Finding, Section, Series, labels};
use crate::rights::LeastSlack;
use crate::rounds::Rounds;

/// The lateness of one periodic timer beside cyclictest's, in turns
///
/// Both run with the same interval, priority and clock. Without cyclictest (Debian: rt-tests) the
/// comparison is skipped, with a note.
#[derive(Debug, Clone, Args)]
pub(crate) struct VersusArgs {
    #[command(flatten)]
    wake: WakeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Cells of a histogram. The last cell counts all greater values, so a percentile in that cell has
/// no value.
const CELLS: usize = 10_000;

impl Experiment for VersusArgs {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "latency versus-cyclictest".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        self.wake.check()?;
        let wake = &self.wake;
        let (chosen, _) = choose(&self.wake.structures)?;
        let structure = match chosen.as_slice() {
            [one] => *one,
            // The default is the first of the published structures, which is the list.
            [first, ..] if self.wake.structures.is_empty() => *first,
            all => {
                return Err(LabError::usage(format!(
                    "cyclictest is compared with one structure, and --structures names {}: {}",
                    all.len(),
                    request::ids(all)
                )));
            }
        };
        let call = tool::find().map(|path| Call::new(path, wake)).transpose()?;
        Ok(Plan { points: points(wake)?, wake: wake.clone(), structure, call })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        let mut all = plan.wake.parameters();
        all.extend(request::parameters([
            ("structure", plan.structure.id.into()),
            ("rounds", ROUNDS.into()),
            ("points", plan.points.into()),
        ]));
        all
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.wake.seed.get())
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let mut data = Data { granted: Priority::NONE, legs: [Vec::new(), Vec::new()] };
        let Some(call) = &plan.call else {
            let why = "cyclictest is not installed (Debian: rt-tests): the comparison is skipped";
            lab.notes.push(why.into());
            return Ok(data);
        };
        // cyclictest inherits this timer slack.
        let slack = LeastSlack::ask();
        lab.notes.extend(slack.as_ref().err().cloned());
        // The minimum of three runs counts, because disturbances only add processor time.
        let mut startup = Duration::MAX;
        for _ in 0..3 {
            startup = startup.min(call.run(1, CELLS)?.1);
        }
        let load = plan.wake.start_load()?;
        let turn = Turn { period: plan.wake.interval_ns(), points: plan.points, host_period: 0 };
        let length = Duration::from_nanos(turn.points.saturating_mul(turn.period));
        let mut system = plan.wake.system()?;
        let mut seen = Seen::new(turn.points);
        let progress = Progress::steps((2 * ROUNDS).into(), "cyclictest");
        let mut rounds = Rounds::new(ROUNDS as usize, plan.wake.seed.get()).without_warm_up();
        let taken = rounds.run(TOOLS.len(), |at| {
            let (cells, cpu) = if at.lane == 0 {
                let (rights, refused) = plan.wake.ask();
                data.granted = rights.priority;
                if at.round == 0 {
                    lab.notes.extend(refused);
                }
                let before = thread_cpu();
                let drive = Drive { turn, host: &mut system, seen: &mut seen, stop: &interrupt::requested };
                drive.run(plan.structure)?;
                let cpu = thread_cpu().saturating_sub(before);
                drop(rights);
                (in_cells(&seen.lateness), cpu)
            } else {
                match call.run(turn.points, CELLS) {
                    // Ctrl-C at a terminal also ends cyclictest.
                    Err(_) if interrupt::requested() => (in_cells(&[]), Duration::ZERO),
                    ran => ran.map(|(cells, cpu)| (cells, cpu.saturating_sub(startup)))?,
                }
            };
            progress.step();
            // A run that Ctrl-C ended early does not count.
            Ok::<_, LabError>((!interrupt::requested()).then(|| Leg::new(cells, cpu, length)))
        })?;
        drop(progress);
        lab.interrupted = taken.interrupted;
        lab.notes.extend(load.and_then(Generator::end));
        let mut lanes = taken.lanes().into_iter().map(|lane| lane.into_iter().map_while(|leg| leg).collect());
        data.legs = [(); 2].map(|()| lanes.next().unwrap_or_default());
        let [ours, theirs] = &mut data.legs;
        let whole = ours.len().min(theirs.len());
        ours.truncate(whole);
        theirs.truncate(whole);
        Ok(data)
    }

    fn expected(&self, plan: &Plan) -> Vec<Series> {
        self.series(plan, &Data { granted: Priority::NONE, legs: Default::default() })
    }

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        let of_tool = |(tool, legs): (&'static str, &Vec<Leg>)| {
            let of = || labels([("tool", tool.into())]);
            let legs = legs.clone();
            tables::FIGURES.map(move |figure| {
                let samples = legs.iter().map(figure.of);
                Series::new(figure.name, figure.unit, of()).of(samples)
            })
        };
        TOOLS.into_iter().zip(&data.legs).flat_map(of_tool).collect()
    }

    fn findings(&self, _: &Plan, data: &Data) -> Vec<Finding> {
        tables::findings(&data.legs)
    }

    fn sections(&self, plan: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
        tables::sections(plan, data, findings)
    }
}

/// Returns the number of intervals in one run of a tool. All runs of both tools share `--duration`
/// equally.
fn points(wake: &WakeArgs) -> Result<u64, LabError> {
    const LEAST: u32 = 100;
    let (given, interval) = (duration::show(wake.duration), duration::show(wake.interval));
    let points = (wake.duration / (2 * ROUNDS)).as_nanos() / wake.interval.as_nanos().max(1);
    match u64::try_from(points).unwrap_or(u64::MAX) {
        points if points > Seen::MOST => Err(LabError::usage(format!(
            "--duration {given} is too long: {ROUNDS} runs of each tool have {points} intervals of {interval}, of \
             which {} at most are kept",
            Seen::MOST
        ))),
        points if points < LEAST.into() => Err(LabError::usage(format!(
            "--duration {given} is too short: {ROUNDS} runs of each tool with {LEAST} intervals of {interval} take \
             at least {}",
            duration::show(wake.interval.saturating_mul(2 * ROUNDS * LEAST))
        ))),
        points => Ok(points),
    }
}

/// Returns the histogram of `lateness` (in ns), in cyclictest's cells.
fn in_cells(lateness: &[u64]) -> Cells {
    let mut cells = Cells::new(CELLS, CELL_NS);
    lateness.iter().for_each(|ns| cells.push(*ns));
    cells
}

#[cfg(test)]
mod tests;
