//! `poll`, `select`, `epoll_wait` and their kin: waits for descriptors, with a time-out.
//!
//! A wait is a timer of its thread. It is armed when the wait begins, fired if the time-out
//! expires, and cancelled otherwise. A wait with a time-out of 0 or without a time-out is no timer.

use core::ffi::{c_int, c_ulong, c_void};

use super::emit;
use super::sys::{Timespec, Timeval};
use crate::ring::source::{EPOLL, POLL, SELECT};

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

hide! {
    fn poll(files: *mut c_void, count: c_ulong, time_out: c_int; _ _) -> c_int, Poll,
    |site, call| { waiting(POLL, ms(time_out), site, call) }

    fn __poll_chk(files: *mut c_void, count: c_ulong, time_out: c_int, room: usize; _) -> c_int, PollChk,
    |site, call| { waiting(POLL, ms(time_out), site, call) }

    fn ppoll(
        files: *mut c_void, count: c_ulong, time_out: *const Timespec, mask: *const c_void; _
    ) -> c_int, Ppoll,
    |site, call| { waiting(POLL, ns(time_out), site, call) }

    fn __ppoll_chk(
        files: *mut c_void, count: c_ulong, time_out: *const Timespec, mask: *const c_void, room: usize
    ) -> c_int, PpollChk,
    |site, call| { waiting(POLL, ns(time_out), site, call) }

    fn select(
        count: c_int, read: *mut c_void, write: *mut c_void, other: *mut c_void, time_out: *mut Timeval
    ) -> c_int, Select,
    |site, call| {
        // The kernel writes to the time-out, so it is read before the call. SAFETY: 1. The pointer
        // is not null. 2. The caller promises that it may be read.
        let delay_ns = (!time_out.is_null()).then(|| unsafe { *time_out }.ns());
        waiting(SELECT, delay_ns, site, call)
    }

    fn epoll_wait(epoll: c_int, events: *mut c_void, most: c_int, time_out: c_int; _) -> c_int, EpollWait,
    |site, call| { waiting(EPOLL, ms(time_out), site, call) }

    fn epoll_pwait(
        epoll: c_int, events: *mut c_void, most: c_int, time_out: c_int, mask: *const c_void
    ) -> c_int, EpollPwait,
    |site, call| { waiting(EPOLL, ms(time_out), site, call) }

    fn epoll_pwait2(
        epoll: c_int, events: *mut c_void, most: c_int, time_out: *const Timespec, mask: *const c_void
    ) -> c_int, EpollPwait2,
    |site, call| { waiting(EPOLL, ns(time_out), site, call) }
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
