//! What the caller is: a thread of a runtime of any model, or a thread that no runtime knows.
//!
//! A model enters a [`Host`] on each kernel thread that runs its threads. Everything that waits
//! (locks, mailboxes, joins, sleeps) calls the host of the calling kernel thread, and knows no
//! model. Without a host the caller is a plain kernel thread, which parks and sleeps by the
//! machine's clock.
//!
//! # Invariants
//! 1. A host is entered on its own kernel thread, and left before it is dropped.
//! 2. While a host's `current` is `None`, the kernel thread runs the runtime's code. Callers then
//!    act as if there were no host.

use core::cell::Cell;
use core::ops::Range;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tickwright::time::{Clock, Instant, SystemClock};

use crate::id::ThreadId;
use crate::kernel_thread::KernelThread;
use crate::threads::Threads;
use crate::wake::Waiter;

/// A kernel thread of a runtime, as the thread that runs on it sees it.
pub(crate) trait Host {
    /// The thread that runs on this kernel thread now.
    fn current(&self) -> Option<ThreadId>;

    /// The thread's runtime.
    fn threads(&self) -> Arc<dyn Threads>;

    /// The address of the runtime.
    fn runtime(&self) -> *const ();

    /// The clock by which the thread sleeps.
    fn clock(&self) -> &Arc<dyn Clock>;

    /// Whether other threads run on this kernel thread while the current one waits.
    fn is_shared(&self) -> bool;

    /// A handle that wakes the current thread.
    fn waiter(&self) -> Waiter;

    /// Lets other threads run.
    fn yield_now(&self);

    /// The caller has used up its budget of calls. Lets other threads run, unless one has run
    /// since the last time that a budget was used up. This and the next three do nothing where the
    /// platform interrupts its threads by itself.
    fn budget_is_spent(&self) {}

    /// Lets the other threads of the caller's kernel thread run. In a section without yields, they
    /// run at the end of the section.
    fn make_way(&self) {}

    /// Begins a section without yields. Sections may be nested.
    fn forbid_yields(&self) {}

    /// Ends a section without yields. If this is the outermost section, and a call in the section
    /// would have let other threads run, they run now.
    fn allow_yields(&self) {}

    /// Waits until the thread is woken; may return without cause.
    fn wait(&self);

    /// Like `wait`, but for at most `most` by the machine's clock.
    fn wait_for(&self, most: Duration);

    /// Like `wait`, but at most until the thread's clock shows `at`. Returns false if it shows
    /// `at`.
    fn wait_until(&self, at: Instant) -> bool;

    /// Waits until the thread is unparked, or until its clock shows `until`.
    fn park(&self, until: Option<Instant>);

    /// The addresses of the thread's stack.
    fn stack(&self) -> Option<Range<usize>>;

    /// Waits until a descriptor is ready. Returns `None` if this host cannot, so the caller waits
    /// as a kernel thread.
    fn wait_for_descriptor(&self, _fd: i32, _writable: bool) -> Option<io::Result<()>> {
        None
    }
}

thread_local! {
    /// Neither has a destructor, so destructors of other variables may still read them.
    static HOST: Cell<Option<*const dyn Host>> = const { Cell::new(None) };
    static SHARED: Cell<*const ()> = const { Cell::new(core::ptr::null()) };
    /// How many calls are left until the budget is spent.
    static LEFT: Cell<u32> = const { Cell::new(BUDGET) };
}

/// How many counted calls a kernel thread makes until its host looks whether another thread should
/// run. See [`count_call`].
const BUDGET: u32 = 64;

