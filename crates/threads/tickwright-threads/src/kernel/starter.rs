//! The difference between the models over the platform's threads: how a thread is started and
//! ended.

use super::pthread::{Joinable, Refused, Run};
use super::request_pipe::StackLease;
use crate::attributes::Attributes;

/// A started thread, held for its joiner. If the value is dropped instead, the thread is released
/// without a join.
pub(crate) enum Started {
    /// The creator's.
    Own(Joinable),
    /// The manager's.
    Managed(StackLease),
}

impl Started {
    /// Joins a thread whose body has ended. Waits until the thread is gone and frees its stack, or
    /// requests that of the manager.
    pub(crate) fn reap(self) {
        match self {
            Self::Own(thread) => thread.join(),
            Self::Managed(lease) => drop(lease),
        }
    }
}

/// How a model starts and ends the platform's threads.
pub(crate) trait Starter: Send + Sync {
    /// The name of the model, in one word.
    fn model(&self) -> &'static str;

    /// The size of such a thread's stack, in bytes.
    fn stack(&self, attributes: &Attributes) -> usize;

    /// Starts a thread that calls `run`. Returns the value for [`Started::reap`], or `None` for a
    /// detached thread, which nobody reaps.
    fn start(&self, attributes: &Attributes, run: Run) -> Result<Option<Started>, Refused>;

    /// Whether [`Started::reap`] may be called, and waits, while the body still runs.
    fn reap_waits(&self) -> bool {
        true
    }

    /// All threads have ended.
    fn closed(&self);
}
