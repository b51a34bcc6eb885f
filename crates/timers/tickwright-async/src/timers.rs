//! The type [`Timers`], a handle to a set of timers.

use core::fmt;
use core::future::IntoFuture;
use core::time::Duration;
use std::io;

use crate::coop;
use crate::delay_queue::DelayQueue;
use crate::driver::Driver;
#[cfg(not(all(feature = "web", target_family = "wasm", target_os = "unknown")))]
use crate::driver::Place;
use crate::interval::Interval;
use crate::node::{Core, Locked, State};
use crate::report::TimerReport;
use crate::settings::TimerSettings;
use crate::sleep::Sleep;
use crate::slot::Slot;
use crate::sync::{Arc, Ordering, lock};
use crate::time::{Instant, instant, nanos, nanos_at};
use crate::timeout::Timeout;

/// A handle to a set of timers, which creates sleeps, time-outs and slots. Clones are handles to
/// the same set.
///
/// The timers of a set that [`new`](Self::new) has created fire on a dedicated thread, which sleeps
/// until a timer is due. If [`TimerSettings::driven`](crate::TimerSettings::driven) has created the
/// set, its timers fire when the caller's loop calls [`run`](Self::run).
///
/// After the last handle is dropped, pending timers still fire. The dedicated thread ends after the
/// last timer.
///
/// ```
/// use core::time::Duration;
/// use tickwright_async::{TestClock, Timers};
///
/// let clock = TestClock::new();
/// let timers = clock.timers();
/// let started = timers.now();
/// clock.block_on(async {
///     timers.sleep(Duration::from_secs(60)).await;
/// });
/// assert_eq!(timers.now() - started, Duration::from_secs(60), "and it took no time");
/// ```
pub struct Timers {
    pub(crate) core: Arc<Core>,
}

/// The constructors of timers with settings.
impl TimerSettings {
    /// Creates a set of timers and starts its thread. In a web page, with the feature `web`, the
    /// page's event loop replaces the thread.
    ///
    /// # Errors
    /// The platform's error if it cannot start a thread. An error of kind `InvalidInput` if the
    /// settings have a clock.
    pub fn start(self) -> io::Result<Timers> {
        if self.clock.is_some() {
            let why = "a thread cannot sleep by a clock of the caller's: make driven timers, and call run";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let timers = self.start_or_retry();
        // If the thread could not be started before, this second attempt returns the error.
        timers.core.call_thread(None)?;
        Ok(timers)
    }

    /// Like [`start`](Self::start), but ignores a clock in the settings. If no thread can be
    /// started now, the next arming of a timer tries again.
    #[cfg(not(all(feature = "web", target_family = "wasm", target_os = "unknown")))]
    pub(crate) fn start_or_retry(mut self) -> Timers {
        self.clock = None;
        let timers = Timers { core: self.core(Driver::Thread(Place::new())) };
        let _ = timers.core.call_thread(None);
        timers
    }

    /// Creates a set of timers that fire when the caller calls [`Timers::run`]. The hook `earlier`
    /// is called when a timer is armed that is due before the time that [`Timers::poll_timeout`]
    /// last returned. It is also called when the last handle is dropped, and for each timer that is
    /// dropped after that. The hook should wake the caller's loop. It can run on any thread, and no
    /// lock is held. A program with only one thread can pass an empty hook.
    ///
    /// ```
    /// use core::time::Duration;
    /// use std::pin::pin;
    /// use tickwright_async::TimerSettings;
    ///
    /// let timers = TimerSettings::new().driven(|| {});
    /// let mut sleep = pin!(timers.sleep(Duration::from_millis(1)));
    /// let mut cx = core::task::Context::from_waker(core::task::Waker::noop());
    /// while sleep.as_mut().poll(&mut cx).is_pending() {
    ///     // A loop with descriptors waits for those, with this time-out.
    ///     std::thread::sleep(timers.poll_timeout().unwrap_or_default());
    ///     timers.run();
    /// }
    /// # use core::future::Future;
    /// ```
    #[must_use]
    pub fn driven(self, earlier: impl Fn() + Send + Sync + 'static) -> Timers {
        Timers { core: self.core(Driver::Hook(Box::new(earlier))) }
    }
}

impl Timers {
    /// Creates a set of timers with a dedicated thread and the settings of [`TimerSettings::new`].
    ///
    /// # Errors
    /// The platform's error if it cannot start a thread.
    pub fn new() -> io::Result<Self> {
        TimerSettings::new().start()
    }

    /// Returns the time of the timers' clock, as an instant of the standard library. With the clock
    /// of the machine, the result differs from [`Instant::now`] by at most 100 ns.
    #[must_use]
    pub fn now(&self) -> Instant {
        instant(self.core.time.now())
    }

    /// Waits for a duration from now. Any duration is allowed. A sleep beyond the clock's range of
    /// several hundred years waits forever. A sleep of zero is ready at once.
    ///
    /// The call costs one read of the clock.
    #[inline]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::after(&self.core, nanos(duration)).sited()
    }

