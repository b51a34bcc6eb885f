//! Conversions between instants of the standard library and times of our clock.

use core::time::Duration;
use std::sync::OnceLock;
pub use std::time::Instant;

use tickwright::time::{Clock, Instant as Ours, SystemClock};

/// Returns the same moment as a time of the standard library's clock and as a time of the machine's
/// clock. The standard library's clock is read first, so that no conversion makes a deadline
/// earlier.
#[inline]
fn anchor() -> (Instant, Ours) {
    static ANCHOR: OnceLock<(Instant, Ours)> = OnceLock::new();
    *ANCHOR.get_or_init(|| {
        let standard = Instant::now();
        (standard, SystemClock::Monotonic.now())
    })
}

/// Converts a time of our clock to an instant of the standard library. If the platform cannot
/// represent this instant, the result is thirty years ahead.
pub(crate) fn instant(nanos: u64) -> Instant {
    let (standard, ours) = anchor();
    let ours = ours.as_nanos();
    if let Some(ahead) = nanos.checked_sub(ours) {
        let far = || standard.checked_add(Duration::from_secs(30 * 365 * 86_400)).unwrap_or(standard);
        standard.checked_add(Duration::from_nanos(ahead)).unwrap_or_else(far)
    } else {
        standard.checked_sub(Duration::from_nanos(ours - nanos)).unwrap_or(standard)
    }
}

/// Converts an instant of the standard library to a time of our clock. The result saturates at both
/// ends of our clock's range.
#[inline]
pub(crate) fn nanos_at(at: Instant) -> u64 {
    let (standard, ours) = anchor();
    let converted = match at.checked_duration_since(standard) {
        Some(ahead) => ours + ahead,
        None => ours - standard.duration_since(at),
    };
    converted.as_nanos()
}
