//! Whether a kernel thread is parked, and whether it was unparked: one atomic word.
//!
//! # Invariants
//! 1. A wake-up is kept until the next park, and several are one.
//! 2. Of all threads that wake a parked thread, one finds it parked and hands it to its worker: it
//!    is never queued twice.
//! 3. What was written before a wake-up is seen after the park that it ends.

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

    /// For a new thread, which nobody else knows.
    pub(crate) fn reset(&self) {
        self.0.store(RUNNING, Ordering::Relaxed);
    }

    /// The thread is about to wait. False: it was unparked, and goes on.
    pub(crate) fn park(&self) -> bool {
        // Relaxed: a caller of `unpark` that finds PARKED reads the thread's record under that
        // record's lock.
        if self.0.compare_exchange(RUNNING, PARKED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return true;
        }
        self.end_park();
        false
    }

    /// The thread goes on, whatever the cause, and takes a wake-up. Returns whether there was one.
    pub(crate) fn end_park(&self) -> bool {
        // Acquire: what was written before `unpark` is read after this, also where a time-out ended
        // the wait.
        self.0.swap(RUNNING, Ordering::Acquire) == UNPARKED
    }

    /// Tells it to go on. True: it was parked, and the caller puts it where it will run.
    pub(crate) fn unpark(&self) -> bool {
        self.0.swap(UNPARKED, Ordering::AcqRel) == PARKED
    }
}
