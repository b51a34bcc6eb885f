//! A part of the tour: a command, as a user would type it.

use clap::Parser;
use serde::{Serialize, Serializer};

use crate::cli::{Bench, Cli, Command};
use crate::error::LabError;
use crate::experiment::conduct;
use crate::experiments::bench::Comparison;
use crate::models::scenario::Model;
use crate::reproduce::Reproduce;
use crate::result::Report;

/// A part of the tour.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Part {
    /// The name of the part.
    pub(crate) name: &'static str,
    /// The question that the part answers.
    pub(crate) about: &'static str,
    /// The duration in seconds.
    pub(crate) seconds: u64,
    /// Returns the command that repeats this part alone, without the name of the program.
    #[serde(serialize_with = "called")]
    pub(crate) command: fn() -> String,
}

fn called<S: Serializer>(command: &fn() -> String, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&command())
}

impl Part {
    /// Runs the part's command and returns its report, which names that command.
    ///
    /// # Errors
    /// The errors of the command.
    pub(crate) fn run(&self) -> Result<Report, LabError> {
        let command = (self.command)();
        let report = run(parse(&command)?)?;
        Ok(Report { command: format!("tickwright {command}"), ..report })
    }
}

/// Parses a command as a shell and this program would. Quotes stand around whole words.
pub(super) fn parse(command: &str) -> Result<Command, LabError> {
    let words = command.split(' ').map(|word| word.trim_matches('\''));
    let parsed = Cli::try_parse_from(["tickwright"].into_iter().chain(words));
    let parsed = parsed.map_err(|error| LabError::Command(error.to_string()))?;
    parsed.command.ok_or_else(|| LabError::usage("a part of the tour is not the tour"))
}

/// Runs a command and returns its report instead of printing it.
fn run(command: Command) -> Result<Report, LabError> {
    match command {
        Command::Bench(Bench::Hold(args)) => conduct(&Comparison::new(Model::Hold, args)),
        Command::Bench(Bench::Network(args)) => conduct(&Comparison::new(Model::Network, args)),
        Command::Reproduce(Reproduce::Xenomai(args)) => conduct(&args),
        Command::Reproduce(Reproduce::Linux(args)) => conduct(&args),
        Command::Reproduce(Reproduce::Asterisk(args)) => conduct(&args),
        #[cfg(target_os = "linux")]
        Command::Reproduce(Reproduce::Helenos(args)) => conduct(&*args),
        Command::Reproduce(Reproduce::Nptl(args)) => conduct(&*args),
        #[cfg(target_os = "linux")]
        Command::Latency(args) => conduct(args.run()),
        Command::Recommend(args) => conduct(&args),
        _ => Err(LabError::usage("this command is no part of the tour")),
    }
}
