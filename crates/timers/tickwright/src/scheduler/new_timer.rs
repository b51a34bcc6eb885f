//! The calls that add a timer, and a builder that sets a timer's time, origin and callback before
//! it is armed.

use core::time::Duration;

use super::callback::{Boxed, Boxes, Boxing, Firing, IntoNext, Returning};
use super::gate::Gate;
use super::lock::{Access, Shared};
use super::results::Cancelled;
#[cfg(doc)]
use super::results::Next;
use super::results::Refused;
use super::scheduler::{Held, Scheduler};
use super::site::{Origin, Site};
use super::table::TimerId;
#[cfg(doc)]
use super::timing::Missed;
use super::timing::Timing;

/// A timer that is not armed yet. [`Scheduler::timer`] creates it, and [`add`](Self::add) or
/// [`replace`](Self::replace) arms it.
///
/// ```
/// use core::time::Duration;
/// use tickwright::scheduler::{Boxed, Missed, Next, Scheduler, Settings, Timing};
/// use tickwright::time::VirtualHost;
///
/// let host = VirtualHost::new();
/// let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
/// let second = Duration::from_secs(1);
/// let beat = Timing::after(second).every(second).missed(Missed::Skip);
/// scheduler.timer(beat).named("beat").add(Boxed::new(|_| Next::Again))?;
/// assert!(scheduler.dump().to_string().contains("beat"));
/// # Ok::<(), tickwright::scheduler::Refused<Boxed>>(())
/// ```
#[derive(Debug)]
#[must_use = "it is no timer until `add` or `replace` arms it"]
pub struct NewTimer<'s, C, O = Site, L: Access = Shared> {
    scheduler: &'s Scheduler<C, L>,
    timing: Timing,
    origin: O,
}

/// The result of [`NewTimer::place`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<C> {
    /// The new timer's id.
    pub id: TimerId,
    /// The timer's `int` id, or 0 if the scheduler issues none.
    pub int_id: i32,
    /// The result of cancelling the old timer.
    pub old: Cancelled<C>,
}

impl<C, L: Access> Scheduler<C, L> {
    /// Runs `callback` after `delay`. Use [`timer`](Self::timer) to set more than the delay, for
    /// example a period or a name.
    ///
    /// # Errors
    /// [`Refused`], with the callback, if there is no memory or the scheduler is shut down.
    #[track_caller]
    pub fn add(&self, delay: Duration, callback: C) -> Result<TimerId, Refused<C>> {
        self.timer(Timing::after(delay)).add(callback)
    }

    /// Takes the lock for adding a timer. `timing` is `None` if the timer is not armed now. Returns
    /// the guard of the lock and whether the arm must wake a loop, or returns the callback if the
    /// [gate](Gate) refuses the arm.
    #[inline(always)]
    fn admit(&self, timing: Option<Timing>, callback: C) -> Result<(Held<'_, C, L>, bool, C), Refused<C>> {
        let mut core = self.lock();
        if matches!(core.gate, Gate::Open) {
            return Ok((core, false, callback));
        }
        match core.passes(timing) {
            Ok(wakes) => Ok((core, wakes, callback)),
            Err(reason) => Err(Refused { reason, payload: callback }),
        }
    }

    /// Releases the lock that [`admit`](Self::admit) has taken, and wakes a loop if the arm must
    /// wake it.
    #[inline(always)]
    fn release(&self, core: Held<'_, C, L>, wakes: bool, armed: bool) {
        if wakes {
            self.end_sleep(core, armed);
        }
    }

    /// Creates a new timer with this `timing`. Its origin is the calling line.
    #[track_caller]
    pub fn timer(&self, timing: Timing) -> NewTimer<'_, C, Site, L> {
        NewTimer { scheduler: self, timing, origin: Site::here("") }
    }

    /// Creates a timer that can be [started](Self::start) any number of times, until it is [shut
    /// down](Self::shutdown_timer).
    ///
    /// ```
    /// use core::time::Duration;
    /// use tickwright::scheduler::{Boxed, Next, Scheduler, Settings, Site, Timing};
    ///
    /// let scheduler = Scheduler::new(Settings::new());
    /// let retry = scheduler.keep(&Site::here("retry"), Boxed::new(|_| Next::Done))?;
    /// scheduler.start(retry, Timing::after(Duration::from_secs(1)))?;
    /// scheduler.start(retry, Timing::after(Duration::from_secs(2)))?; // 2 s from now instead
    /// scheduler.shutdown_timer(retry);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Refused`], with the callback, if there is no memory or the scheduler is shut down.
    pub fn keep(&self, origin: &impl Origin, callback: C) -> Result<TimerId, Refused<C>> {
        let (mut core, _, callback) = self.admit(None, callback)?;
        core.timers.keep(origin, callback)
    }
}

