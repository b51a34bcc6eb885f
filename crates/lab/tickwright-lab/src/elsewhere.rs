//! The commands that need Linux. On another system, each of these commands refuses to run, with an
//! error that names what works there instead.

use std::ffi::OsString;

use clap::{Args, Command};

use crate::error::LabError;

/// The arguments of a command that needs Linux. Any arguments are accepted, and none are read.
#[derive(Args, Debug)]
pub(crate) struct Elsewhere {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

/// The experiments that need Linux, and why.
pub(crate) const EXPERIMENTS: [(&str, &str); 1] =
    [("helenos", "its threads wait by futexes on pinned processors: `tickwright reproduce linux` runs here")];

/// Why `record` and `latency` need Linux.
pub(crate) const RECORD: &str = "it listens to the timers of a program through Linux's loader: \
     record a program in Rust by the feature `record` of the crate `tickwright`, or read its trace \
     by `tickwright import`";
pub(crate) const LATENCY: &str = "it sleeps by Linux's absolute timers and scheduling classes: \
     `tickwright reproduce xenomai --real` measures wake-ups here";

/// Returns the error of the command `name`.
pub(crate) fn refuse(name: &str, why: &str) -> LabError {
    LabError::Command(format!("`tickwright {name}` needs Linux: {why}"))
}

/// Returns the experiments that need Linux, as commands of `reproduce`.
pub(crate) fn experiments() -> impl Iterator<Item = Command> {
    EXPERIMENTS.into_iter().map(|(name, _)| Elsewhere::augment_args(Command::new(name)).about("Needs Linux"))
}
