//! Drivers: what wakes a service when its next timer is due.
//!
//! A service owns no thread. It tells an [`Alarm`] when it wants to be run next, each time that
//! changes, and the thread that waits at the alarm runs it.
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
//! A forked child has the thread that forked, and no driver thread: start another one there.
//! [`DriverThread::stop`] and the drop of a driver of the parent's return at once in the child, and
//! `settle` returns `false`. The child of a callback goes on as the driver thread.
//!
//! A child has a [`TimerFd`] of its own. Its number stays and its alarm is set as the parent's was.
//! The two do not disturb each other. An `epoll` instance is the parent's, so that the child needs
//! another one.
//!
//! Locks are free and data whole in the child, whatever other threads did at the moment of the
//! fork: a fork waits for them. So do not fork inside of a [`Clock`](crate::clock::Clock), an
//! [`Alarm`] or an [`Origin`](crate::service::Origin). Do not fork either while you hold a lock
//! that one of these takes. Such a fork is two seconds late. Children that are made without `fork`
//! (`vfork`, `clone`) call `exec`, or nothing of this crate.

#[cfg(unix)]
mod kernel;
mod parker;
mod shard;
mod thread;
mod timeout;
#[cfg(target_os = "linux")]
mod timer_fd;

pub use crate::alarm::Alarm;
#[cfg(unix)]
pub use kernel::start_thread;
pub use parker::{Parker, Woken};
pub use shard::ShardDriver;
pub use thread::{DriverPanicked, DriverThread, Join};
pub use timeout::{timeout, timeout_ms};
#[cfg(target_os = "linux")]
pub use timer_fd::{Rung, TimerFd};
