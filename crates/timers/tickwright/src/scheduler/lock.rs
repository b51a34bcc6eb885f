//! How a scheduler accesses its timers: [`Shared`] by a lock, or [`Local`] without a lock.
//!
//! Threads that share a scheduler need more than mutual exclusion: ids that distinguish a callback
//! from another thread, a way to wait for the end of a callback, and a pass that lets other threads
//! take the lock. All of this is in this module, so the rest of the scheduler contains no lock, no
//! atomic and no thread. With one thread each of these is empty: the id of the only thread is `()`,
//! and it never waits.

use core::cell::{RefCell, RefMut};
use core::ops::DerefMut;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::fork::{self, ForkLock, Order};
use crate::sync::{
    Condvar, MutexGuard, ThreadId, Waiters, lock, tell, this_thread, try_lock, wait_as_caller,
};

/// How a scheduler accesses its timers. [`Shared`] and [`Local`] are the two ways.
pub trait Access: Reach {}

/// Threads share the scheduler. A lock guards its timers, and is free in a forked child.
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
    /// Called in a forked child, which has no other threads.
    fn forget_threads(&mut self);
}

/// The operations behind [`Access`], which users neither implement nor call.
pub trait Reach: Sized {
    /// Identifies one of the threads that use a scheduler.
    type Thread: Copy + PartialEq;
    type Cell<T>;
    type Held<'a, T: 'a>: DerefMut<Target = T>;

    /// Creates the cell. Returns `None` if there is no memory.
    fn cell<T: Guarded>(value: T) -> Option<Self::Cell<T>>;
    fn lock<T>(cell: &Self::Cell<T>) -> Self::Held<'_, T>;
    /// Returns the calling thread.
    fn here() -> Self::Thread;
    /// Returns the thread that forked, as identified in the parent and in the child.
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
    /// after a wait. A pass uses both as hints when it lets other threads go first. The protocol's
    /// correctness does not depend on them.
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

    /// If another thread waits for the lock, this thread first yields until the other thread has
    /// had the lock, or [`YIELDS`] times. Otherwise this thread would take the lock again at once,
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
