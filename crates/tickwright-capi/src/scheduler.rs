//! Schedulers: timers that call back, shared between threads.
//!
//! The handle is in the library's memory and holds the scheduler itself, so that making one
//! allocates only what can be refused. It stays where it is until `tw_sched_destroy`, which waits
//! for the callback that runs and for the thread; so both may point at it.

use core::cell::Cell;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, MutexGuard};

use tickwright::clock::{Clock, SystemClock, VirtualHost};
use tickwright::driver::DriverThread;
#[cfg(target_os = "linux")]
use tickwright::driver::TimerFd;
use tickwright::fork::{ForkLock, Order};
use tickwright::scheduler::{Cancelled, Scheduler, TimerId};
use tickwright::service::{Settings, Structure, Timing, When};

use crate::code;
use crate::family::structure;
use crate::job::{
    Call, Place, TW_CLOCK_BOOTTIME, TW_CLOCK_MONOTONIC, TW_CLOCK_REALTIME, TW_CLOCK_VIRTUAL, TW_JOB_KEEP,
    TW_JOB_VARIABLE, after, cancelled, refused, simple, timing, timing_at, tw_job, tw_sched_fn, tw_timing,
};
use crate::queue::put;

/// A scheduler of the library's own memory. The state comes first, so that what is no scheduler,
/// and smaller, can be told by what is there.
#[repr(C)]
#[derive(Debug)]
pub struct tw_sched {
    pub(crate) state: AtomicU64,
    /// Calls under way that come back to the scheduler after a clean-up function; then it cannot be
    /// destroyed.
    returning: ForkLock<usize>,
    pub(crate) clock: c_int,
    pub(crate) scheduler: Scheduler<Call>,
    /// The machine of a virtual clock.
    pub(crate) host: Option<VirtualHost>,
    driver: ForkLock<Driver>,
}

/// Who is told when the queue is to be run.
#[derive(Debug)]
pub(crate) enum Driver {
    None,
    Thread(DriverThread<Arc<dyn Clock>>),
    #[cfg(target_os = "linux")]
    Descriptor(Arc<TimerFd>),
}

thread_local! {
    /// How many calls of the calling kernel thread come back to schedulers.
    static RETURNING: Cell<usize> = const { Cell::new(0) };
}

/// In a forked child, where other threads' calls are not. If the thread that forked is in such a
/// call, the scheduler stays as busy as it was.
fn forget_threads(returning: &mut usize) {
    if RETURNING.get() == 0 {
        *returning = 0;
    }
}

/// States, before the address is mixed in.
pub(crate) const READY: u64 = 0x7469_636b_7363_6865;
/// It is being destroyed: what callbacks call is answered, but another destroy is refused.
const ENDING: u64 = 0x7469_636b_656e_6421;

pub(crate) fn state(kind: u64, sched: *const tw_sched) -> u64 {
    kind ^ (sched.addr() as u64).rotate_left(16)
}

/// A scheduler that may be used.
///
/// # Errors
/// [`code::INVALID`] where none is.
pub(crate) fn checked<'s>(sched: *const tw_sched) -> Result<&'s tw_sched, c_int> {
    if sched.is_null() || !sched.is_aligned() {
        return Err(code::INVALID);
    }
    // Memory that holds no scheduler may be smaller than one. So only the state is borrowed at
    // first.
    // SAFETY: 1. not null and aligned; 2. the state is readable, by the header's contract.
    let now = unsafe { &(*sched).state }.load(Ordering::Relaxed);
    if now != state(READY, sched) && now != state(ENDING, sched) {
        return Err(code::INVALID);
    }
    // SAFETY: 1. as above; 2. a scheduler that `tw_sched_create` has made, as its state says; 3.
    // nobody borrows it mutably, ever.
    Ok(unsafe { &*sched })
}

