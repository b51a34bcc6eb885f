//! The atomics and locks of a thread's record. Under `cfg(loom)` they are loom's types, so that the
//! models test the shipped functions.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};

pub(crate) use core::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock types, which are loom's types under `cfg(loom)`.
pub(crate) mod modelled {
    #[cfg(loom)]
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    #[cfg(not(loom))]
    pub(crate) use std::sync::{Mutex, MutexGuard};
}

/// Takes the lock, and ignores poisoning, because no user code runs under a lock, and this library
/// leaves the state consistent even if it panics.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
