//! The command line as data. The parser, the help, the manual pages and the completions are
//! generated from this data.

mod commands;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use self::commands::{Audience, audience};
#[cfg(not(target_os = "linux"))]
use crate::elsewhere::Elsewhere;
use crate::error::LabError;
use crate::experiments::bench::BenchArgs;
#[cfg(target_os = "linux")]
use crate::experiments::latency::{LatencyArgs, WorkerArgs};
use crate::output::{self, table};
#[cfg(target_os = "linux")]
use crate::record::RecordArgs;
use crate::reproduce::Reproduce;
use crate::results::{CompareArgs, PageArgs, ShowArgs};
use crate::tour::TourArgs;
use crate::traces::describe::DescribeArgs;
use crate::traces::export::ExportArgs;
use crate::traces::import::ImportArgs;
use crate::traces::recommend::RecommendArgs;
use crate::traces::replay::ReplayArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0    done, and every answer was right
  1    an answer was wrong or a check failed
  2    the request cannot be served as written
  3    a file, or standard output, could not be read or written
  4    the system refused memory
  130  SIGINT (Ctrl-C) stopped the run; what was measured so far has been written
  141  nobody reads standard output any more
  143  SIGTERM stopped the run; what was measured so far has been written
`record` ends with the code of the program that it ran.
A command that measures nothing ends at the first SIGINT or SIGTERM.
A second SIGINT or SIGTERM, a second later or more, ends the process at once.";

/// Builds the parser. The help and the manual page of every command end with examples and the exit
/// codes.
pub(crate) fn command() -> clap::Command {
    fn with_end(command: clap::Command, path: &str) -> clap::Command {
        let inside = |inner: clap::Command| {
            let path = format!("{path} {}", inner.get_name());
            with_end(inner, path.trim_start())
        };
        command.mut_subcommands(inside).after_help(commands::examples(path) + EXIT_CODES)
    }
    with_end(Cli::command(), "")
}

/// Parses the command line. `None` means that the help or the version was requested and printed.
///
/// # Errors
/// A mistake in the command line, or standard output that cannot be written.
pub(crate) fn parse() -> Result<Option<Cli>, LabError> {
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let error = match parsed {
        Ok(cli) => return Ok(Some(cli)),
        Err(error) => error,
    };
    if !error.use_stderr() {
        let printed = output::stdout().and_then(|mut out| error.print().and_then(|()| out.flush()));
        return printed.map(|()| None).map_err(|source| LabError::io("writing to standard output", source));
    }
    let rendered = error.render();
    let text = if io::stderr().is_terminal() && table::styled() {
        rendered.ansi().to_string()
    } else {
        rendered.to_string()
    };
    let tip = file_after_blank().map_or(String::new(), |tip| format!("\n  tip: {tip}\n"));
    Err(LabError::Command(text.trim_end().to_owned() + &tip))
}

/// Finds a file name that was meant for `--json` or `--csv` but comes after a blank instead of `=`.
fn file_after_blank() -> Option<String> {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    words.windows(2).find_map(|pair| {
        let [flag, file] = pair else { return None };
        let meant = ["--json", "--csv"].contains(&flag.as_str()) && !file.starts_with('-');
        meant.then(|| format!("to write to the file '{file}', say {flag}={file}"))
    })
}

/// Benchmarks and experiments on timer queues, with verified answers.
///
/// Without a command it gives the tour: a first useful answer in under a minute.
#[derive(Debug, Parser)]
#[command(name = "tickwright", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    /// The command to run. Without a command the program gives the tour.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) tour: TourArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure timer queues under scenarios: times, bytes, or the worst single call
    ///
    /// The scenarios of `hold` together take some eight minutes, those of `network` ten, of
    /// `one-shot` five, `expire` and `reads` two each. --n 100,10k makes it shorter, and --quick
    /// takes some seconds. `tickwright list` shows all scenarios, and `tickwright list --scenario
    /// NAME` prints one as a template for a file. One report has all scenarios of a run.
    Bench(Box<BenchArgs>),
    /// Repeat a classic experiment and print its published figures beside the new ones
    #[command(subcommand)]
    Reproduce(Reproduce),
    // This variant has no doc comment, because the help comes from the arguments' own description.
    #[cfg(target_os = "linux")]
    Latency(Box<LatencyArgs>),
    /// Measure how late the system wakes a program (needs Linux)
    #[cfg(not(target_os = "linux"))]
    Latency(Elsewhere),
    /// Run the load of `latency`; `latency` itself starts this command
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    LatencyLoad(WorkerArgs),
    #[cfg(target_os = "linux")]
    Record(Box<RecordArgs>),
    /// Record the timers of a program (needs Linux)
    #[cfg(not(target_os = "linux"))]
    Record(Elsewhere),
    /// Read a trace of timers that another program wrote, and write it as .twt
    Import(ImportArgs),
    /// Write a trace of timers as CSV, JSON lines or a Parquet file
    Export(ExportArgs),
    /// Describe the timers of a trace on one page: rates, population, delays, cancels, threads
    Describe(DescribeArgs),
    /// Replay a trace on every structure, on a virtual clock, with verified answers
    Replay(ReplayArgs),
    /// Recommend a structure for the timers of a trace or a profile
    ///
    /// Takes some seconds to half a minute, and at most a minute on a busy machine. A longer
    /// --within adds its time. If the time does not suffice, fewer structures, rounds or copies
    /// run, and the result says so. Each structure is verified before its time counts.
    Recommend(RecommendArgs),
    /// Print a result again that was written with --json=FILE
    Show(ShowArgs),
    /// Compare two results of one command: ratios with intervals, a rank test, a verdict
    Compare(CompareArgs),
    /// Write results as one HTML page that needs no network
    Report(PageArgs),
    /// Run every structure and scenario once and verify every answer, without timing
    Check,
    /// List commands and for whom each is, structures, scenarios and experiments
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
        /// Print the file of a built-in scenario, as a template for your own scenario
        #[arg(long, value_name = "NAME", conflicts_with = "json")]
        scenario: Option<String>,
        /// Print the JSON Schemas of results and of scenarios: each field, its unit, its bounds
        ///
        /// `result` describes what --json=FILE writes, and show, compare and report read.
        /// `scenario` describes what `bench FILE` reads: TOML with the same keys.
        #[arg(long, conflicts_with_all = ["json", "scenario"])]
        schema: bool,
    },
    /// Print the manual page (roff), or write one page per command into a directory
    Man {
        /// Directory for the pages
        directory: Option<PathBuf>,
    },
    /// Print the completions for a shell
    Completions {
        /// Name of the shell
        shell: Shell,
    },
}
