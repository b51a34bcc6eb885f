//! `tickwright latency`: what was asked for, checked before anything starts.

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;

use super::clock::{Clock, Driver};
use super::load::kind::Load;
use super::order::PUBLISHED;
use super::plan::Plan;
use super::report::Extras;
use super::rights::{self, Priority};
use super::timer_path::PathArgs;
use super::{compare, report, run, span};
use crate::duration;
use crate::error::LabError;
use crate::host::Host;
use crate::models::scenario::{Seed, Within};
use crate::output::{self, OutputArgs, RowsFile};
use crate::structures::registry::{self, Structure};

/// How late one periodic timer wakes up, over each structure in turn; beside cyclictest
///
/// One periodic timer and the tick of an emulated host, at most two timers at once. Structures take
/// turns in short slices, in random order. A line a second shows one structure's last slices, as
/// the original's do; then the summary, the order by averages, and whether it is more than chance.
/// Lateness is the time at which the timer's owner runs, less the time that its grid says. A period
/// that was missed is an overrun, and a sample of its own. A gap of a second and a hundred periods,
/// or any in which the process was stopped, is told by itself.
///
/// The period is 1ms, cyclictest's; the original's was 100us on x86 and 1ms on ARM. Real-time
/// priority, a locked memory and a pinned thread are taken where they are allowed; what is refused
/// is said, and the run goes on.
#[derive(Debug, Clone, Args)]
pub(crate) struct LatencyArgs {
    /// The period of the timer, from 1us to 10s
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, default_value = "1ms", value_parser = span::parse::<1_000, 10_000_000_000>)]
    period: Duration,

    /// How long, for all structures together
    #[arg(long, allow_hyphen_values = true, default_value = "20s", value_parser = duration::parse)]
    duration: Duration,

    /// How long a structure has its turn
    /// [default: 250ms, less for a short run, 20 periods at least]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse)]
    slice: Option<Duration>,

    /// Structures, with * for anything and ! to take away
    /// [default: list, heap2, rb and rb-cached, by hooks]
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    structures: Vec<String>,

    /// Priority under SCHED_FIFO, from 1 to 99, or 'none' for the normal scheduler
    /// [default: 80; none with --driver spin]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    priority: Option<Priority>,

    /// Lock the memory, so that no page has to be fetched
    #[arg(long)]
    mlock: bool,

    /// Stay on this CPU
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = rights::parse_cpu)]
    cpu: Option<usize>,

    /// What time is told by
    #[arg(long, value_enum, default_value = "monotonic")]
    clock: Clock,

    /// How the program waits
    #[arg(long, value_enum, default_value = "nanosleep")]
    driver: Driver,

    /// Ticks a second of the emulated host, a timer without urgency between two periods; 0 for none
    #[arg(long, value_name = "HZ", allow_hyphen_values = true, default_value = "100", value_parser = Within::<0, 10_000>::parse)]
    host_hz: Within<0, 10_000>,

    /// Disturb the machine meanwhile: cache, syscalls, forks, files, pipe, or all; in a process
    /// that ends with this one
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',')]
    load: Vec<Load>,

    /// Print the cells of the histogram
    #[arg(long)]
    histogram: bool,

    /// Cells of the histogram; the last takes what is above
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value = "300", value_parser = Within::<1, { i64::MAX as u64 }>::parse)]
    cells: Within<1, { i64::MAX as u64 }>,

    /// Width of a cell, from 1ns to 10s
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, default_value = "1us", value_parser = span::parse::<1, 10_000_000_000>)]
    bucket: Duration,

    /// Write the histograms for gnuplot
    #[arg(long, value_name = "FILE")]
    gnuplot: Option<PathBuf>,

    /// Write the overlay plot of all structures
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Write a log of HdrHistogram, an interval and a tag for each slice
    #[arg(long, value_name = "FILE")]
    hdr: Option<PathBuf>,

    /// Exit with 1 when any sample was later than this, or a gap was seen
    #[arg(long, value_name = "US", allow_hyphen_values = true, value_parser = microseconds)]
    fail_if_max_over: Option<f64>,

    /// No lines while it runs
    #[arg(long, short)]
    quiet: bool,

    /// What the order of turns follows from
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    seed: Option<Seed>,

    /// Compare with cyclictest, run alternately with the same period, priority and clock
    #[arg(long, conflicts_with_all = ["histogram", "gnuplot", "svg", "hdr", "fail_if_max_over", "slice"])]
    compare_cyclictest: bool,

    #[command(flatten)]
    path: PathArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Reads a limit in microseconds.
fn microseconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|us| us.is_finite() && (0.0..=1e10).contains(us));
    number.ok_or_else(|| format!("'{text}' is not a number of microseconds from 0 to 10000000000"))
}