/// A scheduler that may be used, and a timer of its.
///
/// # Errors
/// As [`checked`]; [`code::ABSENT`] where none is.
pub(crate) fn timer<'s>(sched: *const tw_sched, id: u64) -> Result<(&'s Scheduler<Call>, TimerId), c_int> {
    let sched = checked(sched)?;
    Ok((&sched.scheduler, sched.named(id).ok_or(code::ABSENT)?))
}

/// The handle around a scheduler.
pub(crate) fn holder(scheduler: &Scheduler<Call>) -> *mut tw_sched {
    let at = core::ptr::from_ref(scheduler).addr() - core::mem::offset_of!(tw_sched, scheduler);
    core::ptr::with_exposed_provenance_mut(at)
}

impl tw_sched {
    /// Who is told. In a forked child a thread of the parent's is nobody.
    pub(crate) fn driver(&self) -> MutexGuard<'_, Driver> {
        let mut driver = self.driver.lock();
        if matches!(&*driver, Driver::Thread(thread) if !thread.is_here()) {
            *driver = Driver::None;
            self.scheduler.set_alarm(None);
        }
        driver
    }

    /// Takes the thread off.
    pub(crate) fn take_thread(&self) -> Option<DriverThread<Arc<dyn Clock>>> {
        let mut driver = self.driver();
        match core::mem::replace(&mut *driver, Driver::None) {
            Driver::Thread(thread) => {
                self.scheduler.set_alarm(None);
                Some(thread)
            }
            other => {
                *driver = other;
                None
            }
        }
    }

    /// The timer of an id of either kind: of a 64-bit one the upper half is never 0.
    pub(crate) fn named(&self, id: u64) -> Option<TimerId> {
        match i32::try_from(id) {
            Ok(int) => self.scheduler.from_int(int),
            Err(_) => TimerId::from_bits(id),
        }
    }
}

/// What an add answers: the `int` id, and what became of an old timer.
fn place(
    sched: &tw_sched,
    old: Option<TimerId>,
    timing: Timing,
    origin: Place,
    call: Call,
) -> Result<(c_int, u64, Cancelled<Call>), c_int> {
    let placed = sched.scheduler.timer(timing).origin(origin).place(old, call);
    match placed {
        Ok(placed) => Ok((placed.int_id.unwrap_or(c_int::MAX), placed.id.to_bits(), placed.old)),
        Err(back) => {
            core::mem::forget(back.payload);
            Err(refused(back.reason))
        }
    }
}

/// The machine's clock of that number.
pub(crate) fn system_clock(number: c_int) -> Option<SystemClock> {
    match number {
        TW_CLOCK_MONOTONIC => Some(SystemClock::Monotonic),
        TW_CLOCK_BOOTTIME => Some(SystemClock::BootTime),
        TW_CLOCK_REALTIME => Some(SystemClock::RealTime),
        _ => None,
    }
}

