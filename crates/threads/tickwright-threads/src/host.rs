//! Determines whether the caller is a thread of a runtime, of either model, or a thread that
//! belongs to no runtime.
//!
//! A model enters a [`Host`] on each kernel thread that runs its threads. All waiting code (locks,
//! mailboxes, joins, sleeps) calls the host of the calling kernel thread, so it does not depend on
//! the model. A caller without a host is a plain kernel thread, which parks and sleeps by the
//! machine's clock.
//!
//! # Invariants
//! 1. A host is entered on its own kernel thread, and left before it is dropped.
//! 2. While a host's `current` is `None`, the kernel thread runs the runtime's code. In this case
//!    callers act as if there were no host.

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

/// The interface of a runtime's kernel thread for the threads that run on it.
pub(crate) trait Host {
    /// Returns the thread that runs on this kernel thread now.
    fn current(&self) -> Option<ThreadId>;

    /// Returns the thread's runtime.
    fn threads(&self) -> Arc<dyn Threads>;

    /// Returns the address of the runtime.
    fn runtime(&self) -> *const ();

    /// Returns the runtime's clock, by which the thread sleeps.
    fn clock(&self) -> &Arc<dyn Clock>;

    /// Returns whether other threads run on this kernel thread while the current thread waits.
    fn is_shared(&self) -> bool;

    /// Returns a handle that wakes the current thread.
    fn waiter(&self) -> Waiter;

    /// Lets other threads run.
    fn yield_now(&self);

    /// Called when the caller has used up its budget of calls. Lets other threads run, unless
    /// another thread has run since a budget was last used up. This method and the next three do
    /// nothing in a model in which the platform interrupts the threads.
    fn budget_is_spent(&self) {}

    /// Lets the other threads of the caller's kernel thread run. In a section without yields, they
    /// run at the end of the section.
    fn make_way(&self) {}

    /// Begins a section without yields. Sections can be nested.
    fn forbid_yields(&self) {}

    /// Ends a section without yields. If this is the outermost section, and a call in the section
    /// would have let other threads run, they run now.
    fn allow_yields(&self) {}

    /// Waits until the thread is woken. Can return spuriously.
    fn wait(&self);

    /// Like `wait`, but waits for at most `most`, measured by the machine's clock.
    fn wait_for(&self, most: Duration);

    /// Like `wait`, but waits at most until the thread's clock shows `at`. Returns false if the
    /// clock shows `at`.
    fn wait_until(&self, at: Instant) -> bool;

    /// Waits until the thread is unparked, or until its clock shows `until`.
    fn park(&self, until: Option<Instant>);

    /// Returns the addresses of the thread's stack.
    fn stack(&self) -> Option<Range<usize>>;

    /// Waits until a descriptor is ready. Returns `None` if this host has no way to wait for
    /// descriptors. In this case the caller blocks its kernel thread.
    fn wait_for_descriptor(&self, _fd: i32, _writable: bool) -> Option<io::Result<()>> {
        None
    }
}

thread_local! {
    /// The host, if there is one. This variable and the next have no destructors, so destructors of
    /// other variables can still read them.
    static HOST: Cell<Option<*const dyn Host>> = const { Cell::new(None) };
    static SHARED: Cell<*const ()> = const { Cell::new(core::ptr::null()) };
    /// The number of counted calls that are left before the budget is used up.
    static LEFT: Cell<u32> = const { Cell::new(BUDGET) };
}

/// The number of counted calls after which the host checks whether another thread should run. See
/// [`count_call`].
const BUDGET: u32 = 64;

