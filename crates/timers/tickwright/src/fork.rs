//! Forks: a forked child finds its locks free, and the data under them whole.
//!
//! A forked child has one thread, the one that forked. A lock that another thread held at that
//! moment would stay locked in the child for ever. So a fork first takes every lock of this kind,
//! and releases all of them afterwards, in the parent and in the child. In the child each lock
//! first removes from its data what threads that are gone have noted there.
//!
//! The handlers are those of `pthread_atfork`. A process that is made without them (`vfork`,
//! `posix_spawn`, a bare `clone`) has to call `exec` before it uses anything of this crate.
//!
//! A fork tries each lock, and never waits for one while it keeps others, so it cannot deadlock
//! with threads that take the locks in any order. A fork leaves out a lock that stays taken for two
//! seconds. A thread that forks inside of a clock or an alarm holds such a lock itself. Leaves are
//! locks under which no such code runs: a fork always waits for them.

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
#[cfg(target_os = "linux")]
pub(crate) use os::replace;
pub(crate) use os::{Slot, forker};
pub use registration::Registration;

/// The process that made this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// The calling process. The first call registers the handlers of forks with the platform. If
    /// that fails for lack of memory, children cannot be told from their parents.
    #[must_use]
    pub fn this() -> Self {
        os::notice_forks();
        Self(os::forks())
    }

    /// Whether the caller is in the process that made this value, and not in a child that was
    /// forked since. It makes no system call.
    #[must_use]
    pub fn is_this(self) -> bool {
        self.0 == os::forks()
    }

    /// The number of forks between the first process that has called [`this`](Self::this) and this
    /// one. It never changes in a process, and differs between a process and its child.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A lock that a forked child finds free, and whose data it finds whole. The lock is one
/// allocation, so the value may move.
pub struct ForkLock<T> {
    slot: Box<[Slot<T>; 1]>,
}

impl<T> ForkLock<T> {
    /// Guards `value`. In a child, `forget` removes from the value what other threads noted. It
    /// must not take a lock, allocate, or call the user's code.
    ///
    /// # Panics
    /// If there is no memory, the process ends, as at every allocation of the standard library.
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
