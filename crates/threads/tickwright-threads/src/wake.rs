//! Handles that wake a thread of any model.

use std::sync::Arc;

use crate::id::ThreadId;
use crate::kernel_thread::KernelThread;

/// A runtime whose threads are not kernel threads.
pub(crate) trait Wake: Send + Sync {
    /// Ends the wait of the thread. If the thread does not wait, its next wait ends at once. Does
    /// nothing if the thread has ended.
    fn wake(&self, id: ThreadId);
}

/// A handle that wakes a thread. A wake-up that comes before the wait ends that wait.
#[derive(Clone)]
pub(crate) enum Waiter {
    /// A kernel thread.
    Kernel(KernelThread),
    /// The thread with this id in the given runtime.
    Of(Arc<dyn Wake>, ThreadId),
}

impl Waiter {
    pub(crate) fn wake(&self) {
        match self {
            Self::Kernel(thread) => thread.unpark(),
            Self::Of(runtime, id) => runtime.wake(*id),
        }
    }
}
