//! Inspects a scheduler: its timers, its counters, and whether its structure is consistent.

use core::ffi::{c_char, c_int, c_void};
use core::time::Duration;

use tickwright::scheduler::State;
use tickwright::time::Instant;
use tickwright_boundary::answer::{self, aligned, put, write_text};
use tickwright_boundary::grow::Growing;
use tickwright_boundary::{code, end_of, exported};

use crate::handle::{shared, timer, tw_sched, with};
use crate::job::{TW_STATE_IDLE, TW_STATE_PENDING, TW_STATE_RUNNING, refused};

/// The number of a timer's state.
pub type tw_state = c_int;

/// The information that a scheduler has about a timer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tw_sched_info {
    /// The size of this struct in bytes.
    pub size: usize,
    /// The 64-bit id.
    pub id: u64,
    /// The `int` id.
    pub int_id: c_int,
    /// The state, which is one of `TW_STATE_...`.
    pub state: tw_state,
    /// When the timer is due, in ns.
    pub due_ns: u64,
    /// The period of the timer, or its delay if it has no period, in ns.
    pub interval_ns: u64,
    /// The token that the caller has set for the timer.
    pub token: *const c_void,
    /// The data for the callback, or null while the callback runs.
    pub data: *mut c_void,
}

/// The counters of a scheduler.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tw_sched_counts {
    /// The size of this struct in bytes.
    pub size: usize,
    /// The number of timers that exist.
    pub timers: u64,
    /// The number of pending timers.
    pub pending: u64,
    /// The largest number of timers that existed at one time.
    pub high_water: u64,
    /// How often a timer was armed.
    pub armed: u64,
    /// The number of callbacks that ran.
    pub fired: u64,
    /// The number of pending timers that were cancelled.
    pub canceled: u64,
    /// The number of missed periods.
    pub overruns: u64,
    /// The number of runs of the queue.
    pub passes: u64,
    /// The number of steps of the wall clock.
    pub steps: u64,
    /// The number of bytes allocated for timers.
    pub heap_bytes: u64,
    /// The mean lateness, in ns.
    pub late_mean_ns: u64,
    /// The median lateness, in ns.
    pub late_half_ns: u64,
    /// The 99th percentile of lateness, in ns.
    pub late_most_ns: u64,
    /// The greatest lateness, in ns.
    pub late_max_ns: u64,
}

// SAFETY: 1. `repr(C)`, the size comes first; 2. pointers and numbers.
unsafe impl Growing for tw_sched_info {
    const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        id: 0,
        int_id: 0,
        state: TW_STATE_IDLE,
        due_ns: 0,
        interval_ns: 0,
        token: core::ptr::null(),
        data: core::ptr::null_mut(),
    };
    const LEAST: usize = end_of!(Self, data);
}

// SAFETY: 1. `repr(C)`, the size comes first; 2. numbers.
unsafe impl Growing for tw_sched_counts {
    const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        timers: 0,
        pending: 0,
        high_water: 0,
        armed: 0,
        fired: 0,
        canceled: 0,
        overruns: 0,
        passes: 0,
        steps: 0,
        heap_bytes: 0,
        late_mean_ns: 0,
        late_half_ns: 0,
        late_most_ns: 0,
        late_max_ns: 0,
    };
    const LEAST: usize = end_of!(Self, late_max_ns);
}

/// Returns the nanoseconds of a duration that was created from a `u64` of nanoseconds.
fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// The caller's data pointer, as `inspect` returns it.
struct Data(*mut c_void);

/// If a timer is pending, calls `tell` with its due time and writes the result to `place`. Returns
/// 1, or 0 if the timer is not pending.
///
/// # Safety
/// `place` is null or writable.
unsafe fn pending<T>(
    sched: *const tw_sched,
    id: u64,
    place: *mut T,
    tell: impl FnOnce(&tw_sched, Instant) -> T,
) -> c_int {
    answer::code(|| {
        aligned(place)?;
        let (sched, id) = timer(sched, id)?;
        let info = with!(sched, scheduler => scheduler.find(id)).ok_or(code::ABSENT)?;
        if info.state != State::Pending {
            return Ok(0);
        }
        // SAFETY: the caller of this function promises this.
        unsafe { put(place, tell(sched, info.due)) };
        Ok(1)
    })
}

