//! Ctrl-C: the first asks the run to stop at the next sample and print what it has, the second ends the process.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::error::LabError;

static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Watches for Ctrl-C from now on. Later calls do nothing.
///
/// # Errors
/// When the system refuses the handler.
pub(crate) fn install() -> Result<(), LabError> {
    if REQUESTED.get().is_some() {
        return Ok(());
    }
    let requested = Arc::clone(REQUESTED.get_or_init(Arc::default));
    // In this order: the second signal finds the flag set by the first.
    flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&requested))
        .and_then(|_| flag::register(SIGINT, requested))
        .map(|_| ())
        .map_err(|source| LabError::io("watching for Ctrl-C", source))
}

/// Whether the user asked to stop. Cheap, but not for the inside of a timed loop.
pub(crate) fn requested() -> bool {
    REQUESTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
