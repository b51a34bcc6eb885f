//! Forks: in a forked child the locks are free, and the data under them is consistent.
//!
//! A forked child has only the thread that forked. A lock that another thread held at that moment
//! would stay locked forever in the child. Therefore a fork first takes every lock of this kind,
//! and afterwards releases all of them in the parent and in the child. In the child, the entries of
//! threads that no longer exist are first removed from the data under each lock.
//!
//! The handlers are those of `pthread_atfork`. A process that is created without these handlers (by
//! `vfork`, `posix_spawn` or a bare `clone`) must call `exec` before it uses this crate.
//!
//! A fork only tries each lock, and never waits for a lock while it holds others, so it cannot
//! deadlock with threads that take the locks in any order. It skips a lock that stays locked for
//! two seconds, for example because the thread that forks inside of a clock or an alarm holds this
//! lock itself. Leaves are locks under which no user code runs, so a fork always waits for them.

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
    /// If that fails for lack of memory, children cannot be distinguished from their parents.
    #[must_use]
    pub fn this() -> Self {
        os::notice_forks();
        Self(os::forks())
    }

    /// Returns whether the caller is in the process that created this value, and not in a child
    /// that was forked since then. It makes no system call.
    #[must_use]
    pub fn is_this(self) -> bool {
        self.0 == os::forks()
    }

    /// Returns the number of forks between the first process that called [`this`](Self::this) and
    /// this process. The number never changes in a process, and differs between a process and its
    /// child.
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
    /// Creates a lock around `value`. In a child, `forget` removes the entries of other threads
    /// from the value. It must not take a lock, allocate, or call user code.
    ///
    /// # Panics
    /// If there is no memory, the process ends, as for every allocation of the standard library.
    pub fn new(order: Order, value: T, forget: fn(&mut T)) -> Self {
        Self::try_new(order, value, forget).unwrap_or_else(|| no_memory::<Slot<T>>())
    }

    /// Like [`new`](Self::new), but returns `None` if there is no memory.
    pub fn try_new(order: Order, value: T, forget: fn(&mut T)) -> Option<Self> {
        // A vector reports a failed allocation, and a vector of one element becomes a box.
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
