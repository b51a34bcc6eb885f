//! The main job: what `tickwright` does when nothing is asked for. A first useful answer in under a
//! minute.

use core::time::Duration;

use serde::Serialize;

use crate::error::LabError;
use crate::experiment::conduct;
use crate::experiments::bench::Comparison;
#[cfg(target_os = "linux")]
use crate::experiments::latency;
use crate::experiments::request;
use crate::experiments::{asterisk, linux, nptl, xenomai};
use crate::models::scenario::Model;
use crate::output::{self, ReportFiles};
use crate::result::Report;

/// A part of the tour.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Part {
    /// What it shows.
    pub(crate) name: &'static str,
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
    Part { name: "hold", seconds: 5, command: "bench hold", run: hold },
    Part {
        name: "xenomai",
        seconds: 13,
        command: "reproduce xenomai",
        run: |within| xenomai::tour(within).map(|()| None),
    },
    Part {
        name: "linux",
        seconds: 6,
        command: "reproduce linux",
        run: |within| linux::tour(within).map(|()| None),
    },
    Part {
        name: "asterisk",
        seconds: 5,
        command: "reproduce asterisk",
        run: |within| asterisk::tour(within).map(|()| None),
    },
    #[cfg(target_os = "linux")]
    Part { name: "latency", seconds: 3, command: "latency", run: |within| latency::tour(within).map(Some) },
    #[cfg(target_os = "linux")]
    Part {
        name: "helenos",
        seconds: 2,
        command: "reproduce helenos",
        run: |within| crate::experiments::helenos::tour(within).map(|()| None),
    },
    Part {
        name: "nptl",
        seconds: 3,
        command: "reproduce nptl",
        run: |within| nptl::tour(within).map(|()| None),
    },
];

/// The tour answers within this.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// How long the plan takes.
pub(crate) fn length() -> Duration {
    Duration::from_secs(PLAN.iter().map(|part| part.seconds).sum())
}

/// Runs the plan.
///
/// # Errors
/// Of its parts; the first ends the tour.
pub(crate) fn run_all() -> Result<(), LabError> {
    output::print(&format!("The tour: about {} s in all.\n", length().as_secs()))?;
    for part in PLAN {
        let Part { name, seconds, command, .. } = part;
        output::print(&format!("\n== {name} (about {seconds} s; alone: tickwright {command})\n\n"))?;
        if let Some(report) = (part.run)(Duration::from_secs(part.seconds))? {
            ReportFiles::default().deliver(&report)?;
        }
    }
    output::print(NEXT)
}

const NEXT: &str = "
What to run next
  tickwright bench hold                 every population and distribution, some minutes
  tickwright bench hold --n 10k --structures 'heap4/*,rb*,orx*'
  tickwright reproduce xenomai --duration 2h             the original's full length
  tickwright reproduce xenomai --mode virtual --duration 2m --structures '*'
  tickwright bench network              a server's time-outs; also bench expire, reads and adversary
  tickwright bench scheduler            the callback scheduler beside its parts
  tickwright bench memory               bytes per timer and of an empty queue
  tickwright reproduce linux            every delay, step and HZ; real connections
  tickwright reproduce asterisk --budget 1h     the list of 2009 as far as an hour goes
  tickwright latency                    wake-up lateness over each structure; --load all; latency versus-cyclictest
  tickwright reproduce helenos --duration 10s   the original's full length; also --tasks processes
  tickwright bench registry             what the tree costs where it is asked
  tickwright reproduce nptl --starts 1k --rounds 7       the threads of 2002: all 20 x 10 cells, with intervals; also bench threads
  tickwright sched test 10k             add and delete, over each structure; also sched beat
  tickwright check                      every answer verified, nothing timed
  tickwright list                       structures, scenarios and experiments
With `cargo run --release --` in place of `tickwright` in a source tree.
";

fn hold(within: Duration) -> Result<Option<Report>, LabError> {
    // Few timers, a kernel's, a server's.
    let words = ["--scenario", "hold-exp-sparse", "--n", "16,500,10k,100k", "--operations", "10k"];
    let args = request::words(&words)?;
    let comparison = Comparison { within: Some(within), ..Comparison::new(Model::Hold, args) };
    conduct(&comparison).map(Some)
}

#[cfg(test)]
mod tests;
