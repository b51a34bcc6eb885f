//! The tour: `tickwright` without a command. It gives a first useful answer in under a minute.

mod advice;
mod page;
mod part;

use core::iter;
use core::time::Duration;
use std::path::PathBuf;

use clap::Args;

pub(crate) use self::part::Part;
use crate::error::LabError;
use crate::experiment::conduct;
use crate::experiments::bench::Comparison;
use crate::experiments::request;
use crate::experiments::{asterisk, linux, nptl, xenomai};
#[cfg(target_os = "linux")]
use crate::experiments::{helenos, latency};
use crate::host::Host;
use crate::models::scenario::Model;
use crate::output::{self, OutputArgs};
use crate::render;
use crate::result::Report;
use crate::traces::recommend::RecommendArgs;

/// A part that runs an experiment with its default arguments.
macro_rules! usual {
    ($name:literal, $about:literal, $seconds:literal, $args:ty) => {
        Part {
            name: $name,
            about: $about,
            seconds: $seconds,
            command: concat!("reproduce ", $name),
            run: |_| conduct(&request::words::<$args>(&[])?),
        }
    };
}

/// The parts of the tour, in order.
pub(crate) const PLAN: &[Part] = &[
    Part {
        name: "hold",
        about: "which structure is fastest, at how many timers?",
        seconds: 5,
        command: "bench hold",
        run: hold,
    },
    Part {
        name: "network",
        about: "and when most time-outs are moved?",
        seconds: 4,
        command: "bench network",
        run: network,
    },
    Part {
        name: "xenomai",
        about: "which structure for a real-time kernel's tick?",
        seconds: 13,
        command: "reproduce xenomai",
        run: xenomai::tour,
    },
    Part {
        name: "linux",
        about: "how many re-arms stay in their bucket, without the lock?",
        seconds: 6,
        command: "reproduce linux",
        run: linux::tour,
    },
    Part {
        name: "asterisk",
        about: "a sorted list or a heap under a scheduler of callbacks?",
        seconds: 5,
        command: "reproduce asterisk",
        run: asterisk::tour,
    },
    #[cfg(target_os = "linux")]
    Part {
        name: "latency",
        about: "how late is a wake-up, over each structure?",
        seconds: 3,
        command: "latency",
        run: latency::tour,
    },
    #[cfg(target_os = "linux")]
    Part {
        name: "helenos",
        about: "does the tree that tasks are registered in matter?",
        seconds: 2,
        command: "reproduce helenos",
        run: helenos::tour,
    },
    Part {
        name: "nptl",
        about: "a kernel thread for each thread, M:N, or a manager?",
        seconds: 3,
        command: "reproduce nptl",
        run: nptl::tour,
    },
    Part {
        name: "recommend",
        about: "which structure for the timers of one program, bind9?",
        seconds: 4,
        command: "recommend sample:bind9 --base '!epoll'",
        run: recommend,
    },
];

/// The tour takes at most this time.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// The classic experiments with their default arguments.
pub(crate) const REPRODUCTIONS: &[Part] = &[
    usual!("xenomai", "which structure for a real-time kernel's tick?", 15, xenomai::XenomaiArgs),
    usual!("linux", "how many re-arms stay in their bucket, without the lock?", 30, linux::LinuxArgs),
    usual!(
        "asterisk",
        "a sorted list or a heap under a scheduler of callbacks?",
        180,
        asterisk::AsteriskArgs
    ),
    #[cfg(target_os = "linux")]
    usual!("helenos", "does the tree that tasks are registered in matter?", 180, helenos::HelenosArgs),
    usual!("nptl", "a kernel thread for each thread, M:N, or a manager?", 150, nptl::NptlArgs),
];

/// The total duration of parts.
pub(crate) fn length(parts: &[Part]) -> Duration {
    Duration::from_secs(parts.iter().map(|part| part.seconds).sum())
}

