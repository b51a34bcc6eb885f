//! Timers of the kernel: `timerfd_settime`, `timer_settime`, `setitimer`, `alarm`.
//!
//! Such a timer expires without a call, so the recorder places the expiry at the deadline. Timers
//! that count processor time are not recorded.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::sys::{self, SECOND, Setting, Timespec, Timeval};
use super::{cpu_timers, emit};
use crate::ring::source::{ITIMER, POSIX, TIMERFD};

/// The flag of an absolute time, for timerfds and POSIX timers.
const ABSOLUTE: c_int = 1;
/// The number of the itimer that `alarm` sets.
const REAL: c_int = 0;

/// One bit for each descriptor that says whether it is a timer, so that `close` reads only one bit.
static TIMERFDS: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

hide! {
    fn timerfd_settime(
        file: c_int, flags: c_int, new: *const Setting<Timespec>, old: *mut Setting<Timespec>; _
    ) -> c_int, TimerfdSettime,
    |site, call| {
        let before = sys::now();
        let result = call();
        if result == 0 && !new.is_null() {
            // SAFETY: 1. The pointer is not null, and the kernel has read it.
            set(TIMERFD, file as usize, flags, unsafe { *new }, before, site);
            if let Some(word) = TIMERFDS.get(file as usize / 64) {
                word.fetch_or(1 << (file % 64), Relaxed);
            }
        }
        result
    }

    fn timer_create(clock: c_int, event: *mut c_void, timer: *mut *mut c_void; _ _) -> c_int, TimerCreate,
    |site, call| {
        let result = call();
        if result == 0 && !timer.is_null() {
            // SAFETY: 1. The pointer is not null, and the real function has written to it.
            let id = unsafe { *timer } as usize;
            // The kernel can use an id again. A forked child does not have its parent's timers.
            cpu_timers::remove(id);
            if cpu_timers::is_cpu_clock(clock) {
                cpu_timers::insert(id);
            }
        }
        result
    }

    fn timer_settime(
        timer: *mut c_void, flags: c_int, new: *const Setting<Timespec>, old: *mut Setting<Timespec>; _
    ) -> c_int, TimerSettime,
    |site, call| {
        let before = sys::now();
        let result = call();
        if result == 0 && !new.is_null() && !cpu_timers::holds(timer as usize) {
            // SAFETY: 1. The pointer is not null, and the kernel has read it.
            set(POSIX, timer as usize, flags, unsafe { *new }, before, site);
        }
        result
    }

    fn timer_delete(timer: *mut c_void; _ _ _ _) -> c_int, TimerDelete,
    |site, call| {
        // As soon as the timer is deleted, another thread can get its id.
        if !cpu_timers::remove(timer as usize) {
            emit::stop(POSIX, timer as usize, site);
        }
        call()
    }

    fn setitimer(which: c_int, new: *const Setting<Timeval>, old: *mut Setting<Timeval>; _ _) -> c_int, Setitimer,
    |site, call| {
        let before = sys::now();
        let result = call();
        // The other two interval timers count processor time, which is not the time of the trace.
        if result == 0 && which == REAL && !new.is_null() {
            // SAFETY: 1. The pointer is not null, and the kernel has read it.
            let new = unsafe { *new };
            let value_ns = (!new.value.is_zero()).then(|| new.value.ns());
            set_itimer(value_ns, new.interval.ns(), before, site);
        }
        result
    }

    fn alarm(seconds: c_uint; _ _ _ _) -> c_uint, Alarm,
    |site, call| {
        let before = sys::now();
        let result = call();
        set_itimer((seconds > 0).then(|| u64::from(seconds) * SECOND), 0, before, site);
        result
    }

    fn close(file: c_int; _ _ _ _) -> c_int, Close,
    |site, call| {
        if let Some(word) = TIMERFDS.get(file as usize / 64) {
            let bit = 1 << (file % 64);
            // A child of a `vfork` shares its parent's memory but has its own descriptors.
            let is_set = word.load(Relaxed) & bit != 0;
            if is_set && emit::is_of_this_process() && word.fetch_and(!bit, Relaxed) & bit != 0 {
                emit::stop(TIMERFD, file as usize, site);
            }
        }
        call()
    }
}

/// Records the interval timer of wall time; `None` stops it. `before` is the time at which the call
/// began.
fn set_itimer(value_ns: Option<u64>, period_ns: u64, before: u64, site: usize) {
    let deadline_ns = value_ns.map(|value_ns| before.saturating_add(value_ns));
    set_to(ITIMER, REAL as usize, deadline_ns, period_ns, site);
}

/// Records a timer that the kernel has set. `before` is the time before the call.
fn set(source: u8, id: usize, flags: c_int, new: Setting<Timespec>, before: u64, site: usize) {
    let value_ns = new.value.ns();
    let is_absolute = flags & ABSOLUTE != 0;
    let deadline_ns = || if is_absolute { sys::steady(value_ns) } else { before.saturating_add(value_ns) };
    set_to(source, id, (!new.value.is_zero()).then(deadline_ns), new.interval.ns(), site);
}

/// Records a timer with an absolute deadline. The deadline was computed from the time before the
/// call, and the kernel counts from a time during the call, so the timer does not expire before the
/// recorded deadline.
fn set_to(source: u8, id: usize, deadline_ns: Option<u64>, period_ns: u64, site: usize) {
    match deadline_ns {
        None => emit::stop(source, id, site),
        Some(deadline_ns) => emit::arm(source, id, deadline_ns, period_ns, site),
    }
}
