//! Waiting, whatever the caller is: a thread of a runtime of any model, or one that no runtime knows.
//!
//! A waiter is put where others find it, then it waits; who wants it to go on wakes it. A wake-up that comes first is kept. Waits may
//! return without cause, so they stand in loops.

use std::sync::Arc;
use std::thread::{self, Thread};

use crate::clock::Timekeeper;

/// Somebody who may be woken.
#[derive(Clone, Debug)]
pub(crate) enum Waiter {
    /// A kernel thread.
    Kernel(Thread),
}

impl Waiter {
    /// The caller.
    pub(crate) fn current() -> Self {
        Self::Kernel(thread::current())
    }

    pub(crate) fn wake(&self) {
        match self {
            Self::Kernel(thread) => thread.unpark(),
        }
    }

    /// Waits until woken.
    pub(crate) fn wait() {
        thread::park();
    }

    /// Waits until woken, or the time has come by that clock. False: it has.
    pub(crate) fn wait_until(timekeeper: &Arc<Timekeeper>, at: u64) -> bool {
        timekeeper.park_until(at)
    }
}
