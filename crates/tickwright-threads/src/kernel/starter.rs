//! What the models over the platform's threads differ in: how a thread is started and ended.

use super::pthread::{Joinable, Refused, Run};
use super::request_pipe::StackLease;
use crate::attributes::Attributes;

/// A thread that was started, for the thread that joins it. Dropped instead, it is let go.
pub(crate) enum Started {
    /// The creator's.
    Own(Joinable),
    /// The manager's.
    #[expect(dead_code, reason = "its drop is its use")]
    Managed(StackLease),
}

/// How a model starts and ends the platform's threads.
pub(crate) trait Starter: Send + Sync {
    /// The model in a word.
    fn model(&self) -> &'static str;

    /// The bytes of such a thread's stack.
    fn stack(&self, attributes: &Attributes) -> usize;

    /// Starts a thread that calls `run`. What comes back is for `reap`; of a detached thread, which
    /// nobody reaps, nothing.
    fn start(&self, attributes: &Attributes, run: Run) -> Result<Option<Started>, Refused>;

    /// Whether `reap` waits for a thread that runs.
    fn reap_waits(&self) -> bool {
        true
    }

    /// The thread, whose body has ended, is joined: waits until it is gone and frees its stack, or
    /// has another do so.
    fn reap(&self, started: Started);

    /// Called by each thread as the last thing that it does.
    fn leaving(&self) {}

    /// All threads have ended.
    fn closed(&self) {}
}
