//! The plan of a replay, and its data.

use core::time::Duration;

use tickwright_trace::Profile;

use crate::render::Format;
use crate::stats::{self, Interval, Summary};
use crate::structures::registry::Structure;
use crate::traces::decode::Counts;
use crate::traces::input::{Extent, Gaps, Input};

/// What to replay, and how.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) input: Input,
    pub(crate) structures: Vec<&'static Structure>,
    /// `None`: the replay derives the tick from the trace.
    pub(crate) tick_ns: Option<u64>,
    pub(crate) scale: u32,
    pub(crate) cold: bool,
    pub(crate) rounds: usize,
    pub(crate) within: Duration,
    pub(crate) seed: u64,
}

/// Limits of a replay that must end in time. The times are readings of the clock. If there is not
/// enough time, fewer structures run, or they run fewer rounds. A structure's time counts only
/// after its answers were compared with the oracle's, so a structure that was not compared is left
/// out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// At most this many operations are replayed, not counting those that fill the queue.
    pub(crate) operations: u64,
    /// At least this many structures are compared and run for a round, regardless of the time.
    pub(crate) always: usize,
    /// No further structure is compared after this time.
    pub(crate) compare_until: u64,
    /// No further round begins after this time.
    pub(crate) rounds_until: u64,
    /// No structure runs after this time.
    pub(crate) end: u64,
    /// The time by which the run that contains this replay ends.
    pub(crate) whole: u64,
    /// Whether a workload that [shows too little](Data::too_little) is not replayed.
    pub(crate) needs_enough: bool,
}

/// A trace that is shorter than this does not show the share of a CPU.
pub(crate) const SHORTEST_NS: u64 = 10_000_000;

/// A trace with fewer starts of timers gets no verdict. If timers start at random, the rate of n
/// starts is uncertain by 2/sqrt(n). With 100 starts, this is 20 %, the margin of a tie. A program
/// whose only timer is the timer of a wrapper such as `timeout` has one start.
pub(crate) const FEWEST_STARTS: u64 = 100;

/// The result of a replay.
#[derive(Debug, Clone, Default)]
pub(crate) struct Data {
    /// The figures of the trace, without superposed copies.
    pub(crate) profile: Profile,
    /// The extent of the whole trace, which can exceed what the profile and the operations cover.
    pub(crate) whole: Extent,
    /// The number of events, over all copies, whose operations were replayed.
    pub(crate) replayed: u64,
    /// Sentences that say what the source could not see.
    pub(crate) unseen: Vec<String>,
    /// The numbers of events that are missing from the trace.
    pub(crate) gaps: Gaps,
    /// Whether the trace has only waits.
    pub(crate) waits_alone: bool,
    /// How often timers were armed or, if that is more, how often they fired. Waits do not count.
    pub(crate) starts: u64,
    /// How many events remain with `--base`, in words.
    pub(crate) filter: Option<String>,
    /// The number of operations of each kind.
    pub(crate) counts: Counts,
    /// By kind, the operations of `counts` that run before the clock starts, because they fill the
    /// queue: see [`initial`](Self::initial).
    pub(crate) untimed: [u64; 4],
    /// The number of timers, over all copies, that are pending when a profile begins. A program
    /// that has run for a long time armed these timers earlier.
    pub(crate) initial: u64,
    /// Structures that did not run.
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) tick_ns: u64,
    pub(crate) scale: u32,
    /// One row for each structure that ran.
    pub(crate) rows: Vec<Row>,
}

/// A structure that did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) structure: &'static Structure,
    pub(crate) why: String,
    /// Whether the structure could run but would take too long.
    pub(crate) is_able: bool,
    /// Whether the time ended before the structure's turn. On a quiet machine there might be enough
    /// time.
    pub(crate) is_late: bool,
}

/// The figures of a structure.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) structure: &'static Structure,
    /// The processor time of all operations in ns, for each round.
    pub(crate) total_ns: Vec<f64>,
    /// The times of single operations, for each kind of operation that occurs.
    pub(crate) calls: [Vec<Calls>; 4],
    /// The most bytes on the heap, without the caller's own objects.
    pub(crate) bytes: usize,
    /// Wake-ups at which nothing was delivered.
    pub(crate) idle_wakes: u64,
    /// The greatest lateness of a delivery, in ticks.
    pub(crate) late_ticks: u64,
    /// The processor time of the pass whose answers were compared, in ns.
    pub(crate) compared_ns: u64,
}

/// The times of single operations of a kind in one round, in ns, at the shares [`AT`].
pub(crate) type Calls = [f64; AT.len()];

/// Shares of all calls, with their names.
pub(crate) const AT: [(&str, f64); 5] =
    [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];

/// Indices of [`AT`].
pub(crate) const P50: usize = 0;
pub(crate) const P999: usize = 2;
pub(crate) const WORST: usize = 4;

impl Row {
    /// Returns the median time of all operations, in ns.
    pub(crate) fn total(&self) -> f64 {
        stats::median(&self.total_ns).unwrap_or(f64::INFINITY)
    }

