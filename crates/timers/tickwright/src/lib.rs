//! Timers for programs with threads, built on the queues of [`tickwright_core`], which this crate
//! re-exports.
//!
//! | you have | begin with |
//! |---|---|
//! | a loop of your own, `Instant`s and `Duration`s | [`TimeQueue`] |
//! | a loop of your own, and ticks | [`SlabQueue`] or [`DefaultQueue`] |
//! | a loop of your own, ticks, and no allocator | [`HookQueue`] |
//! | thousands of time-outs that move far more often than they fire | `SlabQueue<Wheel, T>` |
//! | callbacks to schedule and cancel, from several threads | [`scheduler`] |
//! | callbacks to schedule and cancel, from one thread, without a lock | [`scheduler`] |
//! | one of these, and want to know the best structure for it | `record` (a feature) |
//! | a monitoring system that reads counts and latenesses | `metrics` (a feature) |
//! | many timers due together, like retries after a restart | [`jitter`], a budget for each pass |
//! | time-outs that many threads re-arm | [`shard`]: a re-arm inside its bucket takes no lock |
//!
//! The page of [`SchedulerFamily`] compares structures. [`time`] has the clocks of the machine, and
//! the clocks of a [`VirtualHost`](time::VirtualHost), which a test moves by calls. It also has the
//! drivers, which wake a scheduler when its next timer is due.

pub mod coroutine;
#[doc(hidden)]
pub mod fork;
mod jitter;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(any(feature = "metrics", feature = "record"))]
mod observed_queue;
#[cfg(feature = "record")]
pub mod record;
pub mod scheduler;
pub mod shard;
mod sync;
pub mod time;
mod time_queue;
mod would_deadlock;

pub use jitter::jitter;
#[doc(no_inline)]
pub use tickwright_core::*;
pub use time_queue::{Fired, TimeQueue};

#[cfg(doctest)]
mod pages;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../README.md")]
pub struct Readme;
