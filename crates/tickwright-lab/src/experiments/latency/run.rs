//! `tickwright latency run`: structures take turns in slices, in random order.

use core::cell::RefCell;
use core::fmt::Write;
use core::time::Duration;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};

use super::clock::{Clock, Driver};
use super::hdr::Log;
use super::histogram::gnuplot;
use super::lane::{self, Lane};
use super::lines::Lines;
use super::load::Generator;
use super::overhead::Overhead;
use super::plan::{Data, Plan, fitting};
use super::rights::Granted;
use super::settings::WakeArgs;
use super::slice::{Drive, Seen, takes_part};
use super::structures::choose;
use super::tables;
use crate::clock::OsClock;
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters, conduct_plan};
use crate::experiments::request;
use crate::host::Host;
use crate::interrupt;
use crate::models::scenario::Within;
use crate::output::OutputArgs;
use crate::result::{Better, Finding, Section, Series, labels};
use crate::rounds::Rounds;
use crate::structures::registry;

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
    #[arg(long, value_name = "HZ", allow_hyphen_values = true, default_value = "100", value_parser = Within::<0, 10_000>::parse)]
    host_hz: Within<0, 10_000>,

    /// Print the cells of the histogram
    #[arg(long, short = 'H')]
    histogram: bool,

    /// Cells of the histogram; the last one also counts everything above
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value = "300", value_parser = Within::<1, { i64::MAX as u64 }>::parse)]
    cells: Within<1, { i64::MAX as u64 }>,

    /// Width of a cell, from 1ns to 10s
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, default_value = "1us", value_parser = duration::within::<1, 10_000_000_000>)]
    bucket: Duration,

    /// Print no lines during the run
    #[arg(long, short)]
    quiet: bool,

    /// Write the histograms for gnuplot
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    gnuplot: Option<PathBuf>,

    /// Write a log of HdrHistogram, an interval and a tag for each slice
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    hdr: Option<PathBuf>,

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
        let wake = &self.wake;
        let why = "a period needs an exact head";
        let (structures, notes) = choose(&self.wake.structures, takes_part, why)?;
        let plan = Plan {
            slice: self.slice.unwrap_or_else(|| Plan::usual_slice(wake, structures.len())),
            cells: fitting(self.cells.get(), structures.len(), Host::read().memory_bytes)?,
            structures,
            notes,
            host_hz: self.host_hz.get(),
            bucket: self.bucket,
            histogram: self.histogram,
            files: RefCell::default(),
            wake: wake.clone(),
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

    /// `false`: `--clock` chooses one of the system's clocks; see [`Overhead`] for its cost.
    fn is_timed(&self) -> bool {
        false
    }

    /// Measures all structures in turns, on this thread.
    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let [plot, log_file] = self
            .output
            .open_beside([("--gnuplot", self.gnuplot.as_deref()), ("--hdr", self.hdr.as_deref())])?;
        lab.notes.extend(plan.notes.iter().cloned());
        let turn = plan.turn();
        let bucket = u64::try_from(plan.bucket.as_nanos()).unwrap_or(u64::MAX);
        let mut lanes: Vec<Lane> = plan.structures.iter().map(|s| Lane::new(s, plan.cells, bucket)).collect();
        let mut seen = Seen::new(turn.points);
        let mut host = plan.wake.system()?;
        let load = plan.wake.start_load()?;
        let (rights, refused) = Granted::ask(plan.wake.wish());
        lab.notes.extend(refused);
        let granted = rights.priority;
        let overhead = Overhead::measure(&mut host);
        let mut lines = Lines::begin(self.output.terminal() && !self.quiet, &plan.wake.words(granted))?;
        let mut log = Log::start();
        let (began, cpu_before) = (Instant::now(), thread_cpu());
        let taken = Rounds::new(plan.turns(), plan.wake.seed.get()).run(lanes.len(), |at| {
            let (structure, since) = (plan.structures[at.lane], began.elapsed());
            let drive = Drive { turn, host: &mut host, seen: &mut seen, stop: &interrupt::requested };
            registry::visit(structure, drive)?;
            if at.round > 0 {
                let until = began.elapsed();
                lanes[at.lane].add(&seen);
                log.add(structure.id, since, until, &seen.lateness);
                lines.turn((structure.id, &seen.gaps), &mut lanes, until)?;
            }
            Ok::<_, LabError>(lane::row(&seen))
        })?;
        let (cpu, wall) = (thread_cpu().saturating_sub(cpu_before), began.elapsed());
        drop(rights);
        lab.notes.extend(load.and_then(Generator::end));
        lab.interrupted = taken.interrupted;
        for (lane, rows) in lanes.iter_mut().zip(taken.lanes()) {
            lane.rows = rows;
        }
        let plot = plot.map(|file| (file, data_sets(plan, &lanes)));
        let logged = log_file.map(|file| (file, log.text().into_owned()));
        plan.files.borrow_mut().extend(plot.into_iter().chain(logged));
        if log.lost > 0 {
            lab.notes.push(format!("{} slices are missing in the log of --hdr", log.lost));
        }
        let cpu_percent = cpu.as_secs_f64() / wall.as_secs_f64().max(f64::MIN_POSITIVE) * 100.0;
        Ok(Data { lanes, granted, overhead, cpu_percent })
    }

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        let mut all = Vec::new();
        for lane in &data.lanes {
            for (at, (name, unit)) in lane::FIGURES.into_iter().enumerate() {
                let of = labels([("structure", lane.structure.id.into())]);
                let describes = ["samples", "host ticks", "wake-ups"].contains(&name);
                let better = if describes { Better::Neither } else { Better::Lower };
                all.push(Series::new(name, unit, of).better(better).of(lane.rows.iter().map(|row| row[at])));
            }
        }
        all
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

