//! Timers for programs with threads, over the queues of [`tickwright_core`], which this crate
//! re-exports.
//!
//! | you have | begin with |
//! |---|---|
//! | a loop of your own, `Instant`s and `Duration`s | [`TimeQueue`] |
//! | a loop of your own, and ticks | [`SlabQueue`] or [`DefaultQueue`]; [`HookQueue`] without an allocator |
//! | idle time-outs by the thousand, moved far more often than they fire | `SlabQueue<Wheel, T>`; the page of [`DefaultFamily`] compares structures |
//! | callbacks to schedule and cancel, from several threads, or from one without a lock | [`scheduler`] |
//! | any of these, and the question which structure is best for it | `record`, with the feature `record` |
//! | a monitoring system that reads counts and latenesses | `metrics`, with the feature `metrics` |
//! | many timers that are due together, such as retries after a restart | [`jitter`], and a budget for each pass |
//! | time-outs that many threads re-arm | [`shard`]: re-arming one inside its bucket takes no lock |
//!
//! [`time`] has the clocks: of the machine, or of a [`VirtualHost`](time::VirtualHost) that a test
//! moves by command. It has the drivers, too, which wake a scheduler when its next timer is due.

#[macro_use]
mod error_texts;

pub mod coroutine;
#[doc(hidden)]
pub mod fork;
mod jitter;
#[cfg(feature = "metrics")]
pub mod metrics;
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
