//! How a scheduler accesses its timers: with a lock ([`Shared`]), or without a lock ([`Local`]).
//!
//! Threads that share a scheduler need more than mutual exclusion. A thread needs an id, which
//! shows whether the caller is a callback. A thread must be able to wait for the end of a callback.
//! A pass must let other threads take the lock. All of this is in this module. Of the scheduler's
//! other modules, only `thread` starts a thread, and only `table` has an atomic, a counter. For a
//! scheduler of one thread, these operations are empty: the id of the thread is `()`, and it never
//! waits.

use core::cell::{RefCell, RefMut};
use core::ops::DerefMut;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::fork::{self, ForkLock, Order};
use crate::sync::{
    Condvar, MutexGuard, ThreadId, Waiters, lock, tell, this_thread, try_lock, wait_as_caller,
};

/// How a scheduler accesses its timers: either [`Shared`] or [`Local`].
pub trait Access: Reach {}

/// Threads share the scheduler. A lock guards its timers. In a forked child this lock is free.
#[derive(Clone, Copy, Debug)]
pub enum Shared {}

/// One thread owns the scheduler, without the cost of a lock: adding, cancelling and running timers
/// uses no atomic, no mutex and no thread id. The scheduler is not `Sync`.
#[derive(Clone, Copy, Debug)]
pub enum Local {}

impl Access for Shared {}
impl Access for Local {}

/// The data that a scheduler keeps under its lock.
pub trait Guarded: AsMut<Waiters> {
    /// Removes the state of other threads. Called in a forked child, where those threads do not
    /// exist.
    fn forget_threads(&mut self);
}

/// The operations that implement [`Access`]. Users neither implement nor call them.
pub trait Reach: Sized {
    /// The id of a thread that uses a scheduler.
    type Thread: Copy + PartialEq;
    type Cell<T>;
    type Held<'a, T: 'a>: DerefMut<Target = T>;

    /// Creates the cell. Returns `None` if there is no memory.
    fn cell<T: Guarded>(value: T) -> Option<Self::Cell<T>>;
    fn lock<T>(cell: &Self::Cell<T>) -> Self::Held<'_, T>;
    /// Returns the calling thread.
    fn here() -> Self::Thread;
    /// Returns the two ids of the thread that forked: its id in the parent and its id in the child.
    fn forker() -> (Self::Thread, Self::Thread);
    /// Waits for the end of a callback or pass of another thread.
    fn wait<'a, T: Guarded>(cell: &'a Self::Cell<T>, held: Self::Held<'a, T>) -> Self::Held<'a, T>;
    /// Notifies the waiting threads.
    fn tell<T: Guarded>(cell: &Self::Cell<T>, held: &mut Self::Held<'_, T>);
    /// Releases the lock, so that other threads can take it, and takes it again.
    fn give_way<'a, T>(cell: &'a Self::Cell<T>, held: Self::Held<'a, T>) -> Self::Held<'a, T>;
}

/// How many times a pass yields to other threads before it takes the lock again.
const YIELDS: u32 = 1000;

#[derive(Debug)]
pub struct Lock<T> {
    pub(super) core: ForkLock<T>,
    /// Notified when a callback or a pass has ended.
    ended: Condvar,
    /// How many threads wait for the lock. The next field counts the threads that took the lock
    /// after a wait. A pass uses both as hints for letting other threads go first, so wrong values
    /// would do no harm.
    pub(super) queued: AtomicUsize,
    served: AtomicUsize,
}

impl<T> Lock<T> {
    #[cold]
    fn lock_behind_others(&self) -> MutexGuard<'_, T> {
        self.queued.fetch_add(1, Ordering::Relaxed);
        let core = lock(&self.core);
        self.queued.fetch_sub(1, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed);
        core
    }
}

impl Reach for Shared {
    type Thread = ThreadId;
    type Cell<T> = Lock<T>;
    type Held<'a, T: 'a> = MutexGuard<'a, T>;

    fn cell<T: Guarded>(value: T) -> Option<Lock<T>> {
        let core = ForkLock::try_new(Order::Timers, value, T::forget_threads)?;
        Some(Lock { core, ended: Condvar::new(), queued: AtomicUsize::new(0), served: AtomicUsize::new(0) })
    }

    #[inline]
    fn lock<T>(cell: &Lock<T>) -> MutexGuard<'_, T> {
        match try_lock(&cell.core) {
            Some(core) => core,
            None => cell.lock_behind_others(),
        }
    }

    #[inline]
    fn here() -> ThreadId {
        this_thread()
    }

    fn forker() -> (ThreadId, ThreadId) {
        fork::forker()
    }

    fn wait<'a, T: Guarded>(cell: &'a Lock<T>, held: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        wait_as_caller(&cell.ended, &cell.core, held)
    }

    #[inline]
    fn tell<T: Guarded>(cell: &Lock<T>, held: &mut MutexGuard<'_, T>) {
        tell(&cell.ended, &mut **held);
    }

    /// If another thread waits for the lock, this thread yields until the other thread has had the
    /// lock, but at most [`YIELDS`] times. Otherwise this thread would take the lock again at once,
    /// and the other thread would starve.
    #[cold]
    fn give_way<'a, T>(cell: &'a Lock<T>, held: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let before = cell.served.load(Ordering::Relaxed);
        drop(held);
        for _ in 0..YIELDS {
            let nobody_waits = cell.queued.load(Ordering::Relaxed) == 0;
            if nobody_waits || cell.served.load(Ordering::Relaxed) != before {
                break;
            }
            std::thread::yield_now();
        }
        Self::lock(cell)
    }
}

impl Reach for Local {
    type Thread = ();
    type Cell<T> = RefCell<T>;
    type Held<'a, T: 'a> = RefMut<'a, T>;

    fn cell<T: Guarded>(value: T) -> Option<RefCell<T>> {
        Some(RefCell::new(value))
    }

    #[inline]
    fn lock<T>(cell: &RefCell<T>) -> RefMut<'_, T> {
        cell.borrow_mut()
    }

    #[inline]
    fn here() {}

    fn forker() -> ((), ()) {
        ((), ())
    }

    fn wait<'a, T: Guarded>(_: &'a RefCell<T>, _: RefMut<'a, T>) -> RefMut<'a, T> {
        unreachable!("what runs on the only thread runs in the caller, which is refused before it waits")
    }

    #[inline]
    fn tell<T: Guarded>(_: &RefCell<T>, _: &mut RefMut<'_, T>) {}

    #[inline]
    fn give_way<'a, T>(_: &'a RefCell<T>, held: RefMut<'a, T>) -> RefMut<'a, T> {
        held
    }
}
