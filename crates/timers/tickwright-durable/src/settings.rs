//! How a process takes part.

use core::time::Duration;
use std::sync::Arc;

/// How a process takes part in the delivery of a shard's timers.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) name: Arc<str>,
    pub(crate) margin: i64,
    pub(crate) rescan: Option<i64>,
    pub(crate) span: i64,
    /// How many rows one turn loads at most.
    pub(crate) page: usize,
    pub(crate) batch: usize,
}

impl Settings {
    /// No other process delivers timers of this store. So this one takes over at its start, whoever
    /// owned the store before, and executes no statement while it sleeps.
    #[must_use]
    pub fn alone() -> Self {
        Self { rescan: None, ..Self::named("alone") }
    }

    /// One of several processes that deliver timers of this store. `name` differs between processes
    /// that live at one time: a process that starts under the name of the last owner is its
    /// successor, and takes over at once.
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

    /// How late an owner may be before another process takes over: 10 s unless said otherwise. Make
    /// it longer than the longest run of a batch, and equal in all processes.
    #[must_use]
    pub fn margin(self, margin: Duration) -> Self {
        Self { margin: micros(margin), ..self }
    }

    /// How often this process looks for what others did: every minute unless said otherwise.
    #[must_use]
    pub fn rescan(self, rescan: Duration) -> Self {
        Self { rescan: Some(micros(rescan)), ..self }
    }

    /// How far ahead timers are in memory: a minute unless said otherwise.
    #[must_use]
    pub fn window(self, window: Duration) -> Self {
        Self { span: micros(window), ..self }
    }

    /// How many firings have no answer at one time: at most 256 unless said otherwise, and at least
    /// 1. A turn claims as many as are missing.
    #[must_use]
    pub fn batch(self, batch: usize) -> Self {
        Self { batch: batch.max(1), ..self }
    }
}

/// At least 1 us, at most some 292,000 years.
fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX).max(1)
}
