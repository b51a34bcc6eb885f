//! WebAssembly without WASI: the standard library's clocks panic there. With the feature `web` the
//! host has the time. Without it these clocks stand still, and the caller brings a clock.

#[cfg(feature = "web")]
use crate::time::web::{date, now};

/// The time when the page began: as elsewhere a day, so that a program can name earlier times.
const START: u64 = 86_400_000_000_000;

/// The date is a whole number of milliseconds.
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
