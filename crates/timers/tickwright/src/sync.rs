//! All synchronization types: atomics, locks, events, cells, and thread ids. Under `cfg(loom)`
//! these are loom's types, so the models run the shipped functions and not copies of them.
//!
//! `Arc` is always the type of the standard library, because the models need not verify its
//! counting, and loom's `Arc` holds no trait objects. The counters of [`statistics`](crate::shard)
//! also use the atomics of the standard library, because the protocol never reads them.

#[cfg(not(loom))]
use core::cell::UnsafeCell;
#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(loom)]
pub(crate) use loom::{
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicU32, AtomicU64},
    },
    thread::ThreadId,
};

pub(crate) use core::sync::atomic::Ordering;
use core::task::Waker;
use core::time::Duration;
pub(crate) use std::sync::Arc;
use std::sync::{PoisonError, TryLockError};

use crate::coroutine;

/// The id of a thread. No other living thread has the same id. The id combines the address of a
/// thread-local variable with the number of the [coroutine](crate::coroutine) on that kernel
/// thread, or 0 if there is none. The id of the standard library is not used, because on a thread
/// of a C program its first use allocates memory, which can fail.
#[cfg(not(loom))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId {
    kernel: usize,
    coroutine: u64,
}

#[cfg(all(unix, not(loom), not(miri)))]
impl ThreadId {
    /// Returns the id of the kernel thread without the coroutine.
    pub(crate) fn without_coroutine(self) -> Self {
        Self { coroutine: 0, ..self }
    }
}

/// Returns the id of the calling thread.
#[cfg(not(loom))]
pub(crate) fn this_thread() -> ThreadId {
    thread_local!(static HERE: u8 = const { 0 });
    let kernel = HERE.with(|here| core::ptr::from_ref(here).addr());
    ThreadId { kernel, coroutine: crate::coroutine::current() }
}

/// Returns the id of the calling thread.
#[cfg(loom)]
pub(crate) fn this_thread() -> ThreadId {
    loom::thread::current().id()
}

/// Ends the process because there is no memory, as the standard library does after a failed
/// allocation.
pub(crate) fn no_memory<T>() -> ! {
    std::alloc::handle_alloc_error(core::alloc::Layout::new::<T>())
}

/// Takes the lock, and ignores poisoning. Poisoning does not matter, because user code (clocks,
/// origins, tokens) runs under a lock only while the state is consistent, and the library's own
/// code leaves the state consistent even if it panics.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the lock if it is free.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Releases the lock, waits until the event is notified, and takes the lock again.
pub(crate) fn wait<'a, T>(event: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    event.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// The threads and coroutines that wait for an event.
#[derive(Debug, Default)]
pub struct Waiters {
    pub(crate) count: usize,
    /// The wakers of the waiting coroutines.
    wakers: Vec<Waker>,
}

impl Waiters {
    /// Removes all waiters in a forked child, where they do not exist. The wakers belong to the
    /// parent, and dropping them would touch the parent's data, so they are leaked.
    pub(crate) fn forget(&mut self) {
        core::mem::forget(core::mem::take(self));
    }
}

/// Like [`wait`], but the caller can be a coroutine, which then does not block its kernel thread.
/// The lock guards the list of the event's waiters. Spurious wake-ups are possible.
pub(crate) fn wait_as_caller<'a, T: AsMut<Waiters>>(
    event: &Condvar,
    mutex: &'a Mutex<T>,
    mut guard: MutexGuard<'a, T>,
) -> MutexGuard<'a, T> {
    guard.as_mut().count += 1;
    let mut guard = match coroutine::caller() {
        None => wait(event, guard),
        Some(coroutines) => {
            // The waker is added before the lock is released, so that a thread that notifies, which
            // holds the lock, finds it.
            guard.as_mut().wakers.push(coroutines.waker());
            drop(guard);
            coroutines.wait();
            lock(mutex)
        }
    };
    guard.as_mut().count -= 1;
    guard
}

/// Notifies all threads that wait for the event.
pub(crate) fn tell<T: AsMut<Waiters>>(event: &Condvar, guarded: &mut T) {
    let waiters = guarded.as_mut();
    if waiters.count > 0 {
        event.notify_all();
        waiters.wakers.drain(..).for_each(Waker::wake);
    }
}

/// Like [`wait`], but for at most the given time. In a model, the call waits without a time limit,
/// so the models do not cover time-outs.
pub(crate) fn wait_for<'a, T>(
    event: &Condvar,
    guard: MutexGuard<'a, T>,
    most: Duration,
) -> MutexGuard<'a, T> {
    event.wait_timeout(guard, most).unwrap_or_else(PoisonError::into_inner).0
}

/// A cell that reports its reads and writes to the model.
#[derive(Debug)]
pub(crate) struct Cell<T>(UnsafeCell<T>);

impl<T> Cell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Reports a read to the model, and returns the address to read from.
    #[inline]
    pub(crate) fn read(&self) -> *const T {
        #[cfg(not(loom))]
        return self.0.get();
        #[cfg(loom)]
        return self.0.with(|value| value);
    }

    /// Reports a write to the model, and returns the address to write to.
    #[inline]
    pub(crate) fn write(&self) -> *mut T {
        #[cfg(not(loom))]
        return self.0.get();
        #[cfg(loom)]
        return self.0.with_mut(|value| value);
    }
}
