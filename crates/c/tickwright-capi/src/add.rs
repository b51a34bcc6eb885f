//! Adds timers to a scheduler. The macros of the header pass the place of the call. Programs that
//! cannot use macros call the functions without a place.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null;

use tickwright::scheduler::{Cancelled, Refused, TimerId, Timing, When};
use tickwright::time::Instant;
use tickwright_boundary::answer::{self, aligned, put};
use tickwright_boundary::{code, exported, grow};

use crate::handle::{Call, shared, tw_sched, tw_sched_fn, with};
use crate::job::{
    Place, TW_JOB_KEEP, TW_JOB_VARIABLE, after, cancelled, refused, simple, since, timing, tw_job,
};

/// Adds a timer, and returns its `int` id and its 64-bit id. It is inlined, so that each exported
/// function checks only the settings that its timers can have. This halves the number of
/// instructions.
#[inline(always)]
fn add_call(sched: &tw_sched, timing: Timing, origin: Place, call: Call) -> Result<(c_int, u64), c_int> {
    let added = with!(sched, scheduler => scheduler.timer(timing).origin(origin).add_numbered(call));
    let (id, int) = added.map_err(forgotten)?;
    Ok((int, id.to_bits()))
}

/// Adds a timer in place of `old`. Returns both ids, as [`add_call`] does, and the result of
/// cancelling the old timer.
fn place(
    sched: &tw_sched,
    old: TimerId,
    timing: Timing,
    origin: Place,
    call: Call,
) -> Result<(c_int, u64, Cancelled<Call>), c_int> {
    let placed = with!(sched, scheduler => scheduler.timer(timing).origin(origin).place(Some(old), call));
    let placed = placed.map_err(forgotten)?;
    Ok((placed.int_id, placed.id.to_bits(), placed.old))
}

/// Returns the code of a refusal. Does not run the clean-up function of the refused callback.
fn forgotten(refusal: Refused<Call>) -> c_int {
    core::mem::forget(refusal.payload);
    refused(refusal.reason)
}

/// Adds a timer without a clean-up function.
#[inline(always)]
fn add(
    sched: *const tw_sched,
    timing: Result<Timing, c_int>,
    call: Result<Call, c_int>,
    origin: Place,
) -> c_int {
    // This is not a closure, because closures are not always inlined.
    let (sched, timing, call) = match (shared(sched), timing, call) {
        (Ok(sched), Ok(timing), Ok(call)) => (sched, timing, call),
        (Err(code), ..) | (_, Err(code), _) | (.., Err(code)) => return code,
    };
    match add_call(sched, timing, origin, call) {
        Ok((int, _)) => int,
        Err(code) => code,
    }
}

/// Returns the timing of a timer that is due when the clock shows `ns`.
fn at(ns: u64) -> Result<Timing, c_int> {
    Ok(Timing::at(When::At(Instant::from_nanos(ns))))
}

