//! A thread that sleeps at a parker and runs what is due.

use core::any::Any;
use core::fmt;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::panic::catch_unwind;
use std::thread::Builder;

use tickwright_nodes::error_texts;

use super::Clock;
use super::parker::{DRIVER, Parker, Woken};
use crate::fork::{ForkLock, Order, Process};
use crate::sync::{Arc, lock};

/// The longest time from a panic to the next look, if no thread sets the alarm meanwhile. So an
/// alarm that the panic kept from being set is not lost. The pause also keeps a queue that always
/// panics from using a whole processor.
const AFTER_A_PANIC: Duration = Duration::from_secs(1);

/// A thread that sleeps at a [`Parker`], and runs a closure whenever the alarm goes off or the wall
/// is set.
///
/// The closure sets the alarm again. The closure may stop the parker, and may drop the driver.
/// Dropping the driver stops the thread and waits for its end. A thread that drops its own driver
/// does not wait.
///
/// ```
/// use core::time::Duration;
/// use tickwright::time::{Alarm, Clock, DriverThread, Instant, Parker, VirtualHost};
///
/// let host = VirtualHost::new();
/// let parker = Parker::new(host.monotonic());
/// // Every second, in place of a scheduler.
/// let second = Duration::from_secs(1);
/// parker.set(Some(Instant::ZERO + second));
/// let driver = DriverThread::spawn("every second", parker.clone(), move || {
///     parker.set(Some(parker.clock().now() + second));
/// })?;
/// for _ in 0..3 {
///     host.advance(second);
///     driver.settle();
/// }
/// assert_eq!(driver.runs(), 3);
/// driver.stop()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DriverThread<K: Clock + 'static> {
    parker: Arc<Parker<K>>,
    shared: Arc<Shared>,
    /// `None` once the thread is joined.
    thread: Option<Join>,
}

/// A function that waits for the end of a started thread. The `start` of
/// [`DriverThread::spawn_by`] returns such a function. An error holds the thread's panic.
pub type Join = Box<dyn FnOnce() -> std::thread::Result<()> + Send + Sync>;

/// What the thread and its driver share.
struct Shared {
    runs: AtomicU64,
    panics: ForkLock<Option<DriverPanicked>>,
    process: Process,
}

/// The closure of a [`DriverThread`] panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverPanicked {
    /// How often it panicked.
    pub count: u64,
    /// The message of the first panic.
    pub first: String,
}

error_texts! { DriverPanicked:
    Self { count, first } => "what the driver runs panicked {count} times, first with: {first}",
}

impl<K: Clock + 'static> DriverThread<K> {
    /// Starts the thread. The thread's name is `name` without its NUL characters.
    ///
    /// # Errors
    /// The system's error if it has no thread to give. An error of kind `OutOfMemory` if there is
    /// no memory for a lock.
    pub fn spawn(name: &str, parker: Arc<Parker<K>>, run: impl FnMut() + Send + 'static) -> io::Result<Self> {
        Self::spawn_by(parker, run, |work| {
            let thread = Builder::new().name(name.replace('\0', "")).spawn(work)?;
            Ok(Box::new(|| thread.join()))
        })
    }

    /// Like [`spawn`](Self::spawn), for a program that starts its threads by itself. `start` gets
    /// the work of the thread, and returns a function that waits for its end.
    ///
    /// # Errors
    /// The error of `start`. An error of kind `OutOfMemory` if there is no memory for a lock.
    pub fn spawn_by(
        parker: Arc<Parker<K>>,
        mut run: impl FnMut() + Send + 'static,
        start: impl FnOnce(Box<dyn FnOnce() + Send>) -> io::Result<Join>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            runs: AtomicU64::new(0),
            panics: ForkLock::try_new(Order::Leaf, None, |_| {}).ok_or(io::ErrorKind::OutOfMemory)?,
            process: Process::this(),
        });
        parker.adopt(Arc::as_ptr(&shared).addr());
        let (told, at) = (Arc::clone(&shared), Arc::clone(&parker));
        let work = move || {
            DRIVER.set(Arc::as_ptr(&told).addr());
            while at.wait() != Woken::Stopped {
                told.runs.fetch_add(1, Ordering::Relaxed);
                if let Err(panic) = catch_unwind(AssertUnwindSafe(&mut run)) {
                    told.note(panic);
                    at.bring_forward(at.clock().now() + AFTER_A_PANIC);
                }
            }
        };
        let thread = Some(start(Box::new(work)).inspect_err(|_| parker.adopt(0))?);
        Ok(Self { parker, shared, thread })
    }

    /// Returns the parker at which the thread sleeps: the alarm.
    pub fn parker(&self) -> &Arc<Parker<K>> {
        &self.parker
    }

    /// Returns how often the closure was called.
    pub fn runs(&self) -> u64 {
        self.shared.runs.load(Ordering::Relaxed)
    }

    /// Returns how often the thread came out of its sleep: [`Parker::wakeups`]. An idle thread
    /// stays asleep.
    pub fn wakeups(&self) -> u64 {
        self.parker.wakeups()
    }

    /// Returns the panics so far.
    pub fn panics(&self) -> Option<DriverPanicked> {
        lock(&self.shared.panics).clone()
    }

    /// Waits until every due timer has been run: [`Parker::settle`]. Do not call it from inside the
    /// closure.
    pub fn settle(&self) -> bool {
        self.parker.settle()
    }

    /// Tells the thread to end, and waits until it has ended. It does not wait on that thread, nor
    /// in a forked child without that thread. [`Parker::stop`] never waits.
    ///
    /// # Errors
    /// [`DriverPanicked`] if the closure ever panicked, or if dropping what it owns panicked.
    pub fn stop(mut self) -> Result<(), DriverPanicked> {
        self.end()
    }

    /// Returns whether the thread is in this process. In a forked child this is `true` if the
    /// driver thread is the one that forked.
    pub fn is_here(&self) -> bool {
        self.shared.process.is_this() || self.parker.is_of(self.number())
    }

    /// Returns the value of [`DRIVER`] on the thread.
    fn number(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// Like [`stop`](Self::stop). A second call stops nothing and returns the same result.
    pub(crate) fn end(&mut self) -> Result<(), DriverPanicked> {
        self.halt();
        self.panics().map_or(Ok(()), Err)
    }

    fn halt(&mut self) {
        self.parker.stop();
        match self.thread.take() {
            // There is nothing to join or to detach: the handle names a thread of the parent's.
            Some(thread) if !self.is_here() => core::mem::forget(thread),
            Some(thread) if DRIVER.get() != self.number() => {
                let _ = thread().map_err(|panic| self.shared.note(panic));
            }
            _ => {}
        }
    }
}

impl<K: Clock + 'static> Drop for DriverThread<K> {
    fn drop(&mut self) {
        self.halt();
    }
}

impl Shared {
    fn note(&self, panic: Box<dyn Any + Send>) {
        let mut panics = lock(&self.panics);
        if let Some(panics) = &mut *panics {
            panics.count = panics.count.saturating_add(1);
        } else {
            let first = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
                (Some(text), _) => (*text).to_owned(),
                (None, Some(text)) => text.clone(),
                (None, None) => "something that is no text".to_owned(),
            };
            *panics = Some(DriverPanicked { count: 1, first });
        }
        drop(panics);
        // Dropping the panic's value runs the user's code, too.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            core::mem::forget(panic);
        }
    }
}

impl<K: Clock + 'static> fmt::Debug for DriverThread<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverThread")
            .field("parker", &self.parker)
            .field("runs", &self.runs())
            .field("panics", &self.panics())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
