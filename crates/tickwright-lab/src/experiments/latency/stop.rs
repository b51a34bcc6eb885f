//! Whether this process was stopped (Ctrl-Z, a debugger, a frozen shell) and went on.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use signal_hook::SigId;
use signal_hook::consts::SIGCONT;

use crate::error::LabError;

/// Hears of every SIGCONT while it lives.
#[derive(Debug)]
pub(super) struct Continued {
    heard: Arc<AtomicBool>,
    id: SigId,
}

impl Continued {
    /// From now on.
    ///
    /// # Errors
    /// When the system refuses the handler.
    pub(super) fn watch() -> Result<Self, LabError> {
        let heard = Arc::<AtomicBool>::default();
        let id = signal_hook::flag::register(SIGCONT, Arc::clone(&heard))
            .map_err(|source| LabError::io("watching for SIGCONT", source))?;
        Ok(Self { heard, id })
    }

    /// Whether one came since the last question.
    #[inline]
    pub(super) fn take(&mut self) -> bool {
        // A plain load first: the usual answer is no, a thousand times a second.
        self.heard.load(Ordering::Relaxed) && self.heard.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Continued {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.id);
    }
}
