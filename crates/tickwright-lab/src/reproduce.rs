//! `tickwright reproduce`: the classic experiments.

use clap::Subcommand;

use crate::error::LabError;
use crate::experiment::execute;
#[cfg(target_os = "linux")]
use crate::experiments::helenos;
use crate::experiments::{asterisk, linux, nptl, xenomai};
use crate::tour::{RunLine, TourArgs};

/// The experiments that can be reproduced.
#[derive(Debug, Subcommand)]
pub(crate) enum Reproduce {
    /// Run all the classic experiments, one after the other, and write one page
    ///
    /// Takes about ten minutes, as its first line says. --full prints more, and takes no longer.
    All(TourArgs),
    /// Xenomai 2016: which structure for around 500 timers of a real-time kernel?
    Xenomai(xenomai::XenomaiArgs),
    /// Linux 2016: how many re-arms can stay in their bucket, and without the lock?
    Linux(linux::LinuxArgs),
    /// Asterisk 2009: a sorted list or a heap under a scheduler of callbacks?
    ///
    /// Takes about two minutes. --only takes one part of it, --rounds fewer samples.
    Asterisk(asterisk::AsteriskArgs),
    /// HelenOS 2018: does it matter to a ping-pong which tree the tasks are registered in?
    ///
    /// Takes about two minutes. --duration 50ms or --only one of the parts makes it shorter.
    #[cfg(target_os = "linux")]
    Helenos(Box<helenos::HelenosArgs>),
    /// NPTL 2002: a kernel thread for each thread, M:N, or a manager?
    ///
    /// Takes two to three minutes. --toplevel 1,10 and --children 1,10 take fewer cells of the
    /// table, --only fewer parts.
    Nptl(Box<nptl::NptlArgs>),
}

impl Reproduce {
    /// Runs the experiment and prints its report. All experiments are lines for `run`.
    ///
    /// # Errors
    /// The errors of the experiment.
    pub(crate) fn execute(&self, run: RunLine) -> Result<(), LabError> {
        match self {
            Self::All(args) => args.reproduce(run),
            Self::Xenomai(args) => args.execute(),
            Self::Linux(args) => execute(args, &args.output),
            Self::Asterisk(args) => execute(args, &args.output),
            #[cfg(target_os = "linux")]
            Self::Helenos(args) => execute(&**args, &args.output),
            Self::Nptl(args) => execute(&**args, &args.output),
        }
    }
}
