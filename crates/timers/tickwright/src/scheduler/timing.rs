//! What a caller says about when a timer is due: once or on a grid, how late it is allowed to be,
//! and what happens to missed periods.

use core::time::Duration;

use crate::time::{Instant, nanos};

/// The point in time for which a timer is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The timer is due this long after it is armed. A step of the wall clock does not change that.
    /// A timer with a delay of 584 years or more is never due.
    After(Duration),
    /// The timer is due this long after this instant, which the scheduler's clock has shown. Pass
    /// the time at which a pass or a callback began, or at which a loop woke. Arming then does not
    /// read the clock, unless the structure is granular or timers by the wall clock are pending.
    /// The timer never runs before `instant + delay`, which is earlier than with `After` by the
    /// time that has passed since the instant.
    Since(Instant, Duration),
    /// The timer is due when the scheduler's clock shows this instant. An instant in the past is
    /// due at once.
    At(Instant),
    /// The timer is due when the wall clock shows this time, counted from 1970-01-01 UTC. If the
    /// wall clock is stepped, the timer's due time on the steady timeline moves accordingly. After
    /// a step, timers that are due in the same tick run in no particular order. If the wall clock
    /// is set to a time before 1970, its timers wait until it shows 1970 again. A date in July 2554
    /// or later (2^64 ns) is treated as that moment.
    Wall(Duration),
}

/// What happens to a repeating timer if whole periods have passed before its run.
///
/// Example: the period is 10, the timer was due at 20, and it runs only at 47:
///
/// | | is told | is due again at | and then |
/// |---|---|---|---|
/// | `Burst` | no overrun | 30, 40 (one in each pass), 50 | nothing is left out, the grid stays |
/// | `Skip` | 2 overruns (30, 40) | 50 | the grid stays |
/// | `Delay` | 2 overruns | 10 after its callback ended | 10 after that one ended: no grid |
/// | `Collapse` (default) | 2 overruns | 47, at once | a new grid: 57, 67 |
/// | `Persist` | 2 overruns | 57 | a new grid: 67, 77 |
///
/// If the timer runs at 23, it has missed no period, and it is due again at 30. With `Delay` it is
/// due again 10 after its callback has ended, at 33 or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Missed {
    /// The timer runs once for each missed period.
    Burst,
    /// Missed periods are skipped, and counted as overruns. The timer does not drift.
    Skip,
    /// The next period begins when the callback ends, even if no period was missed. The timer
    /// therefore drifts at each firing by its lateness and by the duration of its callback.
    Delay,
    /// The timer is due one period after its previous due time, but never before now. Schedulers of
    /// telephone exchanges do this.
    #[default]
    Collapse,
    /// The grid stays as long as no period is missed. After a miss a new grid begins, one period
    /// after the late run. The persistent events (`EV_PERSIST`) of libevent do this. `Delay` in
    /// tokio does it too, except that in tokio a run that is 5 ms late already counts as a miss.
    /// The repeat of libuv has no grid: each period counts from the last run, so it drifts like
    /// [`Delay`](Self::Delay), but without the duration of the callback.
    Persist,
}

/// When a timer is due, its period, its slack, and its policy for missed periods.
///
/// ```
/// use core::time::Duration;
/// use tickwright::scheduler::{Missed, Timing};
///
/// let period = Duration::from_secs(30);
/// let keepalive =
///     Timing::after(period).every(period).missed(Missed::Skip).slack(Duration::from_secs(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a timing does nothing by itself"]
pub struct Timing {
    pub(super) target: Target,
    pub(super) period_ns: Option<u64>,
    pub(super) missed: Missed,
    pub(super) slack_ns: u64,
}

/// A [`When`] in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    After(u64),
    /// The instant, and the delay.
    Since(u64, u64),
    At(u64),
    Wall(u64),
}

impl Timing {
    /// Creates a timing that is due once, at `when`.
    #[inline]
    pub fn at(when: When) -> Self {
        Self::aimed(match when {
            When::After(delay) => Target::After(nanos(delay)),
            When::Since(instant, delay) => Target::Since(instant.as_nanos(), nanos(delay)),
            When::At(instant) => Target::At(instant.as_nanos()),
            When::Wall(date) => Target::Wall(nanos(date)),
        })
    }

    #[inline]
    fn aimed(target: Target) -> Self {
        Self { target, period_ns: None, missed: Missed::default(), slack_ns: 0 }
    }

