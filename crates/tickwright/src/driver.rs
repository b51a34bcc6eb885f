//! Drivers: what wakes a service when its next timer is due.
//!
//! A service owns no thread. It tells an [`Alarm`] when it wants to be run next, each time that changes, and whoever waits at the alarm runs it.
//!
//! | driver | for |
//! |---|---|
//! | [`Parker`] and [`DriverThread`] | a thread of its own, asleep until something is due |
//! | [`TimerFd`] (Linux) | an event loop that waits for descriptors |
//! | [`timeout_ms`], [`timeout`] | a loop around `poll`: how long it may sleep |
//! | [`ShardDriver`] | a thread for a shard |

mod in_ticks;
mod parker;
mod shard;
mod thread;
mod timeout;
#[cfg(target_os = "linux")]
mod timer_fd;

pub use in_ticks::InTicks;
pub use parker::{Parker, Woken};
pub use shard::ShardDriver;
pub use thread::{DriverPanicked, DriverThread};
pub use timeout::{timeout, timeout_ms};
#[cfg(target_os = "linux")]
pub use timer_fd::{Rung, TimerFd};

use crate::sync::Arc;

/// An alarm that goes off once, at the time it was last set to.
///
/// A service sets it under its own lock whenever its next wake-up becomes earlier, and after each run; so an alarm is never later than
/// the service's next timer, and nobody has to look in between (no lost wake-up). It may be too early: then the run finds nothing due.
pub trait Alarm: Send + Sync {
    /// Let it go off when the service's clock shows `at` nanoseconds (at once if that is past); `None`: not at all. Replaces what was set
    /// before. It must not wait, panic, nor call the service back.
    fn set(&self, at: Option<u64>);
}

impl<A: Alarm + ?Sized> Alarm for Arc<A> {
    fn set(&self, at: Option<u64>) {
        (**self).set(at);
    }
}