/// Makes `host` the host of the calling kernel thread, until [`leave`] is called.
///
/// # Safety
/// The host is neither moved nor dropped before `leave` was called on this kernel thread.
pub(crate) unsafe fn enter(host: &(impl Host + 'static)) {
    let own: *const dyn Host = core::ptr::from_ref(host);
    SHARED.set(if host.is_shared() { own.cast() } else { core::ptr::null() });
    HOST.set(Some(own));
}

/// Removes the host of the calling kernel thread, which afterwards is a plain kernel thread.
pub(crate) fn leave() {
    HOST.set(None);
    SHARED.set(core::ptr::null());
}

/// Returns the address of the host if it is shared, and null otherwise. Only the M:N model has
/// shared hosts. That model knows their type, so a switch between threads needs no call through
/// `dyn Host`.
#[inline(always)]
pub(crate) fn shared_host() -> *const () {
    SHARED.get()
}

/// Counts a call that waits for other threads or wakes them. Without the count, a thread that makes
/// such calls in a loop and never has to wait would occupy its worker forever, and no other thread
/// or timer would run there. Therefore the host checks after every `BUDGET` calls whether another
/// thread should run. Counting a call costs a subtraction, a branch, and finding the counter's
/// address.
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
    // An unwinding thread is not in an endless loop, and a switch during unwinding is expensive.
    if !std::thread::panicking() {
        with(|host| host.budget_is_spent());
    }
}

/// Called in the child after a fork. From now on the calling thread belongs to no runtime. Returns
/// the id that it had in the parent, or `Some(None)` if it ran the runtime's own code there.
pub(crate) fn in_the_child() -> Option<Option<ThreadId>> {
    let was = with_host(|host| host.current());
    leave();
    was
}

#[inline]
fn with_host<R>(use_it: impl FnOnce(&dyn Host) -> R) -> Option<R> {
    let host = HOST.get()?;
    // SAFETY: 1. The caller of `enter` promises that the host does not move or end before it is
    // left. 2. It is used only on this kernel thread.
    Some(use_it(unsafe { &*host }))
}

/// Calls `use_it` with the host of the calling thread. Returns `None` if the thread belongs to no
/// runtime.
#[inline]
pub(crate) fn with<R>(use_it: impl FnOnce(&dyn Host) -> R) -> Option<R> {
    with_host(|host| host.current().is_some().then(|| use_it(host)))?
}

/// Returns the id of the calling thread if a runtime created it. Returns `None` in the thread's
/// last destructors, and in a child that the thread has forked.
#[must_use]
pub fn current() -> Option<ThreadId> {
    with_host(|host| host.current())?
}

/// Returns a handle that wakes the calling thread.
pub(crate) fn waiter() -> Waiter {
    with(|host| host.waiter()).unwrap_or_else(|| Waiter::Kernel(KernelThread::current()))
}

/// Returns whether other threads run on the caller's kernel thread while the caller waits.
pub(crate) fn is_shared() -> bool {
    with(|host| host.is_shared()).unwrap_or(false)
}

/// Lets other threads run.
pub(crate) fn yield_now() {
    if with(|host| host.yield_now()).is_none() {
        std::thread::yield_now();
    }
}

/// Lets the other threads of the caller's worker run. In a section without yields, they run at the
/// end of the section. If the caller has no worker, it yields to the platform's scheduler.
pub(crate) fn make_way() {
    with(|host| host.make_way());
}

/// Waits until the thread is woken. Can return spuriously.
pub(crate) fn wait() {
    if with(|host| host.wait()).is_none() {
        KernelThread::park();
    }
}

/// Like `wait`, but waits for at most `most`, measured by the machine's clock.
pub(crate) fn wait_for(most: Duration) {
    if with(|host| host.wait_for(most)).is_none() {
        KernelThread::park_timeout(most);
    }
}

/// Waits until the caller is woken, or until its clock shows `at`. Can return spuriously. Returns
/// false if the clock shows `at`.
pub(crate) fn wait_until(at: Instant) -> bool {
    with(|host| host.wait_until(at)).unwrap_or_else(|| {
        let now = machine_now();
        if now < at {
            KernelThread::park_timeout(at.duration_since(now));
        }
        now < at
    })
}

/// Returns the time on the clock of the caller's runtime, or on the machine's monotonic clock if
/// the caller has no runtime.
#[must_use]
pub fn now() -> Instant {
    with(|host| host.clock().now()).unwrap_or_else(machine_now)
}

/// Returns the time on the machine's clock.
pub(crate) fn machine_now() -> Instant {
    SystemClock::Monotonic.now()
}

/// Returns the time that the caller's clock will show `duration` from now. The result saturates at
/// 584 years.
pub(crate) fn after(duration: Duration) -> Instant {
    now() + duration
}

/// Waits until `is_so` returns true. It is for changes that wake no thread. It calls `is_so` after
/// every yield at first, and later once per millisecond.
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
