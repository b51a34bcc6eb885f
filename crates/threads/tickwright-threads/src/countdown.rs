//! The creator of a runtime waits until the runtime's own kernel threads have begun.
//!
//! It waits as a kernel thread, even if the caller is an M:N thread. The wait is short, and no
//! other thread runs on the caller's worker meanwhile. The standard library ends the process if
//! some of its allocations fail. A thread that begins makes no such allocation, because its creator
//! provides the memory.

use std::sync::Arc;

use crate::kernel_thread::KernelThread;
use crate::primitive::{AtomicUsize, Ordering};

/// The number of threads that have not begun yet.
pub(crate) struct Countdown {
    left: AtomicUsize,
    creator: KernelThread,
}

impl Countdown {
    /// Creates the countdown of a caller that will wait for `threads` threads.
    pub(crate) fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(threads), creator: KernelThread::current() })
    }

    /// Notes that one of these threads has begun.
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