impl<L: Boxing> Scheduler<Boxed<L>, L> {
    /// Runs a closure once, after `delay`. A closure that returns a [`Next`] decides whether and
    /// when it runs again:
    ///
    /// ```
    /// # fn send_report() -> bool { true }
    /// use tickwright::scheduler::{Duration, Next, Scheduler};
    ///
    /// let scheduler = Scheduler::spawn("timers")?;
    /// let mut wait = Duration::from_millis(100);
    /// scheduler.after(wait, move |_| {
    ///     wait = (wait * 2).min(Duration::from_secs(60));
    ///     if send_report() { Next::Done } else { Next::After(wait) }
    /// })?;
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// [`Boxed::once`] takes a closure that can be called only once.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    #[track_caller]
    pub fn after<F, R>(&self, delay: Duration, call: F) -> Result<TimerId, Refused<Boxed<L>>>
    where
        F: FnMut(&Firing<'_, Boxed<L>, L>) -> R + 'static,
        R: IntoNext,
        L: Boxes<Returning<F, false>>,
    {
        self.add(delay, Boxed::returning::<F, false>(call))
    }

    /// Runs a closure every `period` until its timer is cancelled. The first run is one `period`
    /// after the call. A closure that returns a [`Next`] can stop itself with [`Next::Done`].
    ///
    /// ```
    /// use tickwright::scheduler::{Duration, Scheduler};
    ///
    /// let scheduler = Scheduler::spawn("timers")?;
    /// let beat = scheduler.every(Duration::from_secs(1), |_| println!("alive"))?;
    /// scheduler.cancel(beat);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// The policy for missed periods is [`Missed::Collapse`]. Use [`timer`](Self::timer) to choose
    /// another policy or a slack.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    #[track_caller]
    pub fn every<F, R>(&self, period: Duration, call: F) -> Result<TimerId, Refused<Boxed<L>>>
    where
        F: FnMut(&Firing<'_, Boxed<L>, L>) -> R + 'static,
        R: IntoNext,
        L: Boxes<Returning<F, true>>,
    {
        self.timer(Timing::after(period).every(period)).add(Boxed::returning::<F, true>(call))
    }
}

impl<C, L: Access> NewTimer<'_, C, Site, L> {
    /// Sets the callback's name, which [`dump`](Scheduler::dump) and [`report`](Scheduler::report)
    /// show.
    pub fn named(mut self, name: &'static str) -> Self {
        self.origin.name = name;
        self
    }
}

impl<'s, C, O: Origin, L: Access> NewTimer<'s, C, O, L> {
    /// Sets an origin other than the calling line.
    pub fn origin<N: Origin>(self, origin: N) -> NewTimer<'s, C, N, L> {
        NewTimer { scheduler: self.scheduler, timing: self.timing, origin }
    }

    /// Arms the timer. When the timer is done, it is removed. In a function that returns `Box<dyn
    /// Error>`, the operator `?` converts the error.
    ///
    /// # Errors
    /// [`Refused`], with the callback, if there is no memory, the clock has no wall time, or the
    /// scheduler is shut down.
    #[expect(clippy::should_implement_trait, reason = "as `Scheduler::add`: nobody adds a timer by `+`")]
    pub fn add(self, callback: C) -> Result<TimerId, Refused<C>> {
        self.add_numbered(callback).map(|(id, _)| id)
    }

    /// Arms the timer and [cancels](Scheduler::cancel) the timer `old` in the same step, so that no
    /// thread sees both timers or none.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add). After an error the timer `old` is unchanged.
    pub fn replace(self, old: TimerId, callback: C) -> Result<(TimerId, Cancelled<C>), Refused<C>> {
        self.place(Some(old), callback).map(|placed| (placed.id, placed.old))
    }

    /// For the C interface: like [`replace`](Self::replace), or like [`add`](Self::add) if there is
    /// no old timer. It returns both ids of the new timer. The ids can already be stale when this
    /// returns, if another thread has run the timer.
    ///
    /// # Errors
    /// The same as for `replace`.
    #[doc(hidden)]
    pub fn place(self, old: Option<TimerId>, callback: C) -> Result<Placed<C>, Refused<C>> {
        let Self { scheduler, timing, origin } = self;
        let (mut core, wakes, callback) = scheduler.admit(Some(timing), callback)?;
        let placed = core.timers.add_numbered(timing, &origin, callback).map(|(id, int_id)| {
            let old = old.map_or(Cancelled::NotFound, |old| core.remove(old, true));
            Placed { id, int_id, old }
        });
        scheduler.release(core, wakes, placed.is_ok());
        placed
    }

    /// For the C interface: like [`add`](Self::add), but returns both ids as `place` does.
    ///
    /// # Errors
    /// The same as for `add`.
    #[doc(hidden)]
    #[inline(always)]
    pub fn add_numbered(self, callback: C) -> Result<(TimerId, i32), Refused<C>> {
        let Self { scheduler, timing, origin } = self;
        let (mut core, wakes, callback) = scheduler.admit(Some(timing), callback)?;
        let added = core.timers.add_numbered(timing, &origin, callback);
        scheduler.release(core, wakes, added.is_ok());
        added
    }
}
