//! Counts of queues, schedulers, shards and timers of futures for a monitoring system.
//!
//! ```text
//!   Counted<Q>            QueueReport       ┐
//!   Scheduler::report     Report            ├─ Measured ─┬─> OpenMetrics   text for a scrape
//!   Shards::statistics    ShardStatistics   │            └─> publish       the facade `metrics`
//!   futures, durable      TimerReport, ...  │
//!   a type of yours                         ┘
//! ```
//!
//! [`OpenMetrics`] takes reports, each with a name, and prints them in the exposition format of
//! OpenMetrics 1.0, which Prometheus reads. With the feature `metrics-facade`, `publish` sets the
//! same metrics of the recorder that the program has installed. A report is a copy, so no lock is
//! held while it is printed or published.
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
//! To add reports of your own type to the text, implement [`Measured`] for the type.

mod counted;
#[cfg(feature = "metrics-facade")]
mod facade;
mod metric;
mod open_metrics;
#[cfg(all(test, not(loom)))]
mod tests;

pub use counted::{Counted, QueueReport};
#[cfg(feature = "metrics-facade")]
pub use facade::publish;
pub use metric::{Measured, Metric};
pub use open_metrics::{CONTENT_TYPE, OpenMetrics};
