//! A caller's settings for when a timer is due: once or periodically, how late it is allowed to be,
//! and what happens to missed periods.

use core::time::Duration;

use crate::time::{Instant, nanos};

/// When a timer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The timer is due this long after it is armed. A step of the wall clock does not change the
    /// due time. A timer with a delay of 584 years or more is never due.
    After(Duration),
    /// The timer is due this long after the given instant, which the scheduler's clock has already
    /// shown. Pass the time at which a pass or a callback began, or at which a loop woke. Arming
    /// then does not read the clock, unless the structure is granular or timers that follow the
    /// wall clock are pending. The timer never runs before `instant + delay`. With `After`, it
    /// would be due later, because the delay would count from the call.
    Since(Instant, Duration),
    /// The timer is due when the scheduler's clock shows this instant. If the instant is in the
    /// past, the timer is due at once.
    At(Instant),
    /// The timer is due when the wall clock shows this time, counted from 1970-01-01 UTC. If the
    /// wall clock is stepped, the timer's due time on the steady timeline moves accordingly. After
    /// a step, timers that are due in the same tick run in no particular order. If the wall clock
    /// is set to a time before 1970, these timers wait until it shows 1970 again. The latest
    /// possible date is 2^64 ns after 1970, in July 2554, and a later date is treated as that
    /// moment.
    Wall(Duration),
}

/// What happens to a repeating timer if whole periods have passed before its run. The policy also
/// applies to a delay that a callback returns ([`Next::After`](super::Next::After)).
///
/// Example: the period is 10, the timer was due at 20, and it runs only at 47:
///
/// | policy | the callback gets | is due again at | and then |
/// |---|---|---|---|
/// | `Burst` | no overrun | 30, 40 (one in each pass), 50 | no period is skipped, the grid stays |
/// | `Skip` | 2 overruns (30, 40) | 50 | the grid stays |
/// | `Delay` | 2 overruns | 10 after its callback ended | 10 after each callback: no grid |
/// | `Collapse` (default) | 2 overruns | 47, at once | a new grid: 57, 67 |
/// | `Persist` | 2 overruns | 57 | a new grid: 67, 77 |
///
/// If the timer runs at 23, it has missed no period, and it is due again at 30. With `Delay`,
/// however, it is due again 10 after its callback has ended, which is 33 or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Missed {
    /// The timer runs once for each missed period.
    Burst,
    /// Missed periods are skipped, and counted as overruns. The timer does not drift.
    Skip,
    /// The next period begins when the callback ends, even if no period was missed. At each firing,
    /// the timer therefore drifts by its lateness plus the duration of its callback.
    Delay,
    /// The timer is due one period after its previous due time, but never in the past. Schedulers
    /// of telephone exchanges use this policy.
    #[default]
    Collapse,
    /// The grid stays as long as no period is missed. After a miss, a new grid begins one period
    /// after the late run. libevent's persistent events (`EV_PERSIST`) use this policy. So does
    /// `Delay` in tokio, except that in tokio a run that is 5 ms late already counts as a miss. A
    /// repeating timer of libuv has no grid: each period counts from the start of the last run. It
    /// drifts like [`Delay`](Self::Delay), but only by the lateness and not by the duration of the
    /// callback.
    Persist,
}

/// The timing of a timer: when it is due, its period, its slack, and its policy for missed periods.
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

/// A [`When`] with its times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    After(u64),
    /// The instant, and the delay.
    Since(u64, u64),
    At(u64),
    Wall(u64),
}

impl Timing {
    /// Creates the timing of a timer that is due once, at `when`.
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

    /// Like [`after`](Self::after), but with a delay in ns, for the C interface, which has no
    /// `Duration`.
    #[doc(hidden)]
    #[inline]
    pub fn after_nanos(delay: u64) -> Self {
        Self::aimed(Target::After(delay))
    }

    /// Like [`since`](Self::since), but with a delay in ns.
    #[doc(hidden)]
    #[inline]
    pub fn since_nanos(instant: Instant, delay: u64) -> Self {
        Self::aimed(Target::Since(instant.as_nanos(), delay))
    }

    /// Creates the timing of a timer that is due once, `delay` after `instant`. A loop that arms
    /// many timers at one time thereby saves one read of the clock in each call:
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
    /// [`When::Since`] has the exact conditions.
    #[inline]
    pub fn since(instant: Instant, delay: Duration) -> Self {
        Self::at(When::Since(instant, delay))
    }

    /// Creates the timing of a timer that is due once, `delay` from now. With a delay of 584 years
    /// or more it is never due.
    #[inline]
    pub fn after(delay: Duration) -> Self {
        Self::after_nanos(nanos(delay))
    }

    /// Repeats the timer: its due times are on a grid that begins at its first due time, one
    /// `period` apart. For a grid that never moves, add `.missed(Missed::Skip)`. By default
    /// ([`Missed::Collapse`]) a timer that missed a period runs once more at once, and then begins
    /// a new grid. A timer with a period of 0 is due in each pass. If `every` is not used and a
    /// callback asks to run again, it runs after the delay with which the timer was first armed.
    pub fn every(mut self, period: Duration) -> Self {
        self.period_ns = Some(nanos(period));
        self
    }

    /// Sets the policy for missed periods. The default is [`Missed::Collapse`].
    pub fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// Allows the timer to be this much later than requested. Of the allowed ticks, the scheduler
    /// chooses the one whose number has the most trailing zero bits. Several timers are then due at
    /// the same tick and need only one wake-up. The slack is rounded down to a multiple of 1024 ns
    /// with four significant bits. If it is 8 us or more, at most an eighth is lost. A slack above
    /// 4.5 hours is treated as 4.5 hours.
    pub fn slack(mut self, slack: Duration) -> Self {
        self.slack_ns = nanos(slack);
        self
    }
}

impl Missed {
    /// Returns three numbers for a timer that was due at `due` and is delivered at `now`: the
    /// number of missed periods, the due time of this delivery, and the time from which the next
    /// period counts.
    pub(super) fn deliver(self, due: u64, period: u64, now: u64) -> (u64, u64, u64) {
        let behind = now.saturating_sub(due).checked_div(period).unwrap_or(0);
        match self {
            Self::Burst => (0, due, due),
            Self::Skip => {
                // The last due time on the grid that is not later than `now`.
                let reached = due + behind * period;
                (behind, reached, reached)
            }
            Self::Delay | Self::Collapse => (behind, due, due),
            // If `now` is exactly the next due time, no period was missed.
            Self::Persist if due.saturating_add(period) < now => (behind, due, now),
            Self::Persist => (0, due, due),
        }
    }

    /// Returns the next due time of a timer that was due at `due`. The current time is `now`.
    pub(super) fn next(self, due: u64, period: u64, now: u64) -> u64 {
        match self {
            Self::Burst | Self::Skip | Self::Persist => due.saturating_add(period),
            Self::Delay => now.saturating_add(period),
            Self::Collapse => due.saturating_add(period).max(now),
        }
    }
}

/// Returns the tick from `earliest` to `latest` with the most trailing zero bits, so that timers
/// with slack tend to be due at the same tick. If two ticks have equally many such bits, returns
/// the later tick.
pub(super) fn roundest(earliest: u64, latest: u64) -> u64 {
    let Some(before) = earliest.checked_sub(1).filter(|_| latest > earliest) else { return earliest };
    // Above the highest bit in which `before` and `latest` differ, their bits are equal. That bit
    // is 1 in `latest`, because `latest` is greater.
    let bit = (before ^ latest).ilog2();
    latest >> bit << bit
}