impl RunArgs {
    /// Runs the experiment, prints its report and writes its files.
    pub(super) fn execute(&self) -> Result<(), LabError> {
        let plan = self.plan()?;
        let files = self.output.open(&self.name())?;
        let delivered = files.deliver(&conduct_plan(self, &plan, &OsClock::start())?);
        plan.files.take().iter().try_for_each(|(file, text)| file.write(text))?;
        delivered
    }
}

/// The histograms in gnuplot's format.
fn data_sets(plan: &Plan, lanes: &[Lane]) -> String {
    let mut out = format!(
        "# tickwright latency: samples + 1 over lateness in us, interval {}, cells of {}\n\
         # plot for [i=0:{}] FILE index i with steps title columnheader(1); set logscale y\n",
        duration::show(plan.wake.interval),
        duration::show(plan.bucket),
        lanes.len().saturating_sub(1)
    );
    for lane in lanes {
        let all = lane.all.running();
        let [min, avg, max] = [all.min() as f64, all.avg(), all.max() as f64].map(|ns| ns / 1e3);
        // Two empty lines begin the next data set. Writing to a string does not fail.
        let _ = writeln!(
            out,
            "\n\n\"{}\"\n# {} samples, min {min:.3}, avg {avg:.3}, max {max:.3}",
            lane.structure.id,
            all.count(),
        );
        gnuplot(&mut out, &lane.cells);
    }
    out
}

/// Processor time of the calling thread.
pub(super) fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Short runs for `tickwright check`: every structure, then every driver with every clock.
///
/// # Errors
/// Only if the words below are not valid arguments.
pub(crate) fn checks() -> Result<Vec<RunArgs>, LabError> {
    // A turn has 20 periods, and the host ticks every fifth period.
    let common = ["--quiet", "--priority", "none", "-i", "500us", "--slice", "10ms", "--host-hz", "400"];
    let args = |words: &[&str]| request::words(&[&common, words].concat());
    let mut runs = vec![args(&["--structures", "*", "--duration", "1s"])?];
    for driver in Driver::value_variants() {
        for clock in Clock::value_variants() {
            let [driver, clock] = [request::word(driver), request::word(clock)];
            let words = ["--driver", &driver, "--clock", &clock];
            runs.push(args(&[&words[..], &["--structures", "list/hook", "--duration", "20ms"]].concat())?);
        }
    }
    Ok(runs)
}
