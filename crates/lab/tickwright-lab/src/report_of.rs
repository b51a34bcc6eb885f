//! Runs a command line of this program and returns its report instead of printing it.

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::error::LabError;
use crate::experiment::conduct;
use crate::experiments::bench::Bench;
use crate::reproduce::Reproduce;
use crate::result::Report;

/// Runs a command line, which omits the name of the program. Returns the report, which names the
/// command.
///
/// # Errors
/// The errors of the command, or an error if the command makes no report.
pub(crate) fn report_of(line: &str) -> Result<Report, LabError> {
    let report = run(parse(line)?)?;
    Ok(Report { command: format!("tickwright {line}"), ..report })
}

/// Parses a command as a shell and this program would. Quotes must enclose whole words.
fn parse(command: &str) -> Result<Command, LabError> {
    let words = command.split(' ').map(|word| word.trim_matches('\''));
    let parsed = Cli::try_parse_from(["tickwright"].into_iter().chain(words));
    let parsed = parsed.map_err(|error| LabError::Command(error.to_string()))?;
    parsed.command.ok_or_else(|| LabError::usage("a part of the tour is not the tour"))
}

/// Runs a command and returns its report instead of printing it.
fn run(command: Command) -> Result<Report, LabError> {
    match command {
        Command::Bench(args) => conduct(&Bench::new(*args)?),
        Command::Reproduce(Reproduce::One(row, arguments)) => row.report(&arguments),
        #[cfg(target_os = "linux")]
        Command::Latency(args) => conduct(args.run()),
        Command::Recommend(args) => conduct(&args),
        _ => Err(LabError::usage("this command is no part of the tour")),
    }
}

#[cfg(test)]
mod tests;
