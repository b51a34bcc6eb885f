//! A thread that runs a scheduler.

use core::fmt;
use std::io;
use std::sync::Weak;

use super::base::Scheduler;
use super::callback::Callback;
use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::driver::{DriverPanicked, DriverThread, Parker};
use crate::sync::Arc;

/// A thread that sleeps until the next callback of a scheduler is due, and runs the queue. Others
/// may run it too: they take turns.
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
/// A drop stops the thread and waits for it, unless one of its own callbacks drops it. The
/// scheduler stays, and its timers wait for the next thread that runs the queue. It ends on its own
/// when the scheduler is dropped.
pub struct SchedulerThread {
    driver: DriverThread<Arc<dyn Clock>>,
    /// Removes this thread's alarm from the scheduler, at the end.
    leave: Box<dyn Fn() + Send + Sync>,
}

impl SchedulerThread {
    /// Starts a thread called `name` for `scheduler`.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) when the scheduler has an alarm already, of
    /// another thread or the user's. Otherwise the system's error when it has no thread to give.
    pub fn start<C: Callback + 'static>(name: &str, scheduler: &Arc<Scheduler<C>>) -> io::Result<Self> {
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
            // Whoever is running it now sets the alarm afterwards.
            Some(scheduler) => drop(scheduler.run_queue()),
            None => at.stop(),
        };
        let driver = DriverThread::spawn(name, parker, run).inspect_err(|_| leave())?;
        Ok(Self { driver, leave })
    }

    /// How often the thread came out of its sleep. One that has nothing to do does not.
    #[must_use]
    pub fn wakeups(&self) -> u64 {
        self.driver.wakeups()
    }

    /// Waits until all that is due has been run, on a virtual clock; `false` if the thread has
    /// ended, or will. Not from a callback.
    pub fn settle(&self) -> bool {
        self.driver.settle()
    }

    /// The panics of callbacks that it ran.
    #[must_use]
    pub fn panics(&self) -> Option<DriverPanicked> {
        self.driver.panics()
    }

    /// Stops the thread and waits until it has ended, unless this is a callback that it runs.
    ///
    /// # Errors
    /// [`DriverPanicked`], if a callback ever did.
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
