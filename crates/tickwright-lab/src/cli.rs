//! The command line, as data: the parser, its help, the manual page and the completions all come
//! from here.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use tickwright::service::Structure;

use crate::adversary::pattern::Pattern;
use crate::c_peers::PeersArgs;
use crate::dictionaries::RegistryArgs;
use crate::error::LabError;
use crate::heap::HeapCommand;
#[cfg(target_os = "linux")]
use crate::latency::{LatencyArgs, WorkerArgs};
use crate::output::{OutputArgs, table};
use crate::registry;
use crate::reproduce::Reproduce;
use crate::scenario::{Operations, Population, Rounds, Seed};
use crate::sched::Sched;
use crate::threads::ThreadsArgs;

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
A second SIGINT or SIGTERM, a second later or more, ends the process at once.";

/// The parser. Every command states the exit codes, in its help and on its manual page.
pub(crate) fn command() -> clap::Command {
    fn with_exit_codes(command: clap::Command) -> clap::Command {
        command.mut_subcommands(with_exit_codes).after_help(EXIT_CODES)
    }
    with_exit_codes(Cli::command())
}

/// Reads the command line. Without a value, help or the version was asked for and has been printed.
///
/// # Errors
/// What is wrong with the command line; standard output that cannot be written.
pub(crate) fn parse() -> Result<Option<Cli>, LabError> {
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let error = match parsed {
        Ok(cli) => return Ok(Some(cli)),
        Err(error) => error,
    };
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| io::stdout().flush());
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

/// A file that was meant for `--json` or `--csv`, but stands behind a blank.
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
#[command(name = "tickwright", version)]
pub(crate) struct Cli {
    /// What to do; the tour when nothing is asked for.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure timer queues
    #[command(subcommand)]
    Bench(Bench),
    /// Run a classic experiment anew, beside its published figures
    #[command(subcommand)]
    Reproduce(Reproduce),
    // Its arguments say what it is, at length.
    #[cfg(target_os = "linux")]
    Latency(LatencyArgs),
    /// The load of `latency`, which starts it
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    LatencyLoad(WorkerArgs),
    /// Try the heap that is a part by itself
    #[command(subcommand)]
    Heap(HeapCommand),
    /// Try the callback scheduler by itself
    #[command(subcommand)]
    Sched(Sched),
    /// Run every structure and scenario once, verify every answer, time nothing
    Check,
    /// Show structures, scenarios and experiments
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the manual page (roff), or write one page per command into a directory
    Man {
        /// Where the pages go
        directory: Option<PathBuf>,
    },
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Pop the earliest timer and insert it anew, at constant population
    Hold(CountedArgs),
    /// Time-outs of a network server: most are moved, some are set anew, one in a hundred expires
    Network(CountedArgs),
    /// Arm timers that all expire, then deliver them tick by tick
    Expire(TimedArgs),
    /// What asking costs while the queue changes: next wake-up, next expiry and peek
    Reads(CountedArgs),
    /// Deadlines that an attacker chooses: the worst single call beside the median one
    Adversary(AdversaryArgs),
    /// Bytes per pending timer, and of an empty queue
    Memory(MemoryArgs),
    /// One C program over our C library, libuv, libevent and libev: add, re-arm, delete
    CPeers(PeersArgs),
    /// What an add and a delete cost through the scheduler, beside their parts
    Scheduler(SchedulerArgs),
    /// Registries over each dictionary: create, destroy, look up; and the share of a thread's life
    /// that the tree takes
    Registry(RegistryArgs),
    /// Creating, switching and waking threads, beside std, may, tokio and a futex
    Threads(ThreadsArgs),
}

/// Arguments of the comparisons whose samples can be of any length.
#[derive(Debug, Args)]
pub(crate) struct CountedArgs {
    /// Operations in a sample
    #[arg(long, allow_hyphen_values = true, value_parser = Operations::parse)]
    pub(crate) operations: Option<Operations>,
    #[command(flatten)]
    pub(crate) timed: TimedArgs,
}

/// Arguments of all comparisons by rounds.
#[derive(Debug, Args)]
pub(crate) struct TimedArgs {
    /// A scenario by name, or a file that ends in .toml; may be repeated
    /// [default: all that are built in]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) scenario: Vec<String>,
    /// Structures, with * for anything and ! to take away: 'heap4/*,!list/*'
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    pub(crate) structures: Option<Vec<String>>,
    /// What ratios refer to [default: the fastest baseline of each population]
    #[arg(long, value_name = "STRUCTURE")]
    pub(crate) baseline: Option<String>,
    /// Populations: 2,500,10k,1M [default: the scenario's]
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = Population::parse)]
    pub(crate) n: Option<Vec<Population>>,
    /// Samples of each structure; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, value_parser = Rounds::parse)]
    pub(crate) rounds: Option<Rounds>,
    /// What delays are generated from
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    pub(crate) seed: Option<Seed>,
    /// Populations up to 10,000, 9 rounds, samples of at most 10,000 operations: seconds instead of
    /// minutes
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Arguments of `bench adversary`.
#[derive(Debug, Args)]
pub(crate) struct AdversaryArgs {
    /// Structures, with * for anything and ! to take away
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', default_value = "*")]
    pub(crate) structures: Vec<String>,
    /// Deadlines of one kind alone; may be repeated [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) pattern: Vec<Pattern>,
    /// Timers of an attack
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "100k", value_parser = Population::parse)]
    pub(crate) n: Vec<Population>,
    /// How many timers an advance may deliver or move, where it has a budget
    #[arg(long, allow_hyphen_values = true, default_value = "64", value_parser = Operations::parse)]
    pub(crate) budget: Operations,
    /// Times that each call is timed; the least counts
    #[arg(long, allow_hyphen_values = true, default_value = "5", value_parser = Rounds::parse)]
    pub(crate) rounds: Rounds,
    /// What orders are generated from
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    pub(crate) seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Arguments of `bench memory`.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// Structures, with * for anything and ! to take away
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', default_value = "*")]
    pub(crate) structures: Vec<String>,
    /// Populations
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "1k,100k,1M", value_parser = Population::parse)]
    pub(crate) n: Vec<Population>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Arguments of `bench scheduler`.
#[derive(Debug, Args)]
pub(crate) struct SchedulerArgs {
    /// Structures of the scheduler, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "heap4,wheel", value_parser = registry::family)]
    pub(crate) structures: Vec<Structure>,
    /// How many timers are pending
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "1k,10k,100k,1M", value_parser = Population::parse)]
    pub(crate) n: Vec<Population>,
    /// Samples of each; below 6 nothing can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "15", value_parser = Rounds::parse)]
    pub(crate) rounds: Rounds,
    /// Operations in a sample, at least
    #[arg(long, allow_hyphen_values = true, default_value = "50k", value_parser = Operations::parse)]
    pub(crate) operations: Operations,
    /// What delays and orders are generated from
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    pub(crate) seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
