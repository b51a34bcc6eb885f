//! Linux: a timerfd.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::setting::{AT_ONCE, Rung, Told};
use crate::time::{Clock, Instant, SystemClock};

pub(super) fn create(clock: SystemClock) -> io::Result<OwnedFd> {
    let id = match clock {
        SystemClock::Monotonic => TimerfdClockId::Monotonic,
        SystemClock::BootTime => TimerfdClockId::Boottime,
        SystemClock::RealTime => TimerfdClockId::Realtime,
    };
    Ok(timerfd_create(id, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?)
}

/// Makes the descriptor number of `at` refer to the open file of `by`. The number of `by` is
/// closed, and so is the file to which `at` referred before the call.
pub(super) fn replace(at: &OwnedFd, by: OwnedFd) -> io::Result<()> {
    // SAFETY: 1. Both are open; 2. `at` stays a descriptor that its owner closes.
    let code = unsafe { libc::dup3(by.as_raw_fd(), at.as_raw_fd(), libc::O_CLOEXEC) };
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Told {
    /// Makes the descriptor unreadable, and returns why it was readable.
    pub(super) fn take_event(&mut self) -> io::Result<Rung> {
        let read = rustix::io::read(&self.fd, &mut [0; 8]);
        if core::mem::take(&mut self.wall.stepped) {
            return Ok(Rung::Stepped);
        }
        match read {
            Ok(_) => Ok(Rung::Due),
            Err(Errno::AGAIN) => Ok(Rung::Quiet),
            Err(Errno::CANCELED) => Ok(Rung::Stepped),
            Err(other) => Err(other.into()),
        }
    }

    /// Sets the timerfd to `self.at`.
    pub(super) fn arm(&mut self) -> io::Result<()> {
        let Some(at) = self.at.map(Instant::as_nanos) else {
            return Ok(self.settime(TimerfdTimerFlags::empty(), 0)?);
        };
        let Some(mut offset) = self.clock.wall_offset() else {
            return Ok(self.settime(TimerfdTimerFlags::ABSTIME, at.max(AT_ONCE))?);
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        loop {
            let at = if self.wall.stepped { AT_ONCE } else { at.saturating_add_signed(offset).max(AT_ONCE) };
            match self.settime(flags, at) {
                // The wall clock was set since the last read. The kernel reports this only once,
                // with this error, so it is stored for the caller.
                Err(Errno::CANCELED) => {
                    self.wall.stepped = true;
                    continue;
                }
                result => result?,
            }
            // From here on the kernel reports a step of the wall clock. This check finds a step
            // that happened after the last check and before the timer was set.
            match self.clock.wall_offset() {
                Some(now) if now != offset => offset = now,
                _ => return Ok(()),
            }
        }
    }

    fn settime(&self, flags: TimerfdTimerFlags, at: u64) -> Result<(), Errno> {
        // Both casts are lossless, because the seconds in 2^64 ns fit into an `i64`.
        let it_value = Timespec { tv_sec: (at / 1_000_000_000) as _, tv_nsec: (at % 1_000_000_000) as _ };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.fd, flags, &Itimerspec { it_interval, it_value }).map(|_| ())
    }
}
