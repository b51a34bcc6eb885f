//! The handle of a scheduler, and the callbacks of its timers, which get the handle.
//!
//! The handle contains the scheduler itself, in memory that the library allocates, so that an
//! allocation can fail without ending the process. The running callback and the thread can point to
//! the handle, because it does not move before `tw_sched_destroy`, which waits for both.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU64;
#[cfg(debug_assertions)]
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, MutexGuard};

use tickwright::fork::ForkLock;
use tickwright::scheduler::{Access, Callback, Firing, LocalScheduler, Next, Scheduler, TimerId};
#[cfg(any(target_os = "linux", target_os = "freebsd", target_vendor = "apple"))]
use tickwright::time::TimerFd;
use tickwright::time::{Clock, DriverThread, VirtualHost};
use tickwright_boundary::code;
use tickwright_boundary::state::Shared;

use crate::contract;

/// The argument that the scheduler passes to a callback.
#[repr(C)]
#[derive(Debug)]
pub struct tw_firing {
    /// The size of this struct in bytes.
    pub size: usize,
    /// The scheduler that calls the callback.
    pub sched: *mut tw_sched,
    /// The 64-bit id of the timer.
    pub id: u64,
    /// When the timer was due, in ns.
    pub due_ns: u64,
    /// The time of the clock at the call, in ns.
    pub now_ns: u64,
    /// The number of missed periods.
    pub overruns: u64,
    /// The token that the caller has set for the timer.
    pub token: *const c_void,
}

/// The scheduler calls this function when a timer is due. The result determines whether the timer
/// runs again.
pub type tw_sched_fn =
    Option<unsafe extern "C-unwind" fn(data: *mut c_void, firing: *const tw_firing) -> i64>;

/// The scheduler calls this function after a timer was removed.
pub type tw_cleanup_fn = Option<unsafe extern "C-unwind" fn(data: *mut c_void)>;

/// The caller's function and data. Dropping it calls the caller's clean-up function, so a refused
/// `Call` is never dropped.
pub(crate) struct Call {
    pub(crate) run: unsafe extern "C-unwind" fn(*mut c_void, *const tw_firing) -> i64,
    pub(crate) cleanup: tw_cleanup_fn,
    pub(crate) data: *mut c_void,
    pub(crate) variable: bool,
    pub(crate) token: *const c_void,
}

// SAFETY: by the header's contract the functions may be called with the data on whatever thread
// runs the queue or lets go of the timer.
unsafe impl Send for Call {}

impl<L: Access> Callback<L> for Call {
    fn call(&mut self, firing: &Firing<'_, Self, L>) -> Next {
        let told = tw_firing {
            size: size_of::<tw_firing>(),
            sched: holder(firing.scheduler()),
            id: firing.id.to_bits(),
            due_ns: firing.due.as_nanos(),
            now_ns: firing.now.as_nanos(),
            overruns: firing.overruns,
            token: self.token,
        };
        // SAFETY: the caller's function, called as the header says, with no lock held.
        match code::contained(|| unsafe { (self.run)(self.data, &raw const told) }) {
            0 => Next::Done,
            ms if self.variable => {
                u64::try_from(ms).map_or(Next::Done, |ms| Next::After(Duration::from_millis(ms)))
            }
            _ => Next::Again,
        }
    }

    fn token(&self) -> usize {
        self.token.expose_provenance()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(cleanup) = self.cleanup {
            // SAFETY: the caller's function, called as the header says: once, with no lock held.
            code::contained(|| unsafe { cleanup(self.data) });
        }
    }
}

/// A scheduler in the library's own memory. The state comes first, because a caller might pass a
/// pointer to an object that is smaller than a scheduler.
#[repr(C)]
#[derive(Debug)]
pub struct tw_sched {
    pub(crate) state: AtomicU64,
    /// The number of running calls that still use the scheduler after they have called a clean-up
    /// function. While it is above 0, the scheduler cannot be destroyed.
    pub(crate) returning: ForkLock<usize>,
    pub(crate) clock: tw_clock,
    pub(crate) scheduler: Timers,
    /// The simulated machine, if the clock is virtual.
    pub(crate) host: Option<VirtualHost>,
    pub(crate) driver: ForkLock<Driver>,
    /// The thread that uses a single-threaded scheduler, or 0 before the first call.
    #[cfg(debug_assertions)]
    pub(crate) owner: AtomicUsize,
}

/// Returns the scheduler at `at`, which is ready for use or is being destroyed. With debug
/// assertions, the library aborts if a second thread uses a single-threaded scheduler.
///
/// # Errors
/// [`INVALID`](tickwright_boundary::code::INVALID) if there is no scheduler at `at`.
#[inline]
pub(crate) fn shared<'t>(at: *const tw_sched) -> Result<&'t tw_sched, c_int> {
    let sched = contract::shared(at)?;
    #[cfg(debug_assertions)]
    sched.check_thread();
    Ok(sched)
}

