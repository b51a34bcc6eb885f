//! What the models over the platform's threads differ in: how a thread is started and ended.

use super::pthread::{Joinable, Refused, Run};
use super::request_pipe::StackLease;
use crate::attributes::Attributes;

/// A thread that was started, for the thread that joins it. Dropped instead, it is let go.
pub(crate) enum Started {
    /// The creator's.
    Own(Joinable),
    /// The manager's.
    Managed(StackLease),
}

impl Started {
    /// Joins the thread, whose body has ended. Waits until it is gone and frees its stack, or has
    /// the manager do so.
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

    /// The bytes of such a thread's stack.
    fn stack(&self, attributes: &Attributes) -> usize;

    /// Starts a thread that calls `run`. What comes back is for [`Started::reap`]; of a detached
    /// thread, which nobody reaps, nothing.
    fn start(&self, attributes: &Attributes, run: Run) -> Result<Option<Started>, Refused>;

    /// Whether [`Started::reap`] waits for a thread that runs.
    fn reap_waits(&self) -> bool {
        true
    }

    /// All threads have ended.
    fn closed(&self);
}
