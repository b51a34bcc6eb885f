//! Schedulers, which have timers with callbacks, and which several threads can share.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU64;
#[cfg(debug_assertions)]
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;

use tickwright::fork::{ForkLock, Order};
use tickwright::scheduler::{Cancelled, Scheduler, Settings, Structure, TimerId, Timing};
use tickwright::time::{SystemClock, VirtualHost};
use tickwright_boundary::answer::{self, aligned, borrowed, put};
use tickwright_boundary::grow::{self, Growing};
use tickwright_boundary::spare::covered;
use tickwright_boundary::state::{self, Shared, begin, create, destroy, end};
use tickwright_boundary::{code, end_of, exported};

use crate::family::{TW_FAMILY_DEFAULT, structure, tw_family};
pub use crate::handle::tw_sched;
use crate::handle::{Call, Driver, RETURNING, Timers, forget_threads, shared, timer, tw_clock, with};
use crate::job::{
    TW_CLOCK_BOOTTIME, TW_CLOCK_DEFAULT, TW_CLOCK_MONOTONIC, TW_CLOCK_REALTIME, TW_CLOCK_VIRTUAL,
    TW_SCHED_ONE_THREAD, after, cancelled, refused, since, timing, tw_timing,
};

/// The options of a new scheduler.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tw_sched_options {
    /// The size of this struct in bytes.
    pub size: usize,
    /// The family of the queue that holds the scheduler's timers.
    pub family: tw_family,
    /// The clock of the scheduler.
    pub clock: tw_clock,
    /// The length of a tick in ns, or 0 for the default of the family.
    pub tick_ns: u64,
    /// The number of timers for which memory is allocated in advance.
    pub capacity: usize,
    /// A combination of `TW_SCHED_...` flags.
    pub flags: u64,
}

// SAFETY: 1. It is `repr(C)` and its first field is its size; 2. all its fields are numbers.
unsafe impl Growing for tw_sched_options {
    const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        family: TW_FAMILY_DEFAULT,
        clock: TW_CLOCK_DEFAULT,
        tick_ns: 0,
        capacity: 0,
        flags: 0,
    };
    const LEAST: usize = end_of!(Self, capacity);
}

/// Returns the machine's clock that has this number.
pub(crate) fn system_clock(number: tw_clock) -> Option<SystemClock> {
    match number {
        TW_CLOCK_DEFAULT | TW_CLOCK_MONOTONIC => Some(SystemClock::Monotonic),
        TW_CLOCK_BOOTTIME => Some(SystemClock::BootTime),
        TW_CLOCK_REALTIME => Some(SystemClock::RealTime),
        _ => None,
    }
}

/// Arms an existing timer.
fn arm(sched: *const tw_sched, id: u64, timing: Result<Timing, c_int>) -> c_int {
    answer::code(|| {
        let timing = timing?;
        let (sched, id) = timer(sched, id)?;
        with!(sched, scheduler => scheduler.start(id, timing)).map_err(refused).map(|()| 0)
    })
}

/// Calls `cancel` with a timer, and converts its result to a code.
#[inline]
fn cancel(
    sched: *const tw_sched,
    id: u64,
    cancel: impl FnOnce(&tw_sched, TimerId) -> Result<Cancelled<Call>, c_int>,
) -> c_int {
    answer::code(|| {
        let (sched, id) = timer(sched, id)?;
        cancelled(cancel(sched, id)?)
    })
}

