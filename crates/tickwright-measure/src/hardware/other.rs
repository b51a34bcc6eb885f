//! No hardware counters on this system.

use core::convert::Infallible;

use super::Reading;

/// The hardware counters of the calling thread. This system has none that can be read.
#[derive(Debug)]
pub struct Hardware(Infallible);

impl Hardware {
    /// Refuses.
    ///
    /// # Errors
    /// Always: only Linux offers the counters.
    pub fn start() -> Result<Self, String> {
        Err("no hardware counters on this system: only Linux offers them".into())
    }

    /// Never called, since [`start`](Self::start) refuses.
    pub fn read(&mut self) -> Option<Reading> {
        match self.0 {}
    }

    /// Never called, since [`start`](Self::start) refuses.
    pub fn scope(&self) -> &'static str {
        match self.0 {}
    }
}
