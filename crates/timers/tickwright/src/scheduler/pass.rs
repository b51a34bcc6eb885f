//! A pass, which takes due timers and finishes them after the caller has run them, and the time of
//! the next pass.

use core::time::Duration;
use std::sync::Arc;

use tickwright_core::Key;

use super::results::{Due, Next};
use super::table::TimerId;
use super::timer::{Flag, State};
use super::timer_set::TimerSet;
use super::wall::{shifted, unshifted};
use crate::time::{Alarm, Instant, nanos};

impl<P> TimerSet<P> {
    /// Begins a pass, which can take timers that are due now and were armed before this call.
    pub fn begin_pass(&mut self) {
        let now = self.clock.now().as_nanos();
        self.look_at_wall(now);
        self.statistics.passes += 1;
        self.pass = self.pass.checked_add(1).unwrap_or_else(|| {
            // The numbers start again from 1, so old numbers are cleared, because one of them could
            // equal the number of this pass.
            self.table.change_all(|entry| entry.pass = 0);
            1
        });
        self.cutoff = self.ticks.now(Instant::from_nanos(now));
        // From now on, a timer that is armed for a past time comes after the timers that are due
        // now.
        self.table.queue_mut().update_now(self.cutoff);
    }

    /// Takes the next timer of this pass. The [host tick](Self::set_host) comes after all other
    /// timers of its tick. The returned timer counts as running from now on.
    pub fn take(&mut self) -> Option<Due<P>> {
        let mut unlimited = usize::MAX;
        self.take_within(&mut unlimited)
    }

    /// Like [`take`](Self::take), but moves at most `*moves` timers inside the queue, and subtracts
    /// them from `moves`. If no moves are left, the result is `None` although there can be a next
    /// timer, so call it again. This bounds the time of one call.
    pub fn take_within(&mut self, moves: &mut usize) -> Option<Due<P>> {
        loop {
            // The clock is user code, so it is called while the set is consistent.
            let now = self.clock.now().as_nanos();
            let offset = if self.walls > 0 { self.clock.get().wall_offset() } else { None };
            let mut key = self.next_key(moves)?;
            let pass = self.pass;
            let mut entry = *self.table.entry(key);
            if entry.pass == pass {
                // All other due timers were also armed in this pass, except for a host tick that
                // was put aside.
                self.ahead = Some(key);
                key = self.release_host()?;
                entry = *self.table.entry(key);
            }
            let (by_wall, due) = (entry.is(Flag::Wall), entry.due);
            let offset = offset.unwrap_or(self.wall_offset);
            if by_wall {
                self.walls -= 1;
                if shifted(now, offset) < due {
                    // The wall clock is behind the offset with which the timer was inserted. The
                    // timer is not taken again in this pass, even if there is no later tick.
                    self.table.entry(key).pass = pass;
                    self.file_at(key, unshifted(due, offset), now);
                    continue;
                }
            }
            return self.run(key, now, by_wall.then_some(offset));
        }
    }

    /// Marks a timer as running. For a timer by the wall clock, `offset` is the offset of the wall
    /// clock.
    fn run(&mut self, key: Key, now: u64, offset: Option<i64>) -> Option<Due<P>> {
        let id = self.table.id(key);
        let payload = self.table.take_payload(key)?;
        self.table.fetch_head(self.cutoff);
        let entry = self.table.entry(key);
        entry.state = State::Running;
        let base = offset.map_or(now, |offset| shifted(now, offset));
        let (overruns, due, from) = match entry.is(Flag::Periodic) {
            true => entry.missed.deliver(entry.due, entry.period, base),
            false => (0, entry.due, entry.due),
        };
        entry.due = from;
        entry.set(Flag::Started, true);
        let site = entry.site;
        let due = offset.map_or(due, |offset| unshifted(due, offset));
        // A step can make a timer by the wall clock due in the past. In this case its lateness
        // counts from the step.
        let since = offset.map_or(due, |_| due.max(self.stepped_at));
        self.statistics.fired += 1;
        self.count_overruns(overruns);
        self.statistics.lateness.note(now.saturating_sub(since));
        if let Some(host) = self.host.as_mut().filter(|host| host.key == key) {
            host.note_run(now.saturating_sub(since));
        }
        self.sites.row(site).fired += 1;
        let (due, now) = (Instant::from_nanos(due), Instant::from_nanos(now));
        Some(Due { id, payload, due, now, overruns })
    }

    fn count_overruns(&mut self, overruns: u64) {
        self.statistics.overruns = self.statistics.overruns.saturating_add(overruns);
    }

    /// Ends the run of a timer that was [taken](Self::take), as `next` says. `id` must be the id of
    /// a running timer. For any other id nothing happens, and the payload is returned.
    ///
    /// Returns the payload if the timer was removed.
    pub fn finish(&mut self, id: TimerId, payload: P, next: Next) -> Option<P> {
        self.finish_run(id, payload, next).0
    }

    /// Like [`finish`](Self::finish). Also returns whether a cancel during the run prevented the
    /// timer from running again.
    pub(super) fn finish_run(&mut self, id: TimerId, payload: P, next: Next) -> (Option<P>, bool) {
        let Some((key, entry)) = self.table.find_mut(id) else { return (Some(payload), false) };
        if entry.state != State::Running {
            return (Some(payload), false);
        }
        let (kept, int, suppressed) = (entry.is(Flag::Kept), entry.int, entry.take(Flag::Suppressed));
        let restarted = entry.take(Flag::Restarted);
        let again = restarted || (!suppressed && next != Next::Done);
        entry.state = State::Idle;
        self.table.put_payload(key, payload);
        if again {
            let now = self.clock.now().as_nanos();
            if !restarted {
                self.set_next(key, next, now);
            }
            self.file(key, now);
            return (None, false);
        }
        let payload = if kept { None } else { self.free_numbered(key, int) };
        (payload, suppressed && next != Next::Done)
    }

