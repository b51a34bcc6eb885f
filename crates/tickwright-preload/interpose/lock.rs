//! Condition variables and semaphores: waits for other threads, with a deadline.

use core::ffi::{c_int, c_void};

use super::emit;
use super::sys::{self, ETIMEDOUT, Timespec};
use crate::ring::source::{COND, SEM};

/// Records `wait`. `is_over` says whether its result means that the time was over.
fn waiting(
    source: u8,
    until: *const Timespec,
    site: usize,
    wait: impl FnOnce() -> c_int,
    is_over: fn(c_int) -> bool,
) -> c_int {
    if !until.is_null() {
        // SAFETY: 1. The pointer is not null, and the caller passed it.
        let until = unsafe { *until };
        emit::arm(source, 0, sys::steady(until.ns()), 0, site);
    }
    let result = wait();
    if is_over(result) {
        emit::fire(source, 0, site);
    } else {
        emit::stop(source, 0, site);
    }
    result
}

fn says_so(result: c_int) -> bool {
    result == ETIMEDOUT
}

fn errno_says_so(result: c_int) -> bool {
    result != 0 && sys::errno() == ETIMEDOUT
}

hide! {
    fn pthread_cond_timedwait(
        condition: *mut c_void, mutex: *mut c_void, until: *const Timespec; _ _
    ) -> c_int, CondTimedwait,
    |site, call| { waiting(COND, until, site, call, says_so) }

    fn pthread_cond_clockwait(
        condition: *mut c_void, mutex: *mut c_void, clock: c_int, until: *const Timespec; _
    ) -> c_int, CondClockwait,
    |site, call| { waiting(COND, until, site, call, says_so) }

    fn sem_timedwait(semaphore: *mut c_void, until: *const Timespec; _ _ _) -> c_int, SemTimedwait,
    |site, call| { waiting(SEM, until, site, call, errno_says_so) }

    fn sem_clockwait(semaphore: *mut c_void, clock: c_int, until: *const Timespec; _ _) -> c_int, SemClockwait,
    |site, call| { waiting(SEM, until, site, call, errno_says_so) }
}
