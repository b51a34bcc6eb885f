//! Condition variables and semaphores: waits for other threads, with a deadline.

use core::ffi::{c_int, c_void};

use super::emit;
use super::enter::No;
use super::sys::{self, ETIMEDOUT, Timespec};
use crate::ring::source::{COND, SEM};

enter! {
    pthread_cond_timedwait => cond_until;
    pthread_cond_clockwait => cond_until_by_clock;
    sem_timedwait => sem_until;
    sem_clockwait => sem_until_by_clock;
}

fn begin(source: u8, until: *const Timespec, site: usize) {
    if !until.is_null() {
        // SAFETY: 1. The pointer is not null, and the caller passed it.
        let until = unsafe { *until };
        emit::arm(source, 0, sys::steady(until.ns()), 0, site);
    }
}

fn end(source: u8, is_over: bool, site: usize) {
    if is_over {
        emit::fire(source, 0, site);
    } else {
        emit::stop(source, 0, site);
    }
}

unsafe extern "C-unwind" fn cond_until(
    condition: *mut c_void,
    mutex: *mut c_void,
    until: *const Timespec,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    begin(COND, until, site);
    let result = real!(
        CondTimedwait,
        site,
        fn(*mut c_void, *mut c_void, *const Timespec) -> c_int,
        condition,
        mutex,
        until
    );
    end(COND, result == ETIMEDOUT, site);
    result
}

unsafe extern "C-unwind" fn cond_until_by_clock(
    condition: *mut c_void,
    mutex: *mut c_void,
    clock: c_int,
    until: *const Timespec,
    _: No,
    site: usize,
) -> c_int {
    begin(COND, until, site);
    let result = real!(
        CondClockwait,
        site,
        fn(*mut c_void, *mut c_void, c_int, *const Timespec) -> c_int,
        condition,
        mutex,
        clock,
        until
    );
    end(COND, result == ETIMEDOUT, site);
    result
}

unsafe extern "C-unwind" fn sem_until(
    semaphore: *mut c_void,
    until: *const Timespec,
    _: No,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    begin(SEM, until, site);
    let result = real!(SemTimedwait, site, fn(*mut c_void, *const Timespec) -> c_int, semaphore, until);
    end(SEM, result != 0 && sys::errno() == ETIMEDOUT, site);
    result
}

unsafe extern "C-unwind" fn sem_until_by_clock(
    semaphore: *mut c_void,
    clock: c_int,
    until: *const Timespec,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    begin(SEM, until, site);
    let result =
        real!(SemClockwait, site, fn(*mut c_void, c_int, *const Timespec) -> c_int, semaphore, clock, until);
    end(SEM, result != 0 && sys::errno() == ETIMEDOUT, site);
    result
}
