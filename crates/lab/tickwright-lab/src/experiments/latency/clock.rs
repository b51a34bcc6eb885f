//! The clocks of the system, and the wait until a clock reaches a time.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};
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
}

impl Clock {
    fn id(self) -> ClockId {
        match self {
            Self::Monotonic => ClockId::Monotonic,
            Self::Realtime => ClockId::Realtime,
        }
    }

    /// Returns the time, in ns.
    #[inline]
    pub(super) fn now(self) -> u64 {
        ns(clock_gettime(self.id()))
    }

    /// Returns the resolution that the system promises, in ns.
    pub(super) fn resolution(self) -> u64 {
        ns(clock_getres(self.id())).max(1)
    }
}

/// A clock and a way to wait for it.
pub(super) trait Host {
    /// Reads the clock, in ns.
    fn now(&mut self) -> u64;

    /// Returns when the clock is at `at` (in ns) or later, or when a signal arrives.
    fn wait(&mut self, at: u64);

    /// Returns whether the process was stopped and continued since the last call of this function.
    fn was_stopped(&mut self) -> bool;
}

/// The host of a real run: a clock of the system, and an absolute `clock_nanosleep`, which
/// cyclictest uses too.
#[derive(Debug)]
pub(super) struct System {
    clock: Clock,
    /// Whether a SIGCONT arrived.
    heard: Arc<AtomicBool>,
    id: SigId,
}

impl System {
    /// Records each SIGCONT from now on.
    pub(super) fn new(clock: Clock) -> Result<Self, LabError> {
        let heard = Arc::<AtomicBool>::default();
        let id = signal_hook::flag::register(SIGCONT, Arc::clone(&heard))
            .map_err(|source| LabError::io("watching for SIGCONT", source))?;
        Ok(Self { clock, heard, id })
    }
}

impl Host for System {
    #[inline]
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn wait(&mut self, at: u64) {
        // After an error, the caller's loop would spin, but its results would stay correct because
        // it reads the clock.
        let _ = clock_nanosleep_absolute(self.clock.id(), &timespec(at));
    }

    #[inline]
    fn was_stopped(&mut self) -> bool {
        // A plain load comes first: this call runs a thousand times per second, and its usual
        // result is `false`.
        self.heard.load(Ordering::Relaxed) && self.heard.swap(false, Ordering::Relaxed)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.id);
    }
}

/// Returns the processor time of the calling thread.
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
