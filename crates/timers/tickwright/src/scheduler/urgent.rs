//! The host tick of a scheduler, and the guard that makes it wait.

use core::fmt;

use super::base::Scheduler;
use crate::service::{HostTick, Refusal, TimerId};

/// While this guard lives, the host tick of its scheduler waits. Any thread may hold one or more
/// guards.
#[must_use = "dropped at once, it holds nothing back"]
pub struct Urgent<'a, C>(&'a Scheduler<C>);

impl<C> Scheduler<C> {
    /// Makes a timer the [host tick](crate::service::host). Among timers that are due in the same
    /// tick the host tick runs last. While [urgent work](Self::urgent) runs, the host tick waits.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::HostTaken`].
    pub fn set_host(&self, id: TimerId) -> Result<(), Refusal> {
        self.lock().service.set_host(id)
    }

    /// The host tick, if there is one.
    #[must_use]
    pub fn host(&self) -> Option<HostTick> {
        self.lock().service.host()
    }

    /// Begins urgent work, which ends when the guard is dropped. Meanwhile the host tick waits, and
    /// the alarm is set for the timer after it.
    pub fn urgent(&self) -> Urgent<'_, C> {
        self.lock().service.begin_urgent();
        Urgent(self)
    }
}

impl<C> Drop for Urgent<'_, C> {
    fn drop(&mut self) {
        self.0.lock().service.end_urgent();
    }
}

impl<C> fmt::Debug for Urgent<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Urgent")
    }
}
