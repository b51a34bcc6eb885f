//! Identifies the process. A forked child has a copy of the parent's memory, but only the thread
//! that forked.

use core::cell::Cell;

use once_cell::race::OnceBox;
use tickwright::fork::Process;
#[cfg(unix)]
use tickwright::fork::Registration;

use crate::id::ThreadId;
#[cfg(unix)]
use crate::{host, kernel_thread, overflow};

#[cfg(unix)]
static REGISTRATION: Registration = Registration::new();

thread_local! {
    /// `Some` if the calling thread was a runtime's thread when it forked this process. The flag
    /// says whether the thread's body has panicked since then.
    static CHILD: Cell<Option<bool>> = const { Cell::new(None) };
}

/// A function that the thread that forked calls in each child. Its argument is the id of that
/// thread in the parent, if it was a runtime's thread.
static IN_THE_CHILD: OnceBox<fn(Option<ThreadId>)> = OnceBox::new();

/// Registers `hook`, which is then called in each child. There is at most one such hook.
pub(crate) fn in_each_child(hook: fn(Option<ThreadId>)) {
    let _ = IN_THE_CHILD.set(Box::new(hook));
}

#[cfg(unix)]
extern "C" fn child() {
    REGISTRATION.is_done();
    kernel_thread::in_the_child();
    overflow::in_the_child();
    let was = host::in_the_child();
    if was.is_some() {
        CHILD.set(Some(false));
    }
    if let Some(hook) = IN_THE_CHILD.get() {
        hook(was.flatten());
    }
}

/// Returns the calling process. The first call registers a fork handler with the platform. If the
/// registration fails for lack of memory, a child does not notice that it was forked.
pub(crate) fn this() -> Process {
    #[cfg(unix)]
    REGISTRATION.ensure(|| {
        // SAFETY: 1. The function exists as long as the library. 2. It takes no lock that another
        // thread may have held.
        0 == unsafe { libc::pthread_atfork(None, None, Some(child)) }
    });
    Process::this()
}

/// Returns whether the caller was a runtime's thread when it forked this process. In this case the
/// caller is the only thread of this process, unless it has started other threads.
#[inline]
pub(crate) fn is_child() -> bool {
    CHILD.get().is_some()
}

/// Called in the child when the body of the thread that forked has returned or panicked.
#[cold]
pub(crate) fn child_has_ended(panicked: bool) {
    CHILD.set(Some(panicked));
}

/// Ends the child like a process whose last thread returns: handlers of `exit` run, and the C
/// library writes its buffers. After a panic the exit code is that of a program whose main thread
/// has panicked.
#[cold]
pub(crate) fn end_the_child() -> ! {
    let code = if CHILD.get() == Some(true) { 101 } else { 0 };
    #[cfg(not(unix))]
    std::process::exit(code);
    // SAFETY: 1. Nothing on the caller's stack is used again.
    #[cfg(unix)]
    unsafe {
        libc::exit(code)
    }
}
