//! The types that a scheduler returns.

use core::fmt;
use core::time::Duration;

use tickwright_nodes::error_texts;

use super::site::Site;
use super::table::TimerId;
use super::timer::State;
use crate::time::Instant;
use crate::time::{DelayCounts, Lateness};

/// Why a timer was not armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no memory for the timer.
    Full,
    /// The clock has no wall time, so no timer can be armed by wall time.
    NoWall,
    /// The id does not name a timer: the timer is done, cancelled or shut down, or never existed.
    NotFound,
    /// The scheduler is shut down.
    Shutdown,
    /// Another timer is the host tick.
    HostTaken,
    /// A loop sleeps beyond the new timer's due time, and nothing can wake it. Only a scheduler of
    /// the C interface returns this. In Rust this cannot happen, because
    /// [`timeout`](crate::scheduler::Scheduler::timeout) borrows the scheduler exclusively.
    LoopSleeps,
}

error_texts! { Refusal:
    Self::Full => "there is no memory for another timer",
    Self::NoWall => "the clock has no wall time: make the scheduler with the real-time clock, or arm by a delay",
    Self::NotFound => "the id names no timer (any more)",
    Self::Shutdown => "the scheduler is shut down: nothing can be armed any more",
    Self::LoopSleeps => "a loop sleeps beyond that time: give the scheduler an alarm that wakes it",
    Self::HostTaken => "another timer is the host tick: shut it down first",
}

/// A payload whose timer was not added, and the reason. The payload is returned unchanged. The
/// operator `?` converts it to its [`Refusal`] if the function returns a [`Refusal`].
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

error_texts! { Refused<P>, P: Self { reason, .. } => reason }

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
    /// The timer runs again after its period, counted from its due time. If it has no period, the
    /// delay with which it was armed is used instead.
    Again,
    /// The timer runs again this long after its due time. Its period does not change. The timer's
    /// policy for [`Missed`](super::Missed) periods applies to this delay, too: with
    /// [`Delay`](super::Missed::Delay), for example, the delay counts from the callback's end.
    After(Duration),
}

/// One run of a due timer. [`TimerSet::take`](super::TimerSet::take) returns it with the payload. A
/// callback gets it as a [`Firing`](super::Firing), with the scheduler in place of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the timer runs until `finish` says what becomes of it"]
#[non_exhaustive]
pub struct Due<P> {
    /// The timer's id.
    pub id: TimerId,
    /// The payload that was added with the timer. In a callback this is the scheduler.
    pub payload: P,
    /// The time at which the timer was due, on the clock's steady timeline. If a timer whose due
    /// times are on a grid has missed periods, this is the due time of the last missed period.
    pub due: Instant,
    /// The time at which the timer was taken.
    pub now: Instant,
    /// How many periods the timer has missed, without the period for which it now runs.
    pub overruns: u64,
}

impl<P> Due<P> {
    /// Returns how late the timer runs.
    #[must_use]
    pub fn lateness(&self) -> Duration {
        self.now.duration_since(self.due)
    }
}

/// The result of a cancel. The tables of the [module](super) list every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled<P> {
    /// The timer was removed, and this is its callback or payload.
    Removed(P),
    /// The timer was pending. It is kept, and is idle now.
    Disarmed,
    /// The timer is kept, and was already idle.
    Idle,
    /// The timer is running. The result of its callback will not arm it again, unless
    /// [`try_cancel`](super::Scheduler::try_cancel) returned this, which changes nothing.
    Running {
        /// Whether the callback runs on the calling thread, which means that the callback itself
        /// made the call. It is always `true` for a [`TimerSet`](super::TimerSet), whose owner runs
        /// its timers.
        here: bool,
    },
    /// The timer's callback ran on another thread, and has ended.
    Finished {
        /// The callback had asked to run again, and the cancel prevented that. Only one caller per
        /// run gets `true`.
        suppressed: bool,
    },
    /// The id does not name a timer.
    NotFound,
}

/// Why the queue was not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunError {
    /// Another thread is running the queue.
    Busy,
    /// The caller is one of the scheduler's callbacks.
    WithinCallback,
}

error_texts! { RunError:
    Self::Busy => "another thread runs the queue",
    Self::WithinCallback => "a callback cannot run the queue that runs it",
}

