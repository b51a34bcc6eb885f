//! Schedulers: timers that call back, shared between threads.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::AtomicU64;
use core::time::Duration;

use tickwright::clock::{Instant, SystemClock, VirtualHost};
use tickwright::fork::{ForkLock, Order};
use tickwright::scheduler::{Cancelled, Scheduler, TimerId};
use tickwright::service::{Refused, Settings, Structure, Timing, When};

use crate::answer::{self, borrowed, exported, put};
use crate::code;
use crate::family::structure;
pub use crate::handle::tw_sched;
use crate::handle::{Call, Driver, RETURNING, forget_threads, timer, tw_sched_fn};
use crate::job::{
    Place, TW_CLOCK_BOOTTIME, TW_CLOCK_MONOTONIC, TW_CLOCK_REALTIME, TW_CLOCK_VIRTUAL, TW_JOB_KEEP,
    TW_JOB_VARIABLE, after, cancelled, refused, simple, since, timing, tw_job, tw_timing,
};
use crate::state::{Shared, begin, create, destroy, end, shared, state};

/// What an add answers: the `int` id and the other one.
#[inline]
fn add_call(sched: &tw_sched, timing: Timing, origin: Place, call: Call) -> Result<(c_int, u64), c_int> {
    let added = sched.scheduler.timer(timing).origin(origin).add_numbered(call).map_err(forgotten)?;
    Ok((added.1, added.0.to_bits()))
}

/// The same, and what became of an old timer.
fn place(
    sched: &tw_sched,
    old: TimerId,
    timing: Timing,
    origin: Place,
    call: Call,
) -> Result<(c_int, u64, Cancelled<Call>), c_int> {
    let placed = sched.scheduler.timer(timing).origin(origin).place(Some(old), call).map_err(forgotten)?;
    Ok((placed.int_id, placed.id.to_bits(), placed.old))
}

/// Why a callback was refused, which is not cleaned up then.
fn forgotten(refusal: Refused<Call>) -> c_int {
    core::mem::forget(refusal.payload);
    refused(refusal.reason)
}

