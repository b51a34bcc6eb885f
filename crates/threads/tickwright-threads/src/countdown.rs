//! The creator of a runtime waits until the runtime's own kernel threads have begun.
//!
//! It waits as a kernel thread, also where the caller is an M:N thread. The wait is short, and no
//! other thread runs on the caller's worker meanwhile. Some allocations cannot be refused. A thread
//! that begins makes none of these: its creator gives it that memory.

use std::sync::Arc;

use crate::kernel_thread::KernelThread;
use crate::primitive::{AtomicUsize, Ordering};

/// How many threads have yet to begin.
pub(crate) struct Countdown {
    left: AtomicUsize,
    creator: KernelThread,
}

impl Countdown {
    /// The caller will wait for n threads.
    pub(crate) fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(threads), creator: KernelThread::current() })
    }

    /// One of them has begun.
    pub(crate) fn count(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.creator.unpark();
        }
    }

    /// Waits until all have. By the thread that has made it.
    pub(crate) fn wait(&self) {
        while self.left.load(Ordering::Acquire) > 0 {
            KernelThread::park();
        }
    }
}
