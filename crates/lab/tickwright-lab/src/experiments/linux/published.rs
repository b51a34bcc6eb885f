//! The published rates of `linux.toml`.

use serde::Deserialize;

/// The file of the experiment.
pub(crate) const FILE: &str = include_str!("linux.toml");

/// Rates in percent of the re-arms of pending timers.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rates {
    /// The timer stays in its bucket.
    pub(crate) matched: f64,
    /// The timer is removed and inserted again.
    pub(crate) requeued: f64,
    /// Upper bound for re-arms whose bucket was computed twice.
    pub(crate) recalculated_below: Option<f64>,
}

/// One of the two tests.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Test {
    pub(crate) before: Rates,
    pub(crate) after: Rates,
}

/// The published rates of both tests.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) simple: Test,
    pub(crate) network: Test,
}
