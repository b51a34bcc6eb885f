//! The interface of all models. It knows none of them.

use tickwright::clock::Instant;

use crate::attributes::Attributes;
use crate::error::{CreateError, JoinError};
use crate::id::ThreadId;

/// The body of a thread. A thread that joins receives what the body returns.
pub type Body = Box<dyn FnOnce() -> usize + Send>;

/// How long a join waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until the runtime's clock shows this instant.
    Until(Instant),
    /// As long as it takes.
    Forever,
}

/// What a model of threads does. A program uses a [`Handle`](crate::Handle), which is more
/// convenient. A new model implements this trait.
pub trait Threads: Send + Sync {
    /// The model in a word.
    fn model(&self) -> &'static str;

    /// Creates a thread that runs `body`. From any thread.
    ///
    /// # Errors
    /// [`CreateError`]; then the body was dropped, and nothing else has changed.
    fn create(&self, attributes: &Attributes, body: Body) -> Result<ThreadId, CreateError>;

    /// Waits for a thread to end and takes what its body returned. The id is stale from then on.
    ///
    /// # Errors
    /// [`JoinError`].
    fn join(&self, id: ThreadId, wait: Wait) -> Result<usize, JoinError>;

    /// Nobody will join this thread.
    ///
    /// # Errors
    /// [`JoinError::NoSuchThread`]; [`JoinError::NotJoinable`] when it is detached already, or
    /// being joined.
    fn detach(&self, id: ThreadId) -> Result<(), JoinError>;

    /// Ends the thread's [`park`](crate::this_thread::park), or its next one.
    ///
    /// # Errors
    /// [`JoinError::NoSuchThread`].
    fn unpark(&self, id: ThreadId) -> Result<(), JoinError>;

    /// The thread's name, if it exists and was given one.
    fn name(&self, id: ThreadId) -> Option<String>;

    /// Whether the thread's body has not ended, by the registry.
    fn is_registered(&self, id: ThreadId) -> bool;

    /// The ids of all threads whose body has not ended, by the registry. A snapshot.
    fn threads(&self) -> Vec<ThreadId>;

    /// How many threads there are whose body has not ended.
    fn live(&self) -> usize;

    /// The time on the runtime's clock.
    fn now(&self) -> Instant;

    /// Lets no more threads be created from outside, and waits until none is left. From one of its
    /// own threads: does not wait, the last one to end cleans up.
    fn close(&self);
}
