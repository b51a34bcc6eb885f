//! Counts of a participant, for monitoring.

use tickwright::metrics::{Measured, Metric};
use tickwright::time::{DelayCounts, Lateness};

use crate::owner::Metrics;

/// The metrics have the label `kind="durable"`. They count what this participant did. No metric
/// counts the pending timers or their high water, because the store holds them for all processes.
/// No metric counts re-arms, because a replace does not learn whether the old timer waited.
impl Measured for Metrics {
    const KIND: &'static str = "durable";

    fn numbers(&self) -> Vec<(Metric, u64)> {
        vec![
            (Metric::Loaded, self.window as u64),
            (Metric::Held, self.held as u64),
            (Metric::Armed, self.armed),
            (Metric::Fired, self.firings),
            (Metric::Cancelled, self.cancelled),
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

    fn delays(&self) -> Option<&DelayCounts> {
        Some(&self.delays)
    }
}
