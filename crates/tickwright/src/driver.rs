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
//!
//! # Forks
//!
//! A forked child has the thread that forked, and no driver thread: start another one there. [`DriverThread::join`] and the drop of a driver of the
//! parent's return at once in the child, and `settle` answers `false`. The child of a callback goes on as the driver thread.
//!
//! The [`TimerFd`] of a child is its own: its number stays, its alarm is set as the parent's was, and the two do not disturb each other. An `epoll`
//! instance is the parent's, so that the child needs another one.
//!
//! Locks are free and data whole in the child, whatever other threads did at the moment of the fork: a fork waits for them. So do not fork inside of a
//! [`Clock`](crate::clock::Clock), an [`Alarm`] or an [`Origin`](crate::service::Origin), nor with a lock held that one of these takes: such
//! a fork is two seconds late. Children that are made without `fork` (`vfork`, `clone`) call `exec`, or nothing of this crate.

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

    /// Whether its thread is the parent's and this is a forked child, so that another alarm may take its place. An alarm without a thread
    /// says `false`.
    fn is_orphaned(&self) -> bool {
        false
    }
}

impl<A: Alarm + ?Sized> Alarm for Arc<A> {
    fn set(&self, at: Option<u64>) {
        (**self).set(at);
    }

    fn is_orphaned(&self) -> bool {
        (**self).is_orphaned()
    }
}
