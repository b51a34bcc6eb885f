//! macOS and FreeBSD: a kqueue with one timer.

use core::mem::{take, zeroed};
use core::time::Duration;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use super::setting::{AT_ONCE, Rung, Told};
use crate::time::{Clock, SystemClock};

#[cfg(tickwright_kqueue)]
use super::testing as system;
#[cfg(not(tickwright_kqueue))]
use libc as system;

use system::{EV_ADD, EV_DELETE, EV_ONESHOT, EVFILT_TIMER, NOTE_NSECONDS, kevent};

/// The longest wait that is passed to the kernel, so that the kernel's arithmetic does not
/// overflow. If the alarm is later, the kernel's timer is set again after this time.
const LONGEST: Duration = Duration::from_secs(86_400);

pub(super) fn create(_: SystemClock) -> io::Result<OwnedFd> {
    // SAFETY: the call touches no memory.
    let number = checked(unsafe { system::kqueue() })?;
    // SAFETY: 1. The descriptor is open; 2. nobody else has it.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    close_on_exec(number)?;
    Ok(fd)
}

/// Makes the descriptor number of `at` refer to the open file of `by`. A forked child inherits no
/// kqueue, so the number of `at` is free in the child, and `by` can already have the same number.
pub(super) fn replace(at: &OwnedFd, by: OwnedFd) -> io::Result<()> {
    let number = at.as_raw_fd();
    if by.as_raw_fd() == number {
        // Both have the same number, which the owner of `at` closes.
        let _ = by.into_raw_fd();
        return Ok(());
    }
    // SAFETY: 1. `by` is open; 2. the number belongs to `at`, whose owner closes it.
    checked(unsafe { libc::dup2(by.as_raw_fd(), number) })?;
    close_on_exec(number)
}

fn close_on_exec(number: RawFd) -> io::Result<()> {
    // SAFETY: the call touches no memory.
    checked(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) }).map(drop)
}

fn checked(code: i32) -> io::Result<i32> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code) }
}

/// Creates an event of the timer.
fn timer(flags: u16, wait_ns: u64) -> kevent {
    // SAFETY: integers and a pointer may be zero.
    let mut event: kevent = unsafe { zeroed() };
    event.filter = EVFILT_TIMER;
    event.flags = flags;
    event.fflags = NOTE_NSECONDS;
    // The cast is lossless, because a wait is at most `LONGEST`.
    event.data = wait_ns as _;
    event
}

impl Told {
    /// Makes the descriptor unreadable, and returns why it was readable. If the kernel's wait is
    /// over before the alarm is due, the kernel's timer is set again.
    pub(super) fn take_event(&mut self) -> io::Result<Rung> {
        if self.call(&[], &mut [timer(0, 0)])? == 0 {
            return Ok(Rung::Quiet);
        }
        if self.at.is_none_or(|at| self.clock.now() >= at) {
            self.wall.stepped = false;
            return Ok(Rung::Due);
        }
        self.look_at_wall();
        let stepped = take(&mut self.wall.stepped);
        self.arm()?;
        Ok(if stepped { Rung::Stepped } else { Rung::Quiet })
    }

    /// Sets the kernel's timer to `self.at`.
    pub(super) fn arm(&mut self) -> io::Result<()> {
        // The timer is deleted first, because the kernels differ in how they treat a timer that is
        // added again.
        match self.call(&[timer(EV_DELETE, 0)], &mut []) {
            Err(error) if error.raw_os_error() != Some(libc::ENOENT) => return Err(error),
            _ => {}
        }
        self.look_at_wall();
        let Some(at) = self.at else { return Ok(()) };
        // The wait is relative, because absolute times on FreeBSD are wall times.
        let left = if self.wall.stepped { Duration::ZERO } else { at.duration_since(self.clock.now()) };
        let wait = left.min(self.clock.longest_sleep().unwrap_or(LONGEST));
        let wait_ns = (wait.as_nanos() as u64).max(AT_ONCE);
        self.call(&[timer(EV_ADD | EV_ONESHOT, wait_ns)], &mut []).map(drop)
    }

    /// Checks whether the wall clock was set since the last check.
    fn look_at_wall(&mut self) {
        let offset = self.clock.wall_offset();
        let before = core::mem::replace(&mut self.wall.offset, offset);
        self.wall.stepped |= before.is_some() && before != offset;
    }

    /// Applies `changes` to the kqueue, and returns how many events were written to `events`. Never
    /// waits.
    fn call(&self, changes: &[kevent], events: &mut [kevent]) -> io::Result<i32> {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // The casts are lossless, because each array has at most one event.
        let (changed, room) = (changes.len() as i32, events.len() as i32);
        let kqueue = self.fd.as_raw_fd();
        // SAFETY: 1. Changes and time may be read; 2. the events may be written.
        let code = unsafe {
            kevent(kqueue, changes.as_ptr(), changed, events.as_mut_ptr(), room, &raw const at_once)
        };
        checked(code)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