/// Makes `host` the host of the calling kernel thread, until [`leave`].
///
/// # Safety
/// The host does not move or end before `leave` was called on this kernel thread.
pub(crate) unsafe fn enter(host: &(impl Host + 'static)) {
    let own: *const dyn Host = core::ptr::from_ref(host);
    SHARED.set(if host.is_shared() { own.cast() } else { core::ptr::null() });
    HOST.set(Some(own));
}

/// Makes the calling kernel thread a plain one.
pub(crate) fn leave() {
    HOST.set(None);
    SHARED.set(core::ptr::null());
}

/// The address of the host if it is shared, else null. Only the M:N model has shared hosts. It
/// knows their type, so a switch needs no call through `dyn Host`.
#[inline(always)]
pub(crate) fn shared_host() -> *const () {
    SHARED.get()
}

/// Counts a call that waits for other threads or wakes them. A thread that makes such calls in a
/// loop, and never has to wait, would keep all other threads and their timers from its worker for
/// ever. Therefore the host looks after every `BUDGET` calls whether another thread should run.
/// The cost is a subtraction and a branch, and the address of the counter.
#[inline(always)]
pub(crate) fn count_call() {
    let left = LEFT.get().wrapping_sub(1);
    LEFT.set(left);
    if left == 0 {
        spent();
    }
}

#[cold]
#[inline(never)]
fn spent() {
    LEFT.set(BUDGET);
    // A thread that unwinds makes no endless loop, and a switch is expensive meanwhile.
    if !std::thread::panicking() {
        with(|host| host.budget_is_spent());
    }
}

/// Called in the child after a fork: from now on no runtime knows the calling thread. Returns which
/// thread it was in the parent; `Some(None)` if it ran the runtime's own code.
pub(crate) fn in_the_child() -> Option<Option<ThreadId>> {
    let was = with_host(|host| host.current());
    leave();
    was
}

#[inline]
fn with_host<R>(use_it: impl FnOnce(&dyn Host) -> R) -> Option<R> {
    let host = HOST.get()?;
    // SAFETY: 1. The caller of `enter` promises that the host does not move or end before it is
    // left. 2. It is used on this kernel thread alone.
    Some(use_it(unsafe { &*host }))
}

/// Calls `use_it` with the host of the calling thread. Returns `None` if no runtime knows the
/// thread.
#[inline]
pub(crate) fn with<R>(use_it: impl FnOnce(&dyn Host) -> R) -> Option<R> {
    with_host(|host| host.current().is_some().then(|| use_it(host)))?
}

/// The calling thread, if a runtime created it. `None` in the thread's last destructors, and in a
/// child that it has forked.
#[must_use]
pub fn current() -> Option<ThreadId> {
    with_host(|host| host.current())?
}

/// A handle that wakes the calling thread.
pub(crate) fn waiter() -> Waiter {
    with(|host| host.waiter()).unwrap_or_else(|| Waiter::Kernel(KernelThread::current()))
}

/// Whether other threads run on the caller's kernel thread while the caller waits.
pub(crate) fn is_shared() -> bool {
    with(|host| host.is_shared()).unwrap_or(false)
}

/// Lets other threads run.
pub(crate) fn yield_now() {
    if with(|host| host.yield_now()).is_none() {
        std::thread::yield_now();
    }
}

/// Lets the other threads of the caller's worker run, in a section without yields at its end.
/// Without a worker the platform lets them run.
pub(crate) fn make_way() {
    with(|host| host.make_way());
}

/// Waits until the thread is woken; may return without cause.
pub(crate) fn wait() {
    if with(|host| host.wait()).is_none() {
        KernelThread::park();
    }
}

/// Like `wait`, but for at most `most` by the machine's clock.
pub(crate) fn wait_for(most: Duration) {
    if with(|host| host.wait_for(most)).is_none() {
        KernelThread::park_timeout(most);
    }
}

/// Waits until the caller is woken, or until its clock shows `at`; may return without cause.
/// Returns false if the clock shows `at`.
pub(crate) fn wait_until(at: Instant) -> bool {
    with(|host| host.wait_until(at)).unwrap_or_else(|| {
        let now = machine_now();
        if now < at {
            KernelThread::park_timeout(at.duration_since(now));
        }
        now < at
    })
}

/// The time on the clock of the caller's runtime, or on the machine's monotonic clock if the caller
/// has no runtime.
#[must_use]
pub fn now() -> Instant {
    with(|host| host.clock().now()).unwrap_or_else(machine_now)
}

/// The time on the machine's clock.
pub(crate) fn machine_now() -> Instant {
    SystemClock::Monotonic.now()
}

/// The time on the caller's clock after `duration` from now. Saturates after 584 years.
pub(crate) fn after(duration: Duration) -> Instant {
    now() + duration
}

/// Waits until `is_so` returns true, for changes that wake nobody. The looks become rarer, down to
/// one a millisecond.
pub(crate) fn look_until(is_so: impl Fn() -> bool) {
    const YIELDS: u32 = 32;
    const PAUSE: Duration = Duration::from_millis(1);
    let mut looks = 0_u32;
    while !is_so() {
        looks = looks.saturating_add(1);
        if looks < YIELDS {
            yield_now();
        } else {
            wait_for(PAUSE);
        }
    }
}
