//! The interface of all models. This module depends on none of them.

use tickwright::time::Instant;

use crate::attributes::Attributes;
use crate::error::{CreateError, JoinError};
use crate::id::ThreadId;

/// The body of a thread. A joiner receives what the body returns.
pub(crate) type Body = Box<dyn FnOnce() -> usize + Send>;

/// How long a join waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// Until the runtime's clock shows this instant.
    Until(Instant),
    /// Without a limit.
    Forever,
}

/// The operations of a model of threads. [`RuntimeHandle`](crate::RuntimeHandle) describes them.
pub(crate) trait Threads: Send + Sync {
    fn model(&self) -> &'static str;
    /// Creates a thread. Any thread can call this. After an error the body was dropped, and nothing
    /// else has changed.
    fn create(&self, attributes: &Attributes, body: Body) -> Result<ThreadId, CreateError>;
    fn join(&self, id: ThreadId, wait: Wait) -> Result<usize, JoinError>;
    fn detach(&self, id: ThreadId) -> Result<(), JoinError>;
    fn unpark(&self, id: ThreadId) -> Result<(), JoinError>;
    fn name(&self, id: ThreadId) -> Option<String>;
    fn is_registered(&self, id: ThreadId) -> bool;
    fn threads(&self) -> Vec<ThreadId>;
    fn live(&self) -> usize;
    fn now(&self) -> Instant;
    /// Stops creations from outside, and waits until no thread is left. If one of the runtime's own
    /// threads calls this, it does not wait: the last thread to end cleans up.
    fn close(&self);
}
