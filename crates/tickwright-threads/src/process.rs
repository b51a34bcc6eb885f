//! Which process this is: a forked child has a copy of everything but the threads.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

/// How many forks lie between this process and the one that was started. The count of a process never changes; its child's differs.
static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The process that made this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// This one. The first call has the platform count forks; where it cannot (no memory), children are not told from their parents.
    pub(crate) fn this() -> Self {
        static COUNTED: Once = Once::new();
        COUNTED.call_once(|| {
            // SAFETY: 1. The function stays, and only adds to an atomic number, which a child may do before anything else.
            unsafe {
                libc::pthread_atfork(None, None, Some(child));
            }
        });
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether the caller is in the process that made this value, and not in a child that was forked since. No system call.
    pub(crate) fn is_this(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }
}
