//! The clocks of the machine.

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

/// A clock of the machine. All clocks are values of this type, so a program can choose a clock at
/// run time.
///
/// On Linux, `now` counts from the machine's start, as the kernel's clocks do, so an instant means
/// the same moment in every process. For nine years after the start, such an instant in ns is small
/// enough for the fast path of [shards](crate::shard). On other systems, `now` counts from a day
/// before the first reading in this process. [`BootTime`](Self::BootTime) on macOS counts from a
/// day before the machine's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SystemClock {
    /// Advances while the machine runs. While the machine is suspended it stands still, except on
    /// Windows (see the [table](super)). On Linux this is `CLOCK_MONOTONIC`. One reading costs
    /// about 20 ns.
    #[default]
    Monotonic,
    /// Also advances while the machine is suspended. This is `CLOCK_BOOTTIME` on Linux and
    /// `CLOCK_MONOTONIC_RAW` on macOS. On other systems, which have no such clock, it is the same
    /// as [`Monotonic`](Self::Monotonic).
    BootTime,
    /// The steady timeline of [`Monotonic`](Self::Monotonic), with the offset of the wall clock
    /// (`CLOCK_REALTIME`) from this timeline. The offset changes when the wall clock is set, at a
    /// leap second, and at a resume. Slewing does not change it.
    RealTime,
}

/// The longest sleep of a thread that sleeps by the monotonic clock. After this time the thread
/// checks whether another clock has jumped.
const LOOK: Duration = Duration::from_secs(1);

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Instant {
        Instant::from_nanos(match self {
            Self::Monotonic | Self::RealTime => os::monotonic(),
            Self::BootTime => os::boot_time(),
        })
    }

    /// Only [`RealTime`](Self::RealTime) has an offset. Each call returns the same offset unless
    /// the wall clock was set. The two clocks cannot be read at the same instant, so the error of
    /// the offset is at most the time between the two reads, about 50 ns.
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
/// The true offset lies between two bounds: the wall time minus a steady time that was read after
/// it, and the wall time minus a steady time that was read before it. If the known offset is
/// outside of these bounds, the function moves it to the nearest bound. The known offset therefore
/// never moves away from the true offset, and after a few readings it no longer changes.
///
/// If clocks show only multiples of a granule, each reading can be behind by up to one granule. The
/// lower bound is therefore lower by two granules, so that the bounds of all readings overlap. The
/// upper bound is not raised, so that no timer fires before the wall clock shows its date.
fn offset(known: &AtomicI64, granule: i64, steady: impl Fn() -> u64, wall: impl Fn() -> i64) -> i64 {
    let steady = || i64::try_from(steady()).unwrap_or(i64::MAX);
    let before = steady();
    let wall = wall();
    let after = steady();
    let last = known.load(Ordering::Relaxed);
    let least = wall.saturating_sub(after).saturating_sub(2 * granule);
    let offset = last.max(least).min(wall.saturating_sub(before));
    // During a step, two threads can overwrite each other's offset. The next reading corrects it.
    if offset != last {
        known.store(offset, Ordering::Relaxed);
    }
    offset
}

#[cfg(all(test, not(loom)))]
mod tests;
