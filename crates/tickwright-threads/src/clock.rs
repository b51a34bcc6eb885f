//! The clock of a runtime, and kernel threads that sleep by it.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use tickwright::clock::{Clock, Instant, SystemClock, Watcher};

use crate::here;
use crate::kernel_thread::KernelThread;
use crate::wait::Waiters;

/// A clock that a runtime is to have.
#[derive(Clone)]
pub(crate) struct AnyClock(pub(crate) Arc<dyn Clock>);

impl fmt::Debug for AnyClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").finish_non_exhaustive()
    }
}

impl Default for AnyClock {
    fn default() -> Self {
        Self(Arc::new(SystemClock::Monotonic))
    }
}

/// A clock that several threads sleep by. A clock that moves by command wakes them.
pub(crate) struct Timekeeper {
    clock: Arc<dyn Clock>,
    /// The clock moves by command, and wakes the threads that sleep.
    by_command: bool,
    asleep: Arc<Waiters>,
}

impl Watcher for Waiters {
    fn clock_moved(&self) {
        self.wake_all();
    }
}

impl Timekeeper {
    pub(crate) fn new(AnyClock(clock): AnyClock) -> Self {
        let asleep = Arc::new(Waiters::new());
        let watcher: Arc<dyn Watcher> = Arc::clone(&asleep) as _;
        let by_command = clock.watch(&Arc::downgrade(&watcher));
        Self { clock, by_command, asleep }
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(crate) fn moves_by_command(&self) -> bool {
        self.by_command
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Waits until woken, without cause, or until this clock shows `at`, which need not be the
    /// caller's clock. False: it does.
    pub(crate) fn wait_until(&self, at: Instant) -> bool {
        let is_own =
            |clock: &Arc<dyn Clock>| core::ptr::addr_eq(Arc::as_ptr(clock), Arc::as_ptr(&self.clock));
        let by_own = here::with(|host| is_own(host.clock()).then(|| host.wait_until(at)));
        by_own.flatten().unwrap_or_else(|| {
            let now = self.now();
            if now >= at {
                return false;
            }
            // The caller's clock may stand still meanwhile, or be moved.
            if self.by_command {
                self.wait_for_move(at, here::wait);
            } else {
                here::wait_for(self.longest_wait(now, at));
            }
            true
        })
    }

    /// Parks the calling kernel thread until it is unparked or the time has come; it may return
    /// sooner. False: the time has come.
    pub(crate) fn park_until(&self, at: Instant) -> bool {
        let now = self.now();
        if now >= at {
            return false;
        }
        self.park(Some(at), (!self.by_command).then(|| self.longest_wait(now, at)));
        true
    }

    /// Parks the calling kernel thread until it is unparked, a clock that moves by command shows
    /// `at`, or `most` is over; it may return sooner.
    pub(crate) fn park(&self, at: Option<Instant>, most: Option<Duration>) {
        let park = || match most {
            Some(most) => KernelThread::park_timeout(most),
            None => KernelThread::park(),
        };
        match at.filter(|_| self.by_command) {
            Some(at) => self.wait_for_move(at, park),
            None => park(),
        }
    }

    /// Calls `wait` unless this clock, which moves by command, shows `at`. A move of the clock ends
    /// the wait.
    pub(crate) fn wait_for_move(&self, at: Instant, wait: impl FnOnce()) {
        let ticket = self.asleep.enter();
        // A move before this look is seen by it; one after it finds us in the list.
        if self.now() < at {
            ticket.wait_by(wait);
        }
        self.asleep.leave(ticket);
    }

    /// How long to wait by the machine's clock before this clock, which goes on by itself, is
    /// looked at again.
    pub(crate) fn longest_wait(&self, now: Instant, at: Instant) -> Duration {
        // A clock that was set notifies no thread.
        at.duration_since(now).min(self.clock.longest_sleep().unwrap_or(Duration::MAX))
    }
}
