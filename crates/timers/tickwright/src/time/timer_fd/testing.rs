//! A kqueue with one timer, emulated by a timerfd. With it and with `--cfg tickwright_kqueue`, the
//! tests of `kqueue.rs` run on Linux. It does what the manuals of macOS and FreeBSD say, and
//! returns an error for uses that the manuals do not specify.
#![allow(non_camel_case_types, reason = "the names of the systems")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};
use std::os::fd::{BorrowedFd, IntoRawFd};

use rustix::io::{Errno, read};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_gettime,
    timerfd_settime,
};

pub(super) const EVFILT_TIMER: i16 = -7;
pub(super) const EV_ADD: u16 = 0x1;
pub(super) const EV_DELETE: u16 = 0x2;
pub(super) const EV_ONESHOT: u16 = 0x10;
pub(super) const NOTE_NSECONDS: u32 = 0x8;

/// The longest accepted wait, because some kernels add the wait to their clock without a check for
/// overflow.
const LONGEST_NS: i64 = 86_400_000_000_000;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct kevent {
    ident: usize,
    pub(super) filter: i16,
    pub(super) flags: u16,
    pub(super) fflags: u32,
    pub(super) data: i64,
    udata: *mut c_void,
}

/// Closes the descriptors in a forked child, because a child inherits no kqueue.
fn close_inherited() {
    for number in 3..256 {
        let path = format!("/proc/self/fd/{number}");
        if std::fs::read_link(path).is_ok_and(|file| file.ends_with("anon_inode:[timerfd]")) {
            // SAFETY: the owner of the number closes what `replace` opens under it.
            unsafe { libc::close(number) };
        }
    }
}

pub(super) unsafe fn kqueue() -> c_int {
    static PROCESS: AtomicU32 = AtomicU32::new(0);

    let process = std::process::id();
    let before = PROCESS.swap(process, Ordering::Relaxed);
    if before != 0 && before != process {
        close_inherited();
    }
    timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK).map_or(-1, IntoRawFd::into_raw_fd)
}

pub(super) unsafe fn kevent(
    kqueue: c_int,
    changes: *const kevent,
    changed: c_int,
    events: *mut kevent,
    room: c_int,
    timeout: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller's descriptor is open.
    let fd = unsafe { BorrowedFd::borrow_raw(kqueue) };
    // SAFETY: the caller's time may be read.
    let timeout = unsafe { *timeout };
    assert_eq!(timeout.tv_sec + timeout.tv_nsec, 0, "would wait");
    if changed == 1 {
        // SAFETY: the caller's change may be read.
        return apply(fd, unsafe { *changes }).map_or_else(failed, |()| 0);
    }
    if room == 0 || read(fd, &mut [0; 8]).is_err() {
        return 0;
    }
    // SAFETY: the caller's event may be written.
    unsafe { (*events).data = 1 };
    1
}

fn failed(error: Errno) -> c_int {
    // SAFETY: the place of the thread's error.
    unsafe { *libc::__errno_location() = error.raw_os_error() };
    -1
}

fn apply(fd: BorrowedFd<'_>, change: kevent) -> Result<(), Errno> {
    assert_eq!((change.ident, change.filter, change.fflags), (0, EVFILT_TIMER, NOTE_NSECONDS));
    let set = |ns: i64| {
        let it_value = Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(fd, TimerfdTimerFlags::empty(), &Itimerspec { it_interval, it_value })
    };
    // The kqueue has no timer if the timer is not armed and has no event that was not taken yet.
    let rang = read(fd, &mut [0; 8]).is_ok();
    let left = timerfd_gettime(fd)?.it_value;
    let is_there = rang || left.tv_sec + left.tv_nsec > 0;
    match change.flags {
        EV_DELETE if is_there => set(0).map(drop),
        EV_DELETE => Err(Errno::NOENT),
        flags => {
            assert_eq!(flags, EV_ADD | EV_ONESHOT);
            assert!(!is_there, "the systems differ in what they do then");
            assert!((1..=LONGEST_NS).contains(&change.data), "{} ns", change.data);
            set(change.data).map(drop)
        }
    }
}
