//! The methods that report the state of a timer set or scheduler and of its timers.

use core::cmp::Reverse;
use core::time::Duration;

use tickwright_core::{Key, Violation};

use super::callback::Callback;
use super::int_ids::IntIds;
use super::lock::Access;
use super::report::{Dump, Listed, Report};
use super::results::{Info, Refusal, Statistics};
use super::scheduler::{Core, Scheduler};
use super::site::SiteCounts;
use super::table::{TimerId, slot_of};
use super::timer::{Entry, Flag, State};
use super::timer_set::TimerSet;
use super::wall::unshifted;
use crate::sync::no_memory;
use crate::time::{Instant, timeout_ms};

impl<P> TimerSet<P> {
    /// Returns the information about a timer, or `None` for a stale id.
    #[must_use]
    pub fn find(&self, id: TimerId) -> Option<Info> {
        self.table.find(id).map(|(key, entry)| self.info(key, entry))
    }

    /// Iterates over all timers, in the order of the slots. Takes O(slots).
    pub fn iter(&self) -> impl Iterator<Item = Info> + '_ {
        self.table.iter().map(|(key, entry)| self.info(key, entry))
    }

    /// Returns the `int` id of a timer, or `None` if the scheduler was created without
    /// [`Settings::int_ids`](super::Settings::int_ids).
    #[doc(hidden)]
    #[must_use]
    pub fn int_id(&self, id: TimerId) -> Option<i32> {
        Some(self.table.find(id)?.1.int).filter(|&int| int > 0)
    }

    /// Returns the timer that has an `int` id.
    #[doc(hidden)]
    #[must_use]
    pub fn from_int(&self, int: i32) -> Option<TimerId> {
        let slot = self.ints.as_ref()?.find(int)?;
        // While an `int` id refers to the slot, the slot has a timer.
        Some(self.table.id(self.table.queue().next_key(slot as usize)?))
    }

    /// Returns the payload of a timer that is not running.
    #[must_use]
    pub fn payload(&self, id: TimerId) -> Option<&P> {
        self.table.payload(self.table.find(id)?.0)
    }

    /// Returns the first timer in slot `*from` or a later slot, and sets `*from` to the slot after
    /// it. If a caller begins with `*from` = 0, it gets each timer that exists during all its calls
    /// exactly once.
    pub(super) fn next_from(&self, from: &mut usize) -> Option<Info> {
        self.table.next(from).map(|(key, entry)| self.info(key, entry))
    }

    /// Returns the counts since the set was created.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let pending = self.table.queue().len() + self.aside();
        let (timers, armed) = (self.table.live(), self.statistics.delays.count());
        Statistics { timers, pending, armed, ..self.statistics.clone() }
    }

    /// Returns the counts of each origin.
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for the counts.
    pub fn sites(&self) -> Result<Vec<SiteCounts>, Refusal> {
        let mut sites = Vec::new();
        sites.try_reserve_exact(self.sites.counts().count()).map_err(|_| Refusal::Full)?;
        sites.extend(self.sites.counts());
        Ok(sites)
    }

    /// Returns how many bytes of heap memory the set uses, without the counts by origin and without
    /// memory that payloads own.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.table.heap_bytes() + self.ints.as_ref().map_or(0, IntIds::heap_bytes)
    }

    /// Checks the queue, and checks that the queue agrees with the table of timers. Takes O(slots).
    ///
    /// # Errors
    /// The first violation that is found. It shows a bug in this library.
    pub fn check(&self) -> Result<(), Violation> {
        self.table.check()?;
        let (mut filed, mut walls) = (0, 0);
        for (key, entry) in self.table.iter() {
            let ahead = self.ahead == Some(key) || (self.held().is_some() && self.is_host(key));
            let pending = entry.state == State::Pending;
            let linked = self.table.queue().expiry(key).is_some();
            let in_one_place = if pending { linked != ahead } else { !linked && !ahead };
            if !in_one_place || self.table.payload(key).is_some() == (entry.state == State::Running) {
                return Err(Violation::Storage);
            }
            if let Some(ints) = &self.ints
                && ints.find(entry.int) != Some(slot_of(key))
            {
                return Err(Violation::Position);
            }
            filed += usize::from(linked);
            walls += usize::from(pending && entry.is(Flag::Wall));
        }
        let right = filed == self.table.queue().len() && walls == self.walls && self.host_is_right();
        if right { Ok(()) } else { Err(Violation::Count) }
    }

    fn info(&self, key: Key, entry: &Entry) -> Info {
        let due = if entry.is(Flag::Wall) { unshifted(entry.due, self.wall_offset) } else { entry.due };
        Info {
            id: self.table.id(key),
            int_id: Some(entry.int).filter(|&int| int > 0),
            state: entry.state,
            due: Instant::from_nanos(due),
            period: Duration::from_nanos(entry.period),
            periodic: entry.is(Flag::Periodic),
            site: self.sites.site(entry.site),
        }
    }
}