    /// Waits until an instant. If the instant has passed, the sleep is ready at once.
    #[inline]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep::at(&self.core, nanos_at(deadline)).sited()
    }

    /// Runs a future, and cancels it if it is not ready after a duration.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use tickwright_async::TestClock;
    /// # let clock = TestClock::new();
    /// # let timers = clock.timers();
    /// # clock.block_on(async {
    /// let never = core::future::pending::<()>();
    /// assert!(timers.timeout(Duration::from_secs(5), never).await.is_err());
    /// assert_eq!(timers.timeout(Duration::from_secs(5), async { 7 }).await, Ok(7));
    /// # });
    /// ```
    #[inline]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn timeout<F: IntoFuture>(&self, duration: Duration, future: F) -> Timeout<F::IntoFuture> {
        Timeout::new(future, self.sleep(duration))
    }

    /// Runs a future, and cancels it if it is not ready at an instant.
    #[inline]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn timeout_at<F: IntoFuture>(&self, deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
        Timeout::new(future, self.sleep_until(deadline))
    }

    /// Creates an interval that ticks every `period`. The first tick comes at once. A period of
    /// zero, for which tokio panics, is treated as the shortest useful period, which is the
    /// [resolution](Timers::resolution), but at least 1 us.
    #[must_use]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn interval(&self, period: Duration) -> Interval {
        self.interval_at(self.now(), period)
    }

    /// Creates an interval that ticks every `period`. The first tick comes at `start`. A period of
    /// zero is treated as the resolution, but at least as 1 us.
    #[must_use]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn interval_at(&self, start: Instant, period: Duration) -> Interval {
        let period = if period.is_zero() { self.resolution().max(Interval::SHORTEST) } else { period };
        Interval::new(self.sleep_until(start), period)
    }

    /// Creates a reusable deadline that is not set.
    #[must_use]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn slot(&self) -> Slot {
        Slot::new(&self.core).sited()
    }

    /// Creates an empty queue, which allocates memory at the first insert.
    #[must_use]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn delay_queue<T>(&self) -> DelayQueue<T> {
        DelayQueue::of(&self.core)
    }

    /// Fires the due timers, on this thread. Returns how many timers fired. Only
    /// [`driven`](crate::TimerSettings::driven) timers need this call.
    ///
    /// # Panics
    /// If wakers panic, resumes the first of these panics after all wakers were called.
    pub fn run(&self) -> usize {
        coop::begin_turn();
        self.core.pass().0.end()
    }

    /// Returns how long the caller's loop can sleep before it must call [`run`](Self::run): zero if
    /// a timer is due, and `None` if no timer is pending. If timers were dropped, this time can be
    /// shorter than necessary.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let next = self.core.next();
        let left = || self.core.time.start(next).saturating_sub(self.core.time.now());
        (next < u64::MAX).then(|| Duration::from_nanos(left()))
    }

    /// Returns when the loop must call [`run`](Self::run) next, or `None` if no timer is pending.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let next = self.core.next();
        (next < u64::MAX).then(|| instant(self.core.time.start(next)))
    }

    /// Returns the largest lateness that rounding of a deadline causes.
    #[must_use]
    pub fn resolution(&self) -> Duration {
        self.core.time.resolution()
    }

    /// Returns how many timers there are, what was done with timers, and how late timers fired.
    /// Takes O(timers), and locks one shard at a time.
    #[must_use]
    pub fn report(&self) -> TimerReport {
        let (wakeups, panics) = self.core.driver.counts();
        let mut report = TimerReport { wakeups, panics, ..TimerReport::EMPTY };
        for shard in &self.core.shards {
            let mut state = lock(&shard.state);
            let Locked { queue, totals, .. } = &mut *state;
            let mut live = 0;
            for (_, node) in queue.iter_unordered() {
                // Acquire, so that the arm of a live timer is collected.
                live += usize::from(node.state(Ordering::Acquire) != State::Vacant);
                totals.collect(&node.counts);
            }
            #[cfg(feature = "metrics")]
            {
                let fired = state.lateness.count();
                let [armed, rearmed, cancelled] = state.totals.numbers(live, fired);
                report.armed += armed;
                report.rearmed += rearmed;
                report.cancelled += cancelled;
            }
            report.live += live;
            report.vacant += state.queue.len() - live;
            report.high_water += state.high_water;
            report.locks += state.locked;
            report.delays.add(&state.delays);
            report.lateness.add(&state.lateness);
        }
        report
    }

    /// Returns the places where the live timers were created, each with its number of timers, in
    /// descending order of these numbers. Takes O(timers), and locks one shard at a time.
    #[cfg(feature = "sites")]
    #[must_use]
    pub fn sites(&self) -> Vec<(&'static core::panic::Location<'static>, usize)> {
        let mut counts = std::collections::HashMap::new();
        for shard in &self.core.shards {
            for (_, node) in lock(&shard.state).queue.iter_unordered() {
                let is_live = node.state(Ordering::Relaxed) != State::Vacant;
                if let (true, Some(site)) = (is_live, *lock(&node.site)) {
                    *counts.entry(site).or_insert(0) += 1;
                }
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
        counts
    }

    /// Returns whether both handles refer to the same set of timers.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }
}

impl Clone for Timers {
    fn clone(&self) -> Self {
        self.core.handles.fetch_add(1, Ordering::Relaxed);
        Self { core: Arc::clone(&self.core) }
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        // Release and Acquire, so that a driver that reads 0 sees each timer that was armed with
        // any of the handles.
        if self.core.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            // The driver removes the vacant timers. If there is no driver, the pools of the threads
            // remove them.
            self.core.call_driver_to_end();
        }
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timers").field("resolution", &self.resolution()).finish_non_exhaustive()
    }
}
