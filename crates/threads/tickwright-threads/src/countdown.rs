//! A counter with which the creator of a runtime waits until the runtime's own kernel threads have
//! begun.
//!
//! The creator blocks its kernel thread, even if it is an M:N thread. The wait is short, and during
//! the wait no other thread runs on the creator's worker. The standard library ends the process if
//! some of its allocations fail. A thread makes no such allocation when it begins, because its
//! creator has allocated the memory.

use std::sync::Arc;

use crate::kernel_thread::KernelThread;
use crate::primitive::{AtomicUsize, Ordering};

/// The number of threads that have not begun yet.
pub(crate) struct Countdown {
    left: AtomicUsize,
    creator: KernelThread,
}

impl Countdown {
    /// Creates a countdown for a caller that will wait for `threads` threads.
    pub(crate) fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(threads), creator: KernelThread::current() })
    }

    /// Called by each of these threads when it has begun.
    pub(crate) fn count(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.creator.unpark();
        }
    }

    /// Waits until all threads have begun. Only the thread that created the countdown calls this.
    pub(crate) fn wait(&self) {
        while self.left.load(Ordering::Acquire) > 0 {
            KernelThread::park();
        }
    }
}
