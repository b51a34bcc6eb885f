//! The atomics and locks that the words of a thread are made of. Under `cfg(loom)` they are loom's,
//! so that the models drive the shipped functions.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};

pub(crate) use core::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks that loom's models replace by loom's.
pub(crate) mod modelled {
    #[cfg(loom)]
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    #[cfg(not(loom))]
    pub(crate) use std::sync::{Mutex, MutexGuard};
}

/// Locks; a panic elsewhere does not matter, since no user code runs under a lock and ours leaves
/// the state whole.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
