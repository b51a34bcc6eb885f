//! What a timer set reports about its timers and about itself.

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

    /// Returns the `int` id of a timer, or `None` without
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
        // The slot is live as long as the number refers to it.
        Some(self.table.id(self.table.queue().next_key(slot as usize)?))
    }

    /// Returns the payload of a timer that is not running.
    #[must_use]
    pub fn payload(&self, id: TimerId) -> Option<&P> {
        self.table.payload(self.table.find(id)?.0)
    }

    /// Returns the first timer in slot `*from` or a later slot, and sets `*from` to the slot after
    /// it. A caller that begins at 0 gets each timer that exists during all calls once.
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
    /// [`Refusal::Full`] if there is no memory for them.
    pub fn sites(&self) -> Result<Vec<SiteCounts>, Refusal> {
        let mut sites = Vec::new();
        sites.try_reserve_exact(self.sites.counts().count()).map_err(|_| Refusal::Full)?;
        sites.extend(self.sites.counts());
        Ok(sites)
    }

    /// Returns the number of bytes on the heap, without the counts by origin and without the memory
    /// that payloads own.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.table.heap_bytes() + self.ints.as_ref().map_or(0, IntIds::heap_bytes)
    }

    /// Checks the queue, and that the queue and the timers agree. Takes O(slots).
    ///
    /// # Errors
    /// The first violation found; it shows a bug in this library.
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
    /// Returns how long no timer needs to run. The loop of the only thread that arms timers uses it
    /// as its time-out. It is zero if a timer is due, and `None` if no timer is pending. With a
    /// wheel it can be too short, at most once for each bucket. A run of the queue then finds no
    /// due timer, and the next result is right. Takes at most O(levels).
    ///
    /// A loop that sleeps for this time does not notice a timer that another thread arms meanwhile.
    /// Example: the loop sleeps for 1.5 s, and a timer of 20 ms runs only after that sleep.
    /// Therefore this method needs exclusive access, and cannot be called on a scheduler in an
    /// `Arc`. A loop on a shared scheduler sets an [alarm](Self::set_alarm), which every thread can
    /// move forward:
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

    /// Like [`timeout`](Self::timeout), but as an argument for `poll`: in ms, rounded up, and -1 if
    /// no timer is pending. It is at most [`i32::MAX`]. It also needs exclusive access.
    #[must_use]
    pub fn timeout_ms(&mut self) -> i32 {
        timeout_ms(Instant::ZERO, self.timeout().map(|left| Instant::ZERO + left))
    }

    /// Returns when a timer is due, on the clock's steady timeline, or `None` unless it is pending.
    #[must_use]
    pub fn when(&self, id: TimerId) -> Option<Instant> {
        Some(self.find(id)?).filter(|timer| timer.state == State::Pending).map(|timer| timer.due)
    }

    /// Returns how long it takes until a timer is due: zero if it is overdue, `None` unless it is
    /// pending.
    #[must_use]
    pub fn remaining(&self, id: TimerId) -> Option<Duration> {
        Some(self.when(id)?.duration_since(self.now()))
    }

    /// Returns the information about a timer.
    #[must_use]
    pub fn find(&self, id: TimerId) -> Option<Info> {
        self.lock().timers.find(id)
    }

    /// Returns what a [dump](Self::dump) lists about a timer, and the result of `look` on its
    /// callback, or `None` instead of this result while the callback runs. The scheduler calls
    /// `look` under its lock, so `look` must not call the scheduler.
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
        // Running is the last of the states, and idle is the first.
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

    /// Returns the counts, without the counts by origin. Allocates nothing.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.lock().timers.statistics()
    }

    /// Returns the number of bytes on the heap, without the memory that callbacks own.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.lock().timers.heap_bytes()
    }

    /// Checks all invariants. Takes O(timers).
    ///
    /// # Errors
    /// The first violation found; it shows a bug in this library.
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
