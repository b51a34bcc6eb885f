//! A runtime, whose model the program chooses, and the handle to its threads.

use core::fmt;
use core::ops::Deref;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use tickwright::time::Instant;

use crate::attributes::Attributes;
use crate::error::{CreateError, JoinError, RuntimeError, no_memory};
use crate::host;
use crate::id::ThreadId;
use crate::kernel::OneToOne;
use crate::many::ManyToMany;
use crate::memory::{self, Counted, try_box};
use crate::primitive::lock;
use crate::threads::{Threads, Wait};

/// A handle to one runtime, which creates, joins and wakes its threads. Clones refer to the same
/// runtime. After the runtime has ended, a creation returns an error.
#[derive(Clone)]
pub struct RuntimeHandle {
    threads: Arc<dyn Threads>,
}

impl fmt::Debug for RuntimeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeHandle").field("model", &self.threads.model()).finish_non_exhaustive()
    }
}

impl RuntimeHandle {
    pub(crate) fn new(threads: Arc<dyn Threads>) -> Self {
        Self { threads }
    }

    /// Returns the name of the model: `one-to-one` or `m:n`.
    #[must_use]
    pub fn model(&self) -> &'static str {
        self.threads.model()
    }

    /// Returns whether the other handle belongs to the same runtime.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        core::ptr::addr_eq(Arc::as_ptr(&self.threads), Arc::as_ptr(&other.threads))
    }

    /// Creates a thread.
    ///
    /// # Errors
    /// [`CreateError`]. In this case the body was dropped, and no other thread is affected.
    pub fn create(
        &self,
        attributes: &Attributes,
        body: impl FnOnce() -> usize + Send + 'static,
    ) -> Result<ThreadId, CreateError> {
        // If the allocation fails, the body is dropped here.
        let body = try_box(body).map_err(|_body| CreateError::OutOfMemory);
        let created = body.and_then(|body| self.threads.create(attributes, body));
        if created.is_ok() {
            host::count_call();
        } else {
            // A later creation can succeed only after other threads have ended, and these threads
            // can need the caller's worker in order to end.
            host::make_way();
        }
        created
    }

    /// Creates a thread that returns a value of any type. It is detached when its handle is
    /// dropped.
    ///
    /// # Errors
    /// The same as for [`create`](Self::create).
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

    /// Waits for a thread to end, and returns the value that its body has returned.
    ///
    /// # Errors
    /// All errors of [`JoinError`] except `Busy` and `TimedOut`.
    pub fn join(&self, id: ThreadId) -> Result<usize, JoinError> {
        self.join_as(id, Wait::Forever)
    }

    /// Like [`join`](Self::join), but does not wait.
    ///
    /// # Errors
    /// [`JoinError::Busy`] if the thread still runs.
    pub fn try_join(&self, id: ThreadId) -> Result<usize, JoinError> {
        self.join_as(id, Wait::No)
    }

    /// Like [`join`](Self::join), but waits at most until the runtime's clock shows `at`.
    ///
    /// # Errors
    /// [`JoinError::TimedOut`] if the thread still runs at that time.
    pub fn join_until(&self, id: ThreadId, at: Instant) -> Result<usize, JoinError> {
        self.join_as(id, Wait::Until(at))
    }

    fn join_as(&self, id: ThreadId, wait: Wait) -> Result<usize, JoinError> {
        host::count_call();
        self.threads.join(id, wait)
    }

    /// Like [`join`](Self::join), but waits for at most `timeout`.
    ///
    /// # Errors
    /// [`JoinError::TimedOut`] if the thread still runs after that time.
    pub fn join_timeout(&self, id: ThreadId, timeout: Duration) -> Result<usize, JoinError> {
        self.join_until(id, self.now() + timeout)
    }

    /// Detaches the thread. It can no longer be joined, and its result is dropped when it ends.
    ///
    /// # Errors
    /// [`JoinError::NoSuchThread`] if there is no such thread. [`JoinError::NotJoinable`] if the
    /// thread is already detached or another thread is joining it.
    pub fn detach(&self, id: ThreadId) -> Result<(), JoinError> {
        self.threads.detach(id)
    }

    /// Ends the thread's [`park`](crate::this_thread::park). If the thread is not parked, its next
    /// park returns at once. Several calls before that park count as one.
    ///
    /// # Errors
    /// [`JoinError::NoSuchThread`] if there is no such thread.
    pub fn unpark(&self, id: ThreadId) -> Result<(), JoinError> {
        self.threads.unpark(id)?;
        host::count_call();
        Ok(())
    }

    /// Returns the thread's name, if the thread exists and has a name.
    #[must_use]
    pub fn name(&self, id: ThreadId) -> Option<String> {
        self.threads.name(id)
    }

    /// Returns whether the thread is registered. A thread is registered before its creation
    /// returns, and unregistered when its body has ended. A runtime without a dictionary always
    /// returns false.
    #[must_use]
    pub fn is_registered(&self, id: ThreadId) -> bool {
        self.threads.is_registered(id)
    }

    /// Returns a snapshot of the ids of all threads whose body has not ended, grouped by worker,
    /// and in ascending order for each worker. It is empty for a runtime without a dictionary.
    #[must_use]
    pub fn threads(&self) -> Vec<ThreadId> {
        self.threads.threads()
    }

    /// Returns a snapshot of the number of threads whose body has not ended.
    #[must_use]
    pub fn live(&self) -> usize {
        self.threads.live()
    }

    /// Returns the time on the runtime's clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.threads.now()
    }

    /// Runs `body` as a new thread of the runtime, and waits for its end. Creations and joins in
    /// `body` are faster than outside of the runtime, because the caller is a thread of the
    /// runtime.
    ///
    /// # Errors
    /// The error of the creation. A panic in `body` continues in the caller.
    pub fn run<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CreateError> {
        match self.spawn(&Attributes::new(), body)?.join() {
            Ok(value) => Ok(value),
            Err(JoinError::Panicked(panic)) => std::panic::resume_unwind(panic),
            // This cannot happen, because no other thread has the thread's id, and the thread waits
            // for no other thread.
            Err(_) => Err(CreateError::Closed),
        }
    }
}