/// Arguments of the tour.
#[derive(Debug, Clone, Args)]
pub(crate) struct TourArgs {
    /// Print every table and plot, as each part alone does
    #[arg(long)]
    full: bool,
    /// File for the page with every table and plot
    #[arg(long, short, value_name = "FILE", default_value = "tickwright-report.html")]
    out: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl TourArgs {
    /// Runs the tour.
    ///
    /// # Errors
    /// The first error of a part, which ends the tour. [`LabError::Interrupted`], after the
    /// finished measurements are written.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let what = format!("The tour: {} parts, about {} s.", PLAN.len(), length(PLAN).as_secs());
        self.take("tour", &what, PLAN)
    }

    /// Runs the reproductions with their default length.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub(crate) fn reproduce(&self) -> Result<(), LabError> {
        let minutes = length(REPRODUCTIONS).as_secs().div_ceil(60);
        let what = format!(
            "{} reproductions, about {minutes} minutes; `tickwright` alone runs short ones.",
            REPRODUCTIONS.len()
        );
        self.take("reproduce all", &what, REPRODUCTIONS)
    }

    /// Runs parts one after the other. Prints a few lines of each and writes the page.
    fn take(&self, name: &'static str, what: &str, parts: &[Part]) -> Result<(), LabError> {
        let files = self.output.open(name)?;
        let [page] = self.output.open_beside([("--out", Some(&self.out))])?;
        let say = |words: &str| if files.terminal() { output::print(words) } else { Ok(()) };
        say(&format!("{what} Ctrl-C ends it and keeps what is done.\n{}\n", Host::read()))?;
        let mut reports = Vec::new();
        for part in parts {
            let report = (part.run)(Duration::from_secs(part.seconds))?;
            if self.full {
                let command = part.command;
                say(&format!(
                    "\n== {} (alone: tickwright {command})\n\n{}\n",
                    part.name,
                    render::text(&report)
                ))?;
            }
            say(&page::block(part.name, part.about, &report))?;
            let interrupted = report.interrupted;
            reports.push(report);
            if interrupted {
                break;
            }
        }
        let advice = advice::advice(&reports);
        let Some(merged) = page::merged(name, &reports, &advice) else { return Ok(()) };
        let front = page::front(&merged, parts, &reports, &advice);
        let all = iter::once(front).chain(reports).map(|report| (report.experiment.clone(), report));
        page.map_or(Ok(()), |page| page.write(&render::html(&all.collect::<Vec<_>>())))?;
        say(&(page::conclusion(&advice) + &page::next(&self.out)))?;
        files.write(&merged)
    }
}

/// The hold model from a few timers to a server's population, over the structures that a user would
/// choose.
fn hold(within: Duration) -> Result<Report, LabError> {
    bench(Model::Hold, "hold-exp-sparse", "4,16,64,256,1k,10k,100k", within)
}

fn network(within: Duration) -> Result<Report, LabError> {
    bench(Model::Network, "network", "1k,100k", within)
}

/// The workload of the last part. The tour spends less time on it than the command alone.
const RECORDED: [&str; 3] = ["sample:bind9", "--base", "!epoll"];

/// A verdict for a recording that ships with the program.
fn recommend(_: Duration) -> Result<Report, LabError> {
    let words = [&RECORDED[..], &["--rounds", "7", "--within", "1s"]].concat();
    conduct(&request::words::<RecommendArgs>(&words)?)
}

/// One structure of each shape of ours, in both storages, and the rivals that are usually fastest.
const CONTENDERS: &str = "list/*,heap4/*,rb-cached/*,wheel/*,coarse/*,binary-heap,orx-4ary,delay-queue";

fn bench(model: Model, scenario: &str, n: &str, within: Duration) -> Result<Report, LabError> {
    let words = ["--scenario", scenario, "--n", n, "--operations", "10k", "--structures", CONTENDERS];
    let comparison = Comparison { within: Some(within), ..Comparison::new(model, request::words(&words)?) };
    conduct(&comparison)
}

#[cfg(test)]
mod tests;