/// Information about a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The timer's id.
    pub id: TimerId,
    /// Its `int` id, if the scheduler issues such ids.
    pub int_id: Option<i32>,
    /// Whether it is idle, pending or running.
    pub state: State,
    /// The time at which a pending timer is due or a running timer was due, on the steady timeline.
    pub due: Instant,
    /// Its period, or the delay with which it was armed.
    pub period: Duration,
    /// Whether `period` is a period, and not the delay with which the timer was armed.
    pub periodic: bool,
    /// The origin of the timer.
    pub site: Site,
}

/// Counts since the scheduler was created.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// How many timers exist: idle, pending and running.
    pub timers: usize,
    /// How many timers are pending.
    pub pending: usize,
    /// The largest number of timers that existed at one time.
    pub high_water: usize,
    /// How often the user armed a timer.
    pub armed: u64,
    /// How many of the calls in `armed` moved a pending timer.
    pub rearmed: u64,
    /// How often a timer ran.
    pub fired: u64,
    /// How many pending timers were cancelled.
    pub cancelled: u64,
    /// How many periods passed without a separate run.
    pub overruns: u64,
    /// How many passes have begun.
    pub passes: u64,
    /// How many steps of the wall clock the scheduler noticed.
    pub steps: u64,
    /// How late timers ran: the time from the due time to the start of the callback.
    pub lateness: Lateness,
    /// The delays of the armed timers. A delay lasts from the call, or from the instant that the
    /// caller passed, to the due time.
    pub delays: DelayCounts,
}

/// The state and counts of the host tick, the one timer that waits while more urgent work runs.
///
/// Some kernels emulate the timer of another kernel, for example a hypervisor, or a real-time
/// kernel that runs Linux as its least urgent task. The queue of such a kernel holds the other
/// kernel's tick, which is the least urgent of all timers and must not interrupt urgent work.
/// Therefore, while the caller has declared [urgent work](super::TimerSet::begin_urgent) and the
/// host tick is the first timer of the queue, the alarm is set for the *second* timer. The tick is
/// deferred until the urgent work has ended, but is never lost.
///
/// ```
/// use core::time::Duration;
/// use tickwright::scheduler::{Missed, Next, TimerSet, Settings, Site, Timing};
/// use tickwright::time::{Instant, VirtualHost};
///
/// let machine = VirtualHost::new();
/// let mut timers = TimerSet::new(Settings::new().clock(machine.monotonic()));
/// let period = Duration::from_nanos(10);
/// let grid = Timing::after(period).every(period).missed(Missed::Skip);
/// let tick = timers.add(grid, &Site::here("host"), "host tick")?;
/// timers.set_host(tick)?;
/// timers.add(Timing::after(Duration::from_nanos(35)), &Site::here("motor"), "motor")?;
///
/// timers.begin_urgent();
/// assert_eq!(timers.next_wake(), Some(Instant::from_nanos(35)), "the second");
/// machine.advance(Duration::from_nanos(37));
/// timers.begin_pass();
/// assert_eq!(timers.take().map(|due| due.payload), Some("motor"));
/// assert_eq!(timers.take(), None, "deferred");
///
/// timers.end_urgent();
/// assert_eq!(timers.next_wake(), Some(Instant::ZERO), "at once");
/// let due = timers.take().expect("late, and not lost");
/// assert_eq!((due.payload, due.due, due.overruns), ("host tick", Instant::from_nanos(30), 2));
/// timers.finish(due.id, due.payload, Next::Again);
/// let host = timers.host().expect("it is kept");
/// assert_eq!((host.deferred, host.late, host.latest), (1, 1, Duration::from_nanos(7)));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostTick {
    /// The timer.
    pub id: TimerId,
    /// Whether the host tick is due, or was due when urgent work ended, and has not run since then.
    pub waits: bool,
    /// How many times the host tick ran.
    pub runs: u64,
    /// How many times the host tick was due and had to wait. This can exceed `late`, because a host
    /// tick that waits can be cancelled or moved before it runs.
    pub deferred: u64,
    /// How many runs of the host tick came after a wait.
    pub late: u64,
    /// The longest lateness of a run that came after a wait.
    pub latest: Duration,
}
