//! What a timer descriptor is set to, and what it can report.

use std::io;
use std::os::fd::OwnedFd;

use crate::fork::Process;
use crate::sync::Arc;
use crate::time::{Instant, SystemClock};

/// What [`TimerFd::acknowledge`](super::TimerFd::acknowledge) found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// The alarm went off.
    Due,
    /// The wall clock was set, so its timers may be due earlier or later than the alarm says.
    Stepped,
    /// The descriptor was not readable, or the alarm was set again since. On macOS and FreeBSD
    /// also: the alarm went off only to look at the clock.
    Quiet,
}

/// The setting of a descriptor.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) fd: Arc<OwnedFd>,
    pub(super) clock: SystemClock,
    /// The process that made the descriptor.
    pub(super) process: Process,
    /// The instant to which the alarm is set.
    pub(super) at: Option<Instant>,
    pub(super) wall: Wall,
    pub(super) failure: Option<io::Error>,
}

/// A wall clock that was set.
#[derive(Debug, Default)]
pub(super) struct Wall {
    /// The offset when the alarm last looked at it: no kqueue reports that the clock was set.
    #[cfg(any(not(target_os = "linux"), tickwright_kqueue))]
    pub(super) offset: Option<i64>,
    /// The wall clock was set while the alarm was set, and we have not reported it yet.
    pub(super) stepped: bool,
}

/// The alarm is due at once: a time of 0 would disarm a timerfd.
pub(super) const AT_ONCE: u64 = 1;
