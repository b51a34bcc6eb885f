//! Intervals: ticks with a fixed period, and the policies for missed ticks.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use crate::sleep::Sleep;
use crate::time::{Instant, nanos};

/// What an [`Interval`] does after a tick that came more than 5 ms late. As in tokio, a tick that
/// is less late is treated as on time, so the choice makes little difference for periods below 5
/// ms.
///
/// With a period of 10 ms, a start at 0 and a task that is busy from 15 to 47 ms, the ticks come at
/// these times:
///
/// | policy | ticks at (ms) |
/// |---|---|
/// | `Burst` | 0 10 47 47 47 50 60 |
/// | `Delay` | 0 10 47 57 67 |
/// | `Skip` | 0 10 47 50 60 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissedTickBehavior {
    /// All missed ticks come at once. The grid does not change.
    #[default]
    Burst,
    /// A new grid begins at the late tick.
    Delay,
    /// The missed ticks are skipped. The grid does not change.
    Skip,
}

/// Ticks with a fixed period. [`Timers::interval`](crate::Timers::interval) and
/// [`Timers::interval_at`](crate::Timers::interval_at) return it.
///
/// ```
/// # use core::time::Duration;
/// # use tickwright_async::TestClock;
/// # let clock = TestClock::new();
/// # let timers = clock.timers();
/// # clock.block_on(async {
/// let mut every = timers.interval(Duration::from_millis(10));
/// let first = every.tick().await; // at once
/// assert_eq!(every.tick().await - first, Duration::from_millis(10));
/// # });
/// ```
#[derive(Debug)]
pub struct Interval {
    sleep: Sleep,
    /// The period in nanoseconds, which is never 0.
    period: u64,
    missed: MissedTickBehavior,
}

impl Interval {
    /// A period of zero is replaced by at least this period, so that a virtual clock makes at most
    /// a million steps per second of virtual time.
    pub(crate) const SHORTEST: Duration = Duration::from_micros(1);

    pub(crate) fn new(sleep: Sleep, period: Duration) -> Self {
        Self { sleep, period: nanos(period), missed: MissedTickBehavior::default() }
    }

    /// Records the caller's line as the place where the interval was created.
    #[cfg_attr(feature = "sites", track_caller)]
    pub(crate) fn sited(self) -> Self {
        Self { sleep: self.sleep.sited(), ..self }
    }

    /// Waits for the next tick. Returns the instant at which it was due. If the future is dropped
    /// before its tick, the tick is not lost, because the next call returns it.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Polls once for the next tick, like the future of [`tick`](Self::tick).
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(Pin::new(&mut self.sleep).poll(cx));
        let due = self.sleep.nanos();
        let tick = self.sleep.deadline();
        self.sleep.reset_to(self.next(due, self.sleep.now()));
        Poll::Ready(tick)
    }

    /// Returns when the next tick is due after the tick that was due at `due` was returned at
    /// `now`.
    fn next(&self, due: u64, now: u64) -> u64 {
        let next = due.saturating_add(self.period);
        // Each tick is a little late, so a small lateness does not count as a missed tick.
        let late = now.saturating_sub(due);
        match self.missed {
            _ if late <= SLOP => next,
            MissedTickBehavior::Burst => next,
            MissedTickBehavior::Delay => now.saturating_add(self.period),
            MissedTickBehavior::Skip => now.saturating_add(self.period - late % self.period),
        }
    }

    /// Moves the next tick to one period from now.
    pub fn reset(&mut self) {
        self.sleep.reset_from_now(self.period);
    }

    /// Makes the next tick come at once.
    pub fn reset_immediately(&mut self) {
        self.sleep.reset_from_now(0);
    }

    /// Moves the next tick to a duration from now.
    pub fn reset_after(&mut self, after: Duration) {
        self.sleep.reset_from_now(nanos(after));
    }

    /// Moves the next tick to an instant.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.sleep.reset(deadline);
    }

    /// Returns what the interval does after a tick that came late.
    #[must_use]
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Chooses what happens after a tick that came late. The default is
    /// [`Burst`](MissedTickBehavior::Burst).
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }

    /// Returns the period.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }
}

/// The lateness up to which a tick does not count as missed, in nanoseconds. tokio has the same
/// value.
const SLOP: u64 = 5_000_000;

impl futures_core::Stream for Interval {
    type Item = Instant;

    /// Never returns `None`.
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.poll_tick(cx).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}
