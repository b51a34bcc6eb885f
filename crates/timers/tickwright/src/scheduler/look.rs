//! What a scheduler reports about its timers and about itself.

use core::cmp::Reverse;
use core::time::Duration;

use tickwright_core::Violation;

use super::base::{Core, Scheduler};
use super::callback::Callback;
use super::report::{Dump, Listed, Report};
use crate::service::{Info, Refusal, State, Statistics, TimerId};
use crate::sync::no_memory;
use crate::time::{Instant, timeout_ms};

/// What [`Scheduler::inspect`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspected<R> {
    /// The scheduler's information about the timer.
    pub info: Info,
    /// Its callback's [token](Callback::token).
    pub token: usize,
    /// The result of looking at the callback; `None` while the callback runs.
    pub seen: Option<R>,
}

impl<C: Callback> Scheduler<C> {
    /// How long there is nothing to run: the loop of the only thread that arms timers takes it as
    /// its time-out. It is zero if something is due, and `None` if nothing is pending. Over a wheel
    /// it may be too short, once for each bucket. Then a run of the queue finds nothing due, and
    /// the next result is right. O(levels) at most.
    ///
    /// A loop that sleeps for this time does not notice a timer that another thread arms meanwhile:
    /// a timer of 20 ms runs when the sleep of 1.5 s is over. So this needs the scheduler
    /// exclusively, and a scheduler in an `Arc` does not have it. A loop on a shared scheduler
    /// sets an [alarm](Self::set_alarm), which every thread moves forward:
    ///
    /// ```compile_fail,E0596
    /// use std::sync::Arc;
    /// use tickwright::scheduler::{Boxed, Scheduler, Settings};
    ///
    /// let scheduler: Arc<Scheduler<Boxed>> = Arc::new(Scheduler::new(Settings::new()));
    /// while let Some(wait) = scheduler.timeout() {
    ///     std::thread::sleep(wait);
    ///     scheduler.run_queue().unwrap();
    /// }
    /// ```
    #[must_use]
    pub fn timeout(&mut self) -> Option<Duration> {
        self.lock().service.timeout()
    }

    /// Like [`timeout`](Self::timeout), but as an argument for `poll`: in ms, rounded up. It is -1
    /// if nothing is pending, and at most [`i32::MAX`]. It needs the scheduler exclusively, too.
    #[must_use]
    pub fn timeout_ms(&mut self) -> i32 {
        timeout_ms(Instant::ZERO, self.timeout().map(|left| Instant::ZERO + left))
    }

    /// When a timer is due, by the clock's steady timeline; `None` unless it is pending.
    #[must_use]
    pub fn when(&self, id: TimerId) -> Option<Instant> {
        Some(self.find(id)?).filter(|timer| timer.state == State::Pending).map(|timer| timer.due)
    }

    /// How long until a timer is due; zero if it is overdue, `None` unless it is pending.
    #[must_use]
    pub fn remaining(&self, id: TimerId) -> Option<Duration> {
        Some(self.when(id)?.duration_since(self.now()))
    }

    /// Returns the information about a timer.
    #[must_use]
    pub fn find(&self, id: TimerId) -> Option<Info> {
        self.lock().service.find(id)
    }

    /// Returns the information about a timer, and the result of `look` on its callback. While the
    /// callback runs, `look` is not called. The scheduler calls `look` under its lock: `look` must
    /// not call the scheduler.
    pub fn inspect<R>(&self, id: TimerId, look: impl FnOnce(&C) -> R) -> Option<Inspected<R>> {
        let core = self.lock();
        let info = core.service.find(id)?;
        let token = core.token(id).unwrap_or(0);
        Some(Inspected { info, token, seen: core.service.payload(id).map(look) })
    }

    /// The `int` id of a timer, if the scheduler issues such ids.
    #[must_use]
    pub fn int_id(&self, id: TimerId) -> Option<i32> {
        self.lock().service.int_id(id)
    }

    /// The timer that has an `int` id.
    #[must_use]
    pub fn from_int(&self, int: i32) -> Option<TimerId> {
        self.lock().service.from_int(int)
    }

    /// Lists every timer, with its origin. O(timers log timers).
    #[must_use]
    pub fn dump(&self) -> Dump {
        self.try_dump().unwrap_or_else(|_| no_memory::<Dump>())
    }

    /// Like [`dump`](Self::dump), but returns an error if there is no memory.
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for the list.
    pub fn try_dump(&self) -> Result<Dump, Refusal> {
        let mut timers = Vec::new();
        let core = self.lock();
        timers.try_reserve_exact(core.service.statistics().timers).map_err(|_| Refusal::Full)?;
        let listed = |info: Info| Listed { token: core.token(info.id).unwrap_or(0), info };
        timers.extend(core.service.iter().map(listed));
        let now = core.service.now();
        drop(core);
        // Running is the last of the states, and idle the first.
        timers.sort_unstable_by_key(|Listed { info, .. }| (Reverse(info.state as u8), info.due, info.id));
        Ok(Dump { now, timers })
    }

    /// Returns the counts of timers, runs and lateness, in total and by origin.
    #[must_use]
    pub fn report(&self) -> Report {
        self.try_report().unwrap_or_else(|_| no_memory::<Report>())
    }

    /// Like [`report`](Self::report), but returns an error if there is no memory.
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for the report.
    pub fn try_report(&self) -> Result<Report, Refusal> {
        let core = self.lock();
        Ok(Report { statistics: core.service.statistics(), sites: core.service.try_sites()? })
    }

    /// Returns the counts without those by origin. Allocates nothing.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.lock().service.statistics()
    }

    /// Bytes on the heap, except those that callbacks own themselves.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.lock().service.heap_bytes()
    }

    /// Checks all invariants. O(timers).
    ///
    /// # Errors
    /// The first violation found; it shows a bug in this library.
    pub fn check(&self) -> Result<(), Violation> {
        self.lock().service.check()
    }
}

impl<C: Callback> Core<C> {
    /// The token of a timer's callback, also while the callback runs.
    pub(super) fn token(&self, id: TimerId) -> Option<usize> {
        match self.service.payload(id) {
            Some(callback) => Some(callback.token()),
            None => self.running.filter(|running| running.id == id).map(|running| running.token),
        }
    }
}
