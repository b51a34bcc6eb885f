//! Which process this is: a forked child has a copy of everything but the threads.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

use once_cell::race::OnceBox;
use tickwright::fork::Registration;

use crate::id::ThreadId;
use crate::{here, kernel_thread};

/// How many forks lie between this process and the one that was started. The count of a process
/// never changes; the count of its child differs.
static FORKS: AtomicU32 = AtomicU32::new(0);

static REGISTRATION: Registration = Registration::new();

thread_local! {
    /// The calling thread was a runtime's when it forked this process, and whether its body has
    /// panicked since.
    static CHILD: Cell<Option<bool>> = const { Cell::new(None) };
}

/// What is to be done in each child, by the thread that forked it. That thread was this one of a
/// runtime, or none.
static IN_THE_CHILD: OnceBox<fn(Option<ThreadId>)> = OnceBox::new();

/// Has `hook` called in each child from now on. One part of the crate has such a hook.
pub(crate) fn in_each_child(hook: fn(Option<ThreadId>)) {
    let _ = IN_THE_CHILD.set(Box::new(hook));
}

extern "C" fn child() {
    REGISTRATION.is_done();
    FORKS.fetch_add(1, Ordering::Relaxed);
    kernel_thread::in_the_child();
    let was = here::in_the_child();
    if was.is_some() {
        CHILD.set(Some(false));
    }
    if let Some(hook) = IN_THE_CHILD.get() {
        hook(was.flatten());
    }
}

/// The process that made this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// This one. The first call registers for forks with the platform. Where that fails (no
    /// memory), children are not told from their parents.
    pub(crate) fn this() -> Self {
        REGISTRATION.ensure(|| {
            // SAFETY: 1. The function is there as long as the library. 2. It takes no lock that
            // another thread may have held.
            0 == unsafe { libc::pthread_atfork(None, None, Some(child)) }
        });
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether the caller is in the process that made this value, and not in a child that was
    /// forked since. No system call.
    #[inline]
    pub(crate) fn is_this(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }
}

/// Whether the caller was a runtime's thread when it forked this process: the only thread of this
/// process, unless it has started others.
#[inline]
pub(crate) fn is_child() -> bool {
    CHILD.get().is_some()
}

/// The body of that thread has ended, by a panic or not.
#[cold]
pub(crate) fn child_has_ended(panicked: bool) {
    CHILD.set(Some(panicked));
}

/// Ends the child as a process ends whose last thread returns: handlers of `exit` run, and the C
/// library writes its buffers.
/// After a panic the code is that of a program whose main thread has panicked.
#[cold]
pub(crate) fn end_the_child() -> ! {
    let code = if CHILD.get() == Some(true) { 101 } else { 0 };
    // SAFETY: 1. Nothing of the caller's stack is used again.
    unsafe { libc::exit(code) }
}