/// Adds the timer that a job describes, and cancels another timer in the same step.
///
/// # Safety
/// The header's contract.
unsafe fn add_job(
    sched: *mut tw_sched,
    replaced: u64,
    job: *const tw_job,
    became: *mut c_int,
    id: *mut u64,
    origin: Place,
) -> Result<c_int, c_int> {
    aligned(became)?;
    aligned(id)?;
    let sched = shared(sched)?;
    // SAFETY: the header's contract.
    let job = unsafe { grow::read(job) }?;
    let has = |flag: c_int| job.flags & flag.unsigned_abs() != 0;
    if job.flags & !(TW_JOB_VARIABLE | TW_JOB_KEEP).unsigned_abs() != 0 {
        return Err(code::INVALID);
    }
    let timing = timing(&job.timing)?;
    let mut call = simple(job.call, job.data, has(TW_JOB_VARIABLE))?;
    call.token = job.token;
    let old = if replaced == 0 { None } else { sched.named(replaced) };
    let (int, bits) = if has(TW_JOB_KEEP) {
        if replaced != 0 {
            return Err(code::INVALID);
        }
        call.cleanup = job.cleanup;
        let kept = with!(sched, scheduler => scheduler.keep(&origin, call)).map_err(forgotten)?;
        let int = with!(sched, scheduler => scheduler.int_id(kept));
        (int.ok_or(code::ENDING)?, kept.to_bits())
    } else if let Some(old) = old {
        call.cleanup = job.cleanup;
        let (int, bits, old) = place(sched, old, timing, origin, call)?;
        // SAFETY: the header's contract.
        unsafe { put(id, bits) };
        // The old timer's clean-up function runs last, because the caller possibly waits only for
        // it.
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
}

exported!(
    /// Adds a timer that is due after a delay.
    fn tw_sched_add(sched: *mut tw_sched, delay_ms: i64, call: tw_sched_fn, data: *mut c_void) -> c_int {
        // SAFETY: the header's contract.
        unsafe { tw_sched_add_from(sched, delay_ms, call, data, null(), null(), 0) }
    }

    /// Adds a timer that is due after a delay, and then again after each delay that its callback
    /// returns.
    fn tw_sched_add_variable(
        sched: *mut tw_sched,
        delay_ms: i64,
        call: tw_sched_fn,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the header's contract.
        unsafe { tw_sched_add_variable_from(sched, delay_ms, call, data, null(), null(), 0) }
    }

    /// Adds a timer that is due at a given time.
    fn tw_sched_add_at(sched: *mut tw_sched, at_ns: u64, call: tw_sched_fn, data: *mut c_void) -> c_int {
        // SAFETY: the header's contract.
        unsafe { tw_sched_add_at_from(sched, at_ns, call, data, null(), null(), 0) }
    }

    /// Adds a timer that is due a delay after a given time.
    fn tw_sched_add_since(
        sched: *mut tw_sched,
        since_ns: u64,
        delay_ms: i64,
        call: tw_sched_fn,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the header's contract.
        unsafe { tw_sched_add_since_from(sched, since_ns, delay_ms, call, data, null(), null(), 0) }
    }

    /// Adds the timer that a job describes.
    fn tw_sched_add_job(sched: *mut tw_sched, job: *const tw_job, id: *mut u64) -> c_int {
        // SAFETY: the header's contract.
        answer::code(|| unsafe { add_job(sched, 0, job, core::ptr::null_mut(), id, Place::NOWHERE) })
    }

    /// Adds the timer that a job describes, and cancels another timer in the same step.
    fn tw_sched_replace_job(
        sched: *mut tw_sched,
        old: u64,
        job: *const tw_job,
        became: *mut c_int,
        id: *mut u64,
    ) -> c_int {
        // SAFETY: the header's contract.
        answer::code(|| unsafe { add_job(sched, old, job, became, id, Place::NOWHERE) })
    }

    /// Adds a timer that is due after a delay, with its origin.
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

    /// Adds a timer that is due after a delay, and then again after each delay that its callback
    /// returns, with its origin.
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

    /// Adds a timer that is due at a given time, with its origin.
    fn tw_sched_add_at_from(
        sched: *mut tw_sched,
        at_ns: u64,
        call: tw_sched_fn,
        data: *mut c_void,
        name: *const c_char,
        file: *const c_char,
        line: c_int,
    ) -> c_int {
        add(sched, at(at_ns), simple(call, data, false), Place { name, file, line })
    }

    /// Adds a timer that is due a delay after a given time, with its origin.
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

    /// Adds the timer that a job describes, with its origin, and cancels another timer in the same
    /// step.
    fn tw_sched_replace_job_from(
        sched: *mut tw_sched,
        old: u64,
        job: *const tw_job,
        became: *mut c_int,
        id: *mut u64,
        name: *const c_char,
        file: *const c_char,
        line: c_int,
    ) -> c_int {
        // SAFETY: the header's contract.
        answer::code(|| unsafe { add_job(sched, old, job, became, id, Place { name, file, line }) })
    }

    /// Sets all fields of a job to 0, and sets its `size`.
    fn tw_job_init(job: *mut tw_job, size: usize) -> c_int {
        // SAFETY: the header's contract.
        unsafe { grow::initialize(job, size) }
    }
);