/// Makes a scheduler.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_create(
    sched: *mut *mut tw_sched,
    family: c_int,
    clock: c_int,
    tick_ns: u64,
    capacity: usize,
) -> c_int {
    code::answer(|| {
        if sched.is_null() || !sched.is_aligned() {
            return Err(code::INVALID);
        }
        // SAFETY: not null, aligned, writable by the header's contract.
        unsafe { sched.write(core::ptr::null_mut()) };
        let structure = if family == 0 { Some(Structure::default()) } else { structure(family) };
        let settings =
            Settings::new().structure(structure.ok_or(code::INVALID)?).int_ids().capacity(capacity);
        let settings = if tick_ns == 0 { settings } else { settings.tick(Duration::from_nanos(tick_ns)) };
        let host = (clock == TW_CLOCK_VIRTUAL).then(VirtualHost::new);
        let settings = match &host {
            Some(host) => settings.clock(host.real_time()),
            None => settings.clock(system_clock(clock).ok_or(code::INVALID)?),
        };
        let scheduler = Scheduler::try_new(settings).map_err(refused)?;
        let returning = ForkLock::try_new(Order::Leaf, 0, forget_threads).ok_or(code::NO_MEMORY)?;
        let driver = ForkLock::try_new(Order::Outer, Driver::None, |_| {}).ok_or(code::NO_MEMORY)?;
        // A box that may be refused.
        let mut one = Vec::new();
        one.try_reserve_exact(1).map_err(|_| code::NO_MEMORY)?;
        one.push(tw_sched { state: AtomicU64::new(0), returning, clock, scheduler, host, driver });
        let at: *mut tw_sched = Box::into_raw(one.into_boxed_slice()).cast();
        // Callbacks are told of it by what is made from the address.
        let _ = at.expose_provenance();
        // SAFETY: made just now.
        unsafe { &*at }.state.store(state(READY, at), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { sched.write(at) };
        Ok(0)
    })
}

/// Ends a scheduler.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_destroy(sched: *mut tw_sched) -> c_int {
    code::answer(|| {
        if sched.is_null() {
            return Ok(0);
        }
        let ending = checked(sched)?;
        if ending.scheduler.within_callback() {
            return Err(code::DEADLOCK);
        }
        if *ending.returning.lock() > 0 {
            return Err(code::BUSY);
        }
        let (ready, end) = (state(READY, sched), state(ENDING, sched));
        // A clean-up function that this calls may come here again.
        ending
            .state
            .compare_exchange(ready, end, Ordering::Relaxed, Ordering::Relaxed)
            .map_err(|_| code::ALREADY)?;
        ending.scheduler.shutdown_each(drop).map_err(|_| code::DEADLOCK)?;
        drop(ending.take_thread());
        ending.state.store(0, Ordering::Relaxed);
        // SAFETY: 1. from `Box::into_raw` of a slice of one in `tw_sched_create`; 2. no longer
        // used: no callback runs, the thread has ended, and the rest is the header's contract.
        drop(unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(sched, 1)) });
        Ok(0)
    })
}

/// Calls back after a delay.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_add_from(
    sched: *mut tw_sched,
    delay_ms: i64,
    call: tw_sched_fn,
    data: *mut c_void,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
) -> c_int {
    code::answer(|| {
        let (sched, call) = (checked(sched)?, simple(call, data, false)?);
        let origin = Place { name, file, line };
        Ok(place(sched, None, after(delay_ms)?, origin, call)?.0)
    })
}

/// Calls back after a delay, and then after what the callback answers.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_add_variable_from(
    sched: *mut tw_sched,
    delay_ms: i64,
    call: tw_sched_fn,
    data: *mut c_void,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
) -> c_int {
    code::answer(|| {
        let (sched, call) = (checked(sched)?, simple(call, data, true)?);
        let origin = Place { name, file, line };
        Ok(place(sched, None, after(delay_ms)?, origin, call)?.0)
    })
}

/// Calls back at a time.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_add_at_from(
    sched: *mut tw_sched,
    at_ns: u64,
    call: tw_sched_fn,
    data: *mut c_void,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
) -> c_int {
    code::answer(|| {
        let (sched, call) = (checked(sched)?, simple(call, data, false)?);
        let origin = Place { name, file, line };
        Ok(place(sched, None, Timing::at(When::At(at_ns)), origin, call)?.0)
    })
}

