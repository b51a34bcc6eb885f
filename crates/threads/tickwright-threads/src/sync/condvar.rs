//! Condition variables whose waiting threads are in a list (`waiters.rs`).

use core::time::Duration;

use tickwright::time::Instant;

use super::mutex::MutexGuard;
use crate::host;
use crate::waiters::Waiters;

/// A condition variable: threads wait under a lock for a condition, in a loop that checks it.
///
/// ```
/// use tickwright_threads::sync::{Condvar, Mutex};
///
/// let (done, changed) = (Mutex::new(true), Condvar::new());
/// let mut guard = done.lock();
/// while !*guard {
///     guard = changed.wait(guard);
/// }
/// ```
#[derive(Debug, Default)]
pub struct Condvar {
    waiters: Waiters,
}

impl Condvar {
    tickwright_nodes::const_unless_loom! {
        /// Creates a condition variable without waiters.
        #[must_use]
        pub const fn new() -> Self {
            Self { waiters: Waiters::new() }
        }
    }

    /// Unlocks, waits until notified, and locks again.
    pub fn wait<'m, T: ?Sized>(&self, guard: MutexGuard<'m, T>) -> MutexGuard<'m, T> {
        self.wait_as(guard, None).0
    }

    /// Like `wait`, but waits at most until the clock of the caller's runtime shows `at`. Also
    /// returns whether the thread was notified.
    pub fn wait_until<'m, T: ?Sized>(
        &self,
        guard: MutexGuard<'m, T>,
        at: Instant,
    ) -> (MutexGuard<'m, T>, bool) {
        self.wait_as(guard, Some(at))
    }

    fn wait_as<'m, T: ?Sized>(
        &self,
        guard: MutexGuard<'m, T>,
        until: Option<Instant>,
    ) -> (MutexGuard<'m, T>, bool) {
        let mutex = guard.unlocked.mutex;
        let ticket = self.waiters.enter();
        drop(guard);
        let told = self.waiters.wait(ticket, until);
        (mutex.lock(), told)
    }

    /// Like `wait`, but waits for at most a given time. Also returns whether the thread was
    /// notified.
    pub fn wait_timeout<'m, T: ?Sized>(
        &self,
        guard: MutexGuard<'m, T>,
        timeout: Duration,
    ) -> (MutexGuard<'m, T>, bool) {
        self.wait_until(guard, host::after(timeout))
    }

    /// Notifies the thread that has waited longest.
    pub fn notify_one(&self) {
        self.waiters.wake_one();
        host::count_call();
    }

    /// Notifies all threads that wait.
    pub fn notify_all(&self) {
        self.waiters.wake_all();
        host::count_call();
    }
}
