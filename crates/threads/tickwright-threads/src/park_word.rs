//! One atomic word that says whether a kernel thread is parked, and whether it was unparked.
//!
//! # Invariants
//! 1. A wake-up is stored until the next park, and several wake-ups count as one.
//! 2. If several threads wake a parked thread, only one of them finds it parked and queues it, so a
//!    thread is never queued twice.
//! 3. Everything that was written before a wake-up is visible after the park that the wake-up ends.

use crate::primitive::{AtomicU32, Ordering};

#[cfg(all(test, loom))]
mod models;

const RUNNING: u32 = 0;
const PARKED: u32 = 1;
const UNPARKED: u32 = 2;

pub(crate) struct ParkWord(AtomicU32);

impl ParkWord {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(RUNNING))
    }

    /// Resets the word for a new thread, to which no other thread has access yet.
    pub(crate) fn reset(&self) {
        self.0.store(RUNNING, Ordering::Relaxed);
    }

    /// Called by a thread that is about to wait. Returns false if the thread was already unparked
    /// and must not wait.
    pub(crate) fn park(&self) -> bool {
        // Relaxed is enough, because a caller of `unpark` that finds PARKED reads the thread's
        // record under that record's lock.
        if self.0.compare_exchange(RUNNING, PARKED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return true;
        }
        self.end_park();
        false
    }

    /// Notes the end of the thread's wait, whatever its cause, and consumes a wake-up. Returns
    /// whether there was a wake-up.
    pub(crate) fn end_park(&self) -> bool {
        // Acquire, so that everything written before `unpark` is visible after this, even if a
        // time-out ended the wait.
        self.0.swap(RUNNING, Ordering::Acquire) == UNPARKED
    }

    /// Wakes the thread. Returns true if it was parked and the caller must queue it.
    pub(crate) fn unpark(&self) -> bool {
        self.0.swap(UNPARKED, Ordering::AcqRel) == PARKED
    }
}
