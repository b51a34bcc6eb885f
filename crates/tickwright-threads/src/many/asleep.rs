//! Whether a worker sleeps, and how: one atomic word for each worker, and one for all.
//!
//! A worker that watches sleeps with a limit, and then looks for threads that wait to begin at other workers. A drowsy worker sleeps without a limit.
//!
//! # Invariants
//! 1. Who hands something over and then calls, or the worker that lies down and then looks once more: one of them sees the other. So nothing is handed to
//!    a worker that sleeps on.
//! 2. Of several who call, one wakes.
//! 3. The same holds for a creator, which queues a thread and then looks for a drowsy worker, and for a worker that becomes drowsy and then looks for queued
//!    threads. So no thread waits to begin while every worker without work is drowsy, unless one of them has been called.
//! 4. A call that finds its worker awake is no call: the creator tries the next worker. A worker that was called, and has work when it gets up, sees the threads that
//!    wait, and calls in its turn.

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

    /// Sleeps once, unless a look finds work. `watches`: the sleep has a limit, and threads that wait elsewhere do not prevent it.
    pub(super) fn nap(
        &self,
        drowsy: &Drowsy,
        how: Sleep,
        watches: bool,
        has_work: impl FnOnce() -> bool,
        others_wait: impl FnOnce() -> bool,
        sleep: impl FnOnce(),
    ) {
        if !watches {
            drowsy.0.fetch_add(1, Ordering::Relaxed);
        }
        self.lie_down(how);
        // Our words are out: who gives us work from now on wakes us, and who creates calls us if we are drowsy. What came before is seen here.
        if !has_work() && (watches || !others_wait()) {
            sleep();
        }
        self.get_up();
        if !watches {
            drowsy.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The worker will sleep, unless it finds work in the look that follows.
    fn lie_down(&self, how: Sleep) {
        let word = match how {
            Sleep::Parked => PARKED,
            Sleep::Polling => POLLING,
            Sleep::InPipe => IN_PIPE,
        };
        self.0.swap(word, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The worker does not sleep any more. It sees what was before a call that has found it asleep.
    fn get_up(&self) {
        self.0.swap(AWAKE, Ordering::Acquire);
    }

    /// Something was handed over. Answers how to wake the worker, if it sleeps and nobody does so already.
    #[inline]
    pub(super) fn call(&self) -> Option<Sleep> {
        fence(Ordering::SeqCst);
        if self.0.load(Ordering::Relaxed) == AWAKE { None } else { self.rouse() }
    }

    #[cold]
    fn rouse(&self) -> Option<Sleep> {
        match self.0.swap(AWAKE, Ordering::Release) {
            PARKED => Some(Sleep::Parked),
            POLLING => Some(Sleep::Polling),
            IN_PIPE => Some(Sleep::InPipe),
            _ => None,
        }
    }
}

/// How many workers are drowsy.
#[derive(Debug)]
pub(super) struct Drowsy(AtomicU32);

impl Drowsy {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Whether a worker is drowsy. For a creator that has queued a thread: the fence is the other half of the one in `lie_down`.
    #[inline]
    pub(super) fn any(&self) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) > 0
    }
}
