//! A thread that runs a scheduler. `time/driver_thread.rs` has its loop.

use core::fmt;
use std::io;
use std::sync::Weak;

use super::callback::Callback;
use super::scheduler::Scheduler;
use super::settings::Settings;
use crate::sync::Arc;
use crate::time::{Alarm, Clock, DriverPanicked, DriverThread, Parker};

impl<C: Callback + Send + 'static> Scheduler<C> {
    /// Creates a scheduler and a thread called `name` that runs its callbacks. The thread ends when
    /// the last `Arc` is dropped. On a web page (with the feature `web`), the page's event loop
    /// runs the callbacks instead of a thread.
    ///
    /// [`SchedulerThread::start`] starts a thread for a scheduler with other [`Settings`]. Such a
    /// thread reports the panics of its callbacks, and can be stopped before the scheduler ends.
    ///
    /// # Errors
    /// The error of the operating system if it cannot start a thread.
    pub fn spawn(name: &str) -> io::Result<Arc<Self>> {
        let scheduler = Arc::new(Self::new(Settings::new()));
        #[cfg(not(all(feature = "web", target_family = "wasm", target_os = "unknown")))]
        let driver = SchedulerThread::start(name, &scheduler)?;
        #[cfg(all(feature = "web", target_family = "wasm", target_os = "unknown"))]
        let driver = {
            let (_, of) = (name, Arc::downgrade(&scheduler));
            let alarm = Arc::new(crate::time::WebAlarm::new(move || {
                let _ = of.upgrade().map(|scheduler| scheduler.run_queue());
            }));
            scheduler.set_alarm(Some(Arc::clone(&alarm) as _));
            alarm
        };
        scheduler.lock().thread = Some(Box::new(driver));
        Ok(scheduler)
    }
}

/// A thread that sleeps until the next callback of a scheduler is due, and runs the queue. Other
/// threads can also run the queue while this thread sleeps.
///
/// ```
/// use core::time::Duration;
/// use std::sync::Arc;
/// use tickwright::scheduler::{Boxed, Scheduler, SchedulerThread, Settings};
///
/// let scheduler = Arc::new(Scheduler::new(Settings::new()));
/// let thread = SchedulerThread::start("timers", &scheduler)?;
/// scheduler.add(Duration::from_secs(5), Boxed::once(|_| println!("no reply")))?;
/// thread.stop()?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// Dropping this value stops the thread and waits for the thread's end, unless one of the thread's
/// own callbacks drops it. The scheduler continues to exist, and its timers wait for the next
/// thread that runs the queue. If the scheduler is dropped, the thread ends.
pub struct SchedulerThread {
    driver: DriverThread<Arc<dyn Clock>>,
    /// Removes this thread's alarm from the scheduler. Called when the thread ends.
    leave: Box<dyn Fn() + Send + Sync>,
}

impl SchedulerThread {
    /// Starts a thread called `name` for `scheduler`.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if the scheduler already has an alarm, which
    /// another thread or the user has set. The error of the operating system if it cannot start a
    /// thread.
    pub fn start<C: Callback + Send + 'static>(
        name: &str,
        scheduler: &Arc<Scheduler<C>>,
    ) -> io::Result<Self> {
        let parker = Parker::new(scheduler.clock());
        let alarm: Arc<dyn Alarm> = Arc::clone(&parker) as _;
        if !scheduler.set_first_alarm(Arc::clone(&alarm)) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the scheduler has a thread or an alarm already: stop that first",
            ));
        }
        let scheduler = Arc::downgrade(scheduler);
        let of = Weak::clone(&scheduler);
        let leave = Box::new(move || {
            if let Some(scheduler) = of.upgrade() {
                scheduler.leave_alarm(&alarm);
            }
        });
        let at = Arc::clone(&parker);
        let run = move || match scheduler.upgrade() {
            // If another thread is running the queue now, that thread sets the alarm at the end of
            // its pass.
            Some(scheduler) => drop(scheduler.run_queue()),
            None => at.stop(),
        };
        let driver = DriverThread::spawn(name, parker, run).inspect_err(|_| leave())?;
        Ok(Self { driver, leave })
    }

    /// Returns how often the thread woke up. An idle thread does not wake up.
    #[must_use]
    pub fn wakeups(&self) -> u64 {
        self.driver.wakeups()
    }

    /// On a virtual clock, waits until every due timer has been run. Returns `false` if the thread
    /// has ended or is about to end. Do not call it from a callback.
    pub fn settle(&self) -> bool {
        self.driver.settle()
    }

    /// Returns the panics of the callbacks that the thread ran.
    #[must_use]
    pub fn panics(&self) -> Option<DriverPanicked> {
        self.driver.panics()
    }

    /// Stops the thread and waits until it has ended, unless the caller is a callback that the
    /// thread runs.
    ///
    /// # Errors
    /// [`DriverPanicked`] if a callback ever panicked.
    pub fn stop(mut self) -> Result<(), DriverPanicked> {
        (self.leave)();
        self.driver.end()
    }
}

impl Drop for SchedulerThread {
    fn drop(&mut self) {
        (self.leave)();
    }
}

impl fmt::Debug for SchedulerThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulerThread").field("wakeups", &self.wakeups()).finish_non_exhaustive()
    }
}
