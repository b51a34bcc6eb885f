//! What the run says while it goes on: a line a second in the original's form.

use core::fmt::Write;
use core::time::Duration;

use super::lane::{Lane, us};
use super::plan::Plan;
use super::slice::Gap;
use super::span;

/// Lines between two headings, as in the original.
const PER_HEADING: u64 = 21;

/// The heading of a run.
pub(super) fn opening(plan: &Plan, priority: u8) -> String {
    let scheduled = if priority == 0 { "normal scheduling".into() } else { format!("SCHED_FIFO {priority}") };
    format!(
        "== Sampling period: {}, {} clock, {}, {scheduled}\n== All results in microseconds; each line is the last slices of one structure\nwarming up...\n",
        span::show(plan.period),
        plan.clock.word(),
        plan.driver.word(),
    )
}

/// The lines of a run.
#[derive(Debug, Default)]
pub(super) struct Lines {
    count: u64,
}

impl Lines {
    /// The next line, of `lane`, which begins a new one; with a heading when that is due.
    pub(super) fn next(&mut self, lane: &mut Lane, elapsed: Duration) -> String {
        let mut out = String::new();
        if self.count.is_multiple_of(PER_HEADING) {
            let seconds = elapsed.as_secs();
            // Writing to a string does not fail.
            let _ = writeln!(out, "RTT|  {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
            out +=
                "RTH|structure-----|----lat min|----lat avg|----lat max|-overrun|---lat best|--lat worst\n";
        }
        self.count += 1;
        let (lately, all) = (lane.lately, lane.all.running());
        let _ = writeln!(
            out,
            "RTD|{:<14}|{:>11.3}|{:>11.3}|{:>11.3}|{:>8}|{:>11.3}|{:>11.3}",
            lane.structure.id,
            us(lately.min() as f64),
            us(lately.avg()),
            us(lately.max() as f64),
            lane.lately_overruns,
            us(all.min() as f64),
            us(all.max() as f64),
        );
        lane.lately = crate::stats::Running::default();
        lane.lately_overruns = 0;
        out
    }
}

/// The line of a gap.
pub(super) fn gap(id: &str, gap: &Gap) -> String {
    let why = if gap.stopped { "the process was stopped" } else { "suspended, stopped or starved" };
    format!(
        "GAP|{id:<14}| no wake-up for {:.3} s ({why}): {} periods are overruns, none is a sample\n",
        gap.ns as f64 / 1e9,
        gap.periods
    )
}
