//! Whether a worker sleeps, and how: one atomic word.
//!
//! # Invariants
//! 1. Who hands something over and then calls, or the worker that lies down and then looks once more: one of them sees the other. So nothing is handed to
//!    a worker that sleeps on.
//! 2. Of several who call, one wakes.

use crate::primitive::{AtomicU32, Ordering, fence};

const AWAKE: u32 = 0;
const PARKED: u32 = 1;
const POLLING: u32 = 2;
const IN_PIPE: u32 = 3;

/// How a worker sleeps, and so how it is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleep {
    /// Parked, as kernel threads are.
    Parked,
    /// Waiting for descriptors.
    Polling,
    /// Waiting for its pipe.
    InPipe,
}

#[derive(Debug)]
pub(super) struct Asleep(AtomicU32);

impl Asleep {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(AWAKE))
    }

    /// The worker will sleep, unless it finds work in the look that follows.
    pub(super) fn lie_down(&self, how: Sleep) {
        let word = match how {
            Sleep::Parked => PARKED,
            Sleep::Polling => POLLING,
            Sleep::InPipe => IN_PIPE,
        };
        self.0.swap(word, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }

    /// The worker does not sleep any more.
    pub(super) fn get_up(&self) {
        self.0.swap(AWAKE, Ordering::AcqRel);
    }

    /// Something was handed over. Answers how to wake the worker, if it sleeps and nobody does so already.
    #[inline]
    pub(super) fn call(&self) -> Option<Sleep> {
        fence(Ordering::SeqCst);
        if self.0.load(Ordering::Relaxed) == AWAKE { None } else { self.rouse() }
    }

    #[cold]
    fn rouse(&self) -> Option<Sleep> {
        match self.0.swap(AWAKE, Ordering::AcqRel) {
            PARKED => Some(Sleep::Parked),
            POLLING => Some(Sleep::Polling),
            IN_PIPE => Some(Sleep::InPipe),
            _ => None,
        }
    }

    /// A hint.
    pub(super) fn is_asleep(&self) -> bool {
        self.0.load(Ordering::Relaxed) != AWAKE
    }
}
