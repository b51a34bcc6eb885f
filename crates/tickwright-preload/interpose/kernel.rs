//! Timers of the kernel: `timerfd_settime`, `timer_settime`, `setitimer`, `alarm`.
//!
//! An expiry of such a timer is no call, so the recorder places it at the deadline. Timers that
//! count processor time are not recorded.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::enter::No;
use super::sys::{self, Itimerspec, Itimerval, SECOND};
use super::{cpu_timers, emit};
use crate::ring::source::{ITIMER, POSIX, TIMERFD};

/// The flag of an absolute time, for timerfds and POSIX timers.
const ABSOLUTE: c_int = 1;
/// The number of the itimer that `alarm` sets.
const REAL: c_int = 0;

/// Which descriptors are timers, so that `close` looks at one bit.
static TIMERFDS: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

enter! {
    timerfd_settime => timerfd;
    timer_create => create;
    timer_settime => posix;
    timer_delete => delete;
    setitimer => itimer;
    alarm => alarm_in;
    close => shut;
}

unsafe extern "C-unwind" fn timerfd(
    file: c_int,
    flags: c_int,
    new: *const Itimerspec,
    old: *mut Itimerspec,
    _: No,
    site: usize,
) -> c_int {
    let before = sys::now();
    let result = real!(
        TimerfdSettime,
        site,
        fn(c_int, c_int, *const Itimerspec, *mut Itimerspec) -> c_int,
        file,
        flags,
        new,
        old
    );
    if result == 0 && !new.is_null() {
        // SAFETY: 1. The pointer is not null, and the kernel has read it.
        set(TIMERFD, file as usize, flags, unsafe { *new }, before, site);
        if let Some(word) = TIMERFDS.get(file as usize / 64) {
            word.fetch_or(1 << (file % 64), Relaxed);
        }
    }
    result
}

unsafe extern "C-unwind" fn create(
    clock: c_int,
    event: *mut c_void,
    timer: *mut *mut c_void,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    let result =
        real!(TimerCreate, site, fn(c_int, *mut c_void, *mut *mut c_void) -> c_int, clock, event, timer);
    if result == 0 && !timer.is_null() {
        // SAFETY: 1. The pointer is not null, and the real function has written to it.
        let id = unsafe { *timer } as usize;
        // The kernel may use an id again. A forked child does not have its parent's timers.
        cpu_timers::remove(id);
        if cpu_timers::is_cpu_clock(clock) {
            cpu_timers::insert(id);
        }
    }
    result
}

unsafe extern "C-unwind" fn posix(
    timer: *mut c_void,
    flags: c_int,
    new: *const Itimerspec,
    old: *mut Itimerspec,
    _: No,
    site: usize,
) -> c_int {
    let before = sys::now();
    let result = real!(
        TimerSettime,
        site,
        fn(*mut c_void, c_int, *const Itimerspec, *mut Itimerspec) -> c_int,
        timer,
        flags,
        new,
        old
    );
    if result == 0 && !new.is_null() && !cpu_timers::holds(timer as usize) {
        // SAFETY: 1. The pointer is not null, and the kernel has read it.
        set(POSIX, timer as usize, flags, unsafe { *new }, before, site);
    }
    result
}

unsafe extern "C-unwind" fn delete(timer: *mut c_void, _: No, _: No, _: No, _: No, site: usize) -> c_int {
    // Once the timer is deleted, another thread may get its id.
    if !cpu_timers::remove(timer as usize) {
        emit::stop(POSIX, timer as usize, site);
    }
    real!(TimerDelete, site, fn(*mut c_void) -> c_int, timer)
}

unsafe extern "C-unwind" fn itimer(
    which: c_int,
    new: *const Itimerval,
    old: *mut Itimerval,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    let before = sys::now();
    let result =
        real!(Setitimer, site, fn(c_int, *const Itimerval, *mut Itimerval) -> c_int, which, new, old);
    // The other two interval timers count processor time, which is not the time of the trace.
    if result == 0 && which == REAL && !new.is_null() {
        // SAFETY: 1. The pointer is not null, and the kernel has read it.
        let new = unsafe { *new };
        if new.value.is_zero() {
            emit::stop(ITIMER, which as usize, site);
        } else {
            let deadline = before.saturating_add(new.value.ns());
            emit::arm_by(ITIMER, which as usize, deadline, new.interval.ns(), site);
        }
    }
    result
}

unsafe extern "C-unwind" fn alarm_in(seconds: c_uint, _: No, _: No, _: No, _: No, site: usize) -> c_uint {
    let before = sys::now();
    let result = real!(Alarm, site, fn(c_uint) -> c_uint, seconds);
    if seconds == 0 {
        emit::stop(ITIMER, REAL as usize, site);
    } else {
        let deadline = before.saturating_add(u64::from(seconds) * SECOND);
        emit::arm_by(ITIMER, REAL as usize, deadline, 0, site);
    }
    result
}

unsafe extern "C-unwind" fn shut(file: c_int, _: No, _: No, _: No, _: No, site: usize) -> c_int {
    if let Some(word) = TIMERFDS.get(file as usize / 64) {
        let bit = 1 << (file % 64);
        // A child of a vfork has the memory of its parent and descriptors of its own.
        let is_set = word.load(Relaxed) & bit != 0;
        if is_set && emit::is_of_this_process() && word.fetch_and(!bit, Relaxed) & bit != 0 {
            emit::stop(TIMERFD, file as usize, site);
        }
    }
    real!(Close, site, fn(c_int) -> c_int, file)
}

/// Records a timer that the kernel has set. `before` is the time before the call.
fn set(source: u8, id: usize, flags: c_int, new: Itimerspec, before: u64, site: usize) {
    let (value_ns, period_ns) = (new.value.ns(), new.interval.ns());
    if new.value.is_zero() {
        emit::stop(source, id, site);
    } else if flags & ABSOLUTE != 0 {
        emit::arm(source, id, sys::steady(value_ns), period_ns, site);
    } else {
        emit::arm_by(source, id, before.saturating_add(value_ns), period_ns, site);
    }
}
