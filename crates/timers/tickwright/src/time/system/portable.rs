//! Systems other than Linux: the clocks of the standard library.
#![expect(clippy::disallowed_types, reason = "where there are forks there is a better clock")]

use core::time::Duration;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

/// The time that the clock shows at its first reading. It is one day, so that a program can express
/// times before its start, for example the due time of an interval that is an hour behind.
const START: Duration = Duration::from_secs(86_400);

/// The coarsest resolution of these systems' wall clocks, in ns. It is 100 ns on Windows and 1 us
/// on macOS.
pub(super) const GRANULE: i64 = 1000;

pub(super) fn monotonic() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();

    // If another thread sets the origin after this thread has read the clock, the difference
    // saturates at zero.
    let since = Instant::now().saturating_duration_since(*ORIGIN.get_or_init(Instant::now));
    u64::try_from((START + since).as_nanos()).unwrap_or(u64::MAX)
}

/// Reads a clock that on macOS also advances during suspends. The function also exists on Linux, so
/// that its tests run there.
#[cfg(any(target_vendor = "apple", all(test, target_os = "linux")))]
pub(super) fn boot_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: 1. `time` may be written. The clock exists, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
    let since = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
    u64::try_from((START + since).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(not(any(target_vendor = "apple", all(test, target_os = "linux"))))]
pub(super) fn boot_time() -> u64 {
    monotonic()
}

pub(super) fn wall() -> i64 {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |span| -span),
    }
}
