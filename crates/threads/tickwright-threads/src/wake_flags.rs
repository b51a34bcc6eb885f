//! The wake-ups of an M:N thread: one word that all threads write, and one word that only its
//! worker writes, without locked instructions.
//!
//! A thread that has begun runs on one worker. A notifier on the same worker uses the worker's own
//! word. A notifier elsewhere pushes the thread's record to the worker's remote queue, and the
//! worker receives the record.
//!
//! # Invariants
//! 1. Several threads may notify from elsewhere before the worker has received the record. Only one
//!    of them pushes the record to the remote queue, so a record is never in two lists.
//! 2. While the flags are closed, nothing is pushed. They open at the thread's first wait, which
//!    finds earlier wake-ups. A thread that never waits has no cost.
//! 3. A thread whose record is in a remote queue, or on its way there, leaves only after the record
//!    was received. The thread's end uses the same link of the record.
//! 4. Everything written before a wake-up is visible after the wait that the wake-up ends. To
//!    ensure this, `notify` releases, and the worker acquires when it opens the flags or receives
//!    the record. All later steps run on the worker's own kernel thread.
//! 5. The owner of a record is the thread's worker, from the thread's beginning to its end. Only a
//!    worker itself writes its number as the owner. If a worker finds its own number there, it
//!    therefore runs on the kernel thread that writes the worker's word.

use crate::primitive::{AtomicU32, Ordering};

#[cfg(all(test, loom))]
mod models;

/// What a notification requests of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakeup {
    /// Nothing: the thread has yielded and is in a queue.
    Yielded = 0,
    /// To continue.
    Wake = WAKE as isize,
    /// To continue, and to end the thread's next park too.
    Unpark = (WAKE | UNPARKED) as isize,
}

// Used in both words.
const WAKE: u32 = 1;
const UNPARKED: u32 = 2;
/// In the word that all threads write: the record is being or was pushed to the remote queue, and
/// no other thread must push it.
const QUEUED: u32 = 4;
/// In the worker's word: threads elsewhere push the record to the remote queue.
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

    /// Closes and clears the flags for another thread. The party that releases the record calls
    /// this.
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
