//! The types that a service returns.

use core::fmt;
use core::time::Duration;

use super::entry::State;
use super::site::Site;
use super::table::TimerId;
use crate::time::{Instant, Lateness};

/// Why a timer was not armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no memory for the timer.
    Full,
    /// The clock has no wall time, so no timer can be armed by it.
    NoWall,
    /// The id names no timer: the timer is done, cancelled or shut down, or never existed.
    NotFound,
    /// The scheduler is shut down.
    Shutdown,
    /// Another timer is the host tick.
    HostTaken,
    /// A loop sleeps beyond that time, and nothing would wake it. Only a scheduler of the C
    /// interface returns this. In Rust the compiler excludes it:
    /// [`timeout`](crate::scheduler::Scheduler::timeout) borrows the scheduler exclusively.
    LoopSleeps,
}

error_texts! { Refusal:
    Self::Full => "there is no memory for another timer",
    Self::NoWall => "the clock has no wall time: make the service with the real-time clock, or arm by a delay",
    Self::NotFound => "the id names no timer (any more)",
    Self::Shutdown => "the scheduler is shut down: nothing can be armed any more",
    Self::LoopSleeps => "a loop sleeps beyond that time: give the scheduler an alarm that wakes it",
    Self::HostTaken => "another timer is the host tick: shut it down first",
}

/// A refused payload, which comes back unchanged. The operator `?` converts it to its [`Refusal`]
/// if the function returns that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Refused<P> {
    /// The reason.
    pub reason: Refusal,
    /// The value that the caller wanted to add.
    pub payload: P,
}

impl<P> fmt::Debug for Refused<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<P> fmt::Display for Refused<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<P> core::error::Error for Refused<P> {}

impl<P> From<Refused<P>> for Refusal {
    fn from(refused: Refused<P>) -> Self {
        refused.reason
    }
}

/// What happens to a timer after it has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The timer is done: it is removed, or idle if it is kept.
    Done,
    /// The timer runs again after its period, counted from its due time. Without a period, the
    /// delay with which it was armed counts.
    Again,
    /// The timer runs again this long after its due time. Its period does not change.
    After(Duration),
}

/// A timer that is due and was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it runs until `finish` says what becomes of it"]
#[non_exhaustive]
pub struct Due<P> {
    /// The timer's id.
    pub id: TimerId,
    /// The payload that was added with the timer.
    pub payload: P,
    /// The time at which it was due, on the steady timeline.
    pub due: Instant,
    /// The time at which it was taken.
    pub now: Instant,
    /// How many other periods have passed besides the one for which it runs.
    pub overruns: u64,
}

/// The result of [`Service::finish`](super::Service::finish).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finished<P> {
    /// The payload, if the timer was removed.
    pub payload: Option<P>,
    /// The timer was to run again and does not, because it was cancelled meanwhile.
    pub suppressed: bool,
}

/// The result of [`Service::cancel`](super::Service::cancel) and
/// [`Service::shutdown`](super::Service::shutdown).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal<P> {
    /// The timer was pending or idle and is removed: this is its payload.
    Removed(P),
    /// The timer was pending; it is kept, and is idle now.
    Disarmed,
    /// The timer is kept, and was idle already.
    Idle,
    /// The timer is running. The result of its callback will not arm it again.
    Running,
    /// The id names no timer.
    NotFound,
}

/// Information about a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The timer's id.
    pub id: TimerId,
    /// Its `int` id, if the service issues such ids.
    pub int_id: Option<i32>,
    /// Whether it is idle, pending or running.
    pub state: State,
    /// The steady time at which it is due (pending), or was due (running).
    pub due: Instant,
    /// Its period, or the delay with which it was armed.
    pub period: Duration,
    /// Whether `period` is a period, and not that delay.
    pub periodic: bool,
    /// The origin of the timer.
    pub site: Site,
}

/// Counts since the service was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// How many timers exist: idle, pending and running.
    pub timers: usize,
    /// How many timers are pending.
    pub pending: usize,
    /// The greatest number of timers that existed at one time.
    pub high_water: usize,
    /// How often the user armed a timer.
    pub armed: u64,
    /// How often a timer ran.
    pub fired: u64,
    /// How many pending timers were cancelled.
    pub cancelled: u64,
    /// How many periods passed without a run of their own.
    pub overruns: u64,
    /// How many passes have begun.
    pub passes: u64,
    /// How many steps of the wall clock the service noticed.
    pub steps: u64,
    /// How late timers ran: the time from the due time to the start of the callback.
    pub lateness: Lateness,
}
