//! The interface for coroutine libraries: how a scheduler distinguishes coroutines, and how
//! coroutines wait.
//!
//! A scheduler and a shard must know whether the caller is the running callback. A cancel that
//! waits must know how its caller waits. If one kernel thread runs many coroutines, only the
//! coroutine library knows which one is running and how it waits. `tickwright-threads` registers
//! itself with its first M:N runtime.
//!
//! A scheduler or shard uses this interface only when a coroutine waits for the end of a callback.
//! A thread that calls [`DriverThread::stop`](crate::time::DriverThread::stop) or
//! [`Parker::wait`](crate::time::Parker::wait) blocks its kernel thread.

use core::num::NonZeroU64;
use core::task::Waker;

use once_cell::race::OnceBox;

/// A coroutine library.
pub trait Coroutines: Sync {
    /// Returns the number of the calling coroutine, or `None` if the caller is not a coroutine. The
    /// number is unique on the coroutine's kernel thread, and the coroutine must stay on that
    /// thread. In a forked child, the only thread (the one that called `fork`) is not a coroutine.
    fn current(&self) -> Option<NonZeroU64>;

    /// Returns a waker that wakes the calling coroutine from any thread.
    fn waker(&self) -> Waker;

    /// Waits until the calling coroutine is woken. If the coroutine was woken before the call, the
    /// call returns at once. The call is also allowed to return without a wake-up.
    fn wait(&self);
}

static REGISTERED: OnceBox<&'static dyn Coroutines> = OnceBox::new();

/// Registers `coroutines` forever, so that schedulers and shards use it from now on. Only the first
/// library is registered. Returns whether this call registered its library. Call it while no
/// coroutine of the library is inside a pass or a cancel of a scheduler or shard.
pub fn register(coroutines: &'static dyn Coroutines) -> bool {
    REGISTERED.set(Box::new(coroutines)).is_ok()
}

/// Returns the number of the calling coroutine, or 0 if the caller is not a coroutine.
#[inline]
#[cfg(not(loom))]
pub(crate) fn current() -> u64 {
    REGISTERED.get().and_then(|coroutines| coroutines.current()).map_or(0, NonZeroU64::get)
}

/// Returns the library if the caller is one of its coroutines. In a loom model no caller is a
/// coroutine.
pub(crate) fn caller() -> Option<&'static dyn Coroutines> {
    let coroutines = *REGISTERED.get()?;
    coroutines.current().map(|_| coroutines)
}
