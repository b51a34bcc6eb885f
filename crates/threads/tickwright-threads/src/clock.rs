//! The clock of a runtime, and functions with which kernel threads sleep until this clock shows a
//! time.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use tickwright::time::{Clock, Instant, SystemClock, Watcher};

use crate::host;
use crate::kernel_thread::KernelThread;
use crate::waiters::Waiters;

/// A clock for a runtime.
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

/// A clock for whose times several threads wait. If the clock moves only by calls, each move wakes
/// these threads.
pub(crate) struct Timekeeper {
    clock: Arc<dyn Clock>,
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
        clock.watch(&Arc::downgrade(&watcher));
        Self { clock, asleep }
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Waits until the caller is woken, or until this clock shows `at`. Can return spuriously. This
    /// clock need not be the clock of the caller's runtime. Returns false if this clock shows `at`.
    pub(crate) fn wait_until(&self, at: Instant) -> bool {
        let is_own =
            |clock: &Arc<dyn Clock>| core::ptr::addr_eq(Arc::as_ptr(clock), Arc::as_ptr(&self.clock));
        let by_own = host::with(|host| is_own(host.clock()).then(|| host.wait_until(at)));
        by_own.flatten().unwrap_or_else(|| {
            let now = self.now();
            if now >= at {
                return false;
            }
            // The caller's own clock can stand still or be moved during the wait.
            if self.clock.stands_still() {
                self.wait_for_move(at, host::wait);
            } else {
                host::wait_for(self.longest_wait(now, at));
            }
            true
        })
    }

    /// Parks the calling kernel thread until it is unparked or this clock shows `at`. Can return
    /// earlier. Returns false if the clock shows `at`.
    pub(crate) fn park_until(&self, at: Instant) -> bool {
        let now = self.now();
        if now >= at {
            return false;
        }
        self.park(Some(at), (!self.clock.stands_still()).then(|| self.longest_wait(now, at)));
        true
    }

    /// Parks the calling kernel thread until it is unparked, but at most for `most`. If this clock
    /// moves only by calls, the park also ends when the clock shows `at`. Can return earlier.
    pub(crate) fn park(&self, at: Option<Instant>, most: Option<Duration>) {
        let park = || match most {
            Some(most) => KernelThread::park_timeout(most),
            None => KernelThread::park(),
        };
        match at.filter(|_| self.clock.stands_still()) {
            Some(at) => self.wait_for_move(at, park),
            None => park(),
        }
    }

    /// Calls `wait`, unless this clock already shows `at`. The clock moves only by calls, and each
    /// move ends the wait.
    pub(crate) fn wait_for_move(&self, at: Instant, wait: impl FnOnce()) {
        let ticket = self.asleep.enter();
        // This read sees every earlier move of the clock. Every later move finds the caller in the
        // list.
        if self.now() < at {
            ticket.wait_by(wait);
        }
        self.asleep.leave(ticket);
    }

    /// Returns how long a thread waits by the machine's clock before it reads this clock again.
    /// This clock runs by itself.
    pub(crate) fn longest_wait(&self, now: Instant, at: Instant) -> Duration {
        // No thread is notified when such a clock is set, so a long wait is split into several
        // waits.
        at.duration_since(now).min(self.clock.longest_sleep().unwrap_or(Duration::MAX))
    }
}
