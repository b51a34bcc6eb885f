//! The interface of all models. This module depends on none of them.

use tickwright::time::Instant;

use crate::attributes::Attributes;
use crate::error::{CreateError, JoinError};
use crate::id::ThreadId;

/// The body of a thread. A joiner receives what the body returns.
pub type Body = Box<dyn FnOnce() -> usize + Send>;

/// How long a join waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until the runtime's clock shows this instant.
    Until(Instant),
    /// Without a limit.
    Forever,
}

/// The operations of a model of threads. A program uses a [`RuntimeHandle`](crate::RuntimeHandle),
/// which is more convenient. A new model implements this trait.
pub trait Threads: Send + Sync {
    /// The name of the model, in one word.
    fn model(&self) -> &'static str;

    /// Creates a thread that runs `body`. Any thread may call this.
    ///
    /// # Errors
    /// [`CreateError`]; then the body was dropped, and nothing else has changed.
    fn create(&self, attributes: &Attributes, body: Body) -> Result<ThreadId, CreateError>;

    /// Waits for a thread to end and takes what its body returned. The id is stale from then on.
    ///
    /// # Errors
    /// [`JoinError`].
    fn join(&self, id: ThreadId, wait: Wait) -> Result<usize, JoinError>;

    /// Detaches a thread: nobody will join it.
    ///
    /// # Errors
    /// [`JoinError::NoSuchThread`]; [`JoinError::NotJoinable`] if the thread is detached already,
    /// or being joined.
    fn detach(&self, id: ThreadId) -> Result<(), JoinError>;

    /// Ends the thread's [`park`](crate::this_thread::park), or its next one.
    ///
    /// # Errors
    /// [`JoinError::NoSuchThread`].
    fn unpark(&self, id: ThreadId) -> Result<(), JoinError>;

    /// The thread's name, if it exists and was given one.
    fn name(&self, id: ThreadId) -> Option<String>;

    /// Whether the thread is registered, so that its body has not ended.
    fn is_registered(&self, id: ThreadId) -> bool;

    /// A snapshot of the ids of all registered threads, whose bodies have not ended.
    fn threads(&self) -> Vec<ThreadId>;

    /// The number of threads whose body has not ended.
    fn live(&self) -> usize;

    /// The time on the runtime's clock.
    fn now(&self) -> Instant;

    /// Stops creations from outside, and waits until no thread is left. If one of the runtime's own
    /// threads calls this, it does not wait: the last thread to end cleans up.
    fn close(&self);
}
