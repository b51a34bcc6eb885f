//! No hardware counters on this system.

use core::convert::Infallible;

use super::Reading;

/// The hardware counters of the calling thread. This system has no counters that can be read.
#[derive(Debug)]
pub struct Hardware(Infallible);

impl Hardware {
    /// Refuses.
    ///
    /// # Errors
    /// Always refuses: only Linux offers the counters.
    pub fn start() -> Result<Self, String> {
        Err("no hardware counters on this system: only Linux offers them".into())
    }

    /// Nobody calls this, since [`start`](Self::start) refuses.
    pub fn read(&mut self) -> Option<Reading> {
        match self.0 {}
    }

    /// Nobody calls this, since [`start`](Self::start) refuses.
    pub fn scope(&self) -> &'static str {
        match self.0 {}
    }
}
