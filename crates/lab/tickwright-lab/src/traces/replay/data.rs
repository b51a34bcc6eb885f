//! The plan of a replay, and its data.

use core::time::Duration;

use tickwright_trace::Profile;

use crate::stats::{self, Interval, Summary};
use crate::structures::registry::Structure;
use crate::traces::decode::Counts;
use crate::traces::input::{Extent, Gaps, Input};

/// What to replay, and how.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) input: Input,
    pub(crate) structures: Vec<&'static Structure>,
    /// `None`: the tick is chosen by the trace.
    pub(crate) tick_ns: Option<u64>,
    pub(crate) scale: u32,
    pub(crate) cold: bool,
    pub(crate) rounds: usize,
    pub(crate) within: Duration,
    pub(crate) seed: u64,
}

/// Bounds of a replay that must end in time. The times are readings of the clock. If they do not
/// suffice, fewer structures run, or fewer rounds: a structure is compared with the oracle before
/// its time counts, or it is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// This many operations are replayed, beside those that fill the queue.
    pub(crate) operations: u64,
    /// This many structures are compared and run for a round, whatever the time.
    pub(crate) always: usize,
    /// No other structure is compared after this time.
    pub(crate) compare_until: u64,
    /// No other round is run after this time.
    pub(crate) rounds_until: u64,
    /// No structure runs after this time.
    pub(crate) end: u64,
    /// The run of which this replay is a part ends by this time.
    pub(crate) whole: u64,
}

/// The result of a replay.
#[derive(Debug, Clone, Default)]
pub(crate) struct Data {
    /// The figures of the trace, without superposed copies.
    pub(crate) profile: Profile,
    /// The whole trace, also beyond what the profile and the operations cover.
    pub(crate) whole: Extent,
    /// The events whose operations were replayed, of all copies.
    pub(crate) replayed: u64,
    /// What the source could not see.
    pub(crate) unseen: Vec<String>,
    /// The events that are missing in the trace.
    pub(crate) gaps: Gaps,
    /// Nothing but waits was seen.
    pub(crate) waits_alone: bool,
    /// The operations.
    pub(crate) counts: Counts,
    /// Those among them that run before the clock starts, by kind. They fill the queue: see
    /// [`initial`](Self::initial).
    pub(crate) untimed: [u64; 4],
    /// Timers of a profile that are pending when it begins, of all copies. A program that has run
    /// for long armed them before.
    pub(crate) initial: u64,
    /// Structures that did not run.
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) tick_ns: u64,
    pub(crate) scale: u32,
    /// One for each structure that ran.
    pub(crate) rows: Vec<Row>,
}

/// A structure that did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) structure: &'static Structure,
    pub(crate) why: String,
    /// It could run, and would take too long.
    pub(crate) is_able: bool,
    /// It had no turn in time. On a quiet machine it may have one.
    pub(crate) is_late: bool,
}

/// The figures of a structure.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) structure: &'static Structure,
    /// The processor time of all operations in ns, for each round.
    pub(crate) total_ns: Vec<f64>,
    /// The times of single operations, for each kind that occurs.
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

/// Names of shares of all calls, and the shares.
pub(crate) const AT: [(&str, f64); 5] =
    [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];

/// Indices of [`AT`].
pub(crate) const P50: usize = 0;
pub(crate) const P999: usize = 2;
pub(crate) const WORST: usize = 4;

impl Row {
    /// The median time of all operations, in ns.
    pub(crate) fn total(&self) -> f64 {
        stats::median(&self.total_ns).unwrap_or(f64::INFINITY)
    }

    /// The time of all operations in the fastest round, in ns. Other programs make a round slower,
    /// and never faster.
    pub(crate) fn least(&self) -> f64 {
        self.total_ns.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The median over rounds of the times of a kind at a share of [`AT`].
    pub(crate) fn call(&self, kind: usize, at: usize) -> Option<f64> {
        let samples: Vec<f64> = self.calls[kind].iter().map(|calls| calls[at]).collect();
        stats::median(&samples)
    }

    /// The worst call of any kind.
    pub(crate) fn worst(&self) -> Option<f64> {
        (0..self.calls.len()).filter_map(|kind| self.call(kind, WORST)).max_by(f64::total_cmp)
    }

    /// The ratio of the time of this structure to that of another, round by round.
    pub(crate) fn ratio(&self, other: &Self) -> Option<Summary> {
        stats::ratios(&self.total_ns, &other.total_ns)
    }
}

impl Data {
    /// The number of timed operations, by kind.
    pub(crate) fn timed_kinds(&self) -> [u64; 4] {
        core::array::from_fn(|kind| self.counts.kinds[kind].saturating_sub(self.untimed[kind]))
    }

    /// The number of timed operations, at least 1.
    pub(crate) fn timed(&self) -> f64 {
        self.timed_kinds().iter().sum::<u64>().max(1) as f64
    }

    /// The index of the commonest kind of timed operations.
    pub(crate) fn commonest(&self) -> usize {
        let kinds = self.timed_kinds();
        (0..kinds.len()).max_by_key(|kind| kinds[*kind]).unwrap_or(0)
    }

    /// The operations in the time of the whole trace. If a part of it was replayed, they follow
    /// from the number of events: a burst at the start is not the rate of the program.
    pub(crate) fn lasting(&self) -> f64 {
        self.of_whole(self.counts.operations().saturating_sub(self.initial))
    }

    /// Whether all events of the trace were replayed.
    pub(crate) fn is_whole(&self) -> bool {
        self.replayed >= self.whole.events.saturating_mul(self.scale.into())
    }

    /// What a count in the replay is in the whole trace. The arms of [`initial`](Self::initial)
    /// came before.
    pub(crate) fn of_whole(&self, count: u64) -> f64 {
        let all = self.whole.events.saturating_mul(self.scale.into());
        let [all, replayed] =
            [all, self.replayed].map(|events| events.saturating_sub(self.initial).max(1) as f64);
        count as f64 * all / replayed
    }

    /// The time of a row for one operation, in ns.
    pub(crate) fn per_operation(&self, row: &Row) -> f64 {
        row.total() / self.timed()
    }

    /// The share of one CPU that a structure takes, in percent of the time of the trace. It comes
    /// from the fastest round, so that a busy machine changes it little.
    pub(crate) fn cpu_percent(&self, row: &Row) -> f64 {
        self.percent_of(row.least() / self.timed(), self.lasting())
    }

    /// The share of one CPU that operations of `ns` take in the time of the trace, in percent.
    pub(crate) fn percent_of(&self, ns: f64, operations: f64) -> f64 {
        100.0 * ns * operations / self.whole.span_ns.max(1) as f64
    }

    /// The interval of the median time of a row for one operation, in ns.
    pub(crate) fn interval(&self, row: &Row) -> Option<Interval> {
        let times = row.total_ns.iter().map(|ns| ns / self.timed());
        stats::summarise(times).map(|summary| summary.interval)
    }

    /// Rows by their time, the fastest first.
    pub(crate) fn ranked(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| !row.total_ns.is_empty()).collect();
        rows.sort_by(|a, b| a.total().total_cmp(&b.total()));
        rows
    }

    /// The row of a structure.
    pub(crate) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.structure.id == id)
    }
}
