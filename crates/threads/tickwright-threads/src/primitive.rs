//! The atomics and locks that a thread's record is built from. Under `cfg(loom)` they are loom's,
//! so that the models test the shipped functions.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};

pub(crate) use core::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks that are loom's under `cfg(loom)`.
pub(crate) mod modelled {
    #[cfg(loom)]
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    #[cfg(not(loom))]
    pub(crate) use std::sync::{Mutex, MutexGuard};
}

/// Locks, and ignores poisoning. No user code runs under a lock, and our code leaves the state
/// consistent even if it panics.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
