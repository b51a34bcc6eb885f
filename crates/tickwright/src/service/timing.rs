//! When a timer is due: once or on a grid, how late it may be, and what becomes of periods that
//! were missed.

use core::time::Duration;

use crate::clock::{Instant, nanos};

/// The point in time that a timer is armed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The timer is due this long after it is armed. A step of the wall clock does not touch it.
    /// From 584 years on it is never due.
    After(Duration),
    /// The timer is due this long after this instant, which the service's clock has shown. It is
    /// the time at which a pass or a callback began, or at which a loop woke. Arming it then reads
    /// no clock (but over granular structures, and while timers by the wall are pending). It never
    /// runs before `instant + delay`; seen from the call, that is earlier than `After` by the age
    /// of the instant.
    Since(Instant, Duration),
    /// The timer is due when the service's clock shows this instant. A past one is due at once.
    At(Instant),
    /// The timer is due when the wall clock shows this, counted from 1970-01-01 UTC. If the wall
    /// clock is stepped, the timer goes with it. Timers that are then due in the same tick run in
    /// no stated order. A wall that is set to before 1970 holds its timers until it gets there. A
    /// date from July 2554 on (2^64 ns) counts as that moment.
    Wall(Duration),
}

/// What becomes of a timer that runs again, when whole periods have passed in the meantime.
///
/// Say the period is 10, the timer was due at 20, and it is run only at 47:
///
/// | | is told | is due again at | and then |
/// |---|---|---|---|
/// | `Burst` | no overrun | 30, 40 (one in each pass), 50 | nothing is left out, the grid stays |
/// | `Skip` | 2 overruns (30, 40) | 50 | the grid stays |
/// | `Delay` | 2 overruns | 10 after its callback has ended | 10 after that one has ended: no grid |
/// | `Collapse` (default) | 2 overruns | 47, at once | a new grid: 57, 67 |
/// | `Persist` | 2 overruns | 57 | a new grid: 67, 77 |
///
/// If it is run at 23, no period is missed. Then it is due again at 30, but with `Delay` 10 after
/// its callback has ended, at 33 or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Missed {
    /// Each missed period is made up for, one run each.
    Burst,
    /// Missed periods are counted as overruns and left out. No drift.
    Skip,
    /// The next period begins when the callback ends, also if none was missed. So the timer drifts
    /// at each firing, by its lateness and by the time that its callback takes.
    Delay,
    /// One period from the previous due time, but never before now: what schedulers of telephone
    /// exchanges do.
    #[default]
    Collapse,
    /// The grid stays while no period is missed. After a miss it begins again, one period after the
    /// late run. So do the persistent events (`EV_PERSIST`) of libevent. It is also what tokio
    /// calls `Delay`, except that there being 5 ms late is a miss already. The repeat of libuv has
    /// no grid: it counts from the run each time. So it drifts as [`Delay`](Self::Delay) does, but
    /// for the time that the callback takes.
    Persist,
}

/// When a timer is due, and how.
///
/// ```
/// use core::time::Duration;
/// use tickwright::service::{Missed, Timing};
///
/// let keepalive = Timing::after(Duration::from_secs(30)).every(Duration::from_secs(30)).missed(Missed::Skip)
///     .slack(Duration::from_secs(2));
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
    /// At `when`, once.
    #[inline]
    pub fn at(when: When) -> Self {
        Self::aimed(match when {
            When::After(delay) => Target::After(nanos(delay)),
            When::Since(instant, delay) => Target::Since(instant.as_nanos(), nanos(delay)),
            When::At(instant) => Target::At(instant.as_nanos()),
            When::Wall(date) => Target::Wall(nanos(date)),
        })
    }

    fn aimed(target: Target) -> Self {
        Self { target, period_ns: None, missed: Missed::default(), slack_ns: 0 }
    }

    /// Like [`after`](Self::after), in ns: for the C interface, which has no `Duration` to take
    /// apart.
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

    /// `delay` after `instant`, once. This spares each call its read of the clock where many timers
    /// are armed at one time:
    ///
    /// ```
    /// use core::time::Duration;
    /// use tickwright::scheduler::{Boxed, Next, Scheduler, Settings};
    /// use tickwright::service::Timing;
    ///
    /// let scheduler = Scheduler::new(Settings::new());
    /// let now = scheduler.now(); // one read for all of them
    /// for seconds in 1..=3 {
    ///     let timing = Timing::since(now, Duration::from_secs(seconds));
    ///     scheduler.timer(timing).add(Boxed::new(|_| Next::Done))?;
    /// }
    /// # Ok::<(), tickwright::service::Refused<Boxed>>(())
    /// ```
    ///
    /// What holds then is at [`When::Since`].
    #[inline]
    pub fn since(instant: Instant, delay: Duration) -> Self {
        Self::at(When::Since(instant, delay))
    }

    /// `delay` from now, once. From 584 years on it is never due.
    #[inline]
    pub fn after(delay: Duration) -> Self {
        Self::after_nanos(nanos(delay))
    }

    /// And then every `period`, on a grid. For a grid that never moves add
    /// `.missed(Missed::Skip)`. By default ([`Missed::Collapse`]) a timer that missed a period runs
    /// once more at once, and a new grid begins. A period of 0 is due again at each pass. Without
    /// `every`, a callback that asks to run again runs after the delay of the timer's first arm.
    pub fn every(mut self, period: Duration) -> Self {
        self.period_ns = Some(nanos(period));
        self
    }

    /// What becomes of missed periods. Without it, [`Missed::Collapse`].
    pub fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// How much later than asked for will do. Within that time the roundest tick is chosen, so that
    /// timers meet there and one wake-up serves them all. Rounded down to 1024 ns and to four
    /// significant bits, so to at least seven eighths from 8 us on; at most 4.5 hours.
    pub fn slack(mut self, slack: Duration) -> Self {
        self.slack_ns = nanos(slack);
        self
    }
}

impl Missed {
    /// For a timer that was due at `due`, seen at `now`, returns three numbers. They are the whole
    /// periods that have passed, the due time that its delivery stands for, and the time from which
    /// the next period counts.
    pub(super) fn deliver(self, due: u64, period: u64, now: u64) -> (u64, u64, u64) {
        let behind = now.saturating_sub(due).checked_div(period).unwrap_or(0);
        match self {
            Self::Burst => (0, due, due),
            Self::Skip => {
                // The point of the grid that was reached last: behind * period <= now - due.
                let reached = due + behind * period;
                (behind, reached, reached)
            }
            Self::Delay | Self::Collapse => (behind, due, due),
            // At the very moment when the next one is due, none was missed.
            Self::Persist if due.saturating_add(period) < now => (behind, due, now),
            Self::Persist => (0, due, due),
        }
    }

    /// When a timer is due again `period` after it was at `due`, if it is asked at `now`.
    pub(super) fn next(self, due: u64, period: u64, now: u64) -> u64 {
        match self {
            Self::Burst | Self::Skip | Self::Persist => due.saturating_add(period),
            Self::Delay => now.saturating_add(period),
            Self::Collapse => due.saturating_add(period).max(now),
        }
    }
}

/// The tick from `earliest` to `latest` with the most zeros at its end (the later of two such), so
/// that timers with slack meet.
pub(super) fn roundest(earliest: u64, latest: u64) -> u64 {
    let Some(before) = earliest.checked_sub(1).filter(|_| latest > earliest) else { return earliest };
    // Above the highest bit in which they differ both are the same, and in it `latest` has the one.
    let bit = (before ^ latest).ilog2();
    latest >> bit << bit
}
