//! Converts jobs, timings, origins and results between the types of the C interface and the types
//! of the scheduler. This file has the numbers of all C enumerations of the scheduler.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::time::Duration;

use tickwright::scheduler::{Cancelled, Missed, Origin, Refusal, Site, Timing, When};
use tickwright::time::Instant;
use tickwright_boundary::grow::Growing;
use tickwright_boundary::{code, end_of, numbers};

use crate::handle::Call;
pub use crate::handle::{tw_cleanup_fn, tw_clock, tw_firing, tw_sched_fn};

/// The number of a base, which is the time from which a delay counts.
pub type tw_base = c_int;

/// The number of a policy for missed periods.
pub type tw_missed = c_int;

/// When a timer is due.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tw_timing {
    /// The base: the time from which `when_ns` counts.
    pub base: tw_base,
    /// The policy for missed periods.
    pub missed: tw_missed,
    /// The time from the base to the due time, in ns.
    pub when_ns: i64,
    /// The period in ns, or 0 for no period.
    pub period_ns: i64,
    /// How late the timer is allowed to be, in ns.
    pub slack_ns: i64,
    /// The time from which `when_ns` counts if the base is `TW_BASE_SINCE`, in ns.
    pub since_ns: u64,
    /// Must be 0.
    pub reserved: [u64; 3],
}

/// All settings of a new timer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tw_job {
    /// The size of this struct in bytes.
    pub size: usize,
    /// The callback.
    pub call: tw_sched_fn,
    /// The data of the callback.
    pub data: *mut c_void,
    /// The function that cleans up the data, or null for none.
    pub cleanup: tw_cleanup_fn,
    /// The token of the timer's group. `tw_sched_shutdown_token` ends all timers with the same
    /// token.
    pub token: *const c_void,
    /// A combination of `TW_JOB_...` flags.
    pub flags: c_uint,
    /// When the timer is due.
    pub timing: tw_timing,
}

// SAFETY: 1. `repr(C)`, the size comes first; 2. pointers, functions that may be null, and numbers.
unsafe impl Growing for tw_job {
    const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        call: None,
        data: core::ptr::null_mut(),
        cleanup: None,
        token: core::ptr::null(),
        flags: 0,
        timing: tw_timing {
            base: TW_BASE_NOW,
            missed: TW_MISSED_COLLAPSE,
            when_ns: 0,
            period_ns: 0,
            slack_ns: 0,
            since_ns: 0,
            reserved: [0; 3],
        },
    };
    const LEAST: usize = end_of!(Self, timing);
}

numbers! {
    TW_CLOCK_DEFAULT = 0;
    TW_CLOCK_MONOTONIC = 257;
    TW_CLOCK_BOOTTIME = 258;
    TW_CLOCK_REALTIME = 259;
    TW_CLOCK_VIRTUAL = 260;
    TW_SCHED_ONE_THREAD = 1;
    TW_BASE_NOW = 0;
    TW_BASE_CLOCK = 1;
    TW_BASE_WALL = 2;
    TW_BASE_SINCE = 3;
    TW_MISSED_COLLAPSE = 0;
    TW_MISSED_BURST = 513;
    TW_MISSED_SKIP = 514;
    TW_MISSED_DELAY = 515;
    TW_MISSED_PERSIST = 516;
    TW_JOB_VARIABLE = 1;
    TW_JOB_KEEP = 2;
    TW_STATE_IDLE = 0;
    TW_STATE_PENDING = 1;
    TW_STATE_RUNNING = 2;
    TW_CANCEL_REMOVED = 0;
    TW_CANCEL_DISARMED = 1;
    TW_CANCEL_IDLE = 2;
    TW_CANCEL_FINISHED = 3;
    TW_CANCEL_SUPPRESSED = 4;
    TW_CANCEL_ENDING = 5;
}

/// The place of the call that added a timer.
pub(crate) struct Place {
    pub(crate) name: *const c_char,
    pub(crate) file: *const c_char,
    pub(crate) line: c_int,
}

impl Place {
    /// The place of a timer whose program does not pass a place.
    pub(crate) const NOWHERE: Self = Self { name: core::ptr::null(), file: core::ptr::null(), line: 0 };
}

impl Origin for Place {
    fn key(&self) -> [usize; 3] {
        [self.name.addr(), self.file.addr(), self.line as usize]
    }

