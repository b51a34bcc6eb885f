//! The table of metrics, and the reports of schedulers and shards. The other reports are in
//! `counted`, and in the crates of futures and of durable timers.

use core::ops::RangeInclusive;
use core::time::Duration;

use crate::scheduler::{Report, SiteCounts};
use crate::shard::ShardStatistics;
use crate::time::{DelayCounts, Lateness, nanos};

/// Declares the metrics, each with its name, its type, and its meaning. A counter's name has no
/// `_total` here, because the output appends it.
macro_rules! metrics {
    ($($metric:ident $name:literal $kind:literal $help:literal)*) => {
        /// The meaning of a number in a report. The OpenMetrics text has the same sentences after
        /// `# HELP`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Metric {
            $(#[doc = concat!($help, ".\n\nThe ", $kind, " `tickwright_", $name, "`.")] $metric,)*
        }

        impl Metric {
            /// Returns the metric's name, type and meaning.
            pub(super) const fn texts(self) -> (&'static str, &'static str, &'static str) {
                match self {
                    $(Self::$metric => (concat!("tickwright_", $name), $kind, $help),)*
                }
            }
        }
    };
}

metrics! {
    Timers "timers" "gauge" "Timers that exist: idle, pending and running"
    Pending "timers_pending" "gauge" "Timers that are pending"
    HighWater "timers_high_water" "gauge" "The greatest number of timers that existed at one time"
    Armed "timers_armed" "counter" "Calls that armed a timer"
    Rearmed "timers_rearmed" "counter" "Calls that armed a timer which was pending: a part of the armed ones"
    Fired "timers_fired" "counter" "Runs of timers"
    Cancelled "timers_cancelled" "counter" "Pending timers that were cancelled"
    Overruns "timer_overruns" "counter" "Periods that passed without a run of their own"
    Panics "timer_panics" "counter" "Runs or wakers that panicked"
    Wakeups "timer_driver_wakeups" "counter" "Wake-ups of the thread that drives the timers"
    Locks "timer_locks" "counter" "Locks that calls on timers took"
    InPlace "timers_rearmed_in_place" "counter" "Re-arms that left the timer in its place"
    SiteAdded "timer_site_added" "counter" "Timers that were added, by origin"
    SiteFired "timer_site_fired" "counter" "Runs of timers, by origin"
    SitePanics "timer_site_panics" "counter" "Runs that panicked, by origin"
    Loaded "timers_loaded" "gauge" "Waiting timers of the store that are in memory"
    Held "timers_held" "gauge" "Runs that wait for their answer"
    Takeovers "timer_takeovers" "counter" "Times that this process became the owner of the store's timers"
    Repeated "timers_repeated" "counter" "Runs after the first one of a timer: a part of the fired ones"
    Lost "timers_lost" "counter" "Runs whose answer came after the lease was lost"
    Statements "timer_statements" "counter" "Statements that the store executed to deliver timers"
    Commits "timer_commits" "counter" "Transactions that the store committed to deliver timers"
    Failures "timer_failures" "counter" "Errors of the store in such transactions"
}

/// A histogram of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Histogram {
    Lateness,
    Delay,
}

impl Histogram {
    /// Returns the histogram's name and meaning.
    pub(super) const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Lateness => {
                ("tickwright_timer_lateness_seconds", "From the due time of a timer to its run")
            }
            Self::Delay => (
                "tickwright_timer_delay_seconds",
                "From the insertion of a timer into its queue to its due time",
            ),
        }
    }

    /// Returns each `b` for which the histogram has a bucket with the bound 2^b - 1 ns. Lateness
    /// has bounds from 1 us to 8.6 s, and delays have bounds from 1 ms to 39 hours.
    const fn bits(self) -> RangeInclusive<u32> {
        match self {
            Self::Lateness => 10..=33,
            Self::Delay => 20..=47,
        }
    }

    /// Returns the bounds of the buckets in seconds. The last bound is `+Inf`.
    pub(super) fn bounds(self) -> impl Iterator<Item = String> {
        self.bits().map(|bits| seconds((1 << bits) - 1)).chain([String::from("+Inf")])
    }

    /// Converts counts per bucket to cumulative counts: for each bound, the number of durations
    /// that do not exceed it.
    fn within(self, buckets: impl Iterator<Item = (Duration, u64)>) -> Vec<u64> {
        let buckets: Vec<_> = buckets.collect();
        let within = |bound| {
            let few = buckets.iter().take_while(|(last, _)| nanos(*last) <= bound);
            few.map(|(_, count)| count).sum()
        };
        self.bits().map(|bits| (1 << bits) - 1).chain([u64::MAX]).map(within).collect()
    }
}

/// The values of a report for one histogram.
#[derive(Clone, Debug)]
pub(super) struct Distribution {
    /// For each bound, the number of recorded durations that do not exceed it.
    pub(super) within: Vec<u64>,
    /// The sum of the durations and their count, if the sum is known.
    pub(super) sum_ns: Option<(u128, u64)>,
}

