//! The words in which a service answers.

use core::fmt;
use core::time::Duration;

use super::entry::State;
use super::lateness::Lateness;
use super::site::Site;
use super::table::TimerId;
use crate::clock::Instant;

/// Why a timer was not armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no memory for it.
    Full,
    /// The clock has no wall time, so nothing can be armed by it.
    NoWall,
    /// The id names no timer: it is done, cancelled or shut down, or never was.
    NotFound,
    /// The scheduler is shut down.
    Shutdown,
    /// Another timer is the host tick.
    HostTaken,
}

error_texts! { Refusal:
    Self::Full => "there is no memory for another timer",
    Self::NoWall => "the clock has no wall time: make the service with the real-time clock, or arm by a delay",
    Self::NotFound => "the id names no timer (any more)",
    Self::Shutdown => "the scheduler is shut down: nothing can be armed any more",
    Self::HostTaken => "another timer is the host tick: shut it down first",
}

/// A refused payload, which comes back unharmed. `?` turns it into its [`Refusal`] where that is
/// asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Refused<P> {
    /// Why.
    pub reason: Refusal,
    /// What was to be added.
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

/// What becomes of a timer after it has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is done: gone, or idle if it is kept.
    Done,
    /// Again after its period, or, if it has none, after the delay that it was armed with; counted
    /// from when it was due.
    Again,
    /// Again so much after it was due. The period stays what it is.
    After(Duration),
}

/// A timer whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it runs until `finish` says what becomes of it"]
#[non_exhaustive]
pub struct Due<P> {
    /// Its id.
    pub id: TimerId,
    /// What was given with it.
    pub payload: P,
    /// When it was due, by the steady timeline.
    pub due: Instant,
    /// The time.
    pub now: Instant,
    /// How many of its periods have passed beside the one that it is run for.
    pub overruns: u64,
}

/// What [`Service::finish`](super::Service::finish) made of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finished<P> {
    /// The payload, if the timer is gone.
    pub payload: Option<P>,
    /// It was to run again and does not, because it was cancelled meanwhile.
    pub suppressed: bool,
}

/// What [`Service::cancel`](super::Service::cancel) and
/// [`Service::shutdown`](super::Service::shutdown) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal<P> {
    /// It was pending or idle and is gone: here is its payload.
    Removed(P),
    /// It was pending; it is kept, and idle.
    Disarmed,
    /// It is kept, and was idle already.
    Idle,
    /// It runs, and will not be armed again by what its callback returns.
    Running,
    /// The id names no timer.
    NotFound,
}

/// What is known of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// Its id.
    pub id: TimerId,
    /// Its `int` id, where those are issued.
    pub int_id: Option<i32>,
    /// Whether it is idle, pending or running.
    pub state: State,
    /// When it is due (pending), or was (running), by the steady timeline.
    pub due: Instant,
    /// Its period, or the delay that it was armed with.
    pub period: Duration,
    /// Whether that is a period.
    pub periodic: bool,
    /// Where it comes from.
    pub site: Site,
}

/// What was counted since the service was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Timers there are: idle, pending and running.
    pub timers: usize,
    /// Timers that are pending.
    pub pending: usize,
    /// The most timers that there were at one time.
    pub high_water: usize,
    /// Times that a timer was armed by its user.
    pub armed: u64,
    /// Times that a timer was run.
    pub fired: u64,
    /// Timers cancelled while they were pending.
    pub cancelled: u64,
    /// Periods that passed without a run of their own.
    pub overruns: u64,
    /// Passes begun.
    pub passes: u64,
    /// Steps of the wall clock that were seen.
    pub steps: u64,
    /// How late they ran: from when they were due to the start of the callback.
    pub lateness: Lateness,
}