    /// Sets the time at which a timer is due again, as `next` says.
    fn set_next(&mut self, key: Key, next: Next, now: u64) {
        let base = match self.table.entry(key).is(Flag::Wall) {
            true => shifted(now, self.clock.get().wall_offset().unwrap_or(self.wall_offset)),
            false => now,
        };
        let entry = self.table.entry(key);
        let period = match next {
            Next::After(period) => nanos(period),
            Next::Again | Next::Done => entry.period,
        };
        // The missed periods of a periodic timer were counted when it was taken. Periods that pass
        // between two takes are counted by the second take.
        let (overruns, from) = match entry.is(Flag::Periodic) {
            true => (0, entry.due),
            false => {
                let (overruns, _, from) = entry.missed.deliver(entry.due, period, base);
                (overruns, from)
            }
        };
        entry.due = entry.missed.next(from, period, base);
        self.count_overruns(overruns);
    }

    /// Ends a pass, and sets the alarm for the next pass.
    pub fn end_pass(&mut self) {
        if self.alarm.is_none() {
            return;
        }
        // A thread that was notified of a step, but found a pass in progress, relies on this read
        // of the wall clock.
        if self.walls > 0 {
            self.look_at_wall(self.clock.now().as_nanos());
        }
        let next = self.wake_bound();
        if let Some(alarm) = &self.alarm {
            self.alarm_at = next;
            alarm.set(next);
        }
    }

    /// Makes the set keep `alarm` set to the time at which it must run. With `None` it sets no
    /// alarm.
    pub fn set_alarm(&mut self, alarm: Option<Arc<dyn Alarm>>) {
        self.alarm = alarm;
        self.end_pass();
    }

    pub(crate) fn alarm(&self) -> Option<&Arc<dyn Alarm>> {
        self.alarm.as_ref()
    }

    /// Returns how long no timer needs to run: zero if a timer is due, and `None` if no timer is
    /// pending. If the clock can jump, the result is at most
    /// [`longest_sleep`](crate::time::Clock::longest_sleep); check again after that time. Takes at
    /// most O(levels). With a wheel the result can be too short. The next pass then finds no due
    /// timer and corrects this. [`next_wake`](Self::next_wake) is exact.
    #[must_use]
    pub fn timeout(&mut self) -> Option<Duration> {
        let now = self.clock.now();
        self.sleep_end(now).map(|until| until.duration_since(now))
    }

    /// Returns the end of a sleep for [`timeout`](Self::timeout) that begins at `now`, the clock's
    /// time.
    pub(crate) fn sleep_end(&mut self, now: Instant) -> Option<Instant> {
        self.look_at_wall(now.as_nanos());
        let bound = self.wake_bound()?.max(now);
        // A clock limits a sleep if one of its timelines can jump. If only the wall clock can jump,
        // and no timer uses the wall clock, that limit does not apply.
        let may_jump = |_: &Duration| self.walls > 0 || self.clock.get().wall_offset().is_none();
        let most = self.clock.get().longest_sleep().filter(may_jump);
        Some(most.map_or(bound, |most| bound.min(now + most)))
    }

    /// Takes the next due timer out of the queue, even if it was armed in this pass.
    #[inline]
    pub(super) fn next_key(&mut self, moves: &mut usize) -> Option<Key> {
        if self.host.is_some() {
            return self.next_beside_host(moves);
        }
        self.ahead.take().or_else(|| self.pop(moves))
    }

    /// Takes the first due timer out of the queue. A timer that became due after the pass began
    /// counts as armed in this pass. There can be such timers, because the clock of a granular
    /// queue can be ahead of the cutoff: lateness counts from it.
    #[inline]
    pub(super) fn pop(&mut self, moves: &mut usize) -> Option<Key> {
        let (key, expiry) = self.table.queue_mut().pop(self.cutoff, moves)?;
        if expiry > self.cutoff {
            let pass = self.pass;
            self.table.entry(key).pass = pass;
        }
        Some(key)
    }

    /// Returns the instant at which the set must run. A past instant means at once. Returns `None`
    /// if no timer is pending, except for a host tick that waits. The result is exact, and costs as
    /// much as [`next_expiry`](tickwright_core::TimerQueue::next_expiry).
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        if self.ahead.is_some() || (self.held().is_some() && self.urgent == 0) {
            return Some(Instant::ZERO);
        }
        let first = if self.urgent == 0 { self.table.queue().next_expiry() } else { self.first_but_host() };
        first.map(|tick| self.ticks.start(tick))
    }

    /// Returns a lower bound of [`next_wake`](Self::next_wake). This takes O(1) or O(levels),
    /// whereas `next_wake` can visit each timer of a bucket. After a pass that took all due timers,
    /// the bound is in the future, so a driver wakes too early at most once for each bucket.
    pub(super) fn wake_bound(&self) -> Option<Instant> {
        // The bound can be the expiry of a host tick, for which no thread must wake now.
        let deferred = self.urgent > 0 && self.host_expiry().is_some();
        if self.ahead.is_some() || self.held().is_some() || deferred {
            return self.next_wake();
        }
        self.table.queue().next_wake().map(|tick| self.ticks.start(tick))
    }
}
