//! `tickwright latency run`: structures take turns in slices, in random order.

use core::fmt::Write;
use core::time::Duration;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::{Args, ValueEnum};

use super::clock::{Clock, Driver};
use super::cpu_list::{CpuList, check_spin};
use super::cpus;
use super::hdr::Log;
use super::histogram::gnuplot;
use super::lane;
use super::lines::Lines;
use super::load::Generator;
use super::plan::{Data, Plan, fitting};
use super::rights::{self, ranges};
use super::settings::WakeArgs;
use super::slice::takes_part;
use super::structures::choose;
use super::tables;
use super::thread::{Measured, Setup, Shared, name};
use crate::clock::OsClock;
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters, conduct_plan};
use crate::experiments::request;
use crate::host::Host;
use crate::interrupt;
use crate::models::scenario::Within;
use crate::output::{OutputArgs, TextFile};
use crate::result::{Finding, Section, Series};

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

    /// Measure on these CPUs at the same time, on one pinned thread each: a list as 0,2-5, or all
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, conflicts_with = "cpu", value_parser = CpuList::parse)]
    cpus: Option<CpuList>,

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
        let cpus = self.cpus.as_ref().map_or(Ok(Vec::new()), CpuList::resolve)?;
        check_spin(&cpus, &rights::mine(), wake.driver, wake.wish().priority)?;
        // Each CPU has its own histograms, beside those over all CPUs.
        let memory = Host::read().memory_bytes.map(|bytes| bytes / (cpus.len() as u64 + 1));
        let plan = Plan {
            cpus,
            slice: self.slice.unwrap_or_else(|| Plan::usual_slice(wake, structures.len())),
            cells: fitting(self.cells.get(), structures.len(), memory)?,
            structures,
            notes,
            host_hz: self.host_hz.get(),
            bucket: self.bucket,
            histogram: self.histogram,
            files: Mutex::default(),
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
        if !plan.cpus.is_empty() {
            all.remove("cpu");
            all.insert("cpus".into(), ranges(&plan.cpus).into());
        }
        all
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.wake.seed.get())
    }

    /// `false`: `--clock` chooses one of the system's clocks; see [`Overhead`] for its cost.
    fn is_timed(&self) -> bool {
        false
    }

    /// Measures all structures in turns, on this thread or on one thread for each CPU of `--cpus`.
    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let [plot, log_file] = self
            .output
            .open_beside([("--gnuplot", self.gnuplot.as_deref()), ("--hdr", self.hdr.as_deref())])?;
        lab.notes.extend(plan.notes.iter().cloned());
        let setups: Vec<Setup<'_>> =
            plan.threads().into_iter().map(|cpu| Setup::new(plan, cpu)).collect::<Result<_, _>>()?;
        let load = plan.wake.start_load()?;
        let log = Mutex::new(Log::start());
        let on = self.output.terminal() && !self.quiet;
        let measured = if plan.cpus.is_empty() {
            alone(plan, setups, &log, on, lab)?
        } else {
            cpus::measure(plan, setups, &log, on, &mut lab.notes)?
        };
        lab.notes.extend(load.and_then(Generator::end));
        lab.interrupted = measured.iter().any(|thread| thread.interrupted);
        let data = cpus::combine(measured);
        let log = log.into_inner().unwrap_or_else(PoisonError::into_inner);
        let plot = plot.map(|file| (file, data_sets(plan, &data)));
        let logged = log_file.map(|file| (file, log.text().into_owned()));
        let mut files = plan.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.extend(plot.into_iter().chain(logged));
        drop(files);
        if log.lost > 0 {
            lab.notes.push(format!("{} slices are missing in the log of --hdr", log.lost));
        }
        Ok(data)
    }

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        data.each().flat_map(|(cpu, lane)| lane::series(cpu, lane)).collect()
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
        files_of(&plan).iter().try_for_each(|(file, text)| file.write(text))?;
        delivered
    }
}

/// Takes the files that remain to be written.
fn files_of(plan: &Plan) -> Vec<(TextFile, String)> {
    core::mem::take(&mut *plan.files.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Measures on this thread, without `--cpus`.
fn alone(
    plan: &Plan,
    setups: Vec<Setup<'_>>,
    log: &Mutex<Log>,
    on: bool,
    lab: &mut Lab<'_>,
) -> Result<Vec<Measured>, LabError> {
    let measure = |setup: Setup<'_>| {
        let (ready, refused) = setup.ready(plan.wake.wish());
        lab.notes.extend(refused);
        let lines = Lines::begin(on, false, &plan.words(ready.granted()))?;
        ready.measure(&Shared { lines: &lines, log }, || {}, interrupt::requested)
    };
    setups.into_iter().map(measure).collect()
}

/// The histograms in gnuplot's format: one data set for each structure, on each CPU of `--cpus`.
fn data_sets(plan: &Plan, data: &Data) -> String {
    let mut out = format!(
        "# tickwright latency: samples + 1 over lateness in us, interval {}, cells of {}\n\
         # plot for [i=0:{}] FILE index i with steps title columnheader(1); set logscale y\n",
        duration::show(plan.wake.interval),
        duration::show(plan.bucket),
        data.each().count().saturating_sub(1)
    );
    for (cpu, lane) in data.each() {
        let all = lane.all.running();
        let [min, avg, max] = [all.min() as f64, all.avg(), all.max() as f64].map(|ns| ns / 1e3);
        // Two empty lines separate data sets. Writing to a string does not fail.
        let _ = writeln!(
            out,
            "\n\n\"{}\"\n# {} samples, min {min:.3}, avg {avg:.3}, max {max:.3}",
            name(lane.structure.id, cpu),
            all.count(),
        );
        gnuplot(&mut out, &lane.cells);
    }
    out
}

/// Short runs for `tickwright check`: every structure, then every driver with every clock.
///
/// # Errors
/// The words below are not valid arguments, which the tests exclude.
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
