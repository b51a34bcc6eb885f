//! A runtime of a model that the program chooses, and the handle to its threads.

use core::fmt;
use core::ops::Deref;
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex};

use tickwright::clock::Instant;

use crate::attributes::Attributes;
use crate::error::{CreateError, JoinError, RuntimeError};
use crate::id::ThreadId;
use crate::kernel::{Manager, OneToOne};
use crate::many::ManyToMany;
use crate::memory::{self, Counted, try_box};
use crate::primitive::lock;
use crate::threads::{Threads, Wait};

/// Creates threads of one runtime, joins and wakes them. Clones are the same runtime; when that has
/// ended, creating says so.
#[derive(Clone)]
pub struct Handle {
    threads: Arc<dyn Threads>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("model", &self.threads.model()).finish_non_exhaustive()
    }
}

impl Handle {
    /// Over a model of one's own.
    #[must_use]
    pub fn new(threads: Arc<dyn Threads>) -> Self {
        Self { threads }
    }

    /// The model in a word: `one-to-one`, `m:n`, `manager`.
    #[must_use]
    pub fn model(&self) -> &'static str {
        self.threads.model()
    }

    /// Whether the other one is of the same runtime.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        core::ptr::addr_eq(Arc::as_ptr(&self.threads), Arc::as_ptr(&other.threads))
    }

    /// Creates a thread.
    ///
    /// # Errors
    /// [`CreateError`]; then the body was dropped, and all other threads go on.
    pub fn create(
        &self,
        attributes: &Attributes,
        body: impl FnOnce() -> usize + Send + 'static,
    ) -> Result<ThreadId, CreateError> {
        // Refused, it is dropped here.
        let body = try_box(body).map_err(|_body| CreateError::OutOfMemory)?;
        self.threads.create(attributes, body)
    }

    /// Creates a thread that returns something other than a number. It is detached when its handle
    /// is dropped.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn spawn<T: Send + 'static>(
        &self,
        attributes: &Attributes,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>, CreateError> {
        let left = Counted::try_new(Mutex::new(None)).map_err(|_| CreateError::OutOfMemory)?;
        let put = left.clone();
        let id = self.create(attributes, move || {
            let value = body();
            *lock(&put) = Some(value);
            0
        })?;
        Ok(JoinHandle { handle: self.clone(), id, left, open: true })
    }

    /// Waits for a thread to end, and takes what its body returned.
    ///
    /// # Errors
    /// All of [`JoinError`] but `Busy` and `TimedOut`.
    pub fn join(&self, id: ThreadId) -> Result<usize, JoinError> {
        self.threads.join(id, Wait::Forever)
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// [`JoinError::Busy`] if it runs still.
    pub fn try_join(&self, id: ThreadId) -> Result<usize, JoinError> {
        self.threads.join(id, Wait::No)
    }

    /// The same until the runtime's clock shows `at`.
    ///
    /// # Errors
    /// [`JoinError::TimedOut`] if it runs still then.
    pub fn join_until(&self, id: ThreadId, at: Instant) -> Result<usize, JoinError> {
        self.threads.join(id, Wait::Until(at))
    }

    /// The same for so long.
    ///
    /// # Errors
    /// [`JoinError::TimedOut`] if it runs still then.
    pub fn join_timeout(&self, id: ThreadId, timeout: Duration) -> Result<usize, JoinError> {
        self.join_until(id, self.now() + timeout)
    }

    /// Nobody will join this thread: what it leaves is dropped when it ends.
    ///
    /// # Errors
    /// [`JoinError::NoSuchThread`]; [`JoinError::NotJoinable`] when it is detached already, or
    /// being joined.
    pub fn detach(&self, id: ThreadId) -> Result<(), JoinError> {
        self.threads.detach(id)
    }

    /// Ends the thread's [`park`](crate::this_thread::park), or its next one. Several in a row are
    /// one.
    ///
    /// # Errors
    /// [`JoinError::NoSuchThread`].
    pub fn unpark(&self, id: ThreadId) -> Result<(), JoinError> {
        self.threads.unpark(id)
    }

    /// The thread's name, if it exists and was given one.
    #[must_use]
    pub fn name(&self, id: ThreadId) -> Option<String> {
        self.threads.name(id)
    }

    /// Whether the thread is registered: from before its creation returns until its body has ended.
    /// Always false without a dictionary.
    #[must_use]
    pub fn is_registered(&self, id: ThreadId) -> bool {
        self.threads.is_registered(id)
    }

    /// The ids of all threads whose body has not ended, worker by worker, in order. A snapshot. It
    /// is empty for a runtime without a dictionary.
    #[must_use]
    pub fn threads(&self) -> Vec<ThreadId> {
        self.threads.threads()
    }

    /// How many threads there are whose body has not ended. A snapshot.
    #[must_use]
    pub fn live(&self) -> usize {
        self.threads.live()
    }

    /// The time on the runtime's clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.threads.now()
    }

    /// Runs `body` as a thread of the runtime, and waits for it. What is in it is inside: creating
    /// and joining are on the short path.
    ///
    /// # Errors
    /// Why it could not be created. A panic in it goes on in the caller.
    pub fn run<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CreateError> {
        match self.spawn(&Attributes::new(), body)?.join() {
            Ok(value) => Ok(value),
            Err(JoinError::Panicked(panic)) => std::panic::resume_unwind(panic),
            // Nobody else has its id, and it waits for nobody.
            Err(_) => Err(CreateError::Closed),
        }
    }
}

