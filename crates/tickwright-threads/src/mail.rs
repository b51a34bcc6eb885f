//! What a stack's thread is told: one word that everybody writes, and one that its worker alone writes, without locked operations.
//!
//! A thread that has begun runs on one worker. Who is on that worker, too, tells it by the worker's own word. Who is elsewhere puts
//! its record in the worker's inbox, and the worker hands on what it finds there.
//!
//! # Invariants
//! 1. Of all who tell elsewhere, one puts the record in the inbox, until the worker has taken it out: a record is never in two lists.
//! 2. A mail that is shut is put nowhere: what is told is found when it is opened, at the thread's first wait. Those that never wait pay nothing.
//! 3. A thread whose record is in an inbox, or on its way there, does not end before it was taken out: ends elsewhere use the same link.
//! 4. What was written before a wake-up is seen after the wait that it ends: tellers release, the worker acquires when it opens or takes out, and what follows
//!    is on its own kernel thread.
//! 5. A record's owner is the worker from the thread's beginning to its end, and only that worker writes its own number there: who finds its own number
//!    is on the kernel thread that the worker's word belongs to.

use crate::primitive::{AtomicU32, Ordering};

#[cfg(all(test, loom))]
mod models;

/// What a thread is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing: it has yielded.
    Nothing = 0,
    /// Go on.
    Wake = TOLD as isize,
    /// Go on, and end the next park.
    Unpark = (TOLD | UNPARKED) as isize,
}

// In both words.
const TOLD: u32 = 1;
const UNPARKED: u32 = 2;
/// In everybody's: nobody else may put it in the inbox.
const QUEUED: u32 = 4;
/// In the worker's: tellers put the record in the inbox.
const OPEN: u32 = 8;
/// In the worker's: the thread has ended, and its record is still to be taken out.
const ENDED: u32 = 16;

#[derive(Debug)]
pub(crate) struct Mail {
    all: AtomicU32,
    own: AtomicU32,
}

impl Mail {
    pub(crate) fn new() -> Self {
        Self { all: AtomicU32::new(QUEUED), own: AtomicU32::new(0) }
    }

    /// Shut and empty, for another thread. By the one who releases the record.
    pub(crate) fn reset(&self) {
        self.all.store(QUEUED, Ordering::Relaxed);
        self.own.store(0, Ordering::Relaxed);
    }

    /// Tells it from elsewhere. True: the caller puts the record in the inbox of its owner.
    #[inline]
    pub(crate) fn tell(&self, news: News) -> bool {
        self.all.fetch_or(QUEUED | news as u32, Ordering::AcqRel) & QUEUED == 0
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

    /// Tells it on its own worker.
    #[inline]
    pub(crate) fn tell_here(&self, news: News) {
        self.change(news as u32, 0);
    }

    /// Takes what was told elsewhere, when the record was taken out of the inbox. False: the thread has ended, and can leave now.
    pub(crate) fn take(&self) -> bool {
        if self.has(ENDED) {
            return false;
        }
        self.open();
        true
    }

    /// The thread has yielded, and is queued as if it were told from elsewhere.
    #[cold]
    pub(crate) fn yielded(&self) {
        if !self.has(OPEN) {
            self.open();
        }
    }

    #[cold]
    fn open(&self) {
        let told = self.all.swap(0, Ordering::AcqRel);
        self.change(OPEN | told & (TOLD | UNPARKED), 0);
    }

    /// The thread is about to wait. False: it was told to go on, and has heard it.
    #[inline]
    pub(crate) fn listen(&self) -> bool {
        if !self.has(OPEN) {
            self.open();
        }
        let told = self.has(TOLD);
        self.heard();
        !told
    }

    /// The thread goes on.
    #[inline]
    pub(crate) fn heard(&self) {
        self.change(0, TOLD);
    }

    /// Whether it was unparked since it last asked.
    #[inline]
    pub(crate) fn is_unparked(&self) -> bool {
        self.has(UNPARKED)
    }

    /// A park has ended.
    #[inline]
    pub(crate) fn unparked(&self) {
        self.change(0, UNPARKED);
    }

    /// The thread has ended, and is told nothing more. False: its record must be taken out of the inbox first.
    #[inline]
    pub(crate) fn shut(&self) -> bool {
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
