//! An event.

use core::time::Duration;

use tickwright::clock::Instant;

use super::mutex::MutexGuard;
use crate::here;
use crate::wait::Waiters;

/// Something that threads wait for under a lock, in a loop that looks whether it is so.
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
        /// Nobody waits for it.
        #[must_use]
        pub const fn new() -> Self {
            Self { waiters: Waiters::new() }
        }
    }

    /// Lets go of the lock, waits until told, and locks again.
    pub fn wait<'m, T: ?Sized>(&self, guard: MutexGuard<'m, T>) -> MutexGuard<'m, T> {
        self.wait_as(guard, None).0
    }

    /// The same until the clock of the caller's runtime shows `at` at the latest.
    /// Returns also whether it was told.
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
        let mutex = guard.mutex;
        let ticket = self.waiters.enter();
        drop(guard);
        let told = self.waiters.wait(ticket, until);
        (mutex.lock(), told)
    }

    /// The same for so long at most.
    pub fn wait_timeout<'m, T: ?Sized>(
        &self,
        guard: MutexGuard<'m, T>,
        timeout: Duration,
    ) -> (MutexGuard<'m, T>, bool) {
        self.wait_until(guard, here::after(timeout))
    }

    /// Tells the one that has waited longest.
    pub fn notify_one(&self) {
        self.waiters.wake_one();
    }

    /// Tells all that wait.
    pub fn notify_all(&self) {
        self.waiters.wake_all();
    }
}
