//! Forks: in a forked child the locks are free, and the data under them is consistent.
//!
//! A forked child has only the thread that forked. A lock that another thread held during the fork
//! would stay locked forever in the child. Therefore the fork handlers take every [`ForkLock`]
//! before the fork, and release all of them afterwards, in the parent and in the child. Before the
//! child releases a lock, it removes the entries of threads that no longer exist from the data
//! under that lock.
//!
//! The handlers are registered with `pthread_atfork`. A process that is created without these
//! handlers (by `vfork`, `posix_spawn` or a bare `clone`) must call `exec` before it uses this
//! crate.
//!
//! The handler before the fork tries to take each lock, and releases all of them and starts over if
//! it fails, so it cannot deadlock with threads that take the locks in another order. It skips a
//! lock that stays locked for two seconds. For example, if a clock or an alarm forks while the
//! scheduler calls it, the forking thread holds that lock itself. A leaf is a lock under which no
//! user code runs, so the handler always waits until it gets each leaf.

#[cfg(all(unix, not(loom), not(miri)))]
mod handlers;
#[cfg(not(all(unix, not(loom), not(miri))))]
mod nothing;
mod order;
mod registration;

use core::fmt;
use core::ops::Deref;

#[cfg(all(unix, not(loom), not(miri)))]
use handlers as os;
#[cfg(not(all(unix, not(loom), not(miri))))]
use nothing as os;

use crate::sync::{Mutex, MutexGuard, lock, no_memory};
pub use order::Order;
pub(crate) use os::{Slot, forker};
pub use registration::Registration;

/// The process that created this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// Returns the calling process. The first call registers the fork handlers with the platform.
    /// If the registration fails for lack of memory, the returned values cannot distinguish a child
    /// from its parent.
    #[must_use]
    pub fn this() -> Self {
        os::notice_forks();
        Self(os::forks())
    }

    /// Returns whether the caller runs in the process that created this value, and not in a child
    /// forked later. It makes no system call.
    #[must_use]
    pub fn is_this(self) -> bool {
        self.0 == os::forks()
    }

    /// Returns the number of forks between the first process that called [`this`](Self::this) and
    /// this process. A process keeps its number, and its child has a different number.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A lock that is free in a forked child, with consistent data. The lock is one allocation, so this
/// value can move.
pub struct ForkLock<T> {
    slot: Box<[Slot<T>; 1]>,
}

impl<T> ForkLock<T> {
    /// Creates a lock around `value`. In a forked child, `forget` removes the entries of other
    /// threads from the value. `forget` must not take a lock, allocate, or call user code.
    ///
    /// # Panics
    /// If there is no memory, the process ends, as for every allocation of the standard library.
    pub fn new(order: Order, value: T, forget: fn(&mut T)) -> Self {
        Self::try_new(order, value, forget).unwrap_or_else(|| no_memory::<Slot<T>>())
    }

    /// Like [`new`](Self::new), but returns `None` if there is no memory.
    pub fn try_new(order: Order, value: T, forget: fn(&mut T)) -> Option<Self> {
        // `Vec` can report a failed allocation and `Box` cannot, so the slot is first a vector of
        // one element, which is then converted to a box.
        let mut one = Vec::new();
        one.try_reserve_exact(1).ok()?;
        one.push(Slot::new(value, forget));
        let slot: Box<[Slot<T>; 1]> = one.into_boxed_slice().try_into().ok()?;
        // From here on, dropping the lock unregisters it.
        let lock = Self { slot };
        lock.slot[0].register(order).then_some(lock)
    }

    /// Takes the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        lock(self)
    }
}

impl<T> Deref for ForkLock<T> {
    type Target = Mutex<T>;

    fn deref(&self) -> &Mutex<T> {
        &self.slot[0]
    }
}

impl<T> Drop for ForkLock<T> {
    fn drop(&mut self) {
        self.slot[0].unregister();
    }
}

impl<T: fmt::Debug> fmt::Debug for ForkLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Mutex::fmt(self, f)
    }
}
