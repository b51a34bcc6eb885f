//! The tour: `tickwright` without a command. The tour gives a first useful answer in under a
//! minute.

mod advice;
mod page;

use core::iter;
use core::time::Duration;
use std::path::PathBuf;

use clap::Args;

use crate::error::LabError;
use crate::experiments::ROWS;
use crate::experiments::row::{Part, Row};
use crate::host::Host;
use crate::output::{self, OutputArgs};
use crate::render;
use crate::result::Report;
use crate::structures::registry;

/// Runs a command line and returns its report instead of printing it. The program passes this
/// function to the tour, because the tour is one of the program's commands.
pub(crate) type RunLine = fn(&str) -> Result<Report, LabError>;

/// Returns the parts of the tour, in order.
pub(crate) fn plan() -> Vec<Part> {
    let part = |name, about, seconds, command: String| Part { name, about, seconds, command };
    let benches = [
        part(
            "hold",
            "which structure is fastest, at how many timers?",
            12,
            compared("hold-exp-sparse", "1,4,16,64,256,1k,10k,100k,1M", "3s"),
        ),
        part("network", "and when most time-outs are moved?", 6, compared("network", "1k,100k", "3s")),
    ];
    let others = [
        #[cfg(target_os = "linux")]
        part(
            "latency",
            "how late is a wake-up, over each structure?",
            3,
            "latency --quiet --interval 250us --duration 3s".into(),
        ),
        part(
            "recommend",
            "which structure for the timers of one program, bind9?",
            4,
            "recommend sample:bind9 --base '!epoll' --rounds 7 --within 1s".into(),
        ),
    ];
    benches.into_iter().chain(ROWS.iter().map(Row::part_of_tour)).chain(others).collect()
}

/// The structures that README and docs/structures.md recommend, in each storage that they support,
/// and the other crates' structures that are usually fastest.
const CONTENDERS: &str = "ladder/*,flat/*,fixed-delay/*,list/*,heap4/*,wheel/*,coarse/*,rb-cached/hook,\
                          binary-heap,orx-4ary";

/// Returns a comparison of [`CONTENDERS`].
fn compared(what: &str, n: &str, within: &str) -> String {
    format!("bench {what} --n {n} --operations 10k --within {within} --structures '{CONTENDERS}'")
}

/// The tour takes at most this time.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// Returns the experiments with their default arguments.
pub(crate) fn reproductions() -> Vec<Part> {
    ROWS.iter().map(Row::whole).collect()
}

/// Returns the total duration of parts.
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
    /// The first error of a part, which ends the tour. After an interruption, the finished
    /// measurements are written, and the error is [`LabError::Interrupted`].
    pub(crate) fn execute(&self, run: RunLine) -> Result<(), LabError> {
        let plan = plan();
        let what = format!("The tour: {} parts, about {} s.", plan.len(), length(&plan).as_secs());
        self.take("tour", &what, &plan, run)
    }

    /// Runs the reproductions with their default length.
    ///
    /// # Errors
    /// The errors of [`execute`](Self::execute).
    pub(crate) fn reproduce(&self, run: RunLine) -> Result<(), LabError> {
        let all = reproductions();
        let minutes = length(&all).as_secs().div_ceil(60);
        let what = format!(
            "{} reproductions, about {minutes} minutes; `tickwright` alone runs short ones.",
            all.len()
        );
        self.take("reproduce all", &what, &all, run)
    }

    /// Runs parts one after the other. Prints a few lines about each part, and writes the page.
    fn take(&self, name: &'static str, what: &str, parts: &[Part], run: RunLine) -> Result<(), LabError> {
        let files = self.output.open(&[])?;
        let [page] = self.output.open_beside([("--out", Some(&self.out))])?;
        // The page and the files are written even if the reader of standard output has closed its
        // end.
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
            let report = run(&part.command)?;
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
        let meaning = page::meaning(&reports);
        let front = page::front(&merged, parts, &reports, &advice);
        let all = iter::once(front).chain(reports).map(|report| (report.experiment.clone(), report));
        let all: Vec<_> = all.collect();
        let shown = page.map_or(Ok(()), |page| page.write(&render::html(&all)));
        if shown.is_ok() {
            say(&(meaning + &page::conclusion(&advice) + &page::next(&self.out)));
        } else if !self.full {
            // The page could not be written to any file.
            all.iter().for_each(|(_, report)| say(&render::text(report)));
        }
        shown.and(files.write(&merged)).and(said)
    }
}

#[cfg(test)]
mod tests;
