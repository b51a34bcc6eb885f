//! The functions that need no handle. They use the timers that the thread has entered, or the
//! timers of the process if it has entered none.

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

/// A guard. While it exists, the functions of this crate use the entered timers on this thread.
#[must_use = "the timers are left when this is dropped"]
#[derive(Debug)]
pub struct Entered {
    before: Option<Timers>,
    /// Makes the guard `!Send`, because it belongs to this thread.
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
    /// have not entered other timers. They are created at the first use, with a dedicated thread
    /// and the settings of [`TimerSettings::new`].
    ///
    /// If the platform cannot start the dedicated thread, each arming of a timer tries again to
    /// start it. Until this succeeds, the tasks that wait for timers are polled again and again.
    pub fn global() -> &'static Self {
        GLOBAL.get_or_init(|| TimerSettings::new().start_or_retry())
    }

    /// Makes these timers the timers of the process, which the functions of this crate use on every
    /// thread that has not entered other timers. Call it before the first use of those functions,
    /// for example with the timers of a runtime whose tasks run on several workers.
    ///
    /// Later calls cannot replace these timers, and timers that a runtime drives stop when the
    /// runtime ends. In tests, each of which has a runtime of its own, use [`enter`](Self::enter).
    ///
    /// # Errors
    /// Returns `self` if the process already has timers.
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

/// Calls a function with the timers that this thread has entered, or with the timers of the process
/// if it has entered none.
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

/// Waits for a duration. It calls [`Timers::sleep`] of the entered timers, or of the process's
/// timers if this thread has entered none.
#[inline]
#[cfg_attr(feature = "sites", track_caller)]
pub fn sleep(duration: Duration) -> Sleep {
    let span = nanos(duration);
    Sleep::of(with(|timers| Sleep::parts(&timers.core, span)), span).sited()
}

/// Waits until an instant. See [`Timers::sleep_until`].
#[inline]
#[cfg_attr(feature = "sites", track_caller)]
pub fn sleep_until(deadline: Instant) -> Sleep {
    with(|timers| timers.sleep_until(deadline)).sited()
}

/// Runs a future, and cancels it if it is not ready after a duration. See [`Timers::timeout`].
#[inline]
#[cfg_attr(feature = "sites", track_caller)]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout::new(future, sleep(duration))
}

/// Runs a future, and cancels it if it is not ready at an instant. See [`Timers::timeout_at`].
#[inline]
#[cfg_attr(feature = "sites", track_caller)]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout::new(future, sleep_until(deadline))
}

/// Creates an interval that ticks every `period`. The first tick comes at once. See
/// [`Timers::interval`].
#[must_use]
#[cfg_attr(feature = "sites", track_caller)]
pub fn interval(period: Duration) -> Interval {
    with(|timers| timers.interval(period)).sited()
}

/// Creates an interval that ticks every `period`. The first tick comes at `start`. See
/// [`Timers::interval_at`].
#[must_use]
#[cfg_attr(feature = "sites", track_caller)]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    with(|timers| timers.interval_at(start, period)).sited()
}

/// Creates a reusable deadline that is not set. See [`Timers::slot`].
#[must_use]
#[cfg_attr(feature = "sites", track_caller)]
pub fn slot() -> Slot {
    with(Timers::slot).sited()
}

/// Returns the current time. See [`Timers::now`].
#[must_use]
pub fn now() -> Instant {
    with(Timers::now)
}

impl<T> DelayQueue<T> {
    /// Creates an empty queue. It calls [`Timers::delay_queue`] of the entered timers, or of the
    /// process's timers if this thread has entered none.
    #[must_use]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn new() -> Self {
        with(Timers::delay_queue)
    }

    /// Creates an empty queue. Reserves room for `capacity` values if there is enough memory.
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
