//! The lines that a run prints once a second, in the original's form.

use core::mem;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use super::lane::{Lane, us};
use super::slice::Gap;
use crate::error::LabError;
use crate::output;

/// Lines between two headings, as in the original.
const PER_HEADING: usize = 21;
const SECOND: Duration = Duration::from_secs(1);

/// The lines of a run. The run's threads print whole lines in turns.
#[derive(Debug)]
pub(super) struct Lines {
    /// Whether the user wants lines.
    on: bool,
    /// Whether a column names the CPU.
    by_cpu: bool,
    /// The number of lines of all threads so far, without lines for gaps.
    printed: Mutex<usize>,
}

/// The lines of one thread.
#[derive(Debug)]
pub(super) struct OfThread<'l> {
    lines: &'l Lines,
    /// The column that names the CPU: `  3|`. Empty without `--cpus`.
    column: String,
    count: usize,
    last: Duration,
}

impl Lines {
    /// Prints the heading of a run with these `settings`, if lines are wanted (`on`).
    pub(super) fn begin(on: bool, by_cpu: bool, settings: &str) -> Result<Self, LabError> {
        if on {
            let on_a_cpu = if by_cpu { " on one CPU" } else { "" };
            output::print(&format!(
                "== {settings}\n== All results in microseconds; each line is the last slices of one \
                 structure{on_a_cpu}\nwarming up...\n"
            ))?;
        }
        Ok(Self { on, by_cpu, printed: Mutex::new(0) })
    }

    /// The lines of the thread that measures on `cpu`.
    pub(super) fn of_thread(&self, cpu: Option<usize>) -> OfThread<'_> {
        let column = cpu.map_or(String::new(), |cpu| format!("{cpu:>3}|"));
        OfThread { lines: self, column, count: 0, last: Duration::ZERO }
    }
}

impl OfThread<'_> {
    /// Prints lines after a turn of structure `id`: one for each gap. Once a second, it also prints
    /// a line for the next structure.
    pub(super) fn turn(
        &mut self,
        (id, gaps): (&str, &[Gap]),
        lanes: &mut [Lane],
        elapsed: Duration,
    ) -> Result<(), LabError> {
        if !self.lines.on {
            return Ok(());
        }
        // The lock is held until the lines are printed, so that a heading stands above its line.
        let mut printed = self.lines.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let out = self.text(&mut printed, (id, gaps), lanes, elapsed);
        if out.is_empty() { Ok(()) } else { output::print(&out) }
    }

    /// The lines as text. `printed` counts the lines of all threads.
    fn text(
        &mut self,
        printed: &mut usize,
        (id, gaps): (&str, &[Gap]),
        lanes: &mut [Lane],
        elapsed: Duration,
    ) -> String {
        let column = &self.column;
        let mut out = String::new();
        for Gap { ns, periods, stopped } in gaps {
            let why = if *stopped { "the process was stopped" } else { "suspended, stopped or starved" };
            let seconds = *ns as f64 / 1e9;
            out += &format!(
                "GAP|{column}{id:<14}| no wake-up for {seconds:.3} s ({why}): {periods} periods are overruns, none \
                 is a sample\n"
            );
        }
        let next = self.count % lanes.len().max(1);
        if let Some(lane) = lanes.get_mut(next).filter(|lane| lane.lately.count() > 0)
            && elapsed.saturating_sub(self.last) >= SECOND
        {
            if printed.is_multiple_of(PER_HEADING) {
                let s = elapsed.as_secs();
                let cpu = if self.lines.by_cpu { "cpu|" } else { "" };
                out += &format!("RTT|  {:02}:{:02}:{:02}\n", s / 3600, s / 60 % 60, s % 60);
                out += &format!(
                    "RTH|{cpu}structure-----|----lat min|----lat avg|----lat max|-overrun|---lat best|--lat worst\n"
                );
            }
            *printed += 1;
            self.count += 1;
            self.last = elapsed;
            let (lately, all) = (mem::take(&mut lane.lately), lane.all.running());
            let figures = [lately.min() as f64, lately.avg(), lately.max() as f64].map(us);
            let [min, avg, max] = figures.map(|us| format!("{us:>11.3}"));
            let [best, worst] = [all.min(), all.max()].map(|ns| format!("{:>11.3}", us(ns as f64)));
            let (id, overruns) = (lane.structure.id, mem::take(&mut lane.lately_overruns));
            out += &format!("RTD|{column}{id:<14}|{min}|{avg}|{max}|{overruns:>8}|{best}|{worst}\n");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::latency::slice::Seen;
    use crate::structures::registry;

    fn lines(by_cpu: bool) -> Lines {
        Lines { on: false, by_cpu, printed: Mutex::new(0) }
    }

    /// The lines of a thread after a turn that had a gap and three samples.
    fn after_a_turn(thread: &mut OfThread<'_>, printed: &mut usize, elapsed: Duration) -> String {
        let structure = registry::select(&["list/hook".into()]).unwrap()[0];
        let mut lane = Lane::new(structure, 300, 1000);
        let gap = Gap { ns: 1_500_000_000, periods: 1500, stopped: true };
        lane.add(&Seen { lateness: vec![1000, 2000, 6000], overruns: 1500, ..Seen::default() });
        thread.text(printed, ("list/hook", &[gap]), &mut [lane], elapsed)
    }

    #[test]
    fn a_line_names_its_cpu_with_cpus_only() {
        let (alone, by_cpu) = (lines(false), lines(true));
        let one = after_a_turn(&mut alone.of_thread(None), &mut 0, SECOND);
        assert_eq!(
            one,
            "GAP|list/hook     | no wake-up for 1.500 s (the process was stopped): 1500 periods are overruns, none \
             is a sample\n\
             RTT|  00:00:01\n\
             RTH|structure-----|----lat min|----lat avg|----lat max|-overrun|---lat best|--lat worst\n\
             RTD|list/hook     |      1.000|      3.000|      6.000|    1500|      1.000|      6.000\n"
        );
        let of_cpu = after_a_turn(&mut by_cpu.of_thread(Some(3)), &mut 0, SECOND);
        let named = one.replace("GAP|", "GAP|  3|").replace("RTH|", "RTH|cpu|").replace("RTD|", "RTD|  3|");
        assert_eq!(of_cpu, named);
    }

    #[test]
    fn threads_share_one_heading_and_each_has_its_own_second() {
        let lines = lines(true);
        let (mut one, mut other) = (lines.of_thread(Some(0)), lines.of_thread(Some(1)));
        let mut printed = 0;
        assert!(after_a_turn(&mut one, &mut printed, SECOND).contains("RTH|"));
        let second = after_a_turn(&mut other, &mut printed, SECOND);
        assert!(second.contains("RTD|  1|") && !second.contains("RTH|"), "{second}");
        assert!(!after_a_turn(&mut one, &mut printed, SECOND).contains("RTD|"), "within one second");
        printed = PER_HEADING;
        assert!(after_a_turn(&mut one, &mut printed, SECOND * 2).contains("RTH|"));
    }
}
