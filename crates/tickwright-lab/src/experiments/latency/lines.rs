//! What the run prints while it goes on: a line a second in the original's form.

use core::time::Duration;

use super::lane::{Lane, us};
use super::slice::Gap;
use crate::error::LabError;
use crate::output;

/// Lines between two headings, as in the original.
const PER_HEADING: u64 = 21;
const SECOND: Duration = Duration::from_secs(1);

/// The lines of a run.
#[derive(Debug)]
pub(super) struct Lines {
    /// Whether any are wanted.
    on: bool,
    count: u64,
    last: Duration,
}

impl Lines {
    /// Prints the heading of a run with these settings, if lines are wanted.
    pub(super) fn begin(on: bool, settings: &str) -> Result<Self, LabError> {
        if on {
            output::print(&format!(
                "== {settings}\n== All results in microseconds; each line is the last slices of one \
                 structure\nwarming up...\n"
            ))?;
        }
        Ok(Self { on, count: 0, last: Duration::ZERO })
    }

    /// After a turn of structure `id`: a line for each gap, and the line of the next structure when
    /// a second is over.
    pub(super) fn turn(
        &mut self,
        (id, gaps): (&str, &[Gap]),
        lanes: &mut [Lane],
        elapsed: Duration,
    ) -> Result<(), LabError> {
        if !self.on {
            return Ok(());
        }
        for gap in gaps {
            output::print(&of_gap(id, gap))?;
        }
        let next = usize::try_from(self.count).unwrap_or(0) % lanes.len().max(1);
        let due = elapsed.saturating_sub(self.last) >= SECOND;
        match lanes.get_mut(next) {
            Some(lane) if due && lane.lately.count() > 0 => {
                self.last = elapsed;
                output::print(&self.next(lane, elapsed))
            }
            _ => Ok(()),
        }
    }

    /// The next line, of `lane`, which begins a new one; with a heading when that is due.
    fn next(&mut self, lane: &mut Lane, elapsed: Duration) -> String {
        let mut out = String::new();
        if self.count.is_multiple_of(PER_HEADING) {
            let s = elapsed.as_secs();
            out += &format!(
                "RTT|  {:02}:{:02}:{:02}\n\
                 RTH|structure-----|----lat min|----lat avg|----lat max|-overrun|---lat best|--lat worst\n",
                s / 3600,
                s / 60 % 60,
                s % 60
            );
        }
        self.count += 1;
        let (lately, all) = (core::mem::take(&mut lane.lately), lane.all.running());
        let us = |ns: u64| us(ns as f64);
        out += &format!(
            "RTD|{:<14}|{:>11.3}|{:>11.3}|{:>11.3}|{:>8}|{:>11.3}|{:>11.3}\n",
            lane.structure.id,
            us(lately.min()),
            lately.avg() / 1e3,
            us(lately.max()),
            core::mem::take(&mut lane.lately_overruns),
            us(all.min()),
            us(all.max()),
        );
        out
    }
}

fn of_gap(id: &str, gap: &Gap) -> String {
    let why = if gap.stopped { "the process was stopped" } else { "suspended, stopped or starved" };
    let (seconds, periods) = (gap.ns as f64 / 1e9, gap.periods);
    format!(
        "GAP|{id:<14}| no wake-up for {seconds:.3} s ({why}): {periods} periods are overruns, none is a sample\n"
    )
}
