//! The wake-ups of an M:N thread: one word that all threads write, and one that its worker alone
//! writes, without locked operations.
//!
//! A thread that has begun runs on one worker. A notifier on the same worker uses the worker's own
//! word. A notifier elsewhere pushes the thread's record to the worker's remote queue, and the
//! worker receives the record.
//!
//! # Invariants
//! 1. Several threads may notify from elsewhere before the worker has received the record. Only one
//!    of them pushes the record to the remote queue, so a record is never in two lists.
//! 2. While the flags are closed, nothing is pushed. They open at the thread's first wait, which
//!    finds earlier wake-ups. A thread that never waits pays nothing.
//! 3. A thread whose record is in a remote queue, or on its way there, leaves only after the record
//!    was received. The thread's end uses the same link of the record.
//! 4. Everything written before a wake-up is visible after the wait that the wake-up ends. For this
//!    `notify` releases, and the worker acquires when it opens the flags or receives the record.
//!    All later steps are on the worker's own kernel thread.
//! 5. A record's owner is the worker, from the thread's beginning to its end. Only that worker
//!    writes its own number there. So a worker that finds its own number runs on the kernel thread
//!    to which the worker's word belongs.

use crate::primitive::{AtomicU32, Ordering};

#[cfg(all(test, loom))]
mod models;

/// What a notification requests of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakeup {
    /// Nothing: the thread has yielded, and is in a queue.
    Yielded = 0,
    /// Go on.
    Wake = WAKE as isize,
    /// Go on, and end the thread's next park too.
    Unpark = (WAKE | UNPARKED) as isize,
}

// In both words.
const WAKE: u32 = 1;
const UNPARKED: u32 = 2;
/// In the word that all threads write: no other thread may push the record to the remote queue.
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

    /// Closes and empties the flags for another thread. The party that releases the record calls
    /// this.
    pub(crate) fn reset(&self) {
        self.all.store(QUEUED, Ordering::Relaxed);
        self.own.store(0, Ordering::Relaxed);
    }

    /// Notifies from elsewhere. Returns true if the caller has to push the record to the remote
    /// queue of its owner.
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

    /// Called after the record was taken from the remote queue: moves the wake-ups into the
    /// worker's word. Returns false if the thread has ended, and can leave now.
    pub(crate) fn receive(&self) -> bool {
        if self.has(ENDED) {
            return false;
        }
        self.open();
        true
    }

    /// Called after the thread has yielded: it is queued as if it were notified from elsewhere.
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

    /// Called when the thread is about to wait. Returns false if it was notified, so that it goes
    /// on.
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

    /// Whether the thread was unparked since its last park.
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
    /// worker must receive the thread's record first.
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
