//! A row of the list of experiments: the content of the experiment's file, and the functions that
//! run the experiment.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Table;

use crate::clock::{FakeMeter, Meter, OsClock};
use crate::error::LabError;
use crate::experiment::{Experiment, conduct_plan};
use crate::models::scenario;
use crate::output::OutputArgs;
use crate::result::Report;

/// The content of an experiment's file `NAME.toml`, except its figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// The experiment in one line, for the help.
    about: String,
    /// The time that the experiment takes, and which arguments shorten it, for the help.
    hint: Option<String>,
    /// The question that the experiment answers, for the tour.
    question: String,
    /// The time that the experiment takes with its default arguments, in seconds.
    seconds: u64,
    /// Arguments of a short run that exercises every part, for `check`.
    check: String,
    /// Arguments and what they do, for the help.
    examples: Vec<(String, String)>,
    tour: Short,
    #[serde(rename = "published")]
    _published: Source,
}

/// The experiment as a part of the tour.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Short {
    seconds: u64,
    arguments: String,
}

/// Where an experiment's figures were published. The experiment's own code reads the figures.
#[derive(Debug, Deserialize)]
struct Source {
    #[serde(rename = "source")]
    _source: String,
}

/// Checks whether a run repeated the experiment. If the run did not repeat it, the run's figures
/// describe another workload.
type Accept = fn(&Report) -> Result<(), String>;

/// An experiment that can be reproduced.
#[derive(Debug)]
pub(crate) struct Row {
    /// The name on the command line.
    pub(crate) name: &'static str,
    file: File,
    augment: fn(Command) -> Command,
    conduct: fn(&ArgMatches, &dyn Meter, Option<&OutputArgs>) -> Result<Report, LabError>,
    accept: Accept,
}

/// A part of the tour: a command, as a user would type it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Part {
    /// The name of the part.
    pub(crate) name: &'static str,
    /// The question that the part answers.
    pub(crate) about: &'static str,
    /// The duration in seconds.
    pub(crate) seconds: u64,
    /// The command that repeats only this part, without the name of the program.
    pub(crate) command: String,
}

/// Runs the experiment of these arguments. Prints the report if there are outputs.
fn conduct<A: Args + Experiment>(
    arguments: &ArgMatches,
    meter: &dyn Meter,
    output: Option<&OutputArgs>,
) -> Result<Report, LabError> {
    let asked = A::from_arg_matches(arguments).map_err(|error| LabError::Command(error.to_string()))?;
    let plan = asked.plan()?;
    let files = output.map(|output| output.open(&asked.inputs())).transpose()?;
    files.iter().try_for_each(|files| files.expect(&asked.expected(&plan)))?;
    let report = conduct_plan(&asked, &plan, meter)?;
    files.map_or(Ok(()), |files| files.deliver(&report))?;
    Ok(report)
}

/// Reads the table `published` of an experiment's file. The file is first parsed into a generic
/// table, because a parser for each type of figures would be compiled for each experiment.
///
/// # Errors
/// If the file has a mistake. The tests show that no file has a mistake.
pub(crate) fn published<T: DeserializeOwned>(file: &str) -> Result<T, LabError> {
    let wrong = |error| LabError::usage(format!("the figures of an experiment: {error}"));
    figures(file)?.try_into().map_err(wrong)
}

fn figures(file: &str) -> Result<Table, LabError> {
    let Figures { published } = scenario::parse("the figures of an experiment", file)?;
    Ok(published)
}

#[derive(Deserialize)]
struct Figures {
    published: Table,
}

impl Row {
    /// Creates a row for the arguments `A`. `file` is the text of the experiment's file.
    pub(crate) fn of<A: Args + Experiment>(name: &'static str, file: &str) -> Self {
        let file = scenario::parse(name, file).expect("a test parses each file");
        Self { name, file, augment: A::augment_args, conduct: conduct::<A>, accept: |_| Ok(()) }
    }

    /// Adds a test that each run has to pass. The report is printed before the test.
    pub(crate) fn accepted_by(self, accept: Accept) -> Self {
        Self { accept, ..self }
    }

    /// Returns the subcommand of `reproduce`.
    pub(crate) fn command(&'static self) -> Command {
        let File { about, hint, .. } = &self.file;
        let long = hint.as_ref().map_or(about.clone(), |hint| format!("{about}\n\n{hint}"));
        let command = OutputArgs::augment_args((self.augment)(Command::new(self.name)));
        command.about(about).long_about(long)
    }

    /// Returns the examples of the subcommand, and what they do.
    pub(crate) fn examples(&self) -> impl Iterator<Item = (String, &str)> {
        let line = |arguments: &str| format!("tickwright reproduce {} {arguments}", self.name);
        self.file.examples.iter().map(move |(arguments, what)| (line(arguments), what.as_str()))
    }

    /// Returns the experiment as a part of the tour.
    pub(crate) fn part_of_tour(&'static self) -> Part {
        let File { question, tour, .. } = &self.file;
        let command = format!("reproduce {} {}", self.name, tour.arguments);
        Part { name: self.name, about: question, seconds: tour.seconds, command }
    }

    /// Returns the experiment with its default arguments.
    pub(crate) fn whole(&'static self) -> Part {
        let File { question, seconds, .. } = &self.file;
        let command = format!("reproduce {}", self.name);
        Part { name: self.name, about: question, seconds: *seconds, command }
    }

    /// Runs the experiment to verify its answers. Its times are ignored.
    ///
    /// # Errors
    /// A description of a wrong answer.
    pub(crate) fn check(&'static self) -> Result<String, String> {
        let words = self.file.check.split_ascii_whitespace();
        let arguments = self.command().no_binary_name(true).try_get_matches_from(words);
        let arguments = arguments.map_err(|error| error.to_string())?;
        let report = (self.conduct)(&arguments, &FakeMeter::steady(1), None);
        let report = report.map_err(|error| error.to_string())?;
        if report.interrupted {
            return Err("interrupted".into());
        }
        (self.accept)(&report)?;
        Ok(format!("{} series of verified answers", report.series.len()))
    }

    /// Runs the experiment and prints its report.
    ///
    /// # Errors
    /// The errors of the experiment, or an error if the run did not repeat the experiment.
    pub(crate) fn execute(&self, arguments: &ArgMatches) -> Result<(), LabError> {
        let output = OutputArgs::from_arg_matches(arguments);
        let output = output.map_err(|error| LabError::Command(error.to_string()))?;
        let report = (self.conduct)(arguments, &OsClock::start(), Some(&output))?;
        (self.accept)(&report).map_err(LabError::failed)
    }

    /// Runs the experiment and returns its report.
    ///
    /// # Errors
    /// The errors of the experiment.
    pub(crate) fn report(&self, arguments: &ArgMatches) -> Result<Report, LabError> {
        (self.conduct)(arguments, &OsClock::start(), None)
    }
}

#[cfg(test)]
mod tests;
