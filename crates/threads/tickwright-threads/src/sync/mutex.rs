//! `Mutex`: a lock whose waiting threads are in a list (`waiters.rs`), so they block no worker.

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::time::Duration;
use std::sync::{PoisonError, TryLockError};

use tickwright::time::Instant;

use crate::host;
use crate::primitive::modelled;
use crate::waiters::{Ticket, Waiters};

/// A lock around a value. A thread that waits for the lock does not block its worker.
///
/// The thread that has waited longest is woken first. A thread that arrives before the woken thread
/// runs can take the lock, but only once. After that, the lock is reserved for the thread that has
/// waited longest, so no thread waits forever. A panic under the lock does not poison the lock. A
/// thread that takes the lock twice waits forever.
///
/// ```
/// use tickwright_threads::sync::Mutex;
///
/// let count = Mutex::new(1);
/// *count.lock() += 1;
/// assert_eq!(*count.lock(), 2);
/// ```
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized> {
    waiters: Waiters,
    /// The value and its lock, on which this type calls only `try_lock`.
    value: modelled::Mutex<T>,
}

/// A guard that holds the lock until it is dropped.
pub struct MutexGuard<'m, T: ?Sized> {
    /// The inner guard. It is dropped first, which unlocks.
    held: modelled::MutexGuard<'m, T>,
    pub(super) unlocked: Unlocked<'m, T>,
}

/// Wakes the next thread when it is dropped.
pub(super) struct Unlocked<'m, T: ?Sized> {
    pub(super) mutex: &'m Mutex<T>,
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> Mutex<T> {
    tickwright_nodes::const_unless_loom! {
        /// Creates an unlocked mutex.
        #[must_use]
        pub const fn new(value: T) -> Self {
            Self { waiters: Waiters::new(), value: modelled::Mutex::new(value) }
        }
    }

    /// Returns the value.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock. If it is not free, waits without a time limit.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        host::count_call();
        loop {
            let attempt = |caller, ()| self.try_lock_as(caller).ok_or(());
            // `acquire` cannot fail here, because there is no time limit. It does not pass a
            // wake-up on, because the drop of the guard wakes another thread.
            if let Ok(guard) = self.waiters.acquire(None, false, (), attempt) {
                return guard;
            }
        }
    }

    /// Takes the lock. If it is not free, waits at most until the clock of the caller's runtime
    /// shows `at`. Returns `None` if the lock is still not free at that time.
    pub fn lock_until(&self, at: Instant) -> Option<MutexGuard<'_, T>> {
        host::count_call();
        let attempt = |caller, ()| self.try_lock_as(caller).ok_or(());
        self.waiters.acquire(Some(at), true, (), attempt).ok()
    }

    /// Like [`lock_until`](Self::lock_until), but waits for at most `timeout`.
    pub fn lock_timeout(&self, timeout: Duration) -> Option<MutexGuard<'_, T>> {
        self.lock_until(host::after(timeout))
    }

    /// Takes the lock if it is free and not reserved for a waiting thread.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        host::count_call();
        self.try_lock_as(None)
    }

    fn try_lock_as(&self, caller: Option<Ticket>) -> Option<MutexGuard<'_, T>> {
        if self.waiters.is_promised(caller) {
            return None;
        }
        let held = match self.value.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(MutexGuard { held, unlocked: Unlocked { mutex: self } })
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}

impl<T: ?Sized> Drop for Unlocked<'_, T> {
    fn drop(&mut self) {
        self.mutex.waiters.wake_one();
    }
}
