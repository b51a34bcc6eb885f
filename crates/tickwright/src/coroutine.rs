//! For libraries of threads that are none of the kernel's: how a scheduler tells them apart, and
//! how they wait.
//!
//! A scheduler and a shard have to know whether the caller is the callback that runs, and a cancel
//! that waits has to wait. Where one kernel thread runs many coroutines, both are the library's to
//! say. `tickwright-threads` registers itself with its first M:N runtime.
//!
//! Waits for the end of a callback go this way, and no others: a thread that calls
//! [`DriverThread::stop`](crate::driver::DriverThread::stop) or
//! [`Parker::wait`](crate::driver::Parker::wait) blocks the kernel thread.

use core::num::NonZeroU64;
use core::task::Waker;

use once_cell::race::OnceBox;

/// A library of coroutines.
pub trait Coroutines: Sync {
    /// The coroutine that calls, by a number that no other one has on its kernel thread, where it
    /// stays. `None`: the caller is none, as the thread that forked is in a forked child.
    fn current(&self) -> Option<NonZeroU64>;

    /// What wakes the coroutine that calls, from any thread.
    fn waker(&self) -> Waker;

    /// Waits until the coroutine that calls was woken; a wake-up that came before is kept. It may
    /// return without cause.
    fn wait(&self);
}

static REGISTERED: OnceBox<&'static dyn Coroutines> = OnceBox::new();

/// From now on for ever, `coroutines` is asked. The first library counts; whether it is this one.
/// Schedulers and shards that exist must not be in a pass or a cancel on a coroutine of it.
pub fn register(coroutines: &'static dyn Coroutines) -> bool {
    REGISTERED.set(Box::new(coroutines)).is_ok()
}

/// The number of the coroutine that calls; 0: none.
#[inline]
#[cfg(not(loom))]
pub(crate) fn current() -> u64 {
    REGISTERED.get().and_then(|coroutines| coroutines.current()).map_or(0, NonZeroU64::get)
}

/// The library, if the caller is a coroutine of it. In a model no caller is one.
pub(crate) fn caller() -> Option<&'static dyn Coroutines> {
    let coroutines = *REGISTERED.get()?;
    coroutines.current().map(|_| coroutines)
}
