//! A part of the tour.

use core::time::Duration;

use serde::Serialize;

use crate::error::LabError;
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
    /// The complete command that runs only this part.
    pub(crate) command: &'static str,
    /// Runs the part within the given time.
    #[serde(skip)]
    pub(crate) run: fn(Duration) -> Result<Report, LabError>,
}
