//! The clock and the timer hardware that the driver uses. Clock and hardware are either both
//! simulated or both the operating system's.

#[cfg(not(target_os = "linux"))]
use core::time::Duration;

#[cfg(target_os = "linux")]
use rustix::thread::{ClockId, Timespec};
use tickwright::time::{Clock, SystemClock};

use crate::rights::{self, LeastSlack};

/// A clock in ns and a way to wait for a time on it.
pub(crate) trait Machine {
    /// Sets the clock to `now`, the time at which the structure's last slice ended.
    fn start(&mut self, now: u64);

    fn now(&mut self) -> u64;

    /// Returns when the clock is at `tick` or later, or after a signal.
    fn sleep_until(&mut self, tick: u64);
}

/// A clock that advances only while the driver sleeps, so that every wake-up is exactly on time.
#[derive(Debug, Default)]
pub(crate) struct Virtual {
    now: u64,
}

impl Machine for Virtual {
    fn start(&mut self, now: u64) {
        self.now = now;
    }

    #[inline]
    fn now(&mut self) -> u64 {
        self.now
    }

    #[inline]
    fn sleep_until(&mut self, tick: u64) {
        self.now = self.now.max(tick);
    }
}

/// The system's monotonic clock, with absolute sleeps.
#[derive(Debug)]
pub(crate) struct Real {
    /// The structure's time is monotonic time minus `origin`.
    origin: u64,
    spin: bool,
}

impl Real {
    /// Waits by sleeping, or, with `spin`, by reading the clock in a loop.
    pub(crate) fn new(spin: bool) -> Self {
        Self { origin: 0, spin }
    }
}

impl Machine for Real {
    fn start(&mut self, now: u64) {
        self.origin = monotonic().wrapping_sub(now);
    }

    #[inline]
    fn now(&mut self) -> u64 {
        monotonic().wrapping_sub(self.origin)
    }

    fn sleep_until(&mut self, tick: u64) {
        if self.spin {
            while self.now() < tick {
                core::hint::spin_loop();
            }
            return;
        }
        sleep(self.origin.wrapping_add(tick));
    }
}

/// Sleeps until the monotonic clock is at `wake`. Returns at once if that time has passed. After an
/// error other than a signal, the caller's loop spins, but its results stay correct.
#[cfg(target_os = "linux")]
fn sleep(wake: u64) {
    const NS_PER_S: u64 = 1_000_000_000;
    let wake = Timespec { tv_sec: (wake / NS_PER_S) as i64, tv_nsec: (wake % NS_PER_S) as i64 };
    let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &wake);
}

/// If the system has no absolute sleep, the time between the clock reading and the sleep delays the
/// wake-up.
#[cfg(not(target_os = "linux"))]
fn sleep(wake: u64) {
    std::thread::sleep(Duration::from_nanos(wake.saturating_sub(monotonic())));
}

fn monotonic() -> u64 {
    SystemClock::Monotonic.now().as_nanos()
}

/// Requests punctual wake-ups until the guard is dropped. Adds a note for each request that the
/// system refuses.
pub(crate) fn punctual(notes: &mut Vec<String>) -> Option<LeastSlack> {
    if cfg!(target_os = "linux") && !rights::is_real_time() {
        notes.push(
            "no real-time scheduling: wake-ups wait for other programs; with the privilege, run it as \
             `chrt -f 50 tickwright reproduce xenomai`"
                .into(),
        );
    }
    LeastSlack::ask().map_err(|why| notes.push(why)).ok()
}
