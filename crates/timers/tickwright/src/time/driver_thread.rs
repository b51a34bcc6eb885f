//! A thread that sleeps at a parker, and runs a closure when the parker's alarm goes off.

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

/// The time after a panic until the closure is called again, unless the alarm goes off earlier. The
/// closure is called again because the panic can have prevented it from setting the alarm. The
/// pause prevents a closure that always panics from using a whole processor.
const AFTER_A_PANIC: Duration = Duration::from_secs(1);

/// A thread that sleeps at a [`Parker`], and runs a closure whenever the alarm goes off or the wall
/// clock is set.
///
/// The closure must set the alarm again. It is allowed to stop the parker and to drop the driver.
/// Dropping the driver stops the thread and waits for its end, unless the closure itself drops the
/// driver.
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
    /// `None` after the thread was joined.
    thread: Option<Join>,
}

/// A function that waits for the end of a started thread. The argument `start` of
/// [`DriverThread::spawn_by`] returns such a function. Its error is the value with which the thread
/// panicked.
pub type Join = Box<dyn FnOnce() -> std::thread::Result<()> + Send + Sync>;

/// The state that the thread and its driver share.
struct Shared {
    runs: AtomicU64,
    panics: ForkLock<Option<DriverPanicked>>,
    process: Process,
}

/// The error that the closure of a [`DriverThread`] panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverPanicked {
    /// How often the closure panicked.
    pub count: u64,
    /// The message of the first panic.
    pub first: String,
}

error_texts! { DriverPanicked:
    Self { count, first } => "what the driver runs panicked {count} times, first with: {first}",
}

impl<K: Clock + 'static> DriverThread<K> {
    /// Starts a thread, whose name is `name` without NUL characters.
    ///
    /// # Errors
    /// The error of the operating system if it cannot start a thread. An error of kind
    /// `OutOfMemory` if there is no memory for a lock.
    pub fn spawn(name: &str, parker: Arc<Parker<K>>, run: impl FnMut() + Send + 'static) -> io::Result<Self> {
        Self::spawn_by(parker, run, |work| {
            let thread = Builder::new().name(name.replace('\0', "")).spawn(work)?;
            Ok(Box::new(|| thread.join()))
        })
    }

    /// Like [`spawn`](Self::spawn), but `start` starts the thread. It gets a closure that the
    /// thread must run, and returns a function that waits for the end of the thread.
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

    /// Returns the parker at which the thread sleeps, which is also the alarm.
    pub fn parker(&self) -> &Arc<Parker<K>> {
        &self.parker
    }

    /// Returns how often the closure was called.
    pub fn runs(&self) -> u64 {
        self.shared.runs.load(Ordering::Relaxed)
    }

    /// Returns how often the thread woke up. See [`Parker::wakeups`]. An idle thread does not wake
    /// up.
    pub fn wakeups(&self) -> u64 {
        self.parker.wakeups()
    }

    /// Returns the number of panics so far and the first message, or `None` if the closure has not
    /// panicked.
    pub fn panics(&self) -> Option<DriverPanicked> {
        lock(&self.shared.panics).clone()
    }

    /// Waits until every due timer has been run. See [`Parker::settle`]. Do not call it from inside
    /// the closure.
    pub fn settle(&self) -> bool {
        self.parker.settle()
    }

    /// Makes the thread end, and waits until it has ended. It does not wait if the thread itself
    /// makes the call, or in a forked child in which the thread does not exist. [`Parker::stop`]
    /// never waits.
    ///
    /// # Errors
    /// [`DriverPanicked`] if the closure ever panicked, or if dropping the closure panicked.
    pub fn stop(mut self) -> Result<(), DriverPanicked> {
        self.end()
    }

    /// Returns whether the thread exists in this process. In a forked child this is `true` only if
    /// the driver thread itself forked.
    pub fn is_here(&self) -> bool {
        self.shared.process.is_this() || self.parker.is_of(self.number())
    }

    /// Returns the value that [`DRIVER`] has on the thread.
    fn number(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// Like [`stop`](Self::stop). A second call only returns the same result.
    pub(crate) fn end(&mut self) -> Result<(), DriverPanicked> {
        self.halt();
        self.panics().map_or(Ok(()), Err)
    }

    fn halt(&mut self) {
        self.parker.stop();
        match self.thread.take() {
            // The handle refers to a thread of the parent, which this process can neither join nor
            // detach.
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
        // Dropping the value of the panic can also run user code that panics.
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
