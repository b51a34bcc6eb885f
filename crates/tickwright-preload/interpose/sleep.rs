//! Sleeps: `nanosleep`, `clock_nanosleep`, `usleep`, `sleep`.

use core::ffi::{c_int, c_uint};

use super::emit;
use super::sys::{self, SECOND, Timespec};
use crate::ring::source::SLEEP;

const TIMER_ABSTIME: c_int = 1;

/// Records the start of a sleep. A sleep of 0 ns is not recorded, and neither is its end.
fn begin(flags: c_int, time: *const Timespec, site: usize) {
    if time.is_null() {
        return;
    }
    // SAFETY: 1. The pointer is not null, and the caller passed it.
    let time_ns = unsafe { *time }.ns();
    if flags & TIMER_ABSTIME != 0 {
        emit::arm(SLEEP, 0, sys::steady(time_ns), 0, site);
    } else {
        begin_for(time_ns, site);
    }
}

fn begin_for(delay_ns: u64, site: usize) {
    if delay_ns != 0 {
        emit::arm_in(SLEEP, 0, delay_ns, 0, site);
    }
}

/// Records the end of a sleep, whose result is 0 if the time was over. Returns the result.
fn ended<T: PartialEq + From<u8>>(result: T, site: usize) -> T {
    if result == T::from(0) {
        emit::fire(SLEEP, 0, site);
    } else {
        emit::stop(SLEEP, 0, site);
    }
    result
}

hide! {
    fn nanosleep(delay: *const Timespec, left: *mut Timespec; _ _ _) -> c_int, Nanosleep,
    |site, call| {
        begin(0, delay, site);
        ended(call(), site)
    }

    fn clock_nanosleep(
        clock: c_int, flags: c_int, time: *const Timespec, left: *mut Timespec; _
    ) -> c_int, ClockNanosleep,
    |site, call| {
        begin(flags, time, site);
        ended(call(), site)
    }

    fn usleep(delay_us: c_uint; _ _ _ _) -> c_int, Usleep,
    |site, call| {
        begin_for(u64::from(delay_us) * 1000, site);
        ended(call(), site)
    }

    fn sleep(delay_s: c_uint; _ _ _ _) -> c_uint, Sleep,
    |site, call| {
        begin_for(u64::from(delay_s) * SECOND, site);
        ended(call(), site)
    }
}
