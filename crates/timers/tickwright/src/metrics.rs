//! Counts of schedulers, shards and timers of futures as text that a monitoring system reads.
//!
//! [`OpenMetrics`] takes reports, each with a name, and prints them in the exposition format of
//! OpenMetrics 1.0, which Prometheus reads. A report is a copy, so no lock is held while it is
//! printed.
//!
//! ```
//! use tickwright::metrics::OpenMetrics;
//! use tickwright::scheduler::{Boxed, Duration, Scheduler, Settings};
//!
//! let scheduler = Scheduler::new(Settings::new());
//! scheduler.add(Duration::from_secs(3600), Boxed::once(|_| ()))?;
//! let text = OpenMetrics::default().with("jobs", &scheduler.report()).to_string();
//! assert!(text.contains("tickwright_timers_pending{name=\"jobs\",kind=\"scheduler\"} 1\n"));
//! assert!(text.ends_with("# EOF\n"));
//! # Ok::<(), tickwright::scheduler::Refusal>(())
//! ```
//!
//! A type of your own becomes part of the text by [`Measured`].

use core::fmt;
use std::collections::BTreeMap;

use crate::scheduler::{Report, SiteCounts};
use crate::shard::ShardStatistics;
use crate::time::{Lateness, nanos};

/// The media type of the text: the value of the HTTP header `Content-Type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Declares the metrics, each with its name in the text, its type, and its meaning.
macro_rules! metrics {
    ($($metric:ident $name:literal $kind:literal $help:literal)*) => {
        /// What a number of a report means. The text has the same sentences as `# HELP`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Metric {
            $(#[doc = concat!($help, ".\n\nThe ", $kind, " `tickwright_", $name, "`.")] $metric,)*
        }

        impl Metric {
            /// Its name, type and meaning.
            const fn texts(self) -> (&'static str, &'static str, &'static str) {
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
}

const LATENESS: &str = "tickwright_timer_lateness_seconds";

/// A report that [`OpenMetrics`] takes.
pub trait Measured {
    /// The value of the label `kind`, such as `"scheduler"`.
    const KIND: &'static str;

    /// The numbers of the report.
    fn numbers(&self) -> Vec<(Metric, u64)>;

    /// How late timers were; `None` if that is not counted.
    fn lateness(&self) -> Option<&Lateness> {
        None
    }

    /// The counts by origin.
    fn sites(&self) -> &[SiteCounts] {
        &[]
    }
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

    fn sites(&self) -> &[SiteCounts] {
        &self.sites
    }
}

/// Shards count their arming calls alone.
impl Measured for ShardStatistics {
    const KIND: &'static str = "shards";

    fn numbers(&self) -> Vec<(Metric, u64)> {
        let rearmed = self.matched + self.requeued;
        vec![
            (Metric::Armed, self.started + rearmed),
            (Metric::Rearmed, rearmed),
            (Metric::InPlace, self.matched),
            (Metric::Locks, self.locks),
        ]
    }
}

/// Reports of one moment, which print as OpenMetrics text.
///
/// Each sample has the labels `name` and `kind`. Counts by origin have `site`, `file` and `line`,
/// too; a scheduler counts at most 1024 origins apart. Reports of equal name and kind are added up.
/// Printing takes O(samples).
#[derive(Clone, Debug, Default)]
pub struct OpenMetrics {
    /// By metric first, because all samples of a metric must stand together.
    numbers: BTreeMap<(Metric, String), u64>,
    lateness: BTreeMap<String, Lateness>,
}

impl OpenMetrics {
    /// Adds a report. Its label `name` is `name`, which may be any text.
    #[must_use]
    pub fn with<M: Measured>(mut self, name: &str, report: &M) -> Self {
        let labels = format!("name=\"{}\",kind=\"{}\"", escaped(name), escaped(M::KIND));
        let mut add = |metric, labels: &String, count: u64| {
            let sum = self.numbers.entry((metric, labels.clone())).or_default();
            *sum = sum.saturating_add(count);
        };
        report.numbers().into_iter().for_each(|(metric, count)| add(metric, &labels, count));
        for SiteCounts { site, added, fired, panicked } in report.sites() {
            let (name, file, line) = (escaped(site.name), escaped(site.file), site.line);
            let labels = format!("{labels},site=\"{name}\",file=\"{file}\",line=\"{line}\"");
            add(Metric::SiteAdded, &labels, *added);
            add(Metric::SiteFired, &labels, *fired);
            add(Metric::SitePanics, &labels, *panicked);
        }
        if let Some(lateness) = report.lateness() {
            self.lateness.entry(labels).or_default().add(lateness);
        }
        self
    }
}

impl fmt::Display for OpenMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = None;
        for ((metric, labels), count) in &self.numbers {
            let (name, kind, help) = metric.texts();
            if before.replace(metric) != Some(metric) {
                writeln!(f, "# TYPE {name} {kind}\n# HELP {name} {help}.")?;
            }
            let total = if kind == "counter" { "_total" } else { "" };
            writeln!(f, "{name}{total}{{{labels}}} {count}")?;
        }
        if !self.lateness.is_empty() {
            writeln!(f, "# TYPE {LATENESS} histogram\n# UNIT {LATENESS} seconds")?;
            writeln!(f, "# HELP {LATENESS} From the due time of a timer to its run.")?;
        }
        for (labels, lateness) in &self.lateness {
            // The bounds are those of the histogram: 1023 ns, 2047 ns, and on to 8.6 s.
            for bound in (10..=33).map(|bits| (1 << bits) - 1) {
                let within = lateness.buckets().take_while(|(last, _)| nanos(*last) <= bound);
                let count: u64 = within.map(|(_, count)| count).sum();
                let le = seconds(bound.into());
                writeln!(f, "{LATENESS}_bucket{{{labels},le=\"{le}\"}} {count}")?;
            }
            let (count, sum) = (lateness.count(), seconds(lateness.sum_ns));
            writeln!(f, "{LATENESS}_bucket{{{labels},le=\"+Inf\"}} {count}")?;
            writeln!(f, "{LATENESS}_sum{{{labels}}} {sum}\n{LATENESS}_count{{{labels}}} {count}")?;
        }
        f.write_str("# EOF\n")
    }
}

/// A text as the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Nanoseconds as seconds, exactly.
fn seconds(ns: u128) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}
