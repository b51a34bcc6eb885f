//! Settings of one process: name, margin of the lease, rescan, window, batch.

use core::time::Duration;
use std::sync::Arc;

/// How a process takes part in the delivery of a shard's timers.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) name: Arc<str>,
    pub(crate) margin: i64,
    pub(crate) rescan: Option<i64>,
    pub(crate) span: i64,
    /// The maximum number of rows that one turn loads.
    pub(crate) page: usize,
    pub(crate) batch: usize,
}

impl Settings {
    /// Settings for the only process that delivers timers of this store. The process takes over the
    /// lease at its start, whichever process held the lease before, and executes no statement while
    /// it sleeps.
    #[must_use]
    pub fn alone() -> Self {
        Self { rescan: None, ..Self::named("alone") }
    }

    /// Settings for one of several processes that deliver timers of this store. Processes that run
    /// at the same time must have different names, because a process that starts under the last
    /// owner's name takes over at once.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            margin: 10_000_000,
            rescan: Some(60_000_000),
            span: 60_000_000,
            page: 1024,
            batch: 256,
        }
    }

    /// Sets the margin of the lease: how late an owner can be before its lease ends and another
    /// process takes over. The default is 10 s. Make the margin longer than the longest run of a
    /// batch, and equal in all processes.
    #[must_use]
    pub fn margin(self, margin: Duration) -> Self {
        Self { margin: micros(margin), ..self }
    }

    /// Sets how often this process checks the store for changes by other processes. The default is
    /// every minute.
    #[must_use]
    pub fn rescan(self, rescan: Duration) -> Self {
        Self { rescan: Some(micros(rescan)), ..self }
    }

    /// Sets how far before its due time a timer is loaded into memory. The default is one minute.
    #[must_use]
    pub fn window(self, window: Duration) -> Self {
        Self { span: micros(window), ..self }
    }

    /// Sets the maximum number of firings that wait for an answer at one time. The default is 256,
    /// and 0 is treated as 1. Each turn claims timers until this number is reached.
    #[must_use]
    pub fn batch(self, batch: usize) -> Self {
        Self { batch: batch.max(1), ..self }
    }
}

/// Converts to microseconds: at least 1 us, at most about 292,000 years.
fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX).max(1)
}
