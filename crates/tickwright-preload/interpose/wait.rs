//! `poll`, `select`, `epoll_wait` and their kin: waits for descriptors, with a time-out.
//!
//! A wait is a timer of its thread. It is armed when the wait begins, fired if the time-out
//! expires, and cancelled otherwise. A wait with a time-out of 0 or without a time-out is no timer.

use core::ffi::{c_int, c_ulong, c_void};

use super::emit;
use super::enter::No;
use super::sys::{Timespec, Timeval};
use crate::ring::source::{EPOLL, POLL, SELECT};

enter! {
    poll => poll_for;
    __poll_chk => poll_chk;
    ppoll => ppoll_for;
    __ppoll_chk => ppoll_chk;
    select => select_for;
    epoll_wait => epoll_for;
    epoll_pwait => epoll_pwait_for;
    epoll_pwait2 => epoll_pwait2_for;
}

/// Records `wait`, which returns 0 when its time-out is over.
#[inline]
fn waiting(source: u8, delay_ns: Option<u64>, site: usize, wait: impl FnOnce() -> c_int) -> c_int {
    let Some(delay_ns) = delay_ns.filter(|delay_ns| *delay_ns > 0) else { return wait() };
    emit::arm_in(source, 0, delay_ns, 0, site);
    let result = wait();
    if result == 0 {
        emit::fire(source, 0, site);
    } else {
        emit::stop(source, 0, site);
    }
    result
}

fn ms(time_out: c_int) -> Option<u64> {
    u64::try_from(time_out).ok().map(|ms| ms * 1_000_000)
}

fn ns(time_out: *const Timespec) -> Option<u64> {
    // SAFETY: 1. The pointer is not null. 2. The caller promises that it may be read.
    (!time_out.is_null()).then(|| unsafe { *time_out }.ns())
}

unsafe extern "C-unwind" fn poll_for(
    files: *mut c_void,
    count: c_ulong,
    time_out: c_int,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    waiting(POLL, ms(time_out), site, || {
        real!(Poll, site, fn(*mut c_void, c_ulong, c_int) -> c_int, files, count, time_out)
    })
}

unsafe extern "C-unwind" fn poll_chk(
    files: *mut c_void,
    count: c_ulong,
    time_out: c_int,
    room: usize,
    _: No,
    site: usize,
) -> c_int {
    waiting(POLL, ms(time_out), site, || {
        real!(PollChk, site, fn(*mut c_void, c_ulong, c_int, usize) -> c_int, files, count, time_out, room)
    })
}

unsafe extern "C-unwind" fn ppoll_for(
    files: *mut c_void,
    count: c_ulong,
    time_out: *const Timespec,
    mask: *const c_void,
    _: No,
    site: usize,
) -> c_int {
    waiting(POLL, ns(time_out), site, || {
        real!(
            Ppoll,
            site,
            fn(*mut c_void, c_ulong, *const Timespec, *const c_void) -> c_int,
            files,
            count,
            time_out,
            mask
        )
    })
}

unsafe extern "C-unwind" fn ppoll_chk(
    files: *mut c_void,
    count: c_ulong,
    time_out: *const Timespec,
    mask: *const c_void,
    room: usize,
    site: usize,
) -> c_int {
    waiting(POLL, ns(time_out), site, || {
        real!(
            PpollChk,
            site,
            fn(*mut c_void, c_ulong, *const Timespec, *const c_void, usize) -> c_int,
            files,
            count,
            time_out,
            mask,
            room
        )
    })
}

unsafe extern "C-unwind" fn select_for(
    count: c_int,
    read: *mut c_void,
    write: *mut c_void,
    other: *mut c_void,
    time_out: *mut Timeval,
    site: usize,
) -> c_int {
    // The kernel writes to the time-out, so it is read before the call. SAFETY: 1. The pointer is
    // not null. 2. The caller promises that it may be read.
    let delay_ns = (!time_out.is_null()).then(|| unsafe { *time_out }.ns());
    waiting(SELECT, delay_ns, site, || {
        real!(
            Select,
            site,
            fn(c_int, *mut c_void, *mut c_void, *mut c_void, *mut Timeval) -> c_int,
            count,
            read,
            write,
            other,
            time_out
        )
    })
}

/// `pselect` has six arguments, so its caller is not known.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pselect(
    count: c_int,
    read: *mut c_void,
    write: *mut c_void,
    other: *mut c_void,
    time_out: *const Timespec,
    mask: *const c_void,
) -> c_int {
    waiting(SELECT, ns(time_out), 0, || {
        real!(
            Pselect,
            0,
            fn(c_int, *mut c_void, *mut c_void, *mut c_void, *const Timespec, *const c_void) -> c_int,
            count,
            read,
            write,
            other,
            time_out,
            mask
        )
    })
}

unsafe extern "C-unwind" fn epoll_for(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    time_out: c_int,
    _: No,
    site: usize,
) -> c_int {
    waiting(EPOLL, ms(time_out), site, || {
        real!(EpollWait, site, fn(c_int, *mut c_void, c_int, c_int) -> c_int, epoll, events, most, time_out)
    })
}

unsafe extern "C-unwind" fn epoll_pwait_for(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    time_out: c_int,
    mask: *const c_void,
    site: usize,
) -> c_int {
    waiting(EPOLL, ms(time_out), site, || {
        real!(
            EpollPwait,
            site,
            fn(c_int, *mut c_void, c_int, c_int, *const c_void) -> c_int,
            epoll,
            events,
            most,
            time_out,
            mask
        )
    })
}

unsafe extern "C-unwind" fn epoll_pwait2_for(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    time_out: *const Timespec,
    mask: *const c_void,
    site: usize,
) -> c_int {
    waiting(EPOLL, ns(time_out), site, || {
        real!(
            EpollPwait2,
            site,
            fn(c_int, *mut c_void, c_int, *const Timespec, *const c_void) -> c_int,
            epoll,
            events,
            most,
            time_out,
            mask
        )
    })
}
