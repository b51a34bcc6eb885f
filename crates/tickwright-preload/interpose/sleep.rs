//! Sleeps: `nanosleep`, `clock_nanosleep`, `usleep`, `sleep`.

use core::ffi::{c_int, c_uint};

use super::emit;
use super::enter::No;
use super::sys::{self, SECOND, Timespec};
use crate::ring::source::SLEEP;

const TIMER_ABSTIME: c_int = 1;

enter! {
    nanosleep => sleep_for;
    clock_nanosleep => sleep_by_clock;
    usleep => sleep_us;
    sleep => sleep_s;
}

/// Records the end of a sleep.
fn ended(is_over: bool, site: usize) {
    if is_over {
        emit::fire(SLEEP, 0, site);
    } else {
        emit::stop(SLEEP, 0, site);
    }
}

unsafe extern "C-unwind" fn sleep_for(
    delay: *const Timespec,
    left: *mut Timespec,
    _: No,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    begin(0, delay, site);
    let result = real!(Nanosleep, site, fn(*const Timespec, *mut Timespec) -> c_int, delay, left);
    ended(result == 0, site);
    result
}

unsafe extern "C-unwind" fn sleep_by_clock(
    clock: c_int,
    flags: c_int,
    time: *const Timespec,
    left: *mut Timespec,
    _: No,
    site: usize,
) -> c_int {
    begin(flags, time, site);
    let result = real!(
        ClockNanosleep,
        site,
        fn(c_int, c_int, *const Timespec, *mut Timespec) -> c_int,
        clock,
        flags,
        time,
        left
    );
    ended(result == 0, site);
    result
}

/// Records the start of a sleep. A sleep of 0 ns is not recorded, and neither is its end.
fn begin(flags: c_int, time: *const Timespec, site: usize) {
    if time.is_null() {
        return;
    }
    // SAFETY: 1. The pointer is not null, and the caller passed it.
    let time_ns = unsafe { *time }.ns();
    if flags & TIMER_ABSTIME != 0 {
        emit::arm(SLEEP, 0, sys::steady(time_ns), 0, site);
    } else if time_ns != 0 {
        emit::arm_in(SLEEP, 0, time_ns, 0, site);
    }
}

unsafe extern "C-unwind" fn sleep_us(delay_us: c_uint, _: No, _: No, _: No, _: No, site: usize) -> c_int {
    if delay_us != 0 {
        emit::arm_in(SLEEP, 0, u64::from(delay_us) * 1000, 0, site);
    }
    let result = real!(Usleep, site, fn(c_uint) -> c_int, delay_us);
    ended(result == 0, site);
    result
}

unsafe extern "C-unwind" fn sleep_s(delay_s: c_uint, _: No, _: No, _: No, _: No, site: usize) -> c_uint {
    if delay_s != 0 {
        emit::arm_in(SLEEP, 0, u64::from(delay_s) * SECOND, 0, site);
    }
    let left = real!(Sleep, site, fn(c_uint) -> c_uint, delay_s);
    ended(left == 0, site);
    left
}
