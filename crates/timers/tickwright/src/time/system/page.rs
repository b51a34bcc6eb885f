//! WebAssembly without WASI, where the standard library's clocks panic. With the feature `web`, the
//! host's clocks are read. Without this feature these clocks stand still, and the caller must pass
//! another clock.

#[cfg(feature = "web")]
use crate::time::web::{date, now};

/// The time that the clocks show when the page begins. It is one day, as on other systems, so that
/// a program can express earlier times.
const START: u64 = 86_400_000_000_000;

/// The page's date is a whole number of milliseconds, in ns.
pub(super) const GRANULE: i64 = 1_000_000;

#[cfg(not(feature = "web"))]
fn now() -> f64 {
    0.0
}

#[cfg(not(feature = "web"))]
fn date() -> f64 {
    0.0
}

pub(super) fn monotonic() -> u64 {
    START + (now() * 1e6) as u64
}

pub(super) fn boot_time() -> u64 {
    monotonic()
}

pub(super) fn wall() -> i64 {
    (date() as i64).saturating_mul(GRANULE)
}