    /// Like [`after`](Self::after), in ns: for the C interface, which has no `Duration`.
    #[doc(hidden)]
    #[inline]
    pub fn after_nanos(delay: u64) -> Self {
        Self::aimed(Target::After(delay))
    }

    /// Like [`since`](Self::since), in ns.
    #[doc(hidden)]
    #[inline]
    pub fn since_nanos(instant: Instant, delay: u64) -> Self {
        Self::aimed(Target::Since(instant.as_nanos(), delay))
    }

    /// Creates a timing that is due once, `delay` after `instant`. If a loop arms many timers at
    /// one time, this saves a read of the clock in each call:
    ///
    /// ```
    /// use core::time::Duration;
    /// use tickwright::scheduler::{Boxed, Next, Scheduler, Settings, Timing};
    ///
    /// let scheduler = Scheduler::new(Settings::new());
    /// let now = scheduler.now(); // one read for all of them
    /// for seconds in 1..=3 {
    ///     let timing = Timing::since(now, Duration::from_secs(seconds));
    ///     scheduler.timer(timing).add(Boxed::new(|_| Next::Done))?;
    /// }
    /// # Ok::<(), tickwright::scheduler::Refused<Boxed>>(())
    /// ```
    ///
    /// For the exact terms see [`When::Since`].
    #[inline]
    pub fn since(instant: Instant, delay: Duration) -> Self {
        Self::at(When::Since(instant, delay))
    }

    /// Creates a timing that is due once, `delay` from now. A delay of 584 years or more is never
    /// due.
    #[inline]
    pub fn after(delay: Duration) -> Self {
        Self::after_nanos(nanos(delay))
    }

    /// Repeats the timer every `period` after its first due time, on a grid. For a grid that never
    /// moves, add `.missed(Missed::Skip)`. By default ([`Missed::Collapse`]) a timer that missed a
    /// period runs once more at once, and then begins a new grid. A timer with a period of 0 is due
    /// again at each pass. Without `every`, a callback that asks to run again runs after the delay
    /// with which its timer was first armed.
    pub fn every(mut self, period: Duration) -> Self {
        self.period_ns = Some(nanos(period));
        self
    }

    /// Sets the policy for missed periods. The default is [`Missed::Collapse`].
    pub fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// Allows the timer to be this much later than requested. The scheduler chooses the roundest
    /// tick within that time, so that several timers are due at the same tick and need only one
    /// wake-up. The slack is rounded down to 1024 ns and to four significant bits, so at least
    /// seven eighths of a slack of 8 us or more remain. It is at most 4.5 hours.
    pub fn slack(mut self, slack: Duration) -> Self {
        self.slack_ns = nanos(slack);
        self
    }
}

impl Missed {
    /// Returns three numbers for a timer that was due at `due` and is delivered at `now`: the
    /// number of whole periods that have passed, the due time of this delivery, and the time from
    /// which the next period counts.
    pub(super) fn deliver(self, due: u64, period: u64, now: u64) -> (u64, u64, u64) {
        let behind = now.saturating_sub(due).checked_div(period).unwrap_or(0);
        match self {
            Self::Burst => (0, due, due),
            Self::Skip => {
                // The last point of the grid that was reached: behind * period <= now - due.
                let reached = due + behind * period;
                (behind, reached, reached)
            }
            Self::Delay | Self::Collapse => (behind, due, due),
            // If `now` is exactly the next due time, no period was missed.
            Self::Persist if due.saturating_add(period) < now => (behind, due, now),
            Self::Persist => (0, due, due),
        }
    }

    /// Returns the next due time of a timer that was due at `due`, computed at `now`.
    pub(super) fn next(self, due: u64, period: u64, now: u64) -> u64 {
        match self {
            Self::Burst | Self::Skip | Self::Persist => due.saturating_add(period),
            Self::Delay => now.saturating_add(period),
            Self::Collapse => due.saturating_add(period).max(now),
        }
    }
}

/// Returns the tick from `earliest` to `latest` with the most trailing zero bits, so that timers
/// with slack are due at the same tick. If there are two such ticks, returns the later one.
pub(super) fn roundest(earliest: u64, latest: u64) -> u64 {
    let Some(before) = earliest.checked_sub(1).filter(|_| latest > earliest) else { return earliest };
    // `before` and `latest` agree above the highest bit in which they differ. At that bit `latest`
    // has the 1.
    let bit = (before ^ latest).ilog2();
    latest >> bit << bit
}
