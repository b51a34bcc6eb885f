//! The wake-ups of an M:N thread: one word that all threads write, and one that its worker alone
//! writes, without locked operations.
//!
//! A thread that has begun runs on one worker. A thread on the same worker notifies it by the
//! worker's own word. A thread elsewhere pushes its record to the worker's remote queue, and the
//! worker receives it.
//!
//! # Invariants
//! 1. Several threads may notify from elsewhere before the worker has received the record. One of
//!    them pushes it to the remote queue, so a record is never in two lists.
//! 2. While the flags are closed nothing is pushed. A wake-up is found when they open, at the
//!    thread's first wait. A thread that never waits pays nothing.
//! 3. A thread whose record is in a remote queue, or on its way there, leaves only after the record
//!    was received. Its end uses the same link.
//! 4. What was written before a wake-up is seen after the wait that it ends: `notify` releases,
//!    and the worker acquires when it opens or receives. What follows is on the worker's own kernel
//!    thread.
//! 5. A record's owner is the worker, from the thread's beginning to its end. Only that worker
//!    writes its own number there. A worker that finds its own number is on the kernel thread that
//!    its word belongs to.

use crate::primitive::{AtomicU32, Ordering};

#[cfg(all(test, loom))]
mod models;

/// What a notification asks of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakeup {
    /// Nothing: it has yielded, and is in a queue.
    Yielded = 0,
    /// Go on.
    Wake = WAKE as isize,
    /// Go on, and end the thread's next park too.
    Unpark = (WAKE | UNPARKED) as isize,
}

// In both words.
const WAKE: u32 = 1;
const UNPARKED: u32 = 2;
/// In the word of all: no other thread may push the record to the remote queue.
const QUEUED: u32 = 4;
/// In the worker's word: threads elsewhere push the record to the remote queue.
const OPEN: u32 = 8;
/// In the worker's word: the thread has ended, and its record is still to be received.
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

    /// Closed and empty, for another thread. By the party that releases the record.
    pub(crate) fn reset(&self) {
        self.all.store(QUEUED, Ordering::Relaxed);
        self.own.store(0, Ordering::Relaxed);
    }

    /// Notifies from elsewhere. True: the caller pushes the record to the remote queue of its
    /// owner.
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

    /// Notifies on the thread's own worker.
    #[inline]
    pub(crate) fn notify_local(&self, wakeup: Wakeup) {
        self.change(wakeup as u32, 0);
    }

    /// The record was taken from the remote queue: moves the wake-ups into the worker's word.
    /// False: the thread has ended, and can leave now.
    pub(crate) fn receive(&self) -> bool {
        if self.has(ENDED) {
            return false;
        }
        self.open();
        true
    }

    /// The thread has yielded, and is queued as if it were notified from elsewhere.
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

    /// The thread is about to wait. False: it was notified, and goes on.
    #[inline]
    pub(crate) fn begin_wait(&self) -> bool {
        if !self.has(OPEN) {
            self.open();
        }
        let woken = self.has(WAKE);
        self.end_wait();
        !woken
    }

    /// The thread goes on.
    #[inline]
    pub(crate) fn end_wait(&self) {
        self.change(0, WAKE);
    }

    /// Whether it was unparked since its last park.
    #[inline]
    pub(crate) fn is_unparked(&self) -> bool {
        self.has(UNPARKED)
    }

    /// A park has ended.
    #[inline]
    pub(crate) fn end_park(&self) {
        self.change(0, UNPARKED);
    }

    /// Closes the flags of a thread that has ended: nobody notifies it again. Returns false if the
    /// worker must receive its record first.
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
