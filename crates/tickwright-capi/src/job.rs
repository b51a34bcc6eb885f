//! What a scheduler is told and tells: jobs, timings, origins and results, as C has them and as the
//! scheduler does.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::time::Duration;

use tickwright::clock::Instant;
use tickwright::scheduler::Cancelled;
use tickwright::service::{Missed, Origin, Refusal, Site, Timing, When};

use crate::code;
use crate::handle::Call;
pub use crate::handle::{tw_cleanup_fn, tw_firing, tw_sched_fn};

/// When a timer is due.
#[repr(C)]
#[derive(Debug)]
pub struct tw_timing {
    /// What `when` counts from.
    pub base: c_int,
    /// What becomes of missed periods.
    pub missed: c_int,
    /// In ns.
    pub when: i64,
    /// In ns; 0: none.
    pub period: i64,
    /// In ns.
    pub slack: i64,
    /// What `when` counts from with `TW_BASE_SINCE`, in ns.
    pub since: u64,
}

/// A timer to be.
#[repr(C)]
#[derive(Debug)]
pub struct tw_job {
    /// The callback.
    pub call: tw_sched_fn,
    /// Its data.
    pub data: *mut c_void,
    /// Ends it.
    pub cleanup: tw_cleanup_fn,
    /// The caller's, to cancel by.
    pub token: *const c_void,
    /// `TW_JOB_...`.
    pub flags: c_int,
    /// When.
    pub timing: tw_timing,
}

macro_rules! numbers {
    ($($name:ident = $number:literal;)+) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the header.")]
            pub const $name: c_int = $number;
        )+
        /// Every number of this file's, by its name in the header.
        pub const NUMBERS: &[(&str, c_int)] = &[$((stringify!($name), $number)),+];
    };
}
pub(crate) use numbers;

numbers! {
    TW_CLOCK_MONOTONIC = 0;
    TW_CLOCK_BOOTTIME = 1;
    TW_CLOCK_REALTIME = 2;
    TW_CLOCK_VIRTUAL = 3;
    TW_BASE_NOW = 0;
    TW_BASE_CLOCK = 1;
    TW_BASE_WALL = 2;
    TW_BASE_SINCE = 3;
    TW_MISSED_COLLAPSE = 0;
    TW_MISSED_BURST = 1;
    TW_MISSED_SKIP = 2;
    TW_MISSED_DELAY = 3;
    TW_MISSED_PERSIST = 4;
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

/// Where a timer comes from.
pub(crate) struct Place {
    pub(crate) name: *const c_char,
    pub(crate) file: *const c_char,
    pub(crate) line: c_int,
}

impl Origin for Place {
    fn key(&self) -> [usize; 3] {
        [self.name.addr(), self.file.addr(), self.line as usize]
    }

    fn site(&self) -> Site {
        let line = self.line.unsigned_abs();
        // SAFETY: null, or a text that stays for as long as the scheduler, by the header's
        // contract.
        let name = unsafe { text(self.name) };
        // SAFETY: as above.
        let file = unsafe { text(self.file) };
        Site { name, file, line }
    }
}

/// # Safety
/// Null, or a text that outlives every use of the answer.
pub(crate) unsafe fn text(at: *const c_char) -> &'static str {
    if at.is_null() {
        return "";
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(at) }.to_str().unwrap_or("(not UTF-8)")
}

/// Why a timer was not armed.
pub(crate) fn refused(reason: Refusal) -> c_int {
    match reason {
        Refusal::Full => code::NO_MEMORY,
        Refusal::NoWall => code::UNSUPPORTED,
        Refusal::NotFound => code::ABSENT,
        Refusal::Shutdown => code::ENDING,
        _ => code::INVALID,
    }
}

/// What a cancel that may change a running timer found. What it removed is cleaned up.
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

/// A span of the caller's, which may not be negative.
fn span(ns: i64) -> Result<u64, c_int> {
    u64::try_from(ns).map_err(|_| code::INVALID)
}

/// A delay of the caller's in ns. One beyond the clock's end stays beyond it.
fn delay(delay_ms: i64) -> Result<u64, c_int> {
    Ok(span(delay_ms)?.saturating_mul(1_000_000))
}

pub(crate) fn after(delay_ms: i64) -> Result<Timing, c_int> {
    Ok(Timing::after_nanos(delay(delay_ms)?))
}

pub(crate) fn since(since_ns: u64, delay_ms: i64) -> Result<Timing, c_int> {
    Ok(Timing::since_nanos(Instant::from_nanos(since_ns), delay(delay_ms)?))
}

#[inline]
pub(crate) fn timing(asked: &tw_timing) -> Result<Timing, c_int> {
    let when = span(asked.when)?;
    let timing = match asked.base {
        TW_BASE_NOW => Timing::after_nanos(when),
        TW_BASE_CLOCK => Timing::at(When::At(Instant::from_nanos(when))),
        TW_BASE_WALL => Timing::at(When::Wall(Duration::from_nanos(when))),
        TW_BASE_SINCE => Timing::since_nanos(Instant::from_nanos(asked.since), when),
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
    let timing = match span(asked.slack)? {
        0 => timing,
        slack => timing.slack(Duration::from_nanos(slack)),
    };
    match span(asked.period)? {
        0 => Ok(timing),
        period => Ok(timing.every(Duration::from_nanos(period))),
    }
}

/// A callback without clean-up.
pub(crate) fn simple(run: tw_sched_fn, data: *mut c_void, variable: bool) -> Result<Call, c_int> {
    Ok(Call { run: run.ok_or(code::INVALID)?, cleanup: None, data, variable, token: core::ptr::null() })
}
