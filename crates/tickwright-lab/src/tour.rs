//! The main job: what `tickwright` does when nothing is asked for. A first useful answer in under a
//! minute.

mod advice;
mod page;

use core::iter;
use core::time::Duration;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::error::LabError;
use crate::experiment::conduct;
use crate::experiments::bench::Comparison;
#[cfg(target_os = "linux")]
use crate::experiments::latency;
use crate::experiments::request;
use crate::experiments::{asterisk, linux, nptl, xenomai};
use crate::host::Host;
use crate::models::scenario::Model;
use crate::output::{self, OutputArgs, ReportArgs, RowsFile};
use crate::render;
use crate::result::Report;

/// A part of the tour.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Part {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it asks.
    pub(crate) about: &'static str,
    /// How long it takes.
    pub(crate) seconds: u64,
    /// The command that runs it alone, in full length.
    pub(crate) command: &'static str,
    /// Runs it within its time; `None` when it has printed its result itself.
    #[serde(skip)]
    pub(crate) run: fn(Duration) -> Result<Option<Report>, LabError>,
}

/// The parts in order.
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
        run: |within| xenomai::tour(within).map(Some),
    },
    Part {
        name: "linux",
        about: "how many re-arms stay in their bucket, without the lock?",
        seconds: 6,
        command: "reproduce linux",
        run: |within| linux::tour(within).map(Some),
    },
    Part {
        name: "asterisk",
        about: "a sorted list or a heap under a scheduler of callbacks?",
        seconds: 5,
        command: "reproduce asterisk",
        run: |within| asterisk::tour(within).map(Some),
    },
    #[cfg(target_os = "linux")]
    Part {
        name: "latency",
        about: "how late is a wake-up, over each structure?",
        seconds: 3,
        command: "latency",
        run: |within| latency::tour(within).map(Some),
    },
    #[cfg(target_os = "linux")]
    Part {
        name: "helenos",
        about: "does the tree that tasks are registered in matter?",
        seconds: 2,
        command: "reproduce helenos",
        run: |within| crate::experiments::helenos::tour(within).map(Some),
    },
    Part {
        name: "nptl",
        about: "a kernel thread for each thread, M:N, or a manager?",
        seconds: 3,
        command: "reproduce nptl",
        run: |within| nptl::tour(within).map(Some),
    },
];

/// The tour answers within this.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// How long the plan takes.
pub(crate) fn length() -> Duration {
    Duration::from_secs(PLAN.iter().map(|part| part.seconds).sum())
}

/// Arguments of the tour.
#[derive(Debug, Clone, Args)]
pub(crate) struct TourArgs {
    /// Print every table and plot, as each part alone does
    #[arg(long)]
    full: bool,
    /// Where the page with every table and plot goes
    #[arg(long, value_name = "FILE", default_value = "tickwright-tour.html")]
    page: PathBuf,
    #[command(flatten)]
    output: ReportArgs,
}

impl TourArgs {
    /// Runs the tour.
    ///
    /// # Errors
    /// Those of the parts: the first ends the tour. [`LabError::Interrupted`], after what was
    /// measured is written.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let what = format!("The tour: {} parts, about {} s.", PLAN.len(), length().as_secs());
        self.take(&what, PLAN)
    }

    /// Runs parts one after the other; prints a few lines of each, and writes their page.
    fn take(&self, what: &str, parts: &[Part]) -> Result<(), LabError> {
        let files = self.output.open("tour")?;
        let page = RowsFile::open("--page", &self.page, &OutputArgs::default())?;
        let say = |words: &str| if files.terminal() { output::print(words) } else { Ok(()) };
        say(&format!("{what} Ctrl-C ends it and keeps what is done.\n{}\n", Host::read()))?;
        let mut reports = Vec::new();
        for part in parts {
            let Some(report) = (part.run)(Duration::from_secs(part.seconds))? else { continue };
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
        let Some(merged) = page::merged(&reports, &advice) else { return Ok(()) };
        let short = Report { sections: page::summary(&reports, &advice), ..merged.clone() };
        let all = iter::once(short).chain(reports).map(|report| (report.experiment.clone(), report));
        page.text(&render::html(&all.collect::<Vec<_>>()))?;
        say(&(page::conclusion(&advice) + &page::next(&self.page)))?;
        files.write(&merged)
    }
}

/// Populations from a handful to a server's, under the structures that one would take.
fn hold(within: Duration) -> Result<Option<Report>, LabError> {
    bench(Model::Hold, "hold-exp-sparse", "4,16,64,256,1k,10k,100k", within)
}

fn network(within: Duration) -> Result<Option<Report>, LabError> {
    bench(Model::Network, "network", "1k,100k", within)
}

/// One of each shape of ours, in both storages, and the rivals that are mostly fastest.
const CONTENDERS: &str = "list/*,heap4/*,rb-cached/*,wheel/*,coarse/*,binary-heap,orx-4ary,delay-queue";

fn bench(model: Model, scenario: &str, n: &str, within: Duration) -> Result<Option<Report>, LabError> {
    let words = ["--scenario", scenario, "--n", n, "--operations", "10k", "--structures", CONTENDERS];
    let comparison = Comparison { within: Some(within), ..Comparison::new(model, request::words(&words)?) };
    conduct(&comparison).map(Some)
}

#[cfg(test)]
mod tests;
