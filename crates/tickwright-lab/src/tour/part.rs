//! A part of the tour: a command, as a user would type it.

use serde::Serialize;

use crate::error::LabError;
use crate::result::Report;

/// Runs a command line and returns its report instead of printing it. The tour gets it from the
/// program, whose commands include the tour.
pub(crate) type RunLine = fn(&str) -> Result<Report, LabError>;

/// A part of the tour.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Part {
    /// The name of the part.
    pub(crate) name: &'static str,
    /// The question that the part answers.
    pub(crate) about: &'static str,
    /// The duration in seconds.
    pub(crate) seconds: u64,
    /// The command that repeats this part alone, without the name of the program.
    pub(crate) command: String,
}
