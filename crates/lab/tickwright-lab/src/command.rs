//! Runs the command that was parsed.

use std::path::Path;

use clap_mangen::Man;

use crate::check;
use crate::cli::{self, Cli, Command};
#[cfg(not(target_os = "linux"))]
use crate::elsewhere;
use crate::error::LabError;
use crate::experiment::execute;
use crate::experiments::bench::{Bench, BenchArgs};
use crate::interrupt;
use crate::list;
use crate::models::scenario::Scenario;
use crate::output::{self, TextFile};
use crate::report_of::report_of;
use crate::results;

/// Runs one command.
///
/// # Errors
/// The errors of the command.
pub(crate) fn run(cli: Cli) -> Result<(), LabError> {
    match cli.command {
        None => cli.tour.execute(report_of),
        Some(Command::Bench(args)) => bench(*args),
        Some(Command::Reproduce(experiment)) => experiment.execute(report_of),
        #[cfg(target_os = "linux")]
        Some(Command::Latency(args)) => args.execute(),
        #[cfg(target_os = "linux")]
        Some(Command::LatencyLoad(args)) => args.execute(),
        #[cfg(target_os = "linux")]
        Some(Command::Record(args)) => args.execute(),
        #[cfg(not(target_os = "linux"))]
        Some(Command::Latency(_)) => Err(elsewhere::refuse("latency", elsewhere::LATENCY)),
        #[cfg(not(target_os = "linux"))]
        Some(Command::Record(_)) => Err(elsewhere::refuse("record", elsewhere::RECORD)),
        Some(Command::Import(args)) => at_once(|| args.execute()),
        Some(Command::Export(args)) => at_once(|| args.execute()),
        Some(Command::Describe(args)) => at_once(|| execute(&args, &args.output)),
        Some(Command::Replay(args)) => execute(&args, &args.output),
        Some(Command::Recommend(args)) => execute(&args, &args.output),
        Some(Command::Show(args)) => at_once(|| args.execute()),
        Some(Command::Compare(args)) => at_once(|| args.execute()),
        Some(Command::Report(args)) => at_once(|| args.execute()),
        Some(Command::Check) => check::run(),
        Some(Command::List { scenario: Some(name), .. }) => {
            at_once(|| output::print(Scenario::template(&name)?))
        }
        Some(Command::List { schema: true, .. }) => at_once(|| output::print(results::SCHEMAS)),
        Some(Command::List { json, .. }) => at_once(|| list(json)),
        Some(Command::Man { directory }) => at_once(|| man(directory.as_deref())),
        Some(Command::Completions { shell }) => at_once(|| {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut cli::command(), "tickwright", &mut script);
            output::print(&String::from_utf8_lossy(&script))
        }),
    }
}

/// Runs a command that measures nothing. The first SIGINT or SIGTERM therefore ends the process.
fn at_once(command: impl FnOnce() -> Result<(), LabError>) -> Result<(), LabError> {
    let _at_once = interrupt::at_once();
    command()
}

fn bench(args: BenchArgs) -> Result<(), LabError> {
    let bench = Bench::new(args)?;
    execute(&bench, bench.output())
}

fn list(json: bool) -> Result<(), LabError> {
    let listing = list::listing()?;
    if json {
        let text = serde_json::to_string_pretty(&listing);
        let text = text.map_err(|error| LabError::failed(format!("the list has no JSON: {error}")))?;
        output::print(&(text + "\n"))
    } else {
        output::print(&list::show(&listing))
    }
}

/// Writes one page to standard output, or all pages into a directory.
fn man(directory: Option<&Path>) -> Result<(), LabError> {
    if let Some(directory) = directory {
        let mut command = cli::command().disable_help_subcommand(true);
        command.build();
        return write_pages(&command, directory);
    }
    output::print(&page(&cli::command())?)
}

fn page(command: &clap::Command) -> Result<String, LabError> {
    let mut page = Vec::new();
    manual(command.clone())
        .render(&mut page)
        .map_err(|source| LabError::io("making the manual page", source))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn manual(command: clap::Command) -> Man {
    Man::new(command).source(concat!("tickwright ", env!("CARGO_PKG_VERSION"))).manual("Tickwright")
}

/// Writes the page of a command and the pages of its subcommands.
fn write_pages(command: &clap::Command, directory: &Path) -> Result<(), LabError> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_pages(inner, directory)?;
    }
    let path = directory.join(manual(command.clone()).get_filename());
    TextFile::open(&path)?.write(&page(command)?)
}
