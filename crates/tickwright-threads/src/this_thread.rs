//! What a thread does for itself. On threads that no runtime knows, these are the standard library's.
//!
//! All of them work in destructors of `thread_local!` variables, in those of the platform's keys, and in handlers of `exit`. There a kernel
//! thread of a runtime is one that no runtime knows. So is, in every model, a thread in a child that it has forked.

use core::ops::Range;
use core::time::Duration;
use std::sync::Arc;

use crate::clock::Timekeeper;
use crate::id::ThreadId;
use crate::kernel::here as kernel;
use crate::many::here as many;
use crate::runtime::Handle;

/// The calling thread, if a runtime created it. `None` in its last destructors, and in a child that it has forked.
#[must_use]
pub fn current() -> Option<ThreadId> {
    many::with(|worker| worker.current()).flatten().or_else(kernel::current)
}

/// The runtime of the calling thread.
#[must_use]
pub fn handle() -> Option<Handle> {
    many::with(|worker| Handle::new(worker.shared.clone())).or_else(kernel::handle)
}

/// The addresses of the calling thread's stack without its guard, if a runtime created it and knows them.
#[must_use]
pub fn stack() -> Option<Range<usize>> {
    many::with(|worker| worker.stack()).flatten().or_else(kernel::stack)
}

/// Lets other threads run. The caller goes behind those that are ready.
#[inline]
pub fn yield_now() {
    if !many::yield_now() {
        std::thread::yield_now();
    }
}

/// Waits until somebody [unparks](Handle::unpark) the calling thread; at once if somebody has since the last time. It may return without cause, so it stands in a
/// loop.
#[inline]
pub fn park() {
    if !many::park() {
        kernel::park(None);
    }
}

/// The same until the runtime's clock shows `at` nanoseconds at the latest.
pub fn park_until(at: u64) {
    if many::with(|worker| worker.park_until(at)).is_none() {
        kernel::park(Some(at));
    }
}

/// The same for so long at most.
pub fn park_timeout(timeout: Duration) {
    park_until(after(timeout));
}

/// Waits until the runtime's clock shows `at` nanoseconds. Never returns sooner.
pub fn sleep_until(at: u64) {
    if many::with(|worker| while worker.wait_until(at) {}).is_none() {
        kernel::sleep_until(at);
    }
}

/// Waits for so long at least.
pub fn sleep(duration: Duration) {
    sleep_until(after(duration));
}

/// Nanoseconds on the clock of the caller's runtime; the machine's monotonic clock where there is none.
#[must_use]
pub fn now() -> u64 {
    timekeeper_of(|keeper| keeper.now())
}

fn after(duration: Duration) -> u64 {
    timekeeper_of(|keeper| keeper.after(duration))
}

/// The clock that the caller lives by.
pub(crate) fn timekeeper_of<R>(use_it: impl FnOnce(&Arc<Timekeeper>) -> R) -> R {
    match many::with(|worker| Arc::clone(&worker.shared.timed.keeper)) {
        Some(keeper) => use_it(&keeper),
        None => kernel::timekeeper(use_it),
    }
}