/// A handle to a thread that returns a `T`. If the handle is dropped, the thread is detached.
#[derive(Debug)]
pub struct JoinHandle<T> {
    handle: RuntimeHandle,
    id: ThreadId,
    left: Counted<Mutex<Option<T>>>,
    open: bool,
}

impl<T> JoinHandle<T> {
    /// Returns the id of the thread.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Waits for the thread to end, and returns the value that its body has returned.
    ///
    /// # Errors
    /// [`JoinError`]: a panic, a circle, or that another thread has joined or detached this one by
    /// its id.
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
            // If this fails, another thread has already joined or detached it.
            let _ = self.handle.detach(self.id);
        }
    }
}

/// A model of threads, with its settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Model {
    /// The threads are threads of the platform.
    OneToOne(OneToOne),
    /// The threads are stacks that workers run. This needs Unix. On other platforms the start of
    /// the runtime returns [`RuntimeError::Unsupported`].
    ManyToMany(ManyToMany),
}

impl Model {
    /// Returns an upper bound on what the start of the runtime allocates, in bytes.
    fn memory(&self) -> usize {
        const LEAST: usize = 64 << 10;
        match self {
            Self::ManyToMany(settings) => LEAST + settings.memory(),
            _ => LEAST,
        }
    }
}

/// Owns the threads of one model. To create and join threads, use a [`RuntimeHandle`].
///
/// Dropping the runtime waits until every thread has ended, and then ends the workers. If a thread
/// never ends, the drop waits forever. If one of the runtime's own threads drops the runtime, the
/// drop does not wait, and the thread that ends last cleans up.
#[derive(Debug)]
pub struct Runtime {
    handle: RuntimeHandle,
}

impl Runtime {
    /// Starts a runtime.
    ///
    /// # Errors
    /// [`RuntimeError`].
    pub fn new(model: Model) -> Result<Self, RuntimeError> {
        if !memory::is_there(model.memory()) {
            return Err(RuntimeError::Start { what: "memory", error: no_memory() });
        }
        let threads: Arc<dyn Threads> = match model {
            Model::OneToOne(settings) => settings.start()?,
            Model::ManyToMany(settings) => settings.start()?,
        };
        Ok(Self { handle: RuntimeHandle::new(threads) })
    }

    /// Returns a handle, which can outlive this borrow.
    #[must_use]
    pub fn handle(&self) -> RuntimeHandle {
        self.handle.clone()
    }
}

impl Deref for Runtime {
    type Target = RuntimeHandle;

    fn deref(&self) -> &RuntimeHandle {
        &self.handle
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.handle.threads.close();
    }
}
