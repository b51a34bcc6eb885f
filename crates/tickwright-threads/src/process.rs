//! Which process this is: a forked child has a copy of everything but the threads.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

use crate::many;

/// How many forks lie between this process and the one that was started. The count of a process never changes; its child's differs.
static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    many::here::in_the_child();
}

/// The process that made this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// This one. The first call has the platform notice forks; where it cannot (no memory), children are not told from their parents.
    pub(crate) fn this() -> Self {
        static NOTICED: Once = Once::new();
        NOTICED.call_once(|| {
            // SAFETY: 1. The function is there for ever, and touches atomics and plain thread-local cells alone.
            unsafe {
                libc::pthread_atfork(None, None, Some(child));
            }
        });
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether the caller is in the process that made this value, and not in a child that was forked since. No system call.
    #[inline]
    pub(crate) fn is_this(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }
}

/// The only thread of a forked child has ended: so does the child, as a process does whose last thread ends.
#[cold]
pub(crate) fn end_the_child() -> ! {
    // SAFETY: 1. Ends the process, and runs nothing of the parent's.
    unsafe { libc::_exit(0) }
}
