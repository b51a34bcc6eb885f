//! A thread that takes the due timers, and runs a function for each firing or hands the firings to
//! futures.

use core::fmt;
use core::future::poll_fn;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::error::Error;
use crate::statement::{Engine, Firing, Outcome};
use crate::timers::Timers;

/// Timers whose loop runs on a dedicated thread. Clones share the same timers.
///
/// ```
/// use std::sync::mpsc;
/// use tickwright_durable::{Background, Due, Outcome, Settings, Timers, sqlite::Sqlite};
///
/// # let process = std::process::id();
/// # let file = std::env::temp_dir().join(format!("tickwright-background-{process}.db"));
/// let (sender, receiver) = mpsc::channel();
/// let timers = Timers::new(Sqlite::open(&file)?, Settings::alone());
/// let background = Background::spawn(timers, move |firing| {
///     sender.send(firing.id.to_string()).ok();
///     Outcome::Done
/// })?;
/// background.with(|timers| timers.add("now", Due::After(0), b""))?;
/// assert_eq!(receiver.recv()?, "now");
/// background.stop()?;
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// If the function panics, the thread ends, and the firing is delivered again by the next owner.
pub struct Background<E> {
    shared: Arc<Shared<E>>,
}

struct Shared<E> {
    state: Mutex<State<E>>,
    changed: Condvar,
}

struct State<E> {
    /// The timers, or `None` after the stop.
    timers: Option<Timers<E>>,
    is_stopping: bool,
    /// The error of the last turn, if it failed.
    failure: Option<Error>,
    inbox: VecDeque<Firing>,
    waker: Option<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl<E: Engine + Send + 'static> Background<E> {
    /// Starts a thread that runs a function for each firing, one at a time. The function's result
    /// is the answer to the firing. Adds and cancels do not wait while the function runs.
    ///
    /// # Errors
    /// The error of the operating system, if it cannot create the thread.
    pub fn spawn(
        timers: Timers<E>,
        run: impl FnMut(&Firing) -> Outcome + Send + 'static,
    ) -> io::Result<Self> {
        Self::start(timers, Some(Box::new(run)))
    }

    /// Starts a thread that hands firings to futures. Answer each firing through
    /// [`with`](Self::with). At most one batch of firings waits for answers at one time.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub fn channel(timers: Timers<E>) -> io::Result<(Self, Firings<E>)> {
        let background = Self::start(timers, None)?;
        let shared = background.shared.clone();
        Ok((background, Firings { shared }))
    }

    fn start(timers: Timers<E>, mut run: Option<Run>) -> io::Result<Self> {
        let (inbox, waker, thread) = (VecDeque::new(), None, None);
        let state = State { timers: Some(timers), is_stopping: false, failure: None, inbox, waker, thread };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let running = shared.clone();
        let thread =
            thread::Builder::new().name("tickwright-durable".into()).spawn(move || running.run(&mut run))?;
        shared.lock().thread = Some(thread);
        Ok(Self { shared })
    }

    /// Runs a function with the timers, under their lock, as in
    /// `with(|timers| timers.cancel("tea"))`.
    ///
    /// # Errors
    /// The error of the function, and [`Error::Stopped`] after [`stop`](Self::stop).
    pub fn with<T>(&self, work: impl FnOnce(&mut Timers<E>) -> Result<T, Error>) -> Result<T, Error> {
        let result = self.shared.lock().timers.as_mut().map_or(Err(Error::Stopped), work);
        self.shared.changed.notify_all();
        result
    }

    /// The error of the last turn, if it failed. The thread repeats the turn by itself.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.shared.lock().failure.clone()
    }

    /// Ends the thread, writes the answers and ends the lease. Waits until the running function
    /// returns. If that function itself calls `stop`, its answer is lost, and the timer is
    /// delivered again. Without this call the thread runs until the process ends.
    ///
    /// # Errors
    /// Errors that the engine reports: see [`Timers::close`].
    pub fn stop(&self) -> Result<(), Error> {
        let thread = {
            let mut state = self.shared.lock();
            state.is_stopping = true;
            state.thread.take()
        };
        self.shared.changed.notify_all();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
        let (timers, waker) = {
            let mut state = self.shared.lock();
            // Firings that have not begun are delivered to the next owner.
            state.inbox.clear();
            (state.timers.take(), state.waker.take())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        timers.map_or(Ok(()), |timers| timers.close().map(drop))
    }
}

/// The interval at which a thread without a deadline wakes. When such a thread wakes, it executes
/// no statement.
const FOREVER: Duration = Duration::from_secs(86_400);

type Run = Box<dyn FnMut(&Firing) -> Outcome + Send>;

impl<E> Shared<E> {
    /// A panic under the lock leaves consistent data, because the store has every committed change.
    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Engine> State<E> {
    fn take_due(&mut self) {
        let taken = self.timers.as_mut().map_or(Err(Error::Stopped), Timers::take_due);
        self.failure = taken.as_ref().err().cloned();
        self.inbox.extend(taken.unwrap_or_default());
    }

    /// Returns the next firing to begin. Skips firings whose lease was lost.
    fn next(&mut self) -> Option<Firing> {
        let timers = self.timers.as_ref()?;
        core::iter::from_fn(|| self.inbox.pop_front()).find(|firing| timers.holds(firing))
    }
}

impl<E: Engine> Shared<E> {
    fn run(&self, run: &mut Option<Run>) {
        let mut state = self.lock();
        while !state.is_stopping {
            let Some(timers) = &mut state.timers else { return };
            let wait = timers.poll_timeout().unwrap_or(FOREVER);
            if !wait.is_zero() {
                state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.take_due();
            let Some(run) = run else {
                if !state.inbox.is_empty()
                    && let Some(waker) = state.waker.take()
                {
                    drop(state);
                    waker.wake();
                    state = self.lock();
                }
                continue;
            };
            while !state.is_stopping
                && let Some(firing) = state.next()
            {
                drop(state);
                let outcome = run(&firing);
                state = self.lock();
                let Some(timers) = &mut state.timers else { return };
                if timers.answer(&firing, outcome).is_err() {
                    // The new due time is out of range, so the timer stays and is delivered again.
                    let _ = timers.answer(&firing, Outcome::Release);
                }
                if timers.must_renew() {
                    state.take_due();
                }
            }
        }
    }
}

/// The firings of a [`Background::channel`].
pub struct Firings<E> {
    shared: Arc<Shared<E>>,
}

impl<E: Engine> Firings<E> {
    /// Returns the next firing, or `None` after the stop. Dropping the future loses no firing.
    pub async fn next(&mut self) -> Option<Firing> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Like [`next`](Self::next), for use in a hand-written future.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Firing>> {
        let mut state = self.shared.lock();
        match state.next() {
            Some(firing) => Poll::Ready(Some(firing)),
            None if state.timers.is_none() => Poll::Ready(None),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<E> Clone for Background<E> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<E> fmt::Debug for Background<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background").field("failure", &self.shared.lock().failure).finish_non_exhaustive()
    }
}

impl<E> fmt::Debug for Firings<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Firings").field("waiting", &self.shared.lock().inbox.len()).finish_non_exhaustive()
    }
}
