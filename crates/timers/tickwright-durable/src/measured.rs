//! Counts of a participant, for monitoring.

use tickwright::metrics::{Measured, Metric};
use tickwright::time::Lateness;

use crate::owner::Metrics;

/// The metrics have the label `kind="durable"`. Adds and cancels are not counted, because any
/// process makes them.
impl Measured for Metrics {
    const KIND: &'static str = "durable";

    fn numbers(&self) -> Vec<(Metric, u64)> {
        vec![
            (Metric::Loaded, self.window as u64),
            (Metric::Held, self.held as u64),
            (Metric::Fired, self.firings),
            (Metric::Takeovers, self.takeovers),
            (Metric::Repeated, self.repeated),
            (Metric::Lost, self.lost),
            (Metric::Statements, self.statements),
            (Metric::Commits, self.commits),
            (Metric::Failures, self.failures),
        ]
    }

    fn lateness(&self) -> Option<&Lateness> {
        Some(&self.lateness)
    }
}