exported!(
    /// Writes the information that a scheduler has about a timer.
    fn tw_sched_find(sched: *const tw_sched, id: u64, info: *mut tw_sched_info) -> c_int {
        let inspect = || {
            let (sched, id) = timer(sched, id)?;
            let inspected = with!(sched, scheduler => scheduler.inspect(id, |call| Data(call.data)));
            let (timer, data) = inspected.ok_or(code::ABSENT)?;
            let found = timer.info;
            Ok(tw_sched_info {
                size: size_of::<tw_sched_info>(),
                id: found.id.to_bits(),
                int_id: found.int_id.unwrap_or(0),
                state: match found.state {
                    State::Idle => TW_STATE_IDLE,
                    State::Pending => TW_STATE_PENDING,
                    State::Running => TW_STATE_RUNNING,
                },
                due_ns: found.due.as_nanos(),
                interval_ns: nanoseconds(found.period),
                token: core::ptr::with_exposed_provenance(timer.token),
                data: data.map_or(core::ptr::null_mut(), |data| data.0),
            })
        };
        // SAFETY: the header's contract.
        unsafe { answer::filled(info, inspect) }
    }

    /// Returns the `int` id of a timer.
    fn tw_sched_int(sched: *const tw_sched, id: u64) -> c_int {
        answer::code(|| {
            let (sched, id) = timer(sched, id)?;
            with!(sched, scheduler => scheduler.int_id(id)).ok_or(code::ABSENT)
        })
    }

    /// Writes when a timer is due.
    fn tw_sched_when(sched: *const tw_sched, id: u64, due_ns: *mut u64) -> c_int {
        // SAFETY: the header's contract.
        unsafe { pending(sched, id, due_ns, |_, due| due.as_nanos()) }
    }

    /// Writes the time until a timer is due.
    fn tw_sched_remaining(sched: *const tw_sched, id: u64, ms: *mut i64) -> c_int {
        // SAFETY: 1. The header's contract. 2. The number of ms fits an `i64`, since 2^64 ns are
        // fewer ms.
        unsafe {
            pending(sched, id, ms, |sched, due| {
                let now = with!(sched, scheduler => scheduler.now());
                nanoseconds(due.duration_since(now)).div_ceil(1_000_000) as i64
            })
        }
    }

    /// Writes the counters of a scheduler.
    fn tw_sched_get_counts(sched: *const tw_sched, counts: *mut tw_sched_counts) -> c_int {
        let count = || {
            let sched = shared(sched)?;
            let counted = with!(sched, scheduler => scheduler.statistics());
            Ok(tw_sched_counts {
                size: size_of::<tw_sched_counts>(),
                timers: counted.timers as u64,
                pending: counted.pending as u64,
                high_water: counted.high_water as u64,
                armed: counted.armed,
                fired: counted.fired,
                canceled: counted.cancelled,
                overruns: counted.overruns,
                passes: counted.passes,
                steps: counted.steps,
                heap_bytes: with!(sched, scheduler => scheduler.heap_bytes()) as u64,
                late_mean_ns: nanoseconds(counted.lateness.mean()),
                late_half_ns: nanoseconds(counted.lateness.quantile(0.5)),
                late_most_ns: nanoseconds(counted.lateness.quantile(0.99)),
                late_max_ns: nanoseconds(counted.lateness.max()),
            })
        };
        // SAFETY: the header's contract.
        unsafe { answer::filled(counts, count) }
    }

    /// Writes a table of all timers.
    fn tw_sched_dump(sched: *const tw_sched, text: *mut c_char, bytes: usize) -> isize {
        answer::count(|| {
            let dump = with!(shared(sched)?, scheduler => scheduler.try_dump()).map_err(refused)?;
            // SAFETY: the header's contract.
            Ok(unsafe { write_text(text, bytes, &dump) })
        })
    }

    /// Writes the counters of the scheduler and the counters of each call site as text.
    fn tw_sched_report(sched: *const tw_sched, text: *mut c_char, bytes: usize) -> isize {
        answer::count(|| {
            let report = with!(shared(sched)?, scheduler => scheduler.try_report()).map_err(refused)?;
            // SAFETY: the header's contract.
            Ok(unsafe { write_text(text, bytes, &report) })
        })
    }

    /// Checks the structure of the scheduler.
    fn tw_sched_check(sched: *const tw_sched, text: *mut c_char, bytes: usize) -> c_int {
        // SAFETY: the header's contract.
        unsafe { answer::verdict(text, bytes, || Ok(with!(shared(sched)?, scheduler => scheduler.check()))) }
    }
);
