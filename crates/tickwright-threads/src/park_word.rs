//! Whether a thread is parked, and whether it was told to go on: one atomic word.
//!
//! # Invariants
//! 1. A wake-up is kept until the next park, and several are one.
//! 2. Of all who wake a parked thread, one finds it parked and hands it to its worker: it is never queued twice.
//! 3. What was written before a wake-up is seen after the park that it ends.

use crate::primitive::{AtomicU32, Ordering};

#[cfg(all(test, loom))]
mod models;

const RUNNING: u32 = 0;
const PARKED: u32 = 1;
const TOLD: u32 = 2;

#[derive(Debug)]
pub(crate) struct ParkWord(AtomicU32);

impl ParkWord {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(RUNNING))
    }

    /// For a new thread, which nobody else knows.
    pub(crate) fn reset(&self) {
        self.0.store(RUNNING, Ordering::Relaxed);
    }

    /// The thread is about to wait. False: it was told to go on, and has heard it.
    pub(crate) fn park(&self) -> bool {
        // Relaxed: a caller of `tell` that finds PARKED reads the thread's record under that record's lock.
        if self.0.compare_exchange(RUNNING, PARKED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return true;
        }
        self.heard();
        false
    }

    /// The thread goes on, by whatever cause: a wake-up has been heard. Answers whether there was one.
    pub(crate) fn heard(&self) -> bool {
        // Acquire: what was written before `tell` is read after this, also where a time-out ended the wait.
        self.0.swap(RUNNING, Ordering::Acquire) == TOLD
    }

    /// Tells it to go on. True: it was parked, and the caller puts it where it will run.
    pub(crate) fn tell(&self) -> bool {
        self.0.swap(TOLD, Ordering::AcqRel) == PARKED
    }
}
