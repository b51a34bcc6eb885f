//! Locks and condition variables for threads of any model. A thread that waits does not block its
//! worker.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;

use tickwright_boundary::state::{Shared, begin, create, destroy, end, state};
use tickwright_boundary::{answer, code, exported};
use tickwright_threads::sync::{Condvar, Mutex, MutexGuard};
use tickwright_threads::{ThreadId, this_thread};

use crate::contract::shared;
use crate::waits::Waits;

/// A lock, in the library's own memory.
///
/// # Invariants
/// 1. `guard` is `Some` exactly while a thread holds the lock.
/// 2. Only the thread that holds the lock accesses the guard and writes the two words that identify
///    the owner.
/// 3. Both words identify the calling thread only if it holds the lock.
#[repr(C)]
#[derive(Debug)]
pub struct tw_mutex {
    state: AtomicU64,
    lock: Mutex<()>,
    guard: UnsafeCell<Option<MutexGuard<'static, ()>>>,
    /// The id of the thread that holds the lock, or 0 if no runtime has created that thread.
    owner: AtomicU64,
    /// The address of a variable of the owner's kernel thread, or 0 if no thread holds the lock.
    kernel: AtomicUsize,
    /// The calls that wait for the lock, or will lock it again after a signal.
    waits: Waits,
}

/// A condition variable, in the library's own memory.
#[repr(C)]
#[derive(Debug)]
pub struct tw_cond {
    state: AtomicU64,
    condition: Condvar,
    waits: Waits,
}

// SAFETY: 1. `repr(C)`, the state comes first; 2. no code ever borrows it mutably.
unsafe impl Shared for tw_mutex {
    const READY: u64 = 0x7469_636b_6d75_7465;
    const ENDING: u64 = 0x7469_636b_6d75_656e;
}

// SAFETY: 1. `repr(C)`, the state comes first; 2. no code ever borrows it mutably.
unsafe impl Shared for tw_cond {
    const READY: u64 = 0x7469_636b_636f_6e64;
    const ENDING: u64 = 0x7469_636b_636f_656e;
}

/// Returns two words, which together no other living thread has.
fn caller() -> (u64, usize) {
    thread_local!(static HERE: u8 = const { 0 });
    let kernel = HERE.with(|here| core::ptr::from_ref(here).addr());
    (this_thread::current().map_or(0, ThreadId::to_bits), kernel)
}

impl tw_mutex {
    fn is_of(&self, caller: (u64, usize)) -> bool {
        (self.owner.load(Ordering::Relaxed), self.kernel.load(Ordering::Relaxed)) == caller
    }

    /// Takes the lock. If the lock is not free, calls `wait`.
    ///
    /// # Errors
    /// [`code::DEADLOCK`] if the caller already holds the lock, or the error of `wait`.
    fn lock(
        &'static self,
        wait: impl FnOnce(&'static Mutex<()>) -> Result<MutexGuard<'static, ()>, c_int>,
    ) -> Result<c_int, c_int> {
        let caller = caller();
        if self.is_of(caller) {
            return Err(code::DEADLOCK);
        }
        match self.lock.try_lock() {
            Some(guard) => self.held(caller, guard),
            None => {
                let _waits = self.waits.begin();
                self.held(caller, wait(&self.lock)?);
            }
        }
        Ok(0)
    }

    /// Stores the guard of the lock, which the caller has just taken.
    fn held(&self, (owner, kernel): (u64, usize), guard: MutexGuard<'static, ()>) {
        self.owner.store(owner, Ordering::Relaxed);
        self.kernel.store(kernel, Ordering::Relaxed);
        // SAFETY: by invariant 2, since the caller holds the lock.
        unsafe { *self.guard.get() = Some(guard) };
    }

    /// Returns the guard of the lock, which the caller holds.
    ///
    /// # Errors
    /// [`code::NOT_YOURS`] if the caller does not hold the lock.
    fn taken(&self, caller: (u64, usize)) -> Result<MutexGuard<'static, ()>, c_int> {
        if !self.is_of(caller) {
            return Err(code::NOT_YOURS);
        }
        self.kernel.store(0, Ordering::Relaxed);
        // SAFETY: by invariants 2 and 3, since the caller holds the lock.
        unsafe { (*self.guard.get()).take() }.ok_or(code::NOT_YOURS)
    }
}

/// Returns the lock at the address `at`. The reference is valid until the lock is destroyed.
fn mutex(at: *const tw_mutex) -> Result<&'static tw_mutex, c_int> {
    shared(at)
}

fn unlock(lock: &tw_mutex) -> Result<c_int, c_int> {
    drop(lock.taken(caller())?);
    Ok(0)
}

/// Unlocks, calls `wait`, and stores the guard that `wait` returns. Returns the second element of
/// what `wait` returns.
fn wait_for_signal<R>(
    cond: *const tw_cond,
    lock: *const tw_mutex,
    wait: impl FnOnce(&Condvar, MutexGuard<'static, ()>) -> (MutexGuard<'static, ()>, R),
) -> Result<R, c_int> {
    let (cond, lock): (&tw_cond, _) = (shared(cond)?, mutex(lock)?);
    let caller = caller();
    let guard = lock.taken(caller)?;
    let (_signal, _lock) = (cond.waits.begin(), lock.waits.begin());
    let (guard, result) = wait(&cond.condition, guard);
    lock.held(caller, guard);
    Ok(result)
}

