//! The wake-ups of an M:N thread, in two words. All threads write one word. Only the thread's
//! worker writes the other word, without locked instructions.
//!
//! A thread that has begun runs on one worker. A thread that notifies it from the same worker uses
//! the worker's own word. A thread on another kernel thread pushes the notified thread's record to
//! the worker's remote queue, and the worker receives the record.
//!
//! # Invariants
//! 1. Several threads on other kernel threads can notify a thread before the worker has received
//!    its record. Only one of them pushes the record to the remote queue, so a record is never in
//!    two lists.
//! 2. While the flags are closed, the record is not pushed. The flags are opened at the thread's
//!    first wait, which finds earlier wake-ups. A thread that never waits therefore has no cost.
//! 3. If the record of an ended thread is in a remote queue, or is just being pushed, the thread is
//!    unregistered only after the record was received, because that uses the same link of the
//!    record.
//! 4. Everything that was written before a wake-up is visible after the wait that the wake-up ends,
//!    because `notify` is a Release, and the worker makes an Acquire when it opens the flags or
//!    receives the record. All later steps run on the worker's own kernel thread.
//! 5. From a thread's beginning to its end, the `owner` in its record is the thread's worker. Only
//!    a worker itself writes its number there. Therefore, code that finds the number of its own
//!    worker there runs on the kernel thread that is allowed to write the worker's word.

use crate::primitive::{AtomicU32, Ordering};

#[cfg(all(test, loom))]
mod models;

/// The kinds of wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakeup {
    /// The thread has yielded and is in a queue, so it needs no wake-up.
    Yielded = 0,
    /// The thread continues.
    Wake = WAKE as isize,
    /// The thread continues, and its current or next park ends.
    Unpark = (WAKE | UNPARKED) as isize,
}

// These two flags are used in both words.
const WAKE: u32 = 1;
const UNPARKED: u32 = 2;
/// In the word that all threads write: a thread pushes or has pushed the record to the remote
/// queue, and no other thread must push it.
const QUEUED: u32 = 4;
/// In the worker's word: threads on other kernel threads push the record to the remote queue.
const OPEN: u32 = 8;
/// In the worker's word: the thread has ended, but its record has not been received yet.
const ENDED: u32 = 16;

/// The two words of one thread.
pub(crate) struct WakeFlags {
    all: AtomicU32,
    own: AtomicU32,
}

impl WakeFlags {
    pub(crate) fn new() -> Self {
        Self { all: AtomicU32::new(QUEUED), own: AtomicU32::new(0) }
    }

    /// Closes and clears the flags for the next thread of the record. The thread that releases the
    /// record calls this.
    pub(crate) fn reset(&self) {
        self.all.store(QUEUED, Ordering::Relaxed);
        self.own.store(0, Ordering::Relaxed);
    }

    /// Notifies the thread from outside of its worker. Returns true if the caller must push the
    /// record to the remote queue of its owner.
    #[inline]
    pub(crate) fn notify(&self, wakeup: Wakeup) -> bool {
        self.all.fetch_or(QUEUED | wakeup as u32, Ordering::AcqRel) & QUEUED == 0
    }

    // ---- on its worker

    #[inline]
    fn has(&self, flag: u32) -> bool {
        self.own.load(Ordering::Relaxed) & flag != 0
    }

    #[inline]
    fn change(&self, set: u32, clear: u32) {
        self.own.store((self.own.load(Ordering::Relaxed) | set) & !clear, Ordering::Relaxed);
    }

    /// Notifies the thread from its own worker.
    #[inline]
    pub(crate) fn notify_local(&self, wakeup: Wakeup) {
        self.change(wakeup as u32, 0);
    }

    /// Called after the record was taken from the remote queue. Moves the wake-ups into the
    /// worker's word. Returns false if the thread has ended, and can now be unregistered.
    pub(crate) fn receive(&self) -> bool {
        if self.has(ENDED) {
            return false;
        }
        self.open();
        true
    }

    /// Called after the thread has yielded. The thread is queued as if another worker had notified
    /// it.
    #[cold]
    pub(crate) fn yielded(&self) {
        if !self.has(OPEN) {
            self.open();
        }
    }

    #[cold]
    fn open(&self) {
        let woken = self.all.swap(0, Ordering::AcqRel);
        self.change(OPEN | woken & (WAKE | UNPARKED), 0);
    }

    /// Called when the thread is about to wait. Returns false if the thread was already notified
    /// and must not wait.
    #[inline]
    pub(crate) fn begin_wait(&self) -> bool {
        if !self.has(OPEN) {
            self.open();
        }
        let woken = self.has(WAKE);
        self.end_wait();
        !woken
    }

    /// Called when the thread continues after a wait.
    #[inline]
    pub(crate) fn end_wait(&self) {
        self.change(0, WAKE);
    }

    /// Returns whether the thread was unparked since its last park.
    #[inline]
    pub(crate) fn is_unparked(&self) -> bool {
        self.has(UNPARKED)
    }

    /// Called when a park has ended.
    #[inline]
    pub(crate) fn end_park(&self) {
        self.change(0, UNPARKED);
    }

    /// Closes the flags of a thread that has ended, so that no notification reaches it again.
    /// Returns false if the worker must receive the thread's record first.
    #[inline]
    pub(crate) fn close(&self) -> bool {
        if !self.has(OPEN) {
            return true;
        }
        if self.all.swap(QUEUED, Ordering::AcqRel) & QUEUED == 0 {
            return true;
        }
        self.change(ENDED, 0);
        false
    }
}
