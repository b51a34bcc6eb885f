//! Timers for programs with threads, over the queues of [`tickwright_core`], which this crate
//! re-exports.
//!
//! [`clock`]: what time it is, by the machine or by command. [`driver`]: who wakes a service when its next timer is due.
//! [`service`]: one-shot and periodic timers on a clock. [`scheduler`]: callbacks with ids, for threads or a poll loop.
//! [`shard`]: timers that many threads arm, re-arm and cancel. Re-arming one inside its bucket takes no lock.

pub mod alarm;
pub mod clock;
pub mod coroutine;
pub mod driver;
#[doc(hidden)]
pub mod fork;
pub mod scheduler;
pub mod service;
pub mod shard;
mod sync;

#[doc(no_inline)]
pub use tickwright_core::*;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
