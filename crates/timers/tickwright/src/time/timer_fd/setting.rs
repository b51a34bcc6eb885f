//! The setting of a timer descriptor, and the events that it can report.

use std::io;
use std::os::fd::OwnedFd;

use crate::fork::Process;
use crate::sync::Arc;
use crate::time::{Instant, SystemClock};

/// The result of [`TimerFd::acknowledge`](super::TimerFd::acknowledge).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// The alarm went off.
    Due,
    /// The wall clock was set, so timers that follow it can be due earlier or later than the
    /// alarm's time.
    Stepped,
    /// The descriptor was not readable, or the alarm was set again after it went off. On macOS and
    /// FreeBSD, this is also the result if the descriptor became readable only so that the clock is
    /// checked.
    Quiet,
}

/// The setting of a descriptor.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) fd: Arc<OwnedFd>,
    pub(super) clock: SystemClock,
    /// The process that created the descriptor.
    pub(super) process: Process,
    /// The instant to which the alarm is set.
    pub(super) at: Option<Instant>,
    pub(super) wall: Wall,
    pub(super) failure: Option<io::Error>,
}

/// What is known about steps of the wall clock.
#[derive(Debug, Default)]
pub(super) struct Wall {
    /// The clock's offset at the last check. It is needed because a kqueue does not report that the
    /// clock was set.
    #[cfg(any(not(target_os = "linux"), tickwright_kqueue))]
    pub(super) offset: Option<i64>,
    /// Whether a step of the wall clock, which happened while the alarm was set, has not been
    /// reported yet.
    pub(super) stepped: bool,
}

/// The time in ns for an alarm that is due at once. It is not 0, because a time of 0 would disarm a
/// timerfd.
pub(super) const AT_ONCE: u64 = 1;
