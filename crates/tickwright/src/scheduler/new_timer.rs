//! A timer to be: when, where it comes from, and what runs.

use super::base::Scheduler;
use super::cancel::Cancelled;
use crate::service::{Origin, Refused, Service, Site, TimerId, Timing};

/// A timer to be: [`Scheduler::timer`] makes one, and [`add`](Self::add) or
/// [`replace`](Self::replace) arms it.
///
/// ```
/// use core::time::Duration;
/// use tickwright::clock::VirtualHost;
/// use tickwright::scheduler::{Boxed, Next, Scheduler};
/// use tickwright::service::{Missed, Settings, Timing};
///
/// let host = VirtualHost::new();
/// let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
/// let second = Duration::from_secs(1);
/// let beat = Timing::after(second).every(second).missed(Missed::Skip);
/// scheduler.timer(beat).named("beat").add(Boxed::new(|_| Next::Again))?;
/// assert!(scheduler.dump().to_string().contains("beat"));
/// # Ok::<(), tickwright::service::Refused<Boxed>>(())
/// ```
#[derive(Debug)]
#[must_use = "it is no timer until `add` or `replace` arms it"]
pub struct NewTimer<'s, C, O = Site> {
    scheduler: &'s Scheduler<C>,
    timing: Timing,
    origin: O,
}

/// What [`NewTimer::place`] did.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<C> {
    /// The new timer's id.
    pub id: TimerId,
    /// Its `int` id, or 0 where none are issued.
    pub int_id: i32,
    /// What became of the old one.
    pub old: Cancelled<C>,
}

impl<C> Scheduler<C> {
    /// A timer to be that runs by `timing`. Its origin is the calling line.
    #[track_caller]
    pub fn timer(&self, timing: Timing) -> NewTimer<'_, C> {
        NewTimer { scheduler: self, timing, origin: Site::here("") }
    }

    /// Makes a timer that is [started](Self::start) later, any number of times, until it is
    /// [shut down](Self::shutdown_timer).
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
    /// [`Refused`] with the callback: no memory, or the scheduler is shut down.
    pub fn keep(&self, origin: &impl Origin, callback: C) -> Result<TimerId, Refused<C>> {
        self.admit(callback, |core, callback| core.service.keep(origin, callback))
    }
}

impl<C> NewTimer<'_, C> {
    /// Names its callback, for [`dump`](Scheduler::dump) and [`report`](Scheduler::report).
    pub fn named(mut self, name: &'static str) -> Self {
        self.origin.name = name;
        self
    }
}

impl<'s, C, O: Origin> NewTimer<'s, C, O> {
    /// Another origin than the calling line.
    pub fn origin<N: Origin>(self, origin: N) -> NewTimer<'s, C, N> {
        NewTimer { scheduler: self.scheduler, timing: self.timing, origin }
    }

    /// Arms it. When it is done, it is gone. In a function that returns `Box<dyn Error>`, `?` takes
    /// the error as it is.
    ///
    /// # Errors
    /// [`Refused`] with the callback: no memory, a wall time on a clock without one, or the
    /// scheduler is shut down.
    #[expect(clippy::should_implement_trait, reason = "as `Scheduler::add`: nobody adds a timer by `+`")]
    pub fn add(self, callback: C) -> Result<TimerId, Refused<C>> {
        let Self { scheduler, timing, origin } = self;
        scheduler.admit(callback, |core, callback| core.service.add(timing, &origin, callback))
    }

    /// Arms it and [cancels](Scheduler::cancel) another one in the same step: no thread sees both
    /// or neither.
    ///
    /// # Errors
    /// As [`add`](Self::add); the other timer is then as it was.
    pub fn replace(self, old: TimerId, callback: C) -> Result<(TimerId, Cancelled<C>), Refused<C>> {
        self.place(Some(old), callback).map(|placed| (placed.id, placed.old))
    }

    /// For the C interface: as [`replace`](Self::replace), or without an old one as
    /// [`add`](Self::add). It returns both ids. The timer may have lost its id when this returns,
    /// since another thread may have run it.
    ///
    /// # Errors
    /// As `replace`.
    #[doc(hidden)]
    pub fn place(self, old: Option<TimerId>, callback: C) -> Result<Placed<C>, Refused<C>> {
        let Self { scheduler, timing, origin } = self;
        scheduler.admit(callback, |core, callback| {
            let (id, int_id) = core.service.add_numbered(timing, &origin, callback)?;
            let old = old.map_or(Cancelled::NotFound, |old| core.remove(old, Service::cancel));
            Ok(Placed { id, int_id, old })
        })
    }

    /// For the C interface: as [`add`](Self::add), and returns both ids as `place` does.
    ///
    /// # Errors
    /// As `add`.
    #[doc(hidden)]
    #[inline(always)]
    pub fn add_numbered(self, callback: C) -> Result<(TimerId, i32), Refused<C>> {
        let Self { scheduler, timing, origin } = self;
        scheduler.admit(callback, |core, callback| core.service.add_numbered(timing, &origin, callback))
    }
}
