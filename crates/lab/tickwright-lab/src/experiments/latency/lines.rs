//! The lines that a run prints once per second, in the original's form.

use core::mem;
use core::time::Duration;

use super::lane::{Lane, us};
use super::slice::Gap;
use crate::error::LabError;
use crate::output;

/// The number of lines between two headings, as in the original.
const PER_HEADING: usize = 21;
const SECOND: Duration = Duration::from_secs(1);

/// The lines of a run.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Whether the user wants lines.
    on: bool,
    /// The number of lines so far, without lines for gaps.
    count: usize,
    last: Duration,
}

impl Lines {
    /// Prints the heading of a run with these `settings`, if lines are wanted (`on`).
    pub(super) fn begin(on: bool, settings: &str) -> Result<Self, LabError> {
        if on {
            output::print(&format!(
                "== {settings}\n== All results in microseconds; each line is the last slices of one \
                 structure\nwarming up...\n"
            ))?;
        }
        Ok(Self { on, ..Self::default() })
    }

    /// Prints lines after a turn of structure `id`: one line for each gap and, once per second, a
    /// line for the next structure.
    pub(super) fn turn(
        &mut self,
        turn: (&str, &[Gap]),
        lanes: &mut [Lane],
        elapsed: Duration,
    ) -> Result<(), LabError> {
        let out = if self.on { self.text(turn, lanes, elapsed) } else { String::new() };
        if out.is_empty() { Ok(()) } else { output::print(&out) }
    }

    /// Returns the lines as text.
    fn text(&mut self, (id, gaps): (&str, &[Gap]), lanes: &mut [Lane], elapsed: Duration) -> String {
        let mut out = String::new();
        for Gap { ns, periods, stopped } in gaps {
            let why = if *stopped { "the process was stopped" } else { "suspended, stopped or starved" };
            let seconds = *ns as f64 / 1e9;
            out += &format!(
                "GAP|{id:<14}| no wake-up for {seconds:.3} s ({why}): {periods} periods are overruns, none \
                 is a sample\n"
            );
        }
        let next = self.count % lanes.len().max(1);
        if let Some(lane) = lanes.get_mut(next).filter(|lane| lane.lately.count() > 0)
            && elapsed.saturating_sub(self.last) >= SECOND
        {
            if self.count.is_multiple_of(PER_HEADING) {
                let s = elapsed.as_secs();
                out += &format!("RTT|  {:02}:{:02}:{:02}\n", s / 3600, s / 60 % 60, s % 60);
                out += "RTH|structure-----|----lat min|----lat avg|----lat max|-overrun|---lat best|--lat worst\n";
            }
            self.count += 1;
            self.last = elapsed;
            let (lately, all) = (mem::take(&mut lane.lately), lane.all.running());
            let figures = [lately.min() as f64, lately.avg(), lately.max() as f64].map(us);
            let [min, avg, max] = figures.map(|us| format!("{us:>11.3}"));
            let [best, worst] = [all.min(), all.max()].map(|ns| format!("{:>11.3}", us(ns as f64)));
            let (id, overruns) = (lane.structure.id, mem::take(&mut lane.lately_overruns));
            out += &format!("RTD|{id:<14}|{min}|{avg}|{max}|{overruns:>8}|{best}|{worst}\n");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::latency::slice::Seen;
    use crate::structures::registry;

    /// Returns the lines after a turn that had a gap and three samples.
    fn after_a_turn(lines: &mut Lines, elapsed: Duration) -> String {
        let structure = registry::select(&["list/hook".into()]).unwrap()[0];
        let mut lane = Lane::new(structure, 300, 1000);
        let gap = Gap { ns: 1_500_000_000, periods: 1500, stopped: true };
        lane.add(&Seen { lateness: vec![1000, 2000, 6000], overruns: 1500, ..Seen::default() });
        lines.text(("list/hook", &[gap]), &mut [lane], elapsed)
    }

    #[test]
    fn a_line_comes_once_a_second_and_a_heading_above_each_page() {
        let mut lines = Lines::default();
        let gap = "GAP|list/hook     | no wake-up for 1.500 s (the process was stopped): 1500 periods are overruns, none \
                   is a sample\n";
        let figures =
            "RTD|list/hook     |      1.000|      3.000|      6.000|    1500|      1.000|      6.000\n";
        let heading = "RTT|  00:00:01\n\
                       RTH|structure-----|----lat min|----lat avg|----lat max|-overrun|---lat best|--lat worst\n";
        assert_eq!(after_a_turn(&mut lines, SECOND), [gap, heading, figures].concat());
        assert_eq!(after_a_turn(&mut lines, SECOND), gap, "within one second");
        assert_eq!(after_a_turn(&mut lines, SECOND * 2), [gap, figures].concat());
        lines.count = PER_HEADING;
        assert!(after_a_turn(&mut lines, SECOND * 3).contains("RTT|  00:00:03"));
    }
}
