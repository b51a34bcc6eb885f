//! An alarm for an event loop: a descriptor that becomes readable when the alarm goes off.

#[cfg(any(not(target_os = "linux"), tickwright_kqueue))]
mod kqueue;
#[cfg(all(target_os = "linux", not(tickwright_kqueue)))]
mod linux;
mod setting;
#[cfg(tickwright_kqueue)]
mod testing;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

#[cfg(any(not(target_os = "linux"), tickwright_kqueue))]
use kqueue as os;
#[cfg(all(target_os = "linux", not(tickwright_kqueue)))]
use linux as os;

use super::{Alarm, Instant, SystemClock};
use crate::fork::{ForkLock, Order, Process};
use crate::sync::{Arc, lock};
pub use setting::Rung;
use setting::{Told, Wall};

/// An [`Alarm`] that is a descriptor: a `timerfd` on Linux, a `kqueue` on macOS and FreeBSD.
///
/// Let `poll`, `epoll`, `kevent` or another call wait until the descriptor is readable. When it is
/// readable, call [`acknowledge`](Self::acknowledge), and then run the scheduler unless the result
/// is [`Rung::Quiet`]. The descriptor never blocks, and is closed on `exec`.
///
/// A timerfd uses the kernel's clock that corresponds to the scheduler's clock. With
/// [`SystemClock::RealTime`], it goes off at a wall time, which is computed when the alarm is set.
/// It also goes off if the wall clock is set while the alarm is set. A kqueue waits by the
/// monotonic clock. For any other clock, it therefore wakes the loop each second to check that
/// clock.
///
/// A forked child has its own descriptor with the same number, which is set to the same time. The
/// child's operations on it do not affect the parent's.
#[derive(Debug)]
pub struct TimerFd {
    fd: Arc<OwnedFd>,
    clock: SystemClock,
    /// The lock serializes the calls that set the timer, so that the last call takes effect.
    told: ForkLock<Told>,
}

impl TimerFd {
    /// Creates an alarm that is not set.
    ///
    /// # Errors
    /// The error of the operating system: too many open descriptors, or no memory.
    pub fn new(clock: SystemClock) -> io::Result<Self> {
        let fd = Arc::new(os::create(clock)?);
        let process = Process::this();
        let wall = Wall::default();
        let told = Told { fd: Arc::clone(&fd), clock, process, at: None, wall, failure: None };
        let told = ForkLock::try_new(Order::Alarm, told, Told::forget_parent);
        let told = told.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Self { fd, clock, told })
    }

    /// Returns the clock of the alarm's time.
    #[must_use]
    pub fn clock(&self) -> SystemClock {
        self.clock
    }

    /// Acknowledges that the descriptor became readable, and returns the reason. Call it before you
    /// run the scheduler, which sets the alarm again.
    ///
    /// # Errors
    /// The error of the operating system. It can come from an earlier call of [`Alarm::set`], which
    /// cannot return an error.
    pub fn acknowledge(&self) -> io::Result<Rung> {
        let mut told = lock(&self.told);
        if let Some(failure) = told.failure.take() {
            return Err(failure);
        }
        told.own()?;
        told.take_event()
    }
}

impl Told {
    /// Gives a forked child its own descriptor. If this fails, the next use of the alarm tries
    /// again.
    fn forget_parent(&mut self) {
        let _ = self.own();
    }

    /// Makes sure that the descriptor belongs to this process. This is necessary because a forked
    /// child inherits the parent's timerfd with the same number, or does not inherit a kqueue at
    /// all.
    fn own(&mut self) -> io::Result<()> {
        if self.process.is_this() {
            return Ok(());
        }
        os::replace(&self.fd, os::create(self.clock)?)?;
        self.process = Process::this();
        self.arm()
    }
}

impl Alarm for TimerFd {
    /// Costs one system call, or two with a kqueue. With [`SystemClock::RealTime`] it also costs a
    /// few readings of the clock. No error is expected, but if there is one,
    /// [`acknowledge`](TimerFd::acknowledge) returns it.
    fn set(&self, at: Option<Instant>) {
        let mut told = lock(&self.told);
        told.at = at;
        if let Err(failure) = told.own().and_then(|()| told.arm()) {
            told.failure = Some(failure);
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
