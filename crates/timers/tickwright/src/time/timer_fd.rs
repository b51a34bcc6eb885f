//! The alarm of an event loop: a descriptor that becomes readable.

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
/// Put the descriptor into `poll`, `epoll`, `kevent` or another loop, for reading. When the
/// descriptor is readable, [`acknowledge`](Self::acknowledge) it. Then run the scheduler unless the
/// result is [`Rung::Quiet`]. The descriptor never blocks, and is closed on `exec`.
///
/// A timerfd uses the kernel's clock that belongs to the scheduler's clock. By
/// [`SystemClock::RealTime`] it goes off at a wall-clock time, which is computed when the alarm is
/// set. It also goes off if the wall clock is set while it is armed. A kqueue waits by the
/// monotonic clock, and for another clock it wakes the loop each second to look at that clock.
///
/// A forked child has a descriptor of its own under the same number, set to the same time. The
/// child's operations on it do not affect the parent's.
#[derive(Debug)]
pub struct TimerFd {
    fd: Arc<OwnedFd>,
    clock: SystemClock,
    /// The lock serializes the calls that set the timer, so the last call takes effect.
    told: ForkLock<Told>,
}

impl TimerFd {
    /// Makes an alarm that is not set.
    ///
    /// # Errors
    /// The system's error: too many open descriptors, or no memory.
    pub fn new(clock: SystemClock) -> io::Result<Self> {
        let fd = Arc::new(os::create(clock)?);
        let process = Process::this();
        let wall = Wall::default();
        let told = Told { fd: Arc::clone(&fd), clock, process, at: None, wall, failure: None };
        let told = ForkLock::try_new(Order::Alarm, told, Told::forget_parent);
        let told = told.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
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
        told.take_event()
    }
}

impl Told {
    /// Called in a forked child. The next use of the alarm tries again what fails here.
    fn forget_parent(&mut self) {
        let _ = self.own();
    }

    /// Makes sure that the descriptor is this process's own: a child inherits the parent's timerfd
    /// under the same number, and no kqueue.
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
    /// Costs one system call, or two with a kqueue; by real time also a few readings of the clock.
    /// The system has no reason to refuse, but an error would be kept for
    /// [`acknowledge`](TimerFd::acknowledge).
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