/// The scheduler in a handle, which several threads share or a single thread uses. It is `repr(C)`,
/// so that both variants are at the [same offset](AT) in the handle.
#[repr(C)]
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is made once, where it stays")]
pub(crate) enum Timers {
    Shared(Scheduler<Call>),
    Own(LocalScheduler<Call>),
}

/// Evaluates an expression with the scheduler of a handle, whichever variant it is.
macro_rules! with {
    ($sched:expr, $scheduler:ident => $result:expr) => {
        match &$sched.scheduler {
            $crate::handle::Timers::Shared($scheduler) => $result,
            $crate::handle::Timers::Own($scheduler) => $result,
        }
    };
}
pub(crate) use with;

/// The number of a clock.
pub type tw_clock = c_int;

/// The driver, which is notified when the queue must be run.
#[derive(Debug)]
pub(crate) enum Driver {
    None,
    Thread(DriverThread<Arc<dyn Clock>>),
    #[cfg(any(target_os = "linux", target_os = "freebsd", target_vendor = "apple"))]
    Descriptor(Arc<TimerFd>),
}

thread_local! {
    /// The number of running calls of this kernel thread that still use a scheduler after they have
    /// called a clean-up function.
    pub(crate) static RETURNING: Cell<usize> = const { Cell::new(0) };
}

/// Removes the calls of other threads from the count in a forked child, where those threads do not
/// exist. The calls of the thread that forked are still counted, so the scheduler stays busy during
/// such a call.
pub(crate) fn forget_threads(returning: &mut usize) {
    if RETURNING.get() == 0 {
        *returning = 0;
    }
}

// SAFETY: 1. `repr(C)`, the state comes first; 2. no code ever borrows it mutably.
unsafe impl Shared for tw_sched {
    const READY: u64 = 0x7469_636b_7363_6865;
    const ENDING: u64 = 0x7469_636b_656e_6421;
}

/// Returns a scheduler and the id of one of its timers.
///
/// # Errors
/// The errors of [`shared`]. [`code::ABSENT`] if no timer has the id.
#[inline]
pub(crate) fn timer<'t>(sched: *const tw_sched, id: u64) -> Result<(&'t tw_sched, TimerId), c_int> {
    let sched = shared(sched)?;
    Ok((sched, sched.named(id).ok_or(code::ABSENT)?))
}

/// The offset of the scheduler in its handle. An enum with `repr(C)` consists of the tag, followed
/// by the variant at the next aligned address.
const AT: usize = core::mem::offset_of!(tw_sched, scheduler) + align_of::<Timers>();
const _: () = assert!(align_of::<Timers>() >= size_of::<c_int>());

/// Returns the handle that contains a scheduler.
pub(crate) fn holder<L: Access>(scheduler: &Scheduler<Call, L>) -> *mut tw_sched {
    core::ptr::with_exposed_provenance_mut(core::ptr::from_ref(scheduler).addr() - AT)
}

impl tw_sched {
    /// Locks and returns the driver. In a forked child the parent's driver thread does not exist,
    /// so the driver becomes [`Driver::None`].
    pub(crate) fn driver(&self) -> MutexGuard<'_, Driver> {
        let mut driver = self.driver.lock();
        if matches!(&*driver, Driver::Thread(thread) if !thread.is_here()) {
            *driver = Driver::None;
            with!(self, scheduler => scheduler.set_alarm(None));
        }
        driver
    }

    /// Removes the thread from the handle, and returns it.
    pub(crate) fn take_thread(&self) -> Option<DriverThread<Arc<dyn Clock>>> {
        let mut driver = self.driver();
        match core::mem::replace(&mut *driver, Driver::None) {
            Driver::Thread(thread) => {
                with!(self, scheduler => scheduler.set_alarm(None));
                Some(thread)
            }
            other => {
                *driver = other;
                None
            }
        }
    }

    /// Returns the timer that has this `int` id or 64-bit id. The two kinds are distinguishable,
    /// because the upper half of a 64-bit id is never 0.
    #[inline]
    pub(crate) fn named(&self, id: u64) -> Option<TimerId> {
        match i32::try_from(id) {
            Ok(int) => with!(self, scheduler => scheduler.from_int(int)),
            Err(_) => TimerId::from_bits(id),
        }
    }

    /// Checks the caller of a single-threaded scheduler. If the call comes from a thread other than
    /// the scheduler's thread, ends the process with a message that names the called function.
    #[cfg(debug_assertions)]
    pub(crate) fn check_thread(&self) {
        let me = RETURNING.with(|here| core::ptr::from_ref(here).addr());
        if matches!(self.scheduler, Timers::Own(_))
            && let Err(owner) = self.owner.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed)
            && owner != me
        {
            let function = tickwright_boundary::answer::CALLED.get();
            eprintln!("tickwright: {function} on a second thread, but the scheduler has TW_SCHED_ONE_THREAD");
            std::process::abort();
        }
    }
}
