//! A waker in two words, which are both zero while there is no waker.
//!
//! The storage in a task is initially all zeros. A list has only shared references to its nodes, so
//! the two words are atomics. Only the queue accesses the words, while it is borrowed mutably.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use core::task::{RawWakerVTable, Waker};

/// The waker in a task's timer.
#[derive(Debug)]
pub(crate) struct Sleeper {
    data: AtomicPtr<()>,
    /// The waker's table of functions, or null while there is no waker.
    vtable: AtomicPtr<RawWakerVTable>,
}

impl Sleeper {
    /// Creates an empty sleeper.
    #[cfg(test)]
    pub(crate) const fn new() -> Self {
        Self { data: AtomicPtr::new(ptr::null_mut()), vtable: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Stores a clone of `waker`. The sleeper must be empty.
    pub(crate) fn put(&self, waker: &Waker) {
        debug_assert!(self.vtable.load(Ordering::Relaxed).is_null(), "a waker would be lost");
        let kept = core::mem::ManuallyDrop::new(waker.clone());
        self.data.store(kept.data().cast_mut(), Ordering::Relaxed);
        self.vtable.store(ptr::from_ref(kept.vtable()).cast_mut(), Ordering::Relaxed);
    }

    /// Removes and returns the waker.
    pub(crate) fn take(&self) -> Option<Waker> {
        let vtable = self.vtable.load(Ordering::Relaxed).cast_const();
        self.vtable.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: 1. the pointer is null, or `put` made it from a reference to a static table.
        let vtable: &'static RawWakerVTable = unsafe { vtable.as_ref() }?;
        // SAFETY: 1. data and table are those of one waker, which `put` cloned and did not drop;
        // 2. the table was set to null above, so this waker is made only once.
        Some(unsafe { Waker::new(self.data.load(Ordering::Relaxed).cast_const(), vtable) })
    }
}

#[cfg(test)]
mod tests;
