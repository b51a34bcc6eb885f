//! The tour: `tickwright` without a command. It gives a first useful answer in under a minute.

mod advice;
mod page;
mod part;

use core::iter;
use core::time::Duration;
use std::path::PathBuf;

use clap::Args;

pub(crate) use self::part::{Part, RunLine};
use crate::error::LabError;
use crate::experiments::asterisk;
use crate::host::Host;
use crate::output::{self, OutputArgs};
use crate::render;
use crate::structures::registry;

/// The parts of the tour, in order.
pub(crate) const PLAN: &[Part] = &[
    Part {
        name: "hold",
        about: "which structure is fastest, at how many timers?",
        seconds: 12,
        command: || compared("hold-exp-sparse", "1,4,16,64,256,1k,10k,100k,1M", "3s"),
    },
    Part {
        name: "network",
        about: "and when most time-outs are moved?",
        seconds: 6,
        command: || compared("network", "1k,100k", "3s"),
    },
    Part {
        name: "xenomai",
        about: "which structure for a real-time kernel's tick?",
        seconds: 9,
        command: || "reproduce xenomai --duration 2s".into(),
    },
    Part {
        name: "linux",
        about: "how many re-arms stay in their bucket, without the lock?",
        seconds: 6,
        command: || "reproduce linux --only simple,network,cost --rounds 9 --duration 625ms".into(),
    },
    Part {
        name: "asterisk",
        about: "a sorted list or a heap under a scheduler of callbacks?",
        seconds: 5,
        command: || {
            let mode = asterisk::modes();
            format!("reproduce asterisk --mode {mode} --n 100,1k,10k,100k,1M --rounds 7 --budget 100ms")
        },
    },
    #[cfg(target_os = "linux")]
    Part {
        name: "latency",
        about: "how late is a wake-up, over each structure?",
        seconds: 3,
        command: || "latency --quiet --interval 250us --duration 3s".into(),
    },
    #[cfg(target_os = "linux")]
    Part {
        name: "helenos",
        about: "does the tree that tasks are registered in matter?",
        seconds: 2,
        command: || "reproduce helenos --n 2,10k,100k --rounds 6 --duration 16ms".into(),
    },
    Part {
        name: "nptl",
        about: "a kernel thread for each thread, M:N, or a manager?",
        seconds: 3,
        command: || {
            "reproduce nptl --only table,ladder --toplevel 1,4,20 --children 1,10 --starts 150 --rounds 6"
                .into()
        },
    },
    Part {
        name: "recommend",
        about: "which structure for the timers of one program, bind9?",
        seconds: 4,
        command: || "recommend sample:bind9 --base '!epoll' --rounds 7 --within 1s".into(),
    },
];

/// The structures that README and docs/structures.md recommend, in each storage that they have, and
/// the rivals that are usually fastest.
const CONTENDERS: &str = "adaptive/*,flat/*,ladder/*,fixed-delay/*,list/*,heap4/*,wheel/*,coarse/*,rb-cached/hook,\
                          binary-heap,orx-4ary";

/// A comparison of [`CONTENDERS`].
fn compared(what: &str, n: &str, within: &str) -> String {
    format!("bench {what} --n {n} --operations 10k --within {within} --structures '{CONTENDERS}'")
}

/// The tour takes at most this time.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// The classic experiments with their default arguments.
pub(crate) const REPRODUCTIONS: &[Part] = &[
    Part {
        name: "xenomai",
        about: "which structure for a real-time kernel's tick?",
        seconds: 15,
        command: || "reproduce xenomai".into(),
    },
    Part {
        name: "linux",
        about: "how many re-arms stay in their bucket, without the lock?",
        seconds: 30,
        command: || "reproduce linux".into(),
    },
    Part {
        name: "asterisk",
        about: "a sorted list or a heap under a scheduler of callbacks?",
        seconds: 180,
        command: || "reproduce asterisk".into(),
    },
    #[cfg(target_os = "linux")]
    Part {
        name: "helenos",
        about: "does the tree that tasks are registered in matter?",
        seconds: 180,
        command: || "reproduce helenos".into(),
    },
    Part {
        name: "nptl",
        about: "a kernel thread for each thread, M:N, or a manager?",
        seconds: 150,
        command: || "reproduce nptl".into(),
    },
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
    pub(crate) fn execute(&self, run: RunLine) -> Result<(), LabError> {
        let what = format!("The tour: {} parts, about {} s.", PLAN.len(), length(PLAN).as_secs());
        self.take("tour", &what, PLAN, run)
    }

    /// Runs the reproductions with their default length.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub(crate) fn reproduce(&self, run: RunLine) -> Result<(), LabError> {
        let minutes = length(REPRODUCTIONS).as_secs().div_ceil(60);
        let what = format!(
            "{} reproductions, about {minutes} minutes; `tickwright` alone runs short ones.",
            REPRODUCTIONS.len()
        );
        self.take("reproduce all", &what, REPRODUCTIONS, run)
    }

    /// Runs parts one after the other. Prints a few lines of each and writes the page.
    fn take(&self, name: &'static str, what: &str, parts: &[Part], run: RunLine) -> Result<(), LabError> {
        let files = self.output.open(name)?;
        let [page] = self.output.open_beside([("--out", Some(&self.out))])?;
        // A reader that has gone does not keep the page and the files from being written.
        let mut said = Ok(());
        let mut say = |words: &str| {
            if files.terminal() && said.is_ok() {
                said = output::print(words);
            }
        };
        say(&format!("{what} Ctrl-C ends it and keeps what is done.\n{}\n", Host::read()));
        if !registry::LEFT_OUT.is_empty() {
            say(&format!("{}\n", render::filled(registry::WITHOUT_RIVALS)));
        }
        let mut reports = Vec::new();
        for part in parts {
            let report = run(&(part.command)())?;
            if self.full {
                let (name, command) = (part.name, &report.command);
                say(&format!("\n== {name} (alone: {command})\n\n{}\n", render::text(&report)));
            }
            say(&page::block(part.name, part.about, &report));
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
        let all: Vec<_> = all.collect();
        let shown = page.map_or(Ok(()), |page| page.write(&render::html(&all)));
        if shown.is_ok() {
            say(&(page::conclusion(&advice) + &page::next(&self.out)));
        } else if !self.full {
            // No file took the page.
            all.iter().for_each(|(_, report)| say(&render::text(report)));
        }
        shown.and(files.write(&merged)).and(said)
    }
}

#[cfg(test)]
mod tests;
