//! Schedulers: timers that call back, shared between threads.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use tickwright::clock::{Instant, SystemClock, VirtualHost};
use tickwright::fork::{ForkLock, Order};
use tickwright::scheduler::{Cancelled, Scheduler, TimerId};
use tickwright::service::{Settings, Structure, Timing, When};

use crate::code;
use crate::family::structure;
pub use crate::handle::tw_sched;
use crate::handle::{
    Call, Driver, ENDING, READY, RETURNING, checked, forget_threads, state, timer, tw_sched_fn,
};
use crate::job::{
    Place, TW_CLOCK_BOOTTIME, TW_CLOCK_MONOTONIC, TW_CLOCK_REALTIME, TW_CLOCK_VIRTUAL, TW_JOB_KEEP,
    TW_JOB_VARIABLE, after, cancelled, refused, simple, timing, timing_at, tw_job, tw_timing,
};
use crate::queue::put;

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
        Ok(place(sched, None, Timing::at(When::At(Instant::from_nanos(at_ns))), origin, call)?.0)
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
