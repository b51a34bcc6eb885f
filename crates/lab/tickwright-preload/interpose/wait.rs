//! Waits with a time-out: for descriptors (`poll`, `select`, `epoll_wait` and their variants), for
//! other threads (condition variables and semaphores), and sleeps.
//!
//! A wait is a timer of its thread. This timer is armed when the wait begins, fired if the time-out
//! expires, and cancelled otherwise. A wait with a time-out of 0, or without a time-out, does not
//! count as a timer.

use core::ffi::{c_int, c_uint, c_ulong, c_void};

use super::emit;
use super::sys::{self, ETIMEDOUT, SECOND, Timespec, Timeval};
use crate::ring::source::{COND, EPOLL, POLL, SELECT, SEM, SLEEP};

/// When the time-out of a wait is due, in ns.
enum Due {
    In(u64),
    /// At a time on an unknown clock.
    At(u64),
}

/// Records `wait`. `is_over` says whether the result of the call means that the time-out expired.
#[inline]
fn waiting<R: Copy>(
    source: u8,
    due: Option<Due>,
    site: usize,
    wait: impl FnOnce() -> R,
    is_over: impl FnOnce(R) -> bool,
) -> R {
    match due {
        None | Some(Due::In(0)) => return wait(),
        Some(Due::In(delay_ns)) => emit::arm_in(source, 0, delay_ns, 0, site),
        Some(Due::At(time_ns)) => emit::arm(source, 0, sys::steady(time_ns), 0, site),
    }
    let result = wait();
    if is_over(result) {
        emit::fire(source, 0, site);
    } else {
        emit::stop(source, 0, site);
    }
    result
}

fn is_zero(result: c_int) -> bool {
    result == 0
}

fn says_so(result: c_int) -> bool {
    result == ETIMEDOUT
}

fn errno_says_so(result: c_int) -> bool {
    result != 0 && sys::errno() == ETIMEDOUT
}

fn ms(time_out: c_int) -> Option<Due> {
    u64::try_from(time_out).ok().map(|ms| Due::In(ms * 1_000_000))
}

fn within(time_out: *const Timespec) -> Option<Due> {
    // SAFETY: 1. The pointer is not null. 2. The caller promises that it may be read.
    (!time_out.is_null()).then(|| Due::In(unsafe { *time_out }.ns()))
}

fn until(time: *const Timespec) -> Option<Due> {
    // SAFETY: 1. The pointer is not null. 2. The caller promises that it may be read.
    (!time.is_null()).then(|| Due::At(unsafe { *time }.ns()))
}

hide! {
    fn poll(files: *mut c_void, count: c_ulong, time_out: c_int; _ _) -> c_int, Poll,
    |site, call| { waiting(POLL, ms(time_out), site, call, is_zero) }

    fn __poll_chk(files: *mut c_void, count: c_ulong, time_out: c_int, room: usize; _) -> c_int, PollChk,
    |site, call| { waiting(POLL, ms(time_out), site, call, is_zero) }

    fn ppoll(
        files: *mut c_void, count: c_ulong, time_out: *const Timespec, mask: *const c_void; _
    ) -> c_int, Ppoll,
    |site, call| { waiting(POLL, within(time_out), site, call, is_zero) }

    fn __ppoll_chk(
        files: *mut c_void, count: c_ulong, time_out: *const Timespec, mask: *const c_void, room: usize
    ) -> c_int, PpollChk,
    |site, call| { waiting(POLL, within(time_out), site, call, is_zero) }

    fn select(
        count: c_int, read: *mut c_void, write: *mut c_void, other: *mut c_void, time_out: *mut Timeval
    ) -> c_int, Select,
    |site, call| {
        // The kernel writes to the time-out, so it is read before the call. SAFETY: 1. The pointer
        // is not null. 2. The caller promises that it may be read.
        let due = (!time_out.is_null()).then(|| Due::In(unsafe { *time_out }.ns()));
        waiting(SELECT, due, site, call, is_zero)
    }

    fn epoll_wait(epoll: c_int, events: *mut c_void, most: c_int, time_out: c_int; _) -> c_int, EpollWait,
    |site, call| { waiting(EPOLL, ms(time_out), site, call, is_zero) }

    fn epoll_pwait(
        epoll: c_int, events: *mut c_void, most: c_int, time_out: c_int, mask: *const c_void
    ) -> c_int, EpollPwait,
    |site, call| { waiting(EPOLL, ms(time_out), site, call, is_zero) }

    fn epoll_pwait2(
        epoll: c_int, events: *mut c_void, most: c_int, time_out: *const Timespec, mask: *const c_void
    ) -> c_int, EpollPwait2,
    |site, call| { waiting(EPOLL, within(time_out), site, call, is_zero) }

    fn pthread_cond_timedwait(
        condition: *mut c_void, mutex: *mut c_void, time: *const Timespec; _ _
    ) -> c_int, CondTimedwait,
    |site, call| { waiting(COND, until(time), site, call, says_so) }

    fn pthread_cond_clockwait(
        condition: *mut c_void, mutex: *mut c_void, clock: c_int, time: *const Timespec; _
    ) -> c_int, CondClockwait,
    |site, call| { waiting(COND, until(time), site, call, says_so) }

    fn sem_timedwait(semaphore: *mut c_void, time: *const Timespec; _ _ _) -> c_int, SemTimedwait,
    |site, call| { waiting(SEM, until(time), site, call, errno_says_so) }

    fn sem_clockwait(semaphore: *mut c_void, clock: c_int, time: *const Timespec; _ _) -> c_int, SemClockwait,
    |site, call| { waiting(SEM, until(time), site, call, errno_says_so) }

    fn nanosleep(delay: *const Timespec, left: *mut Timespec; _ _ _) -> c_int, Nanosleep,
    |site, call| { waiting(SLEEP, within(delay), site, call, is_zero) }

    fn clock_nanosleep(
        clock: c_int, flags: c_int, time: *const Timespec, left: *mut Timespec; _
    ) -> c_int, ClockNanosleep,
    |site, call| {
        const ABSOLUTE: c_int = 1;
        let due = if flags & ABSOLUTE != 0 { until(time) } else { within(time) };
        waiting(SLEEP, due, site, call, is_zero)
    }

    fn usleep(delay_us: c_uint; _ _ _ _) -> c_int, Usleep,
    |site, call| { waiting(SLEEP, Some(Due::In(u64::from(delay_us) * 1000)), site, call, is_zero) }

    fn sleep(delay_s: c_uint; _ _ _ _) -> c_uint, Sleep,
    |site, call| { waiting(SLEEP, Some(Due::In(u64::from(delay_s) * SECOND)), site, call, |left| left == 0) }
}

/// `pselect` has six arguments, so the address of its caller is not known.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pselect(
    count: c_int,
    read: *mut c_void,
    write: *mut c_void,
    other: *mut c_void,
    time_out: *const Timespec,
    mask: *const c_void,
) -> c_int {
    type Mask = *const c_void;
    let wait = || {
        real!(
            Pselect,
            0,
            fn(c_int, *mut c_void, *mut c_void, *mut c_void, *const Timespec, Mask) -> c_int,
            count,
            read,
            write,
            other,
            time_out,
            mask
        )
    };
    waiting(SELECT, within(time_out), 0, wait, is_zero)
}