/// Adds what a job says, and cancels another in the same step.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_add_job_from(
    sched: *mut tw_sched,
    job: *const tw_job,
    replaced: u64,
    became: *mut c_int,
    id: *mut u64,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        if job.is_null() || !job.is_aligned() {
            return Err(code::INVALID);
        }
        // SAFETY: not null, aligned, readable by the header's contract.
        let job = unsafe { &*job };
        let (variable, keep) = (job.flags & TW_JOB_VARIABLE != 0, job.flags & TW_JOB_KEEP != 0);
        if job.flags & !(TW_JOB_VARIABLE | TW_JOB_KEEP) != 0 {
            return Err(code::INVALID);
        }
        let timing = timing(&job.timing)?;
        let mut call = simple(job.call, job.data, variable)?;
        call.token = job.token;
        let origin = Place { name, file, line };
        let (int, bits, old) = if keep {
            if replaced != 0 {
                return Err(code::INVALID);
            }
            call.cleanup = job.cleanup;
            match sched.scheduler.keep(&origin, call) {
                Ok(kept) => {
                    (sched.scheduler.int_id(kept).ok_or(code::ENDING)?, kept.to_bits(), Cancelled::NotFound)
                }
                Err(back) => {
                    core::mem::forget(back.payload);
                    return Err(refused(back.reason));
                }
            }
        } else {
            let old = if replaced == 0 { None } else { sched.named(replaced) };
            call.cleanup = job.cleanup;
            place(sched, old, timing, origin, call)?
        };
        // SAFETY: the header's contract.
        unsafe { put(id, bits) };
        // The clean-up of the old one may be all that the caller waits for: it comes last.
        let old = cancelled(old).unwrap_or_else(|absent| absent);
        // SAFETY: the header's contract.
        unsafe { put(became, old) };
        Ok(int)
    })
}

/// Arms a timer that exists, after a delay.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_start(sched: *mut tw_sched, id: u64, delay_ms: i64) -> c_int {
    code::answer(|| {
        checked(sched)?;
        let timing = after(delay_ms)?;
        let (scheduler, id) = timer(sched, id)?;
        scheduler.start(id, timing).map_err(refused).map(|()| 0)
    })
}

/// Arms a timer that exists.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_start_timing(
    sched: *mut tw_sched,
    id: u64,
    timing: *const tw_timing,
) -> c_int {
    code::answer(|| {
        // SAFETY: the header's contract.
        let timing = unsafe { timing_at(timing) }?;
        let (scheduler, id) = timer(sched, id)?;
        scheduler.start(id, timing).map_err(refused).map(|()| 0)
    })
}

/// Cancels a timer that does not run.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_cancel_try(sched: *mut tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let (scheduler, id) = timer(sched, id)?;
        match scheduler.try_cancel(id) {
            Cancelled::Running { .. } => Err(code::BUSY),
            other => cancelled(other),
        }
    })
}

/// Cancels a timer, and does not wait.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_cancel_async(sched: *mut tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let (scheduler, id) = timer(sched, id)?;
        cancelled(scheduler.cancel(id))
    })
}

/// Cancels a timer, and waits for its callback.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_cancel_sync(sched: *mut tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let (scheduler, id) = timer(sched, id)?;
        cancelled(scheduler.cancel_sync(id).map_err(|_| code::DEADLOCK)?)
    })
}

/// Ends a timer, a kept one too, and does not wait.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_shutdown_async(sched: *mut tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let (scheduler, id) = timer(sched, id)?;
        cancelled(scheduler.shutdown_timer(id))
    })
}

/// Ends a timer, a kept one too, and waits for its callback.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_shutdown_sync(sched: *mut tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let (scheduler, id) = timer(sched, id)?;
        cancelled(scheduler.shutdown_timer_sync(id).map_err(|_| code::DEADLOCK)?)
    })
}

/// Ends every timer with a token.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_shutdown_token(
    sched: *mut tw_sched,
    token: *const c_void,
    running: *mut u64,
) -> isize {
    code::answer(|| {
        let sched = checked(sched).map_err(|code| code as isize)?;
        RETURNING.set(RETURNING.get() + 1);
        *sched.returning.lock() += 1;
        let (removed, runs) = sched.scheduler.cancel_matching(token.addr(), drop);
        *sched.returning.lock() -= 1;
        RETURNING.set(RETURNING.get() - 1);
        // SAFETY: the header's contract.
        unsafe { put(running, runs.map_or(0, TimerId::to_bits)) };
        Ok(isize::try_from(removed).unwrap_or(isize::MAX))
    })
}
