//! A lock.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};

use crate::primitive::modelled;
use crate::wait::{Ticket, Waiters};

/// A lock around a value. Waiting for it blocks no worker.
///
/// The thread that has waited longest is woken first. A thread that comes by meanwhile may be
/// faster, once. Then the lock is kept for the thread that has waited longest, and no thread waits
/// for ever. A panic under the lock does not poison it. Locking it twice on one thread waits for
/// ever.
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
    /// Only ever tried.
    value: modelled::Mutex<T>,
}

/// The lock is held as long as this lives.
pub struct MutexGuard<'m, T: ?Sized> {
    pub(super) mutex: &'m Mutex<T>,
    /// Always some; taken when dropped.
    held: Option<modelled::MutexGuard<'m, T>>,
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> Mutex<T> {
    tickwright_nodes::const_unless_loom! {
        /// An open lock.
        #[must_use]
        pub const fn new(value: T) -> Self {
            Self { waiters: Waiters::new(), value: modelled::Mutex::new(value) }
        }
    }

    /// The value.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks, and waits for that as long as it takes.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        loop {
            let attempt = |caller, ()| self.try_lock_as(caller).ok_or(());
            // Without a time it does not fail. A wake-up that another thread could use comes again
            // when the guard is dropped.
            if let Ok(guard) = self.waiters.acquire(None, false, (), attempt) {
                return guard;
            }
        }
    }

    /// Locks if that needs no waiting, and the lock is not kept for one that waits.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
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
        Some(MutexGuard { mutex: self, held: Some(held) })
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.held {
            Some(held) => held,
            None => unreachable!("held until it is dropped"),
        }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.held {
            Some(held) => held,
            None => unreachable!("held until it is dropped"),
        }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.held = None;
        self.mutex.waiters.wake_one();
    }
}