impl Distribution {
    /// Adds another report's counts for the same histogram.
    pub(super) fn add(&mut self, other: &Self) {
        self.within.iter_mut().zip(&other.within).for_each(|(mine, theirs)| *mine += theirs);
        if let (Some(mine), Some(theirs)) = (&mut self.sum_ns, other.sum_ns) {
            *mine = (mine.0 + theirs.0, mine.1 + theirs.1);
        }
    }
}

/// Formats nanoseconds as seconds, without rounding.
pub(super) fn seconds(ns: u128) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// A report that [`OpenMetrics`](super::OpenMetrics) and `publish` take.
pub trait Measured {
    /// The value of the label `kind`, such as `"scheduler"`.
    const KIND: &'static str;

    /// Returns the numbers of the report, each with its metric.
    fn numbers(&self) -> Vec<(Metric, u64)>;

    /// Returns how late timers were, or `None` if the report does not count lateness.
    fn lateness(&self) -> Option<&Lateness> {
        None
    }

    /// Returns for how long timers were armed, from the call to the due time, or `None` if the
    /// report does not count delays.
    fn delays(&self) -> Option<&DelayCounts> {
        None
    }

    /// Returns the counts for each origin of timers.
    fn sites(&self) -> &[SiteCounts] {
        &[]
    }
}

/// Names and values of labels.
pub(super) type Labels = Vec<(&'static str, String)>;

/// Returns the labels of a report.
pub(super) fn labels<M: Measured>(name: &str) -> Labels {
    vec![("name", name.to_owned()), ("kind", M::KIND.to_owned())]
}

/// Returns the numbers of a report, including the numbers for each origin, with their labels.
pub(super) fn samples<M: Measured>(name: &str, report: &M) -> Vec<(Metric, Labels, u64)> {
    let whole = report.numbers().into_iter().map(|(metric, count)| (metric, labels::<M>(name), count));
    let by_site = report.sites().iter().flat_map(|SiteCounts { site, added, fired, panicked }| {
        let mut labels = labels::<M>(name);
        let (file, line) = (site.file.to_owned(), site.line.to_string());
        labels.extend([("site", site.name.to_owned()), ("file", file), ("line", line)]);
        [(Metric::SiteAdded, added), (Metric::SiteFired, fired), (Metric::SitePanics, panicked)]
            .map(|(metric, count)| (metric, labels.clone(), *count))
    });
    whole.chain(by_site).collect()
}

/// Returns the histograms of a report.
pub(super) fn histograms<M: Measured>(report: &M) -> impl Iterator<Item = (Histogram, Distribution)> {
    let lateness = report.lateness().map(|counts| {
        let within = Histogram::Lateness.within(counts.buckets());
        let sum_ns = Some((counts.sum_ns, counts.count()));
        (Histogram::Lateness, Distribution { within, sum_ns })
    });
    let delays = report.delays().map(|counts| {
        let within = Histogram::Delay.within(counts.buckets());
        (Histogram::Delay, Distribution { within, sum_ns: None })
    });
    lateness.into_iter().chain(delays)
}

impl Measured for Report {
    const KIND: &'static str = "scheduler";

    fn numbers(&self) -> Vec<(Metric, u64)> {
        let counts = &self.statistics;
        vec![
            (Metric::Timers, counts.timers as u64),
            (Metric::Pending, counts.pending as u64),
            (Metric::HighWater, counts.high_water as u64),
            (Metric::Armed, counts.armed),
            (Metric::Rearmed, counts.rearmed),
            (Metric::Fired, counts.fired),
            (Metric::Cancelled, counts.cancelled),
            (Metric::Overruns, counts.overruns),
            (Metric::Panics, self.sites.iter().map(|site| site.panicked).sum()),
        ]
    }

    fn lateness(&self) -> Option<&Lateness> {
        Some(&self.statistics.lateness)
    }

    fn delays(&self) -> Option<&DelayCounts> {
        Some(&self.statistics.delays)
    }

    fn sites(&self) -> &[SiteCounts] {
        &self.sites
    }
}

impl Measured for ShardStatistics {
    const KIND: &'static str = "shards";

    fn numbers(&self) -> Vec<(Metric, u64)> {
        let rearmed = self.matched + self.requeued;
        vec![
            (Metric::Pending, self.pending as u64),
            (Metric::HighWater, self.high_water as u64),
            (Metric::Armed, self.started + rearmed),
            (Metric::Rearmed, rearmed),
            (Metric::Fired, self.lateness.count()),
            (Metric::Cancelled, self.cancelled),
            (Metric::InPlace, self.matched),
            (Metric::Locks, self.locks),
        ]
    }

    fn lateness(&self) -> Option<&Lateness> {
        Some(&self.lateness)
    }

    fn delays(&self) -> Option<&DelayCounts> {
        Some(&self.delays)
    }
}