exported!(
    /// Creates a lock.
    fn tw_mutex_create(lock: *mut *mut tw_mutex) -> c_int {
        answer::code(|| {
            // SAFETY: the header's contract.
            unsafe { begin(lock) }?;
            let make = |at| tw_mutex {
                state: AtomicU64::new(state(tw_mutex::READY, at)),
                lock: Mutex::new(()),
                guard: UnsafeCell::new(None),
                owner: AtomicU64::new(0),
                kernel: AtomicUsize::new(0),
                waits: Waits::none(),
            };
            // SAFETY: `begin` has written to the place.
            unsafe { create(lock, make) }
        })
    }

    /// Destroys a lock.
    fn tw_mutex_destroy(lock: *mut tw_mutex) -> c_int {
        answer::code(|| {
            if lock.is_null() {
                return Ok(0);
            }
            let ending = mutex(lock)?;
            // The waiting calls must be checked before the owner, because a call that stops waiting
            // holds the lock.
            if ending.waits.any() || ending.kernel.load(Ordering::Relaxed) != 0 {
                return Err(code::BUSY);
            }
            end(ending)?;
            // SAFETY: 1. the object is from `create`; 2. it is no longer used, by the header's
            // contract.
            unsafe { destroy(lock) };
            Ok(0)
        })
    }

    /// Locks, and waits until the lock is free.
    fn tw_mutex_lock(lock: *mut tw_mutex) -> c_int {
        answer::code(|| mutex(lock)?.lock(|lock| Ok(lock.lock())))
    }

    /// Locks, and waits at most for the given time.
    fn tw_mutex_lock_for(lock: *mut tw_mutex, ns: u64) -> c_int {
        let timeout = Duration::from_nanos(ns);
        answer::code(|| mutex(lock)?.lock(|lock| lock.lock_timeout(timeout).ok_or(code::LATE)))
    }

    /// Locks, if the lock is free now.
    fn tw_mutex_trylock(lock: *mut tw_mutex) -> c_int {
        answer::code(|| {
            let lock = mutex(lock)?;
            lock.held(caller(), lock.lock.try_lock().ok_or(code::BUSY)?);
            Ok(0)
        })
    }

    /// Unlocks.
    fn tw_mutex_unlock(lock: *mut tw_mutex) -> c_int {
        answer::code(|| unlock(mutex(lock)?))
    }

    /// Creates a condition variable.
    fn tw_cond_create(cond: *mut *mut tw_cond) -> c_int {
        answer::code(|| {
            // SAFETY: the header's contract.
            unsafe { begin(cond) }?;
            let make = |at| tw_cond {
                state: AtomicU64::new(state(tw_cond::READY, at)),
                condition: Condvar::new(),
                waits: Waits::none(),
            };
            // SAFETY: `begin` has written to the place.
            unsafe { create(cond, make) }
        })
    }

    /// Destroys a condition variable.
    fn tw_cond_destroy(cond: *mut tw_cond) -> c_int {
        answer::code(|| {
            if cond.is_null() {
                return Ok(0);
            }
            let ending: &tw_cond = shared(cond.cast_const())?;
            if ending.waits.any() {
                return Err(code::BUSY);
            }
            end(ending)?;
            // SAFETY: 1. the object is from `create`; 2. it is no longer used, by the header's
            // contract.
            unsafe { destroy(cond) };
            Ok(0)
        })
    }

    /// Unlocks, waits, and locks again.
    fn tw_cond_wait(cond: *mut tw_cond, lock: *mut tw_mutex) -> c_int {
        answer::code(|| wait_for_signal(cond, lock, |cond, guard| (cond.wait(guard), 0)))
    }

    /// Unlocks, waits at most for the given time, and locks again.
    fn tw_cond_wait_for(cond: *mut tw_cond, lock: *mut tw_mutex, ns: u64) -> c_int {
        answer::code(|| {
            let timeout = Duration::from_nanos(ns);
            let woken = wait_for_signal(cond, lock, |cond, guard| cond.wait_timeout(guard, timeout))?;
            if woken { Ok(0) } else { Err(code::LATE) }
        })
    }

    /// Wakes one thread that waits.
    fn tw_cond_signal(cond: *mut tw_cond) -> c_int {
        answer::code(|| {
            let cond: &tw_cond = shared(cond.cast_const())?;
            cond.condition.notify_one();
            Ok(0)
        })
    }

    /// Wakes all threads that wait.
    fn tw_cond_broadcast(cond: *mut tw_cond) -> c_int {
        answer::code(|| {
            let cond: &tw_cond = shared(cond.cast_const())?;
            cond.condition.notify_all();
            Ok(0)
        })
    }
);
