//! Which process this is: a forked child has a copy of everything but the threads.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

use crate::clock::Timekeeper;
use crate::{kernel, kernel_thread, local, many};

/// How many forks lie between this process and the one that was started. The count of a process never changes; its child's differs.
static FORKS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The calling thread was a runtime's when it forked this process, and whether its body has panicked since.
    static CHILD: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Before a fork: what all threads share is made, and nobody else has its lock.
extern "C" fn prepare() {
    Timekeeper::system();
    kernel::before_a_fork();
}

extern "C" fn parent() {
    kernel::after_a_fork(false);
}

extern "C" fn child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    kernel::after_a_fork(true);
    kernel_thread::in_the_child();
    let was = many::here::in_the_child().or_else(|| kernel::here::in_the_child().map(Some));
    if was.is_some() {
        CHILD.set(Some(false));
    }
    if let Some(id) = was.flatten() {
        local::in_the_child(id);
    }
}

/// The process that made this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// This one. The first call has the platform notice forks; where it cannot (no memory), children are not told from their parents.
    pub(crate) fn this() -> Self {
        static NOTICED: Once = Once::new();
        NOTICED.call_once(|| {
            // SAFETY: 1. The functions are there as long as the library. 2. In the child they take no lock that another thread may have held.
            unsafe {
                libc::pthread_atfork(Some(prepare), Some(parent), Some(child));
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

/// Whether the caller was a runtime's thread when it forked this process: the only thread of this process, unless it has started others.
#[inline]
pub(crate) fn is_child() -> bool {
    CHILD.get().is_some()
}

/// The body of that thread has ended, by a panic or not.
#[cold]
pub(crate) fn child_has_ended(panicked: bool) {
    CHILD.set(Some(panicked));
}

/// Ends the child as a process ends whose last thread returns: handlers of `exit` run, and the C library writes its buffers.
/// After a panic the code is that of a program whose main thread has panicked.
#[cold]
pub(crate) fn end_the_child() -> ! {
    let code = if CHILD.get() == Some(true) { 101 } else { 0 };
    // SAFETY: 1. Nothing of the caller's stack is used again.
    unsafe { libc::exit(code) }
}
