//! What the caller is: a thread of a runtime of any model, or a thread that no runtime knows.
//!
//! A model enters a [`Host`] on each kernel thread that runs its threads. All that waits (locks,
//! mailboxes, joins, sleeps) asks the host of the calling kernel thread, and knows no model.
//! Without a host the caller is a plain kernel thread, which parks and sleeps by the machine's
//! clock.
//!
//! # Invariants
//! 1. A host is entered on its own kernel thread, and leaves before it is dropped.
//! 2. While a host's `current` is `None`, the kernel thread runs the runtime's code. Callers then
//!    do as if there were no host.

use core::cell::Cell;
use core::ops::Range;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tickwright::clock::{Clock, Instant, SystemClock};

use crate::id::ThreadId;
use crate::kernel_thread::KernelThread;
use crate::threads::Threads;
use crate::wake::Waiter;

/// A kernel thread of a runtime, for the thread that runs on it.
pub(crate) trait Host {
    /// The thread that runs on this kernel thread now.
    fn current(&self) -> Option<ThreadId>;

    /// The thread's runtime.
    fn threads(&self) -> Arc<dyn Threads>;

    /// The address of the runtime.
    fn runtime(&self) -> *const ();

    /// The clock that the thread sleeps by.
    fn clock(&self) -> &Arc<dyn Clock>;

    /// Whether other threads run on this kernel thread while this one waits.
    fn is_shared(&self) -> bool;

    /// The thread, to be woken.
    fn waiter(&self) -> Waiter;

    /// Lets other threads run.
    fn yield_now(&self);

    /// Waits until woken, or without cause.
    fn wait(&self);

    /// The same for so long at most, by the machine's clock.
    fn wait_for(&self, most: Duration);

    /// The same until the thread's clock shows `at`. False: it does.
    fn wait_until(&self, at: Instant) -> bool;

    /// Waits until unparked, or until the thread's clock shows that.
    fn park(&self, until: Option<Instant>);

    /// The addresses of the thread's stack.
    fn stack(&self) -> Option<Range<usize>>;

    /// Waits until a descriptor is ready. `None`: this host cannot, so the caller waits as a kernel
    /// thread.
    fn wait_for_descriptor(&self, fd: i32, writable: bool) -> Option<io::Result<()>>;
}

thread_local! {
    /// Both have no destructor, so that destructors of others may ask.
    static HOST: Cell<Option<*const dyn Host>> = const { Cell::new(None) };
    static SHARED: Cell<*const ()> = const { Cell::new(core::ptr::null()) };
}

/// The calling kernel thread is that host from now on, until [`leave`].
///
/// # Safety
/// The host stays where it is until `leave` was called on this kernel thread.
pub(crate) unsafe fn enter(host: &(impl Host + 'static)) {
    let own: *const dyn Host = core::ptr::from_ref(host);
    SHARED.set(if host.is_shared() { own.cast() } else { core::ptr::null() });
    HOST.set(Some(own));
}

/// The calling kernel thread is a plain one from now on.
pub(crate) fn leave() {
    HOST.set(None);
    SHARED.set(core::ptr::null());
}

/// The address of the host if it is shared, else null. For the one model that has such hosts: it
/// knows their type, and needs no call through `dyn Host` at a switch.
#[inline(always)]
pub(crate) fn shared_host() -> *const () {
    SHARED.get()
}

/// After a fork, in the child: the calling thread goes on as one that no runtime knows. Returns the
/// thread that it was; `Some(None)`: it ran the runtime's own code.
pub(crate) fn in_the_child() -> Option<Option<ThreadId>> {
    let was = with_host(|host| host.current());
    leave();
    was
}

#[inline]
fn with_host<R>(use_it: impl FnOnce(&dyn Host) -> R) -> Option<R> {
    let host = HOST.get()?;
    // SAFETY: 1. It stays where it is until it leaves, says who entered it. 2. On this kernel
    // thread.
    Some(use_it(unsafe { &*host }))
}

/// The host of the thread that calls. `None`: no runtime knows the thread.
#[inline]
pub(crate) fn with<R>(use_it: impl FnOnce(&dyn Host) -> R) -> Option<R> {
    with_host(|host| host.current().is_some().then(|| use_it(host)))?
}

/// The calling thread, if a runtime created it. `None` in its last destructors, and in a child that
/// it has forked.
#[must_use]
pub fn current() -> Option<ThreadId> {
    with_host(|host| host.current())?
}

/// The calling thread, to be woken.
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

/// Waits until woken, or without cause.
pub(crate) fn wait() {
    if with(|host| host.wait()).is_none() {
        KernelThread::park();
    }
}

/// The same for so long at most, by the machine's clock.
pub(crate) fn wait_for(most: Duration) {
    if with(|host| host.wait_for(most)).is_none() {
        KernelThread::park_timeout(most);
    }
}

/// Waits until woken, without cause, or until the caller's clock shows `at`. False: it does.
pub(crate) fn wait_until(at: Instant) -> bool {
    with(|host| host.wait_until(at)).unwrap_or_else(|| {
        let now = machine_now();
        if now < at {
            KernelThread::park_timeout(at.duration_since(now));
        }
        now < at
    })
}

/// The time on the clock of the caller's runtime; on the machine's monotonic clock where there is
/// none.
#[must_use]
pub fn now() -> Instant {
    with(|host| host.clock().now()).unwrap_or_else(machine_now)
}

/// The time on the machine's clock.
pub(crate) fn machine_now() -> Instant {
    SystemClock::Monotonic.now()
}

/// The time on the caller's clock that is so long from now. Saturates after 584 years.
pub(crate) fn after(duration: Duration) -> Instant {
    now() + duration
}

/// Waits until `is_so` for something that wakes nobody: looks ever more seldom, up to once a
/// millisecond.
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