/// Adds a timer without clean-up.
fn add(
    sched: *const tw_sched,
    timing: Result<Timing, c_int>,
    call: Result<Call, c_int>,
    origin: Place,
) -> c_int {
    answer::code(|| Ok(add_call(shared(sched)?, timing?, origin, call?)?.0))
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

/// Arms a timer that exists.
fn start(sched: *const tw_sched, id: u64, timing: Result<Timing, c_int>) -> c_int {
    answer::code(|| {
        let timing = timing?;
        timer(sched, id, |scheduler, id| scheduler.start(id, timing).map_err(refused).map(|()| 0))
    })
}

/// Returns what a way to cancel did.
fn cancel(
    sched: *const tw_sched,
    id: u64,
    cancel: impl FnOnce(&Scheduler<Call>, TimerId) -> Result<Cancelled<Call>, c_int>,
) -> c_int {
    answer::code(|| cancelled(timer(sched, id, cancel)?))
}

exported!(
    /// Makes a scheduler.
    fn tw_sched_create(
        sched: *mut *mut tw_sched,
        family: c_int,
        clock: c_int,
        tick_ns: u64,
        capacity: usize,
    ) -> c_int {
        answer::code(|| {
            // SAFETY: the header's contract.
            unsafe { begin(sched) }?;
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
            let make = |at| {
                let state = AtomicU64::new(state(tw_sched::READY, at));
                tw_sched { state, returning, clock, scheduler, host, driver }
            };
            // SAFETY: `begin` has written to it.
            unsafe { create(sched, make) }
        })
    }

    /// Ends a scheduler.
    fn tw_sched_destroy(sched: *mut tw_sched) -> c_int {
        answer::code(|| {
            if sched.is_null() {
                return Ok(0);
            }
            let ending = shared(sched)?;
            if ending.scheduler.within_callback() {
                return Err(code::DEADLOCK);
            }
            if *ending.returning.lock() > 0 {
                return Err(code::BUSY);
            }
            // A clean-up function that this calls may come here again.
            end(ending)?;
            ending.scheduler.shutdown_each(drop).map_err(|_| code::DEADLOCK)?;
            drop(ending.take_thread());
            // SAFETY: 1. from `create`; 2. no longer used: no callback runs, the thread has ended,
            // and the rest is the header's contract.
            unsafe { destroy(sched) };
            Ok(0)
        })
    }

    /// Calls back after a delay.
    fn tw_sched_add_from(
        sched: *mut tw_sched,
        delay_ms: i64,
        call: tw_sched_fn,
        data: *mut c_void,
        name: *const c_char,
        file: *const c_char,
        line: c_int,
    ) -> c_int {
        add(sched, after(delay_ms), simple(call, data, false), Place { name, file, line })
    }

    /// Calls back after a delay, and then after what the callback answers.
    fn tw_sched_add_variable_from(
        sched: *mut tw_sched,
        delay_ms: i64,
        call: tw_sched_fn,
        data: *mut c_void,
        name: *const c_char,
        file: *const c_char,
        line: c_int,
    ) -> c_int {
        add(sched, after(delay_ms), simple(call, data, true), Place { name, file, line })
    }

    /// Calls back a delay after a time.
    fn tw_sched_add_since_from(
        sched: *mut tw_sched,
        since_ns: u64,
        delay_ms: i64,
        call: tw_sched_fn,
        data: *mut c_void,
        name: *const c_char,
        file: *const c_char,
        line: c_int,
    ) -> c_int {
        add(sched, since(since_ns, delay_ms), simple(call, data, false), Place { name, file, line })
    }

    /// Calls back at a time.
    fn tw_sched_add_at_from(
        sched: *mut tw_sched,
        at_ns: u64,
        call: tw_sched_fn,
        data: *mut c_void,
        name: *const c_char,
        file: *const c_char,
        line: c_int,
    ) -> c_int {
        let timing = Timing::at(When::At(Instant::from_nanos(at_ns)));
        add(sched, Ok(timing), simple(call, data, false), Place { name, file, line })
    }

    /// Adds what a job says, and cancels another in the same step.
    fn tw_sched_add_job_from(
        sched: *mut tw_sched,
        job: *const tw_job,
        replaced: u64,
        became: *mut c_int,
        id: *mut u64,
        name: *const c_char,
        file: *const c_char,
        line: c_int,
    ) -> c_int {
        answer::code(|| {
            let sched = shared(sched)?;
            // SAFETY: the header's contract.
            let job = unsafe { borrowed(job) }?;
            let (variable, keep) = (job.flags & TW_JOB_VARIABLE != 0, job.flags & TW_JOB_KEEP != 0);
            if job.flags & !(TW_JOB_VARIABLE | TW_JOB_KEEP) != 0 {
                return Err(code::INVALID);
            }
            let timing = timing(&job.timing)?;
            let mut call = simple(job.call, job.data, variable)?;
            call.token = job.token;
            let origin = Place { name, file, line };
            let old = if replaced == 0 { None } else { sched.named(replaced) };
            let (int, bits) = if keep {
                if replaced != 0 {
                    return Err(code::INVALID);
                }
                call.cleanup = job.cleanup;
                let kept = sched.scheduler.keep(&origin, call).map_err(forgotten)?;
                (sched.scheduler.int_id(kept).ok_or(code::ENDING)?, kept.to_bits())
            } else if let Some(old) = old {
                call.cleanup = job.cleanup;
                let (int, bits, old) = place(sched, old, timing, origin, call)?;
                // SAFETY: the header's contract.
                unsafe { put(id, bits) };
                // The clean-up of the old one may be all that the caller waits for: it comes last.
                let old = cancelled(old).unwrap_or_else(|absent| absent);
                // SAFETY: the header's contract.
                unsafe { put(became, old) };
                return Ok(int);
            } else {
                call.cleanup = job.cleanup;
                add_call(sched, timing, origin, call)?
            };
            // SAFETY: the header's contract.
            unsafe { put(id, bits) };
            // SAFETY: the header's contract.
            unsafe { put(became, code::ABSENT) };
            Ok(int)
        })
    }

    /// Arms a timer that exists, after a delay.
    fn tw_sched_start(sched: *mut tw_sched, id: u64, delay_ms: i64) -> c_int {
        start(sched, id, after(delay_ms))
    }

    /// Arms a timer that exists, a delay after a time.
    fn tw_sched_start_since(sched: *mut tw_sched, id: u64, since_ns: u64, delay_ms: i64) -> c_int {
        start(sched, id, since(since_ns, delay_ms))
    }

    /// Arms a timer that exists.
    fn tw_sched_start_timing(sched: *mut tw_sched, id: u64, asked: *const tw_timing) -> c_int {
        // SAFETY: the header's contract.
        start(sched, id, unsafe { borrowed(asked) }.and_then(timing))
    }

    /// Cancels a timer that does not run.
    fn tw_sched_cancel_try(sched: *mut tw_sched, id: u64) -> c_int {
        cancel(sched, id, |scheduler, id| match scheduler.try_cancel(id) {
            Cancelled::Running { .. } => Err(code::BUSY),
            other => Ok(other),
        })
    }

    /// Cancels a timer, and does not wait.
    fn tw_sched_cancel_async(sched: *mut tw_sched, id: u64) -> c_int {
        cancel(sched, id, |scheduler, id| Ok(scheduler.cancel(id)))
    }

    /// Cancels a timer, and waits for its callback.
    fn tw_sched_cancel_sync(sched: *mut tw_sched, id: u64) -> c_int {
        cancel(sched, id, |scheduler, id| scheduler.cancel_sync(id).map_err(|_| code::DEADLOCK))
    }

    /// Ends a timer, a kept one too, and does not wait.
    fn tw_sched_shutdown_async(sched: *mut tw_sched, id: u64) -> c_int {
        cancel(sched, id, |scheduler, id| Ok(scheduler.shutdown_timer(id)))
    }

    /// Ends a timer, a kept one too, and waits for its callback.
    fn tw_sched_shutdown_sync(sched: *mut tw_sched, id: u64) -> c_int {
        cancel(sched, id, |scheduler, id| scheduler.shutdown_timer_sync(id).map_err(|_| code::DEADLOCK))
    }

    /// Ends every timer with a token.
    fn tw_sched_shutdown_token(sched: *mut tw_sched, token: *const c_void, running: *mut u64) -> isize {
        answer::count(|| {
            let sched = shared(sched)?;
            RETURNING.set(RETURNING.get() + 1);
            *sched.returning.lock() += 1;
            let (removed, runs) = sched.scheduler.cancel_matching(token.addr(), drop);
            *sched.returning.lock() -= 1;
            RETURNING.set(RETURNING.get() - 1);
            // SAFETY: the header's contract.
            unsafe { put(running, runs.map_or(0, TimerId::to_bits)) };
            Ok(removed)
        })
    }
);
