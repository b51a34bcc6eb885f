//! The alarm of an event loop on Linux: a descriptor that becomes readable.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::{Alarm, Clock, Instant, SystemClock};
use crate::fork::{self, ForkLock, Order, Process};
use crate::sync::{Arc, lock};

/// What [`TimerFd::acknowledge`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// The alarm went off.
    Due,
    /// The wall clock was set, so its timers may be due earlier or later than the alarm says.
    Stepped,
    /// The descriptor was not readable, or the alarm was set again since.
    Quiet,
}

/// An [`Alarm`] that is a `timerfd`. It uses the kernel's clock that belongs to the scheduler's
/// clock.
///
/// Put the descriptor into `poll`, `epoll` or another loop, for reading. When the descriptor is
/// readable, [`acknowledge`](Self::acknowledge) it. Then run the scheduler unless the result is
/// [`Rung::Quiet`]. The descriptor never blocks, and is closed on `exec`. By
/// [`SystemClock::RealTime`] the alarm goes off at a wall-clock time, which is computed when the
/// alarm is set. It also goes off if the wall clock is set while it is armed.
///
/// A forked child has a timerfd of its own under the same number, set to the same time. The child's
/// operations on it do not affect the parent's.
#[derive(Debug)]
pub struct TimerFd {
    fd: Arc<OwnedFd>,
    clock: SystemClock,
    /// The lock orders two settings: the later one holds.
    told: ForkLock<Told>,
}

#[derive(Debug)]
struct Told {
    fd: Arc<OwnedFd>,
    clock: SystemClock,
    /// The process that made the descriptor.
    process: Process,
    /// The instant to which the alarm is set.
    at: Option<Instant>,
    /// The wall clock was set while the alarm was set. The kernel has reported this to us, and we
    /// have not reported it yet.
    stepped: bool,
    failure: Option<io::Error>,
}

/// The alarm is due at once: a time of 0 would disarm it.
const AT_ONCE: u64 = 1;

impl TimerFd {
    /// Makes an alarm that is not set.
    ///
    /// # Errors
    /// The system's error: too many open descriptors, or no memory.
    pub fn new(clock: SystemClock) -> io::Result<Self> {
        let fd = Arc::new(create(clock)?);
        let process = Process::this();
        let told = Told { fd: Arc::clone(&fd), clock, process, at: None, stepped: false, failure: None };
        let told = ForkLock::try_new(Order::Alarm, told, Told::forget_parent).ok_or(Errno::NOMEM)?;
        Ok(Self { fd, clock, told })
    }

    /// The clock by which the alarm goes off.
    #[must_use]
    pub fn clock(&self) -> SystemClock {
        self.clock
    }

    /// Acknowledges that the descriptor became readable, and returns the reason. Call it before you
    /// run the scheduler, which sets the alarm again.
    ///
    /// # Errors
    /// The system's error. It may come from an earlier setting, since [`Alarm::set`] cannot report
    /// one.
    pub fn acknowledge(&self) -> io::Result<Rung> {
        let mut told = lock(&self.told);
        if let Some(failure) = told.failure.take() {
            return Err(failure);
        }
        told.own()?;
        let read = rustix::io::read(&self.fd, &mut [0; 8]);
        if core::mem::take(&mut told.stepped) {
            return Ok(Rung::Stepped);
        }
        match read {
            Ok(_) => Ok(Rung::Due),
            Err(Errno::AGAIN) => Ok(Rung::Quiet),
            Err(Errno::CANCELED) => Ok(Rung::Stepped),
            Err(other) => Err(other.into()),
        }
    }
}

fn create(clock: SystemClock) -> Result<OwnedFd, Errno> {
    let id = match clock {
        SystemClock::Monotonic => TimerfdClockId::Monotonic,
        SystemClock::BootTime => TimerfdClockId::Boottime,
        SystemClock::RealTime => TimerfdClockId::Realtime,
    };
    timerfd_create(id, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
}

impl Told {
    /// Called in a forked child. The next use of the alarm tries again what fails here.
    fn forget_parent(&mut self) {
        let _ = self.own();
    }

    /// Makes sure that the descriptor is this process's own: a child inherits the parent's under
    /// the same number.
    fn own(&mut self) -> Result<(), Errno> {
        if self.process.is_this() {
            return Ok(());
        }
        fork::replace(&self.fd, create(self.clock)?)?;
        self.process = Process::this();
        self.arm()
    }

    /// Sets the descriptor to `self.at`.
    fn arm(&mut self) -> Result<(), Errno> {
        let Some(at) = self.at.map(Instant::as_nanos) else {
            return self.settime(TimerfdTimerFlags::empty(), 0);
        };
        let Some(mut offset) = self.clock.wall_offset() else {
            return self.settime(TimerfdTimerFlags::ABSTIME, at.max(AT_ONCE));
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        loop {
            let at = if self.stepped { AT_ONCE } else { at.saturating_add_signed(offset).max(AT_ONCE) };
            match self.settime(flags, at) {
                // The wall was set since the last read. The kernel reports it with this error
                // alone, so keep it for the caller.
                Err(Errno::CANCELED) => {
                    self.stepped = true;
                    continue;
                }
                result => result?,
            }
            // From here on the kernel reports a step. This look finds a step that came between the
            // look before and the setting.
            match self.clock.wall_offset() {
                Some(now) if now != offset => offset = now,
                _ => return Ok(()),
            }
        }
    }

    fn settime(&self, flags: TimerfdTimerFlags, at: u64) -> Result<(), Errno> {
        // Both casts are lossless: a `u64` of nanoseconds has fewer seconds than an `i64` holds.
        let it_value = Timespec { tv_sec: (at / 1_000_000_000) as _, tv_nsec: (at % 1_000_000_000) as _ };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.fd, flags, &Itimerspec { it_interval, it_value }).map(|_| ())
    }
}

impl Alarm for TimerFd {
    /// Costs one system call; by real time also a few readings of the clock. The system has no
    /// reason to refuse, but an error would be kept for [`acknowledge`](TimerFd::acknowledge).
    fn set(&self, at: Option<Instant>) {
        let mut told = lock(&self.told);
        told.at = at;
        if let Err(failure) = told.own().and_then(|()| told.arm()) {
            told.failure = Some(failure.into());
        }
    }
}

impl AsFd for TimerFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for TimerFd {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
