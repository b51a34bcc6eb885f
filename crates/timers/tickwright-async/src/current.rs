//! The functions that take no handle: they use the timers that the thread has entered, or else the
//! timers of the process.

use core::cell::RefCell;
use core::future::IntoFuture;
use core::marker::PhantomData;
use core::time::Duration;
use std::sync::OnceLock;

use crate::delay_queue::DelayQueue;
use crate::interval::Interval;
use crate::settings::TimerSettings;
use crate::sleep::Sleep;
use crate::slot::Slot;
use crate::time::{Instant, nanos};
use crate::timeout::Timeout;
use crate::timers::Timers;

/// The timers of the process.
static GLOBAL: OnceLock<Timers> = OnceLock::new();

thread_local! {
    static ENTERED: RefCell<Option<Timers>> = const { RefCell::new(None) };
}

/// While this guard lives, the functions of this crate use the timers that were entered on this
/// thread.
#[must_use = "the timers are left when this is dropped"]
#[derive(Debug)]
pub struct Entered {
    before: Option<Timers>,
    /// Makes the guard `!Send`.
    _here: PhantomData<*const ()>,
}

impl Timers {
    /// Makes the functions of this crate, such as [`sleep`](crate::sleep), use these timers on this
    /// thread, until the guard is dropped. Drop nested guards in the reverse order of their
    /// creation.
    ///
    /// ```
    /// use core::time::Duration;
    /// use tickwright_async::{TestClock, sleep};
    ///
    /// let clock = TestClock::new();
    /// let _entered = clock.timers().enter();
    /// clock.block_on(sleep(Duration::from_secs(3600)));
    /// ```
    pub fn enter(&self) -> Entered {
        let mine = Some(self.clone());
        let swap = ENTERED.try_with(|entered| {
            entered.try_borrow_mut().ok().and_then(|mut e| core::mem::replace(&mut *e, mine))
        });
        Entered { before: swap.ok().flatten(), _here: PhantomData }
    }

    /// Returns the timers of the process, which the functions of this crate use on threads that
    /// have not entered others. They are created at the first use, with a dedicated thread and the
    /// settings of [`TimerSettings::new`].
    ///
    /// If the platform cannot start a thread, each timer that is armed tries again to start it.
    /// Until that succeeds, the timer's task is polled repeatedly until the timer is due.
    pub fn global() -> &'static Self {
        GLOBAL.get_or_init(|| TimerSettings::new().start_or_retry())
    }

    /// Makes these the timers of the process: the functions of this crate use them on every thread
    /// that has not entered others. Call it before the first use of those functions, for example
    /// with the timers of a runtime whose tasks run on several workers.
    ///
    /// # Errors
    /// These timers, if the process has timers already.
    pub fn set_global(self) -> Result<(), Self> {
        GLOBAL.set(self)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.before.take();
        let left = ENTERED.try_with(|entered| {
            entered.try_borrow_mut().ok().and_then(|mut e| core::mem::replace(&mut *e, before))
        });
        drop(left);
    }
}

/// Calls a function with the timers that were entered, or with those of the process.
#[inline]
fn with<R>(mut work: impl FnMut(&Timers) -> R) -> R {
    let entered = ENTERED.try_with(|entered| entered.try_borrow().ok()?.as_ref().map(&mut work));
    match entered {
        Ok(Some(result)) => result,
        _ => {
            let timers = Timers::global();
            #[cfg(all(feature = "tokio", debug_assertions))]
            if timers.core.time.is_machine() {
                crate::adapter::tell_of_paused_clock();
            }
            work(timers)
        }
    }
}

/// Waits for a duration: [`Timers::sleep`] of the entered timers, or else of the process's timers.
#[inline]
#[cfg_attr(feature = "sites", track_caller)]
pub fn sleep(duration: Duration) -> Sleep {
    let span = nanos(duration);
    Sleep::of(with(|timers| Sleep::parts(&timers.core, span)), span).sited()
}

/// Waits until an instant: [`Timers::sleep_until`].
#[inline]
#[cfg_attr(feature = "sites", track_caller)]
pub fn sleep_until(deadline: Instant) -> Sleep {
    with(|timers| timers.sleep_until(deadline)).sited()
}

/// Cancels a future that is not ready after a duration: [`Timers::timeout`].
#[inline]
#[cfg_attr(feature = "sites", track_caller)]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout::new(future, sleep(duration))
}

/// Cancels a future that is not ready at an instant: [`Timers::timeout_at`].
#[inline]
#[cfg_attr(feature = "sites", track_caller)]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout::new(future, sleep_until(deadline))
}

/// Ticks every `period`, for the first time at once: [`Timers::interval`].
#[must_use]
#[cfg_attr(feature = "sites", track_caller)]
pub fn interval(period: Duration) -> Interval {
    with(|timers| timers.interval(period)).sited()
}

/// Ticks every `period`, for the first time at `start`: [`Timers::interval_at`].
#[must_use]
#[cfg_attr(feature = "sites", track_caller)]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    with(|timers| timers.interval_at(start, period)).sited()
}

/// Creates a reusable deadline that is not set: [`Timers::slot`].
#[must_use]
#[cfg_attr(feature = "sites", track_caller)]
pub fn slot() -> Slot {
    with(Timers::slot).sited()
}

/// Returns the time: [`Timers::now`].
#[must_use]
pub fn now() -> Instant {
    with(Timers::now)
}

impl<T> DelayQueue<T> {
    /// Creates an empty queue: [`Timers::delay_queue`] of the entered timers, or else of the
    /// process's timers.
    #[must_use]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn new() -> Self {
        with(Timers::delay_queue)
    }

    /// Creates an empty queue. Reserves room for `capacity` values if that much memory can be
    /// allocated.
    #[must_use]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut queue = Self::new();
        queue.reserve(capacity);
        queue
    }
}

impl<T> Default for DelayQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}
