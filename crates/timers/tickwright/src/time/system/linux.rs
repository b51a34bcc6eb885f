//! Linux: the kernel's clocks, read without a system call.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// 0, because the clocks show single nanoseconds.
pub(super) const GRANULE: i64 = 0;

#[inline]
pub(super) fn monotonic() -> u64 {
    since_start(clock_gettime(ClockId::Monotonic))
}

pub(super) fn boot_time() -> u64 {
    since_start(clock_gettime(ClockId::Boottime))
}

/// Converts a time since the machine's start to nanoseconds. The time is never negative, and fits
/// into a `u64` for 584 years.
#[inline]
fn since_start(time: Timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

pub(super) fn wall() -> i64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// Converts a date to nanoseconds, which fit into an `i64` for 292 years from 1970.
#[allow(clippy::useless_conversion, reason = "the fields are narrower on some targets")]
fn nanoseconds(time: Timespec) -> i64 {
    i64::from(time.tv_sec).saturating_mul(1_000_000_000).saturating_add(i64::from(time.tv_nsec))
}
