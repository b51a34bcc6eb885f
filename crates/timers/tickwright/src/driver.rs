//! Drivers: a driver wakes a service when the service's next timer is due.
//!
//! A service owns no thread. It sets an [`Alarm`] to the time at which it wants to run next, each
//! time that this changes. The thread that waits at the alarm runs the service.
//!
//! | driver | for |
//! |---|---|
//! | [`Parker`] and [`DriverThread`] | a thread of its own, asleep until something is due |
//! | [`TimerFd`] (Linux) | an event loop that waits for descriptors |
//! | [`timeout_ms`], [`timeout`] | a `poll` loop whose thread alone arms timers |
//! | [`ShardDriver`] | a thread for a shard |
//!
//! # Forks
//!
//! A forked child has only the thread that forked, so it has no driver thread: start another one
//! there. If the driver is the parent's, [`DriverThread::stop`] and its drop return at once in the
//! child, and `settle` returns `false`. If a callback forks, its thread goes on as the child's
//! driver thread.
//!
//! A child has a [`TimerFd`] of its own. The descriptor keeps its number, and its alarm is set as
//! the parent's was. The two timerfds do not affect each other. The child shares an inherited
//! `epoll` instance with the parent, so it must make its own.
//!
//! In the child all locks are free and their data is whole, whatever other threads did at the
//! moment of the fork. The fork waits for those threads. So do not fork inside of a
//! [`Clock`](crate::clock::Clock), an [`Alarm`] or an [`Origin`](crate::service::Origin). Also do
//! not fork while you hold a lock that one of these takes. A fork inside of one of these takes two
//! seconds longer. A child that is made without `fork` (by `vfork` or `clone`) may call `exec`, but
//! nothing of this crate.

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