    fn site(&self) -> Site {
        let line = self.line.unsigned_abs();
        // SAFETY: the pointer is null, or points to a text that stays for as long as the scheduler,
        // by the header's contract.
        let name = unsafe { text(self.name) };
        // SAFETY: as above.
        let file = unsafe { text(self.file) };
        Site { name, file, line }
    }
}

/// # Safety
/// `at` is null, or points to a text that stays valid as long as the result is used.
pub(crate) unsafe fn text(at: *const c_char) -> &'static str {
    if at.is_null() {
        return "";
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(at) }.to_str().unwrap_or("(not UTF-8)")
}

/// Returns the code of a refusal to arm a timer.
pub(crate) fn refused(reason: Refusal) -> c_int {
    match reason {
        Refusal::Full => code::NO_MEMORY,
        Refusal::NoWall => code::UNSUPPORTED,
        Refusal::NotFound => code::ABSENT,
        Refusal::Shutdown => code::ENDING,
        Refusal::LoopSleeps => code::ASLEEP,
        _ => code::INVALID,
    }
}

/// Converts the result of a cancel that can change a running timer. If the result contains a
/// callback, the callback is dropped.
#[inline]
pub(crate) fn cancelled(found: Cancelled<Call>) -> Result<c_int, c_int> {
    match found {
        Cancelled::Removed(call) => {
            drop(call);
            Ok(TW_CANCEL_REMOVED)
        }
        Cancelled::Disarmed => Ok(TW_CANCEL_DISARMED),
        Cancelled::Idle => Ok(TW_CANCEL_IDLE),
        Cancelled::Running { .. } => Ok(TW_CANCEL_ENDING),
        Cancelled::Finished { suppressed: false } => Ok(TW_CANCEL_FINISHED),
        Cancelled::Finished { suppressed: true } => Ok(TW_CANCEL_SUPPRESSED),
        Cancelled::NotFound => Err(code::ABSENT),
    }
}

/// Converts a time span from the caller, which must not be negative.
#[inline]
fn span(ns: i64) -> Result<u64, c_int> {
    u64::try_from(ns).map_err(|_| code::INVALID)
}

/// Converts a delay from the caller to ns. The result saturates at the end of the clock's range.
#[inline]
fn delay(delay_ms: i64) -> Result<u64, c_int> {
    Ok(span(delay_ms)?.saturating_mul(1_000_000))
}

#[inline]
pub(crate) fn after(delay_ms: i64) -> Result<Timing, c_int> {
    Ok(Timing::after_nanos(delay(delay_ms)?))
}

#[inline]
pub(crate) fn since(since_ns: u64, delay_ms: i64) -> Result<Timing, c_int> {
    Ok(Timing::since_nanos(Instant::from_nanos(since_ns), delay(delay_ms)?))
}

#[inline]
pub(crate) fn timing(asked: &tw_timing) -> Result<Timing, c_int> {
    if asked.reserved != [0; 3] {
        return Err(code::TOO_NEW);
    }
    let when = span(asked.when_ns)?;
    let timing = match asked.base {
        TW_BASE_NOW => Timing::after_nanos(when),
        TW_BASE_CLOCK => Timing::at(When::At(Instant::from_nanos(when))),
        TW_BASE_WALL => Timing::at(When::Wall(Duration::from_nanos(when))),
        TW_BASE_SINCE => Timing::since_nanos(Instant::from_nanos(asked.since_ns), when),
        _ => return Err(code::INVALID),
    };
    let timing = timing.missed(match asked.missed {
        TW_MISSED_COLLAPSE => Missed::Collapse,
        TW_MISSED_BURST => Missed::Burst,
        TW_MISSED_SKIP => Missed::Skip,
        TW_MISSED_DELAY => Missed::Delay,
        TW_MISSED_PERSIST => Missed::Persist,
        _ => return Err(code::INVALID),
    });
    let timing = match span(asked.slack_ns)? {
        0 => timing,
        slack => timing.slack(Duration::from_nanos(slack)),
    };
    match span(asked.period_ns)? {
        0 => Ok(timing),
        period => Ok(timing.every(Duration::from_nanos(period))),
    }
}

/// Creates a callback without a clean-up function.
#[inline]
pub(crate) fn simple(run: tw_sched_fn, data: *mut c_void, variable: bool) -> Result<Call, c_int> {
    Ok(Call { run: run.ok_or(code::INVALID)?, cleanup: None, data, variable, token: core::ptr::null() })
}
