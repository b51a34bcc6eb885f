//! Traces of timers: import, export, describe, replay, recommend.
//!
//! ```text
//!   other programs' text ─ import ─▶ .twt ─ export ─▶ CSV, JSON lines, Parquet
//!                                     │
//!           Input (events, filtered and superposed)
//!             ├─ describe   the figures of a workload
//!             └─ Tapes      operations on a queue, decoded before any clock starts
//!                 └─ replay     the same operations on every structure
//!                     └─ recommend  a verdict for this workload
//! ```

pub(crate) mod decode;
pub(crate) mod describe;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod input;
pub(crate) mod profile;
pub(crate) mod recommend;
pub(crate) mod remedy;
pub(crate) mod replay;
pub(crate) mod samples;

use core::time::Duration;

/// Parses the length of a tick: from a nanosecond to a day.
pub(crate) fn tick(text: &str) -> Result<Duration, String> {
    crate::duration::within::<1, 86_400_000_000_000>(text)
}
