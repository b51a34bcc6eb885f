//! `tickwright reproduce`: the experiments of the list.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use crate::error::LabError;
use crate::experiments::row::Row;
use crate::experiments::{self, ROWS};
use crate::tour::{RunLine, TourArgs};

/// What to reproduce.
#[derive(Debug)]
pub(crate) enum Reproduce {
    All(TourArgs),
    One(&'static Row, ArgMatches),
}

impl Subcommand for Reproduce {
    fn augment_subcommands(command: Command) -> Command {
        let all = TourArgs::augment_args(Command::new("all"))
            .about("Run all experiments, one after the other, and write one page")
            .long_about(
                "Run all experiments, one after the other, and write one page\n\n\
                 Takes about ten minutes, as its first line says. --full prints more, and takes no longer.",
            );
        let command = command.subcommand(all).subcommands(ROWS.iter().map(|row| row.command()));
        #[cfg(not(target_os = "linux"))]
        let command = command.subcommands(crate::elsewhere::experiments());
        command
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        name == "all" || experiments::row(name).is_some()
    }
}

impl FromArgMatches for Reproduce {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (name, arguments) = matches.subcommand().ok_or_else(missing)?;
        #[cfg(not(target_os = "linux"))]
        if let Some((name, why)) = crate::elsewhere::EXPERIMENTS.iter().find(|(of, _)| *of == name) {
            let refused = crate::elsewhere::refuse(&format!("reproduce {name}"), why);
            return Err(clap::Error::raw(ErrorKind::InvalidSubcommand, refused));
        }
        match experiments::row(name) {
            Some(row) => Ok(Self::One(row, arguments.clone())),
            None => TourArgs::from_arg_matches(arguments).map(Self::All),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Reproduce {
    /// Runs the experiment and prints its report. To reproduce all experiments, `run` runs the
    /// command line of each.
    ///
    /// # Errors
    /// The errors of the experiment.
    pub(crate) fn execute(&self, run: RunLine) -> Result<(), LabError> {
        match self {
            Self::All(args) => args.reproduce(run),
            Self::One(row, arguments) => row.execute(arguments),
        }
    }
}
