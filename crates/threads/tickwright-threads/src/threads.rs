//! The interface that every model implements. This module does not depend on any model.

use tickwright::time::Instant;

use crate::attributes::Attributes;
use crate::error::{CreateError, JoinError};
use crate::id::ThreadId;

/// The body of a thread. A joiner gets the value that the body returns.
pub(crate) type Body = Box<dyn FnOnce() -> usize + Send>;

/// How long a join waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The join does not wait.
    No,
    /// The join waits until the runtime's clock shows this instant.
    Until(Instant),
    /// The join waits without a limit.
    Forever,
}

/// The operations of a model of threads. [`RuntimeHandle`](crate::RuntimeHandle) describes them.
pub(crate) trait Threads: Send + Sync {
    fn model(&self) -> &'static str;
    /// Creates a thread. Any thread can call this. If there is an error, the body is dropped, and
    /// nothing else changes.
    fn create(&self, attributes: &Attributes, body: Body) -> Result<ThreadId, CreateError>;
    fn join(&self, id: ThreadId, wait: Wait) -> Result<usize, JoinError>;
    fn detach(&self, id: ThreadId) -> Result<(), JoinError>;
    fn unpark(&self, id: ThreadId) -> Result<(), JoinError>;
    fn name(&self, id: ThreadId) -> Option<String>;
    fn is_registered(&self, id: ThreadId) -> bool;
    fn threads(&self) -> Vec<ThreadId>;
    fn live(&self) -> usize;
    fn now(&self) -> Instant;
    /// Refuses creations from outside of the runtime, and waits until the runtime has no threads.
    /// If one of the runtime's own threads calls this, it does not wait, and the thread that ends
    /// last cleans up.
    fn close(&self);
}