    /// Returns the time of all operations in the fastest round, in ns. Other programs can only make
    /// a round slower.
    pub(crate) fn least(&self) -> f64 {
        self.total_ns.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns the time of a kind of operation at a share of [`AT`]: the median over the rounds.
    pub(crate) fn call(&self, kind: usize, at: usize) -> Option<f64> {
        let samples: Vec<f64> = self.calls[kind].iter().map(|calls| calls[at]).collect();
        stats::median(&samples)
    }

    /// Returns the time of the worst call of any kind.
    pub(crate) fn worst(&self) -> Option<f64> {
        (0..self.calls.len()).filter_map(|kind| self.call(kind, WORST)).max_by(f64::total_cmp)
    }

    /// Returns the time of this structure divided by the time of another structure, round by round.
    pub(crate) fn ratio(&self, other: &Self) -> Option<Summary> {
        stats::ratios(&self.total_ns, &other.total_ns)
    }
}

impl Data {
    /// Returns why the workload shows too little for a verdict: it is too short, or has too few
    /// timers.
    pub(crate) fn too_little(&self) -> Option<String> {
        let filter = self.filter.as_ref().map_or(String::new(), |filter| format!(" ({filter})"));
        let Extent { events, span_ns } = self.whole;
        if span_ns < SHORTEST_NS {
            let span = Format::Span.write(span_ns as f64);
            return Some(format!(
                "Too short to judge: {events} events in {span}{filter}. Record for a second or more."
            ));
        }
        let few = self.starts < FEWEST_STARTS;
        few.then(|| {
            let times = match self.starts {
                1 => "once".to_owned(),
                starts => format!("{starts} times"),
            };
            format!(
                "Too few timers to recommend: beside waits, timers were started {times}{filter}, and a verdict needs \
                 {FEWEST_STARTS} starts. Record for longer, or record what was not seen."
            )
        })
    }

    /// Returns the share of one CPU that a row's structure uses, if the trace is long enough to
    /// show it.
    pub(crate) fn shown_percent(&self, row: &Row) -> Option<f64> {
        (self.whole.span_ns >= SHORTEST_NS).then(|| self.cpu_percent(row))
    }

    /// Returns the number of timed operations, by kind.
    pub(crate) fn timed_kinds(&self) -> [u64; 4] {
        core::array::from_fn(|kind| self.counts.kinds[kind].saturating_sub(self.untimed[kind]))
    }

    /// Returns the number of timed operations, at least 1.
    pub(crate) fn timed(&self) -> f64 {
        self.timed_kinds().iter().sum::<u64>().max(1) as f64
    }

    /// Returns the index of the most frequent kind of timed operations.
    pub(crate) fn commonest(&self) -> usize {
        let kinds = self.timed_kinds();
        (0..kinds.len()).max_by_key(|kind| kinds[*kind]).unwrap_or(0)
    }

    /// Returns the number of operations in the time of the whole trace. If only a part of the trace
    /// was replayed, the number is scaled by the number of events and not by the time, because a
    /// burst at the start is not the rate of the program.
    pub(crate) fn lasting(&self) -> f64 {
        self.of_whole(self.counts.operations().saturating_sub(self.initial))
    }

    /// Returns whether all events of the trace were replayed.
    pub(crate) fn is_whole(&self) -> bool {
        self.replayed >= self.whole.events.saturating_mul(self.scale.into())
    }

    /// Scales a count of the replay to the whole trace. The factor leaves out the arms of
    /// [`initial`](Self::initial), because they happened before the trace.
    pub(crate) fn of_whole(&self, count: u64) -> f64 {
        let all = self.whole.events.saturating_mul(self.scale.into());
        let [all, replayed] =
            [all, self.replayed].map(|events| events.saturating_sub(self.initial).max(1) as f64);
        count as f64 * all / replayed
    }

    /// Returns the time per operation of a row, in ns.
    pub(crate) fn per_operation(&self, row: &Row) -> f64 {
        row.total() / self.timed()
    }

    /// Returns the share of one CPU that a structure uses, in percent of the time of the trace. The
    /// share is computed from the fastest round, so that a busy machine changes it little.
    pub(crate) fn cpu_percent(&self, row: &Row) -> f64 {
        self.percent_of(row.least() / self.timed(), self.lasting())
    }

    /// Returns the share of one CPU, in percent of the time of the trace, for operations that take
    /// `ns` each.
    pub(crate) fn percent_of(&self, ns: f64, operations: f64) -> f64 {
        100.0 * ns * operations / self.whole.span_ns.max(1) as f64
    }

    /// Returns the confidence interval of a row's median time per operation, in ns.
    pub(crate) fn interval(&self, row: &Row) -> Option<Interval> {
        let times = row.total_ns.iter().map(|ns| ns / self.timed());
        stats::summarise(times).map(|summary| summary.interval)
    }

    /// Returns the rows sorted by time, the fastest first.
    pub(crate) fn ranked(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| !row.total_ns.is_empty()).collect();
        rows.sort_by(|a, b| a.total().total_cmp(&b.total()));
        rows
    }

    /// Returns the row of a structure.
    pub(crate) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.structure.id == id)
    }
}
