//! For libraries of coroutines: how a scheduler tells coroutines apart, and how coroutines wait.
//!
//! A scheduler and a shard must know whether the caller is the running callback. A cancel that
//! waits must know how to wait. Where one kernel thread runs many coroutines, their library alone
//! can do both. `tickwright-threads` registers itself with its first M:N runtime.
//!
//! Only waits for the end of a callback go this way. A thread that calls
//! [`DriverThread::stop`](crate::time::DriverThread::stop) or
//! [`Parker::wait`](crate::time::Parker::wait) blocks its kernel thread.

use core::num::NonZeroU64;
use core::task::Waker;

use once_cell::race::OnceBox;

/// A library of coroutines.
pub trait Coroutines: Sync {
    /// The number of the calling coroutine. It is unique on the coroutine's kernel thread, and the
    /// coroutine must stay on that thread. `None` if the caller is no coroutine. In a forked child
    /// the thread that forked is none.
    fn current(&self) -> Option<NonZeroU64>;

    /// Returns what wakes the calling coroutine, from any thread.
    fn waker(&self) -> Waker;

    /// Waits until the calling coroutine is woken. A wake-up from before the call ends the wait at
    /// once. The call may also return without a wake-up.
    fn wait(&self);
}

static REGISTERED: OnceBox<&'static dyn Coroutines> = OnceBox::new();

/// Registers `coroutines` for ever: schedulers and shards ask it from now on. Only the first
/// library is registered. Returns whether it is this one. No existing scheduler or shard may be in
/// a pass or a cancel on one of its coroutines at this time.
pub fn register(coroutines: &'static dyn Coroutines) -> bool {
    REGISTERED.set(Box::new(coroutines)).is_ok()
}

/// The number of the calling coroutine; 0 if the caller is none.
#[inline]
#[cfg(not(loom))]
pub(crate) fn current() -> u64 {
    REGISTERED.get().and_then(|coroutines| coroutines.current()).map_or(0, NonZeroU64::get)
}

/// The library, if the caller is a coroutine of it. In a loom model no caller is a coroutine.
pub(crate) fn caller() -> Option<&'static dyn Coroutines> {
    let coroutines = *REGISTERED.get()?;
    coroutines.current().map(|_| coroutines)
}