impl LatencyArgs {
    /// Runs it and prints the report.
    ///
    /// # Errors
    /// A request that cannot be served, a lateness over the limit, or Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        if self.path.asked() {
            return self.path.execute(&self.structures, self.seed.map_or(0, Seed::get), &self.output);
        }
        let plan = self.plan()?;
        if self.compare_cyclictest {
            return compare::execute(&plan, &self.output);
        }
        let extras = self.extras()?;
        let files = self.output.open()?;
        let lines = files.terminal() && !self.quiet;
        let outcome = run::run(&plan, lines)?;
        report::finish(&plan, &outcome, &files, &extras, self.histogram, self.fail_if_max_over)
    }

    fn extras(&self) -> Result<Extras, LabError> {
        let mut taken: Vec<PathBuf> = Vec::new();
        let open = |flag: &str, path: &Option<PathBuf>| {
            path.as_deref().map(|path| RowsFile::open(flag, path, &self.output)).transpose()
        };
        for path in [&self.gnuplot, &self.svg, &self.hdr].into_iter().flatten() {
            let there = output::place(path);
            if taken.contains(&there) {
                return Err(LabError::usage(format!(
                    "two outputs cannot both go to '{}': name another file for one; nothing was run",
                    path.display()
                )));
            }
            taken.push(there);
        }
        Ok(Extras {
            gnuplot: open("--gnuplot", &self.gnuplot)?,
            svg: open("--svg", &self.svg)?,
            hdr: open("--hdr", &self.hdr)?,
        })
    }

    /// What is to be done, if it can be.
    fn plan(&self) -> Result<Plan, LabError> {
        let (structures, notes) = self.select()?;
        let resolution = Duration::from_nanos(self.clock.resolution());
        if self.period < resolution {
            return Err(LabError::usage(format!(
                "--period {} is below the resolution of the {} clock: from {} to 10s",
                span::show(self.period),
                self.clock.word(),
                span::show(resolution)
            )));
        }
        let cells = fitting(self.cells.get(), structures.len(), Host::read().memory_bytes)?;
        if let Some(cpu) = self.cpu {
            rights::allowed(cpu)?;
        }
        let priority = match (self.priority, self.driver) {
            (Some(priority), _) => priority,
            // A circle at real-time priority would take the processor from everything else.
            (None, Driver::Spin) => Priority::NONE,
            (None, _) => Priority::USUAL,
        };
        let plan = Plan {
            structures,
            notes,
            period: self.period,
            duration: self.duration,
            slice: self.slice,
            priority,
            mlock: self.mlock,
            cpu: self.cpu,
            clock: self.clock,
            driver: self.driver,
            host_hz: self.host_hz.get(),
            load: Load::of(&self.load),
            cells,
            bucket: self.bucket,
            seed: self.seed.map_or(0, Seed::get),
        };
        plan.check()?;
        Ok(plan)
    }

    /// What takes part; what a pattern names but cannot, is left out and said to be.
    fn select(&self) -> Result<(Vec<&'static Structure>, Vec<String>), LabError> {
        if self.structures.is_empty() {
            let found: Result<Vec<_>, _> = PUBLISHED.into_iter().map(registry::find).collect();
            return Ok((found?, Vec::new()));
        }
        let chosen = registry::select(&self.structures)?;
        let (able, unable): (Vec<&'static Structure>, Vec<_>) =
            chosen.into_iter().partition(|structure| takes_part(structure));
        let notes: Vec<String> = unable
            .iter()
            .map(|structure| format!("{} is left out: a period needs an exact head", structure.id))
            .collect();
        if able.is_empty() { Err(LabError::usage(notes.join("; "))) } else { Ok((able, notes)) }
    }
}

/// Whether a structure wakes up on the dot.
pub(super) fn takes_part(structure: &Structure) -> bool {
    structure.exact_head && structure.ties.exact()
}

/// The cells, if a histogram for each structure takes at most a quarter of the machine's memory.
pub(super) fn fitting(cells: u64, structures: usize, memory: Option<u64>) -> Result<usize, LabError> {
    // Where the memory is unknown, 16 MiB a structure.
    let share = memory.map_or(1 << 24, |bytes| bytes / 4 / structures.max(1) as u64);
    let most = share / size_of::<u64>() as u64;
    usize::try_from(cells).ok().filter(|_| cells <= most).ok_or_else(|| {
        LabError::usage(format!(
            "--cells {cells} is larger than a quarter of the memory: from 1 to {most} for {structures} structures"
        ))
    })
}

/// The experiment as a part of the tour: `within` in all.
///
/// # Errors
/// As [`LatencyArgs::execute`].
pub(crate) fn tour(within: Duration) -> Result<(), LabError> {
    let plan = Plan::usual(within, Duration::from_micros(250))?;
    let outcome = run::run(&plan, false)?;
    report::finish(&plan, &outcome, &crate::output::Files::default(), &Extras::default(), false, None)
}
