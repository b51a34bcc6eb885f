//! The machine's own clocks.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[path = "system/page.rs"]
mod os;
#[cfg(any(test, not(any(target_os = "linux", all(target_family = "wasm", target_os = "unknown")))))]
mod portable;

#[cfg(target_os = "linux")]
use linux as os;
#[cfg(not(any(target_os = "linux", all(target_family = "wasm", target_os = "unknown"))))]
use portable as os;

use core::sync::atomic::{AtomicI64, Ordering};
use core::time::Duration;

use super::{Clock, Instant, Timeline};

/// A clock of the machine. The clocks are values of one type, so a program can choose one at run
/// time.
///
/// On Linux `now` counts from the machine's start, as the kernel's clocks do. The same instant
/// means the same moment in every process. It is small enough for [shards](crate::shard) for nine
/// years. Elsewhere it counts from a day before the first reading in this process, or for
/// [`BootTime`](Self::BootTime) on macOS from a day before the machine's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SystemClock {
    /// Advances while the machine runs, and stands still while the machine is suspended, but for
    /// Windows (see the [table](super)). This is `CLOCK_MONOTONIC`; one reading costs some 20 ns.
    #[default]
    Monotonic,
    /// Advances while the machine is suspended, too. This is `CLOCK_BOOTTIME` on Linux and
    /// `CLOCK_MONOTONIC_RAW` on macOS. Other systems have no such clock: there it is the same as
    /// [`Monotonic`](Self::Monotonic).
    BootTime,
    /// The steady timeline of [`Monotonic`](Self::Monotonic), and the offset of the time of day
    /// (`CLOCK_REALTIME`) to it. The offset changes when the wall clock is set, at a leap second
    /// and at a resume. Slewing does not change it.
    RealTime,
}

/// The longest sleep by the monotonic clock. Then the sleeper checks whether another clock has
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

    /// Each reading returns the same offset unless the wall clock was set. The two clocks cannot be
    /// read at one instant, so the offset is exact to the time between the reads, some 50 ns. For
    /// [`RealTime`](Self::RealTime) alone.
    fn wall_offset(&self) -> Option<i64> {
        static KNOWN: AtomicI64 = AtomicI64::new(i64::MIN);

        (*self == Self::RealTime).then(|| offset(&KNOWN, os::GRANULE, os::monotonic, os::wall))
    }

    fn longest_sleep(&self) -> Option<Duration> {
        (*self != Self::Monotonic).then_some(LOOK)
    }

    fn stands_still(&self) -> bool {
        cfg!(all(target_family = "wasm", target_os = "unknown", not(feature = "web")))
    }

    fn timeline(&self) -> Option<Timeline> {
        Some(match self {
            Self::Monotonic | Self::RealTime => Timeline::Monotonic,
            Self::BootTime => Timeline::BootTime,
        })
    }
}

/// Returns the offset between two clocks that are read one after the other.
///
/// The true offset lies between two bounds. One is the wall minus the steady time read after it;
/// the other is the wall minus the steady time read before it. The function moves the known offset
/// into these bounds and no further, so the known offset never moves away from the true one, and
/// after a few readings it no longer changes.
///
/// Clocks that show whole granules are behind by up to one each. The lower bound is wider by two,
/// so that bounds of all readings meet. The upper one is not, so that no timer fires before the
/// wall shows its date.
fn offset(known: &AtomicI64, granule: i64, steady: impl Fn() -> u64, wall: impl Fn() -> i64) -> i64 {
    let steady = || i64::try_from(steady()).unwrap_or(i64::MAX);
    let before = steady();
    let wall = wall();
    let after = steady();
    let last = known.load(Ordering::Relaxed);
    let least = wall.saturating_sub(after).saturating_sub(2 * granule);
    let offset = last.max(least).min(wall.saturating_sub(before));
    // Two threads may overwrite each other's offset across a step: the next reading corrects it.
    if offset != last {
        known.store(offset, Ordering::Relaxed);
    }
    offset
}

#[cfg(all(test, not(loom)))]
mod tests;
