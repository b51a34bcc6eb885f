//! Linux: the kernel's clocks, read without a system call.

use rustix::time::{ClockId, Timespec, clock_gettime};

pub(super) fn monotonic() -> u64 {
    u64::try_from(nanoseconds(clock_gettime(ClockId::Monotonic))).unwrap_or(0)
}

pub(super) fn boot_time() -> u64 {
    u64::try_from(nanoseconds(clock_gettime(ClockId::Boottime))).unwrap_or(0)
}

pub(super) fn wall() -> i64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// An `i64` of them lasts for 292 years from 1970.
#[allow(clippy::useless_conversion, reason = "the fields are narrower on some targets")]
fn nanoseconds(time: Timespec) -> i64 {
    i64::from(time.tv_sec).saturating_mul(1_000_000_000).saturating_add(i64::from(time.tv_nsec))
}
