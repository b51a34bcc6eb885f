//! A pass: it takes due timers one by one, and finishes each timer after the caller has run it.
//! Also computes the time of the next pass.

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
            // The pass numbers have wrapped around to 1. The old numbers are cleared, because one
            // of them could equal the number of this pass.
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
    /// them from `moves`. This bounds the time of one call. If `*moves` is 0 afterwards, a result
    /// of `None` does not mean that no timer is due, so call it again.
    pub fn take_within(&mut self, moves: &mut usize) -> Option<Due<P>> {
        loop {
            // The clock is user code, so it is called at a point where the set is consistent.
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
                    // The wall clock went back after the timer was inserted, so the timer is not
                    // due yet. It is not taken again in this pass, even if there is no later tick
                    // to insert it at.
                    self.table.entry(key).pass = pass;
                    self.file_at(key, unshifted(due, offset), now);
                    continue;
                }
            }
            return self.run(key, now, by_wall.then_some(offset));
        }
    }

    /// Marks a timer as running. For a timer that follows the wall clock, `offset` is the current
    /// offset of that clock.
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
        // A step of the wall clock can make a timer due in the past. In this case its lateness
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

    /// Ends the run of a timer that was [taken](Self::take). `next` says whether and when it runs
    /// again. If `id` is not the id of a running timer, nothing happens, and the payload is
    /// returned.
    ///
    /// Also returns the payload if the timer was removed.
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

    /// Computes from `next` when a timer is due again, and sets that time.
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
        // When a periodic timer is taken, its missed periods are counted. Periods that pass between
        // two takes of the timer are counted by the second take.
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
        // A thread that is notified of a clock step during a pass does nothing, because it relies
        // on this read of the wall clock.
        if self.walls > 0 {
            self.look_at_wall(self.clock.now().as_nanos());
        }
        let next = self.wake_bound();
        if let Some(alarm) = &self.alarm {
            self.alarm_at = next;
            alarm.set(next);
        }
    }

    /// From now on, the set keeps `alarm` set to the time at which a timer must run. If `alarm` is
    /// `None`, the set uses no alarm.
    pub fn set_alarm(&mut self, alarm: Option<Arc<dyn Alarm>>) {
        self.alarm = alarm;
        self.end_pass();
    }

    pub(crate) fn alarm(&self) -> Option<&Arc<dyn Alarm>> {
        self.alarm.as_ref()
    }

    /// Returns how long the caller can sleep: zero if a timer is due, and `None` if no timer is
    /// pending. If the clock can jump, the result is at most
    /// [`longest_sleep`](crate::time::Clock::longest_sleep), and the caller asks again after that
    /// time. Takes at most O(levels). With a wheel the result can be too short. The next pass then
    /// finds no due timer and corrects this. [`next_wake`](Self::next_wake) is exact.
    #[must_use]
    pub fn timeout(&mut self) -> Option<Duration> {
        let now = self.clock.now();
        self.sleep_end(now).map(|until| until.duration_since(now))
    }

    /// Returns when a sleep of the length [`timeout`](Self::timeout) ends if it begins at `now`,
    /// which is the clock's time.
    pub(crate) fn sleep_end(&mut self, now: Instant) -> Option<Instant> {
        self.look_at_wall(now.as_nanos());
        let bound = self.wake_bound()?.max(now);
        // A clock limits a sleep if one of its timelines can jump. The limit does not apply if only
        // the wall clock can jump and no timer uses the wall clock.
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

    /// Takes the first due timer out of the queue. A timer that became due after the pass began is
    /// treated as if it was armed in this pass. The queue can return such a timer, because a
    /// granular queue's `now`, from which lateness counts, can be later than the cutoff of the
    /// pass.
    #[inline]
    pub(super) fn pop(&mut self, moves: &mut usize) -> Option<Key> {
        let (key, expiry) = self.table.queue_mut().pop(self.cutoff, moves)?;
        if expiry > self.cutoff {
            let pass = self.pass;
            self.table.entry(key).pass = pass;
        }
        Some(key)
    }

    /// Returns the instant at which the next pass must run. If the instant is in the past, a pass
    /// must run at once. Returns `None` if no timer is pending, not counting a host tick that
    /// waits. The result is exact, and costs as much as
    /// [`next_expiry`](tickwright_core::TimerQueue::next_expiry).
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        if self.ahead.is_some() || (self.held().is_some() && self.urgent == 0) {
            return Some(Instant::ZERO);
        }
        let first = if self.urgent == 0 { self.table.queue().next_expiry() } else { self.first_but_host() };
        first.map(|tick| self.ticks.start(tick))
    }

    /// Returns a time that is not later than [`next_wake`](Self::next_wake). This takes O(1) or
    /// O(levels), whereas `next_wake` can visit each timer of a bucket. After a pass that took all
    /// due timers, the bound is in the future, so a driver wakes too early at most once for each
    /// bucket.
    pub(super) fn wake_bound(&self) -> Option<Instant> {
        // The bound can be the expiry of a host tick, for which no thread must wake now.
        let deferred = self.urgent > 0 && self.host_expiry().is_some();
        if self.ahead.is_some() || self.held().is_some() || deferred {
            return self.next_wake();
        }
        self.table.queue().next_wake().map(|tick| self.ticks.start(tick))
    }
}
