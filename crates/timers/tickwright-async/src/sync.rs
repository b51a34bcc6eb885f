//! All synchronization types: atomics, locks, events, cells. Under `cfg(loom)` these are loom's
//! types, so that the models run the shipped functions.
//!
//! `Arc` is always the type of the standard library, because the models need not verify its
//! counting.

#[cfg(not(loom))]
use core::cell::UnsafeCell;
#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicUsize};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(loom)]
pub(crate) use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicUsize},
};

pub(crate) use core::sync::atomic::Ordering;
pub(crate) use std::sync::Arc;
use std::sync::PoisonError;

/// Locks a mutex, and ignores poisoning, because the only code of the user that runs under a lock
/// is the writer of a recorder.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A cell whose reads and writes the model checks.
#[derive(Debug)]
pub(crate) struct Cell<T>(UnsafeCell<T>);

impl<T> Cell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Passes a pointer to the content to `access`. A comment at each call says why no other thread
    /// accesses the content at the same time.
    #[inline]
    pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(not(loom))]
        return access(self.0.get());
        #[cfg(loom)]
        return self.0.with_mut(access);
    }
}
