//! The machine's own clocks.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod portable;

#[cfg(target_os = "linux")]
use linux as os;
#[cfg(not(target_os = "linux"))]
use portable as os;

use core::sync::atomic::{AtomicI64, Ordering};
use core::time::Duration;

use super::{Clock, Instant};

/// A clock of the machine. A value and not a type of its own each, so that a program can choose at
/// run time.
///
/// On Linux `now` counts from the machine's start, as the kernel's clocks do. It is the same
/// instant in every process, and small enough for [shards](crate::shard) for nine years. Elsewhere
/// it counts from the first look of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SystemClock {
    /// Goes on while the machine runs, and stands still while it is suspended. `CLOCK_MONOTONIC`;
    /// one look costs some 20 ns.
    #[default]
    Monotonic,
    /// Goes on while the machine is suspended too. `CLOCK_BOOTTIME`; where there is none (not
    /// Linux), [`Monotonic`](Self::Monotonic).
    BootTime,
    /// The steady timeline of [`Monotonic`](Self::Monotonic), and the offset of the time of day
    /// (`CLOCK_REALTIME`) to it. The offset changes when the wall clock is set, at a leap second
    /// and at a resume; not by slewing.
    RealTime,
}

/// How long a sleep by the monotonic clock may go on before one looks whether another clock has
/// jumped.
const LOOK: Duration = Duration::from_secs(1);

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Instant {
        Instant::from_nanos(match self {
            Self::Monotonic | Self::RealTime => os::monotonic(),
            Self::BootTime => os::boot_time(),
        })
    }

    /// The offset is the same in each look unless the wall clock was set. The two clocks cannot be
    /// read in one instant, so it is right to the time between the reads, some 50 ns. For
    /// [`RealTime`](Self::RealTime) alone.
    fn wall_offset(&self) -> Option<i64> {
        static KNOWN: AtomicI64 = AtomicI64::new(i64::MIN);

        (*self == Self::RealTime).then(|| offset(&KNOWN, os::monotonic, os::wall))
    }

    fn longest_sleep(&self) -> Option<Duration> {
        (*self != Self::Monotonic).then_some(LOOK)
    }
}

/// The offset between two clocks that are read one after the other.
///
/// The truth lies between the wall minus the time after it was read, and minus the time before.
/// The known offset is moved into these bounds and no further. So it only comes nearer to the
/// truth, and after a few looks it stays.
fn offset(known: &AtomicI64, steady: impl Fn() -> u64, wall: impl Fn() -> i64) -> i64 {
    let steady = || i64::try_from(steady()).unwrap_or(i64::MAX);
    let before = steady();
    let wall = wall();
    let after = steady();
    let last = known.load(Ordering::Relaxed);
    let offset = last.max(wall.saturating_sub(after)).min(wall.saturating_sub(before));
    // Two threads may write over each other across a step: the next look puts it right.
    if offset != last {
        known.store(offset, Ordering::Relaxed);
    }
    offset
}

#[cfg(all(test, not(loom)))]
mod tests;