exported!(
    /// Sets all options to their defaults.
    fn tw_sched_options_init(options: *mut tw_sched_options, size: usize) -> c_int {
        // SAFETY: the header's contract.
        unsafe { grow::initialize(options, size) }
    }

    /// Creates a scheduler.
    fn tw_sched_create(sched: *mut *mut tw_sched, options: *const tw_sched_options) -> c_int {
        answer::code(|| {
            // SAFETY: the header's contract.
            unsafe { begin(sched) }?;
            let tw_sched_options { family, clock, tick_ns, capacity, flags, .. } = if options.is_null() {
                tw_sched_options::DEFAULT
            } else {
                // SAFETY: the header's contract.
                unsafe { grow::read(options) }?
            };
            if flags & !TW_SCHED_ONE_THREAD.unsigned_abs() as u64 != 0 {
                return Err(code::INVALID);
            }
            let default = family == TW_FAMILY_DEFAULT;
            let structure = if default { Some(Structure::default()) } else { structure(family) };
            let settings =
                Settings::new().structure(structure.ok_or(code::INVALID)?).int_ids().capacity(capacity);
            let settings = if tick_ns == 0 { settings } else { settings.tick(Duration::from_nanos(tick_ns)) };
            let (settings, host) = if clock == TW_CLOCK_VIRTUAL {
                // The blocks are for the simulated machine with its two locks, and for its clock in
                // the settings.
                covered(&[(8, 512)], || {
                    let host = VirtualHost::try_new().ok_or(code::NO_MEMORY)?;
                    Ok::<_, c_int>((settings.clock(host.real_time()), Some(host)))
                })??
            } else {
                (settings.clock(system_clock(clock).ok_or(code::INVALID)?), None)
            };
            let scheduler = match flags {
                0 => Scheduler::try_new(settings).map(Timers::Shared),
                _ => Scheduler::try_local(settings).map(Timers::Own),
            };
            let scheduler = scheduler.map_err(refused)?;
            let returning = ForkLock::try_new(Order::Leaf, 0, forget_threads).ok_or(code::NO_MEMORY)?;
            let driver = ForkLock::try_new(Order::Outer, Driver::None, |_| {}).ok_or(code::NO_MEMORY)?;
            let make = |at| {
                let state = AtomicU64::new(state::state(tw_sched::READY, at));
                tw_sched {
                    state,
                    returning,
                    clock,
                    scheduler,
                    host,
                    driver,
                    #[cfg(debug_assertions)]
                    owner: AtomicUsize::new(0),
                }
            };
            // SAFETY: `begin` has written to `sched`.
            unsafe { create(sched, make) }
        })
    }

    /// Destroys a scheduler.
    fn tw_sched_destroy(sched: *mut tw_sched) -> c_int {
        answer::code(|| {
            if sched.is_null() {
                return Ok(0);
            }
            // SAFETY: the header's contract.
            let ending: &tw_sched = unsafe { state::shared(sched) }?;
            // Any thread is allowed to destroy a single-threaded scheduler, whose clean-up
            // functions can then use it on this thread.
            #[cfg(debug_assertions)]
            ending.owner.store(0, Ordering::Relaxed);
            if with!(ending, scheduler => scheduler.within_callback()) {
                return Err(code::DEADLOCK);
            }
            if *ending.returning.lock() > 0 {
                return Err(code::BUSY);
            }
            // `shutdown_each` calls clean-up functions. If one of them calls `tw_sched_destroy`
            // again, `end` refuses that call.
            end(ending)?;
            with!(ending, scheduler => scheduler.shutdown_each(drop)).map_err(|_| code::DEADLOCK)?;
            drop(ending.take_thread());
            // SAFETY: 1. The scheduler is from `create`. 2. It is no longer used: no callback runs,
            // the thread has ended, and the rest is the header's contract.
            unsafe { destroy(sched) };
            Ok(0)
        })
    }

    /// Arms an existing timer, which is then due after a delay.
    fn tw_sched_arm(sched: *mut tw_sched, id: u64, delay_ms: i64) -> c_int {
        arm(sched, id, after(delay_ms))
    }

    /// Arms an existing timer, which is then due a delay after a given time.
    fn tw_sched_arm_since(sched: *mut tw_sched, id: u64, since_ns: u64, delay_ms: i64) -> c_int {
        arm(sched, id, since(since_ns, delay_ms))
    }

    /// Arms an existing timer with a timing.
    fn tw_sched_arm_timing(sched: *mut tw_sched, id: u64, asked: *const tw_timing) -> c_int {
        // SAFETY: the header's contract.
        arm(sched, id, unsafe { borrowed(asked) }.and_then(timing))
    }

    /// Cancels a timer unless its callback is running.
    fn tw_sched_cancel_try(sched: *mut tw_sched, id: u64) -> c_int {
        cancel(sched, id, |sched, id| match with!(sched, scheduler => scheduler.try_cancel(id)) {
            Cancelled::Running { .. } => Err(code::BUSY),
            other => Ok(other),
        })
    }

    /// Cancels a timer without waiting for the end of its callback.
    fn tw_sched_cancel_async(sched: *mut tw_sched, id: u64) -> c_int {
        cancel(sched, id, |sched, id| Ok(with!(sched, scheduler => scheduler.cancel(id))))
    }

    /// Cancels a timer, and waits for the end of its callback.
    fn tw_sched_cancel_sync(sched: *mut tw_sched, id: u64) -> c_int {
        cancel(sched, id, |sched, id| {
            with!(sched, scheduler => scheduler.cancel_sync(id)).map_err(|_| code::DEADLOCK)
        })
    }

    /// Removes a timer, even if it is kept, without waiting for the end of its callback.
    fn tw_sched_shutdown_async(sched: *mut tw_sched, id: u64) -> c_int {
        cancel(sched, id, |sched, id| Ok(with!(sched, scheduler => scheduler.shutdown_timer(id))))
    }

    /// Removes a timer, even if it is kept, and waits for the end of its callback.
    fn tw_sched_shutdown_sync(sched: *mut tw_sched, id: u64) -> c_int {
        cancel(sched, id, |sched, id| {
            with!(sched, scheduler => scheduler.shutdown_timer_sync(id)).map_err(|_| code::DEADLOCK)
        })
    }

    /// Removes every timer that has the token.
    fn tw_sched_shutdown_token(sched: *mut tw_sched, token: *const c_void, running: *mut u64) -> isize {
        answer::count(|| {
            aligned(running)?;
            let sched = shared(sched)?;
            RETURNING.set(RETURNING.get() + 1);
            *sched.returning.lock() += 1;
            let (removed, runs) = with!(sched, scheduler => scheduler.cancel_matching(token.addr(), drop));
            *sched.returning.lock() -= 1;
            RETURNING.set(RETURNING.get() - 1);
            // SAFETY: the header's contract.
            unsafe { put(running, runs.map_or(0, TimerId::to_bits)) };
            Ok(removed)
        })
    }
);