/// A thread that will return a `T`. Detached when it is dropped.
#[derive(Debug)]
pub struct JoinHandle<T> {
    handle: Handle,
    id: ThreadId,
    left: Counted<Mutex<Option<T>>>,
    open: bool,
}

impl<T> JoinHandle<T> {
    /// The thread.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Waits for the thread to end, and takes what its body returned.
    ///
    /// # Errors
    /// [`JoinError`]: a panic, a circle, or a thread that has joined or detached it by its id.
    pub fn join(mut self) -> Result<T, JoinError> {
        let joined = self.handle.join(self.id);
        self.open = joined.is_err();
        joined?;
        lock(&self.left).take().ok_or(JoinError::NoSuchThread)
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if self.open {
            // Whoever joined or detached it already has done what this is for.
            let _ = self.handle.detach(self.id);
        }
    }
}

/// A model of threads, with its settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Model {
    /// The platform's threads.
    OneToOne(OneToOne),
    /// Stacks that workers run.
    ManyToMany(ManyToMany),
    /// The platform's, started and ended by a manager thread.
    Manager(Manager),
}

impl Model {
    /// What starting it allocates, and more, in bytes.
    fn memory(&self) -> usize {
        const LEAST: usize = 64 << 10;
        match self {
            Self::ManyToMany(settings) => LEAST + settings.memory(),
            _ => LEAST,
        }
    }
}

/// Threads of one model. A `Runtime` owns them. Threads that create and join have a [`Handle`].
///
/// Dropping it waits until every thread has ended, then ends the workers: a thread that never ends
/// keeps the drop waiting for ever. Dropped by one of its own threads it does not wait: the last
/// thread to end cleans up.
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
}

impl Runtime {
    /// Starts a runtime.
    ///
    /// # Errors
    /// [`RuntimeError`].
    pub fn new(model: Model) -> Result<Self, RuntimeError> {
        if !memory::is_there(model.memory()) {
            let error = io::Error::from_raw_os_error(libc::ENOMEM);
            return Err(RuntimeError::Start { what: "memory", error });
        }
        let threads: Arc<dyn Threads> = match model {
            Model::OneToOne(settings) => settings.start()?,
            Model::ManyToMany(settings) => settings.start()?,
            Model::Manager(settings) => settings.start()?,
        };
        Ok(Self { handle: Handle::new(threads) })
    }

    /// For threads that outlive the borrow.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

impl Deref for Runtime {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.handle.threads.close();
    }
}