impl<C: Callback<L>, L: Access> Scheduler<C, L> {
    /// Returns how long a loop can sleep: zero if a timer is due, and `None` if no timer is
    /// pending. It is for the loop of the only thread that arms timers. With a wheel the result can
    /// be too short, at most once for each bucket. A run of the queue then finds no due timer, and
    /// the next result is right. Takes at most O(levels).
    ///
    /// A loop that sleeps for this time does not notice a timer that another thread arms during the
    /// sleep. Example: while the loop sleeps for 1.5 s, another thread arms a timer of 20 ms, which
    /// runs only after the sleep. Therefore this method needs exclusive access, and cannot be
    /// called on a scheduler in an `Arc`. A loop on a shared scheduler sets an
    /// [alarm](Self::set_alarm), which every thread can move forward:
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
        self.lock().timers.timeout()
    }

    /// Like [`timeout`](Self::timeout), but returns an argument for `poll`: milliseconds, rounded
    /// up, at most [`i32::MAX`], or -1 if no timer is pending. This method also needs exclusive
    /// access.
    #[must_use]
    pub fn timeout_ms(&mut self) -> i32 {
        timeout_ms(Instant::ZERO, self.timeout().map(|left| Instant::ZERO + left))
    }

    /// Returns when a pending timer is due, on the clock's steady timeline. Returns `None` if the
    /// timer is not pending.
    #[must_use]
    pub fn when(&self, id: TimerId) -> Option<Instant> {
        Some(self.find(id)?).filter(|timer| timer.state == State::Pending).map(|timer| timer.due)
    }

    /// Returns the time until a pending timer is due, or zero if it is overdue. Returns `None` if
    /// the timer is not pending.
    #[must_use]
    pub fn remaining(&self, id: TimerId) -> Option<Duration> {
        Some(self.when(id)?.duration_since(self.now()))
    }

    /// Returns the information about a timer.
    #[must_use]
    pub fn find(&self, id: TimerId) -> Option<Info> {
        self.lock().timers.find(id)
    }

    /// Returns what a [dump](Self::dump) lists about a timer, and the result of `look`, which is
    /// called with the timer's callback. While the callback runs, `look` is not called, and its
    /// result is `None`. The scheduler calls `look` under its lock, so `look` must not call the
    /// scheduler.
    pub fn inspect<R>(&self, id: TimerId, look: impl FnOnce(&C) -> R) -> Option<(Listed, Option<R>)> {
        let core = self.lock();
        let info = core.timers.find(id)?;
        let token = core.token(id).unwrap_or(0);
        Some((Listed { info, token }, core.timers.payload(id).map(look)))
    }

    /// Returns the `int` id of a timer, if the scheduler issues such ids.
    #[doc(hidden)]
    #[must_use]
    pub fn int_id(&self, id: TimerId) -> Option<i32> {
        self.lock().timers.int_id(id)
    }

    /// Returns the timer that has an `int` id.
    #[doc(hidden)]
    #[must_use]
    pub fn from_int(&self, int: i32) -> Option<TimerId> {
        self.lock().timers.from_int(int)
    }

    /// Lists every timer, with its origin. Takes O(timers log timers).
    #[must_use]
    pub fn dump(&self) -> Dump {
        self.try_dump().unwrap_or_else(|_| no_memory::<Dump>())
    }

    /// Like [`dump`](Self::dump), but returns an error if there is no memory.
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for the list.
    #[doc(hidden)]
    pub fn try_dump(&self) -> Result<Dump, Refusal> {
        let mut timers = Vec::new();
        let core = self.lock();
        timers.try_reserve_exact(core.timers.statistics().timers).map_err(|_| Refusal::Full)?;
        let listed = |info: Info| Listed { token: core.token(info.id).unwrap_or(0), info };
        timers.extend(core.timers.iter().map(listed));
        let now = core.timers.now();
        drop(core);
        // In the order of the states, running is the greatest and idle the least.
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
    #[doc(hidden)]
    pub fn try_report(&self) -> Result<Report, Refusal> {
        let core = self.lock();
        Ok(Report { statistics: core.timers.statistics(), sites: core.timers.sites()? })
    }

    /// Returns the total counts, without the counts for each origin. Allocates nothing.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.lock().timers.statistics()
    }

    /// Returns how many bytes of heap memory the scheduler uses, without memory that callbacks own.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.lock().timers.heap_bytes()
    }

    /// Checks all invariants. Takes O(timers).
    ///
    /// # Errors
    /// The first violation that is found. It shows a bug in this library.
    pub fn check(&self) -> Result<(), Violation> {
        self.lock().timers.check()
    }
}

impl<C: Callback<L>, L: Access> Core<C, L> {
    /// Returns the token of a timer's callback, even while the callback runs.
    pub(super) fn token(&self, id: TimerId) -> Option<usize> {
        match self.timers.payload(id) {
            Some(callback) => Some(callback.token()),
            None => self.running.filter(|running| running.id == id).map(|running| running.token),
        }
    }
}
