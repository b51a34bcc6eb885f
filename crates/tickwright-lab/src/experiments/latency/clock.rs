//! The clocks of the system, and the ways to wait until a clock reaches a time.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_getres,
    clock_gettime, timerfd_create, timerfd_settime,
};
use signal_hook::SigId;
use signal_hook::consts::SIGCONT;

use crate::error::LabError;

/// A clock of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Clock {
    /// Stands still while the machine is suspended; cyclictest's 0
    #[value(alias = "0")]
    Monotonic,
    /// The time of day: a step forward shows as lateness or as a gap, a step back makes the run
    /// wait; cyclictest's 1
    #[value(alias = "1")]
    Realtime,
    /// Continues while the machine is suspended
    Boot,
}

impl Clock {
    fn id(self) -> ClockId {
        match self {
            Self::Monotonic => ClockId::Monotonic,
            Self::Realtime => ClockId::Realtime,
            Self::Boot => ClockId::Boottime,
        }
    }

    /// The time, in ns.
    #[inline]
    pub(super) fn now(self) -> u64 {
        ns(clock_gettime(self.id()))
    }

    /// The resolution that the system promises, in ns.
    pub(super) fn resolution(self) -> u64 {
        ns(clock_getres(self.id())).max(1)
    }
}

/// How the program waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Driver {
    /// An absolute clock_nanosleep, as cyclictest does
    Nanosleep,
    /// A timer descriptor, set and read
    Timerfd,
    /// A parked thread with a timeout: portable, and relative
    Thread,
    /// Reads the clock in a loop; takes a whole processor
    Spin,
}

/// A clock and a way to wait for it.
pub(super) trait Host {
    /// The reading of the clock, in ns.
    fn now(&mut self) -> u64;

    /// Returns when the clock is at `at` (in ns) or later, or when a signal came.
    fn wait(&mut self, at: u64);

    /// Whether the process was stopped and continued since the last call of this function.
    fn was_stopped(&mut self) -> bool;
}

/// The host of a real run: a clock of the system, and a driver that waits for it.
#[derive(Debug)]
pub(super) struct System {
    clock: Clock,
    driver: Driver,
    /// The timer descriptor, for the driver that needs one.
    fd: Option<OwnedFd>,
    /// Whether a SIGCONT came.
    heard: Arc<AtomicBool>,
    id: SigId,
}

impl System {
    /// Opens what the driver needs, and records each SIGCONT from now on.
    pub(super) fn new(clock: Clock, driver: Driver) -> Result<Self, LabError> {
        let id = match clock {
            Clock::Monotonic => TimerfdClockId::Monotonic,
            Clock::Realtime => TimerfdClockId::Realtime,
            Clock::Boot => TimerfdClockId::Boottime,
        };
        let fd = (driver == Driver::Timerfd)
            .then(|| timerfd_create(id, TimerfdFlags::CLOEXEC))
            .transpose()
            .map_err(|error| LabError::io("making a timer descriptor", error.into()))?;
        let heard = Arc::<AtomicBool>::default();
        let id = signal_hook::flag::register(SIGCONT, Arc::clone(&heard))
            .map_err(|source| LabError::io("watching for SIGCONT", source))?;
        Ok(Self { clock, driver, fd, heard, id })
    }
}

impl Host for System {
    #[inline]
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn wait(&mut self, at: u64) {
        match (self.driver, &self.fd) {
            (Driver::Timerfd, Some(fd)) => {
                let it_value = timespec(at.max(1));
                let once = Itimerspec { it_interval: timespec(0), it_value };
                // If either call failed, the caller's loop would spin, but not be wrong: the loop
                // reads the clock.
                let _ = timerfd_settime(fd, TimerfdTimerFlags::ABSTIME, &once);
                let _ = rustix::io::read(fd, &mut [0; 8]);
            }
            (Driver::Thread, _) => thread::park_timeout(Duration::from_nanos(at.saturating_sub(self.now()))),
            (Driver::Spin, _) => {
                while self.clock.now() < at {
                    core::hint::spin_loop();
                }
            }
            (Driver::Nanosleep | Driver::Timerfd, _) => {
                let _ = clock_nanosleep_absolute(self.clock.id(), &timespec(at));
            }
        }
    }

    #[inline]
    fn was_stopped(&mut self) -> bool {
        // A plain load comes first: this call runs a thousand times a second, and its usual result
        // is `false`.
        self.heard.load(Ordering::Relaxed) && self.heard.swap(false, Ordering::Relaxed)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.id);
    }
}

/// Processor time of the calling thread.
pub(super) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

const NS_PER_S: u64 = 1_000_000_000;

fn timespec(ns: u64) -> Timespec {
    // The seconds of a u64 in nanoseconds fit into an i64.
    Timespec { tv_sec: (ns / NS_PER_S) as i64, tv_nsec: (ns % NS_PER_S) as i64 }
}

fn ns(time: Timespec) -> u64 {
    // The clocks used here are never negative. The time of day passes 2^64 ns in 2554.
    (time.tv_sec as u64).wrapping_mul(NS_PER_S).wrapping_add(time.tv_nsec as u64)
}
