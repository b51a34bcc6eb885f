//! The life of a timer: adding, arming, cancelling and removing it, and computing when it is due.

use tickwright_core::{Key, Tick};

use super::results::{Cancelled, Refusal, Refused};
use super::site::Origin;
use super::table::{TimerId, slot_of};
use super::timer::{Aim, Entry, Flag, Slack, State};
use super::timer_set::TimerSet;
use super::timing::{Target, Timing, roundest};
use super::wall::{shifted, unshifted};
use crate::time::Instant;

impl<P> TimerSet<P> {
    /// Adds a timer and arms it. When the timer is done, it is removed.
    ///
    /// # Errors
    /// [`Refused`], with the payload, if there is no memory, or if the timing is a wall time and
    /// the clock has none.
    #[inline]
    pub fn add(&mut self, timing: Timing, origin: &impl Origin, payload: P) -> Result<TimerId, Refused<P>> {
        self.add_numbered(timing, origin, payload).map(|(id, _)| id)
    }

    /// Like [`add`](Self::add). It also returns the `int` id, or 0 if the set issues none.
    #[inline(always)]
    pub(crate) fn add_numbered(
        &mut self,
        timing: Timing,
        origin: &impl Origin,
        payload: P,
    ) -> Result<(TimerId, i32), Refused<P>> {
        // The origin and the clock are user code, so they are called at a point where the set is
        // consistent.
        let site = self.sites.number(origin);
        let now = self.now_for(&timing);
        let aim = match self.aim(&timing, now) {
            Ok(aim) => aim,
            Err(reason) => return Err(Refused { reason, payload }),
        };
        let mut timer = Entry::idle(site);
        timer.aim(&aim, &timing);
        let deadline = self.deadline(aim.wall, aim.due, timer.slack, now);
        timer.arm(self.pass);
        let (id, key, int) = self.place(timer, payload, Some(deadline))?;
        self.statistics.delays.note(aim.delay);
        self.walls += usize::from(aim.wall);
        self.tell_alarm(key);
        Ok((id, int))
    }

    /// Adds a timer that is not armed. When it is done or cancelled, it is kept, until it is [shut
    /// down](Self::shutdown).
    ///
    /// # Errors
    /// [`Refused`], with the payload, if there is no memory.
    pub fn keep(&mut self, origin: &impl Origin, payload: P) -> Result<TimerId, Refused<P>> {
        let site = self.sites.number(origin);
        let mut timer = Entry::idle(site);
        timer.set(Flag::Kept, true);
        self.place(timer, payload, None).map(|(id, ..)| id)
    }

    /// Arms an idle timer, or moves a pending one. A running timer is armed when it has finished,
    /// whatever its callback returns.
    ///
    /// # Errors
    /// The [`Refusal`] is the reason why the timer was not armed. In this case the timer is
    /// unchanged.
    #[inline]
    pub fn start(&mut self, id: TimerId, timing: Timing) -> Result<(), Refusal> {
        let now = self.now_for(&timing);
        let aim = self.aim(&timing, now);
        let slack = Slack::at_most(timing.slack_ns);
        let deadline = aim.as_ref().map_or(0, |aim| self.deadline(aim.wall, aim.due, slack, now));
        let pass = self.pass;
        let (key, entry) = self.table.find_mut(id).ok_or(Refusal::NotFound)?;
        let aim = aim?;
        if entry.is(Flag::Suppressed) && !entry.is(Flag::Kept) {
            // The timer was cancelled during its run, so for the caller it no longer exists.
            return Err(Refusal::NotFound);
        }
        let was_wall = entry.is(Flag::Wall) && entry.state == State::Pending;
        entry.aim(&aim, &timing);
        self.statistics.delays.note(aim.delay);
        match entry.state {
            State::Running => {
                entry.set(Flag::Restarted, true);
                return Ok(());
            }
            State::Pending => self.statistics.rearmed += 1,
            State::Idle => {}
        }
        entry.arm(pass);
        self.walls = self.walls + usize::from(aim.wall) - usize::from(was_wall);
        self.drop_aside(key);
        self.arm(key, deadline);
        Ok(())
    }

    /// Cancels a timer: removes it, or makes it idle if it is kept. A running timer is not armed
    /// again when it finishes.
    #[inline]
    pub fn cancel(&mut self, id: TimerId) -> Cancelled<P> {
        self.remove(id, true, || true)
    }

    /// Like [`cancel`](Self::cancel), but also removes a kept timer. Its id is stale from then on,
    /// so the timer cannot be armed again.
    pub fn shutdown(&mut self, id: TimerId) -> Cancelled<P> {
        self.remove(id, false, || true)
    }

    /// Removes all timers that are not running, and returns their payloads. A running timer is
    /// removed when it finishes. Takes O(slots), plus one removal for each pending timer.
    pub fn clear(&mut self) -> Vec<P> {
        let (mut payloads, mut from) = (Vec::with_capacity(self.table.live()), 0);
        while let Some((key, _)) = self.table.next(&mut from) {
            let entry = self.table.entry(key);
            entry.set(Flag::Kept, false);
            if entry.state == State::Running {
                entry.set(Flag::Suppressed, true);
                entry.set(Flag::Restarted, false);
            } else {
                payloads.extend(self.free(key));
            }
        }
        (self.ahead, self.walls) = (None, 0);
        self.end_pass();
        payloads
    }

    /// Adds a timer that is due at `deadline`, or an idle timer if there is no deadline.
    #[inline(always)]
    fn place(
        &mut self,
        mut timer: Entry,
        payload: P,
        deadline: Option<Tick>,
    ) -> Result<(TimerId, Key, i32), Refused<P>> {
        if let Some(ints) = &mut self.ints {
            let Some(int) = ints.next() else { return Err(Refused { reason: Refusal::Full, payload }) };
            timer.int = int;
        }
        let (id, key) = self
            .table
            .add(timer, payload, deadline)
            .map_err(|payload| Refused { reason: Refusal::Full, payload })?;
        if let Some(ints) = &mut self.ints {
            ints.put(timer.int, slot_of(key));
        }
        self.sites.row(timer.site).added += 1;
        self.statistics.high_water = self.statistics.high_water.max(self.table.live());
        Ok((id, key, timer.int))
    }

    /// Removes a timer from the table.
    pub(super) fn free(&mut self, key: Key) -> Option<P> {
        let int = self.table.entry(key).int;
        self.free_numbered(key, int)
    }

    /// Like [`free`](Self::free), for a caller that already knows the timer's `int` id.
    #[inline]
    pub(super) fn free_numbered(&mut self, key: Key, int: i32) -> Option<P> {
        self.host.take_if(|host| host.key == key);
        if let Some(ints) = &mut self.ints {
            ints.release(int);
        }
        self.table.remove(key)
    }

    /// Returns the `now` with which a timing is converted to a due time. A delay from a given
    /// instant does not need the current time, so for such a delay this is the instant, unless
    /// something else needs the current time.
    #[inline]
    fn now_for(&self, timing: &Timing) -> u64 {
        match timing.target {
            // Two cases need the current time: a granular structure's lateness counts from it, and
            // timers that follow the wall clock need a read of the wall clock.
            Target::Since(instant, _) if self.walls == 0 && self.structure.is_exact() => instant,
            _ => self.clock.now().as_nanos(),
        }
    }

    /// Converts a timing to a due time.
    #[inline]
    fn aim(&self, timing: &Timing, now: u64) -> Result<Aim, Refusal> {
        let (wall, due, delay) = match timing.target {
            Target::After(delay) => (false, now.saturating_add(delay), delay),
            Target::Since(instant, delay) => (false, instant.saturating_add(delay), delay),
            Target::At(at) => (false, at, at.saturating_sub(now)),
            Target::Wall(date) => {
                let offset = self.clock.get().wall_offset().ok_or(Refusal::NoWall)?;
                (true, date, date.saturating_sub(shifted(now, offset)))
            }
        };
        Ok(Aim { wall, due, delay })
    }

    /// Returns the deadline for a due time. If `wall` is set, the due time is a wall time,
    /// otherwise a time on the steady timeline.
    #[inline]
    fn deadline(&mut self, wall: bool, due: u64, slack: Slack, now: u64) -> Tick {
        self.look_at_wall(now);
        let due = if wall { self.steady(due) } else { due };
        self.deadline_at(due, slack, now)
    }

    /// Returns the earliest time at which a timer with this timing would be due. An instant in the
    /// past means that it would be due at once. Returns `None` if such a timer is refused.
    #[cold]
    #[inline(never)]
    pub(crate) fn due_by(&mut self, timing: &Timing) -> Option<Instant> {
        let now = self.now_for(timing);
        let aim = self.aim(timing, now).ok()?;
        let deadline = self.deadline(aim.wall, aim.due, Slack::at_most(timing.slack_ns), now);
        Some(self.ticks.start(deadline))
    }

    /// Converts a wall time to a time on the steady timeline.
    #[cold]
    fn steady(&mut self, date: u64) -> u64 {
        if self.walls == 0 {
            self.wall_offset = self.clock.get().wall_offset().unwrap_or(0);
        }
        unshifted(date, self.wall_offset)
    }

    /// Returns the deadline for a due time on the steady timeline.
    #[inline(always)]
    fn deadline_at(&mut self, due: u64, slack: Slack, now: u64) -> Tick {
        let ticks = self.ticks;
        if !self.structure.is_exact() {
            // The queue computes lateness from its own `now`, so this `now` must be updated first.
            self.table.queue_mut().update_now(ticks.now(Instant::from_nanos(now)));
        }
        let earliest = ticks.deadline(Instant::from_nanos(due));
        match slack {
            Slack::NONE => earliest,
            slack => {
                let latest = ticks.now(Instant::from_nanos(due.saturating_add(slack.ns())));
                roundest(earliest, latest.max(earliest))
            }
        }
    }

    /// Inserts a timer into the queue, or moves it if it is already there. Its entry has the due
    /// time.
    pub(super) fn file(&mut self, key: Key, now: u64) {
        let entry = self.table.entry(key);
        let (wall, due, slack) = (entry.is(Flag::Wall), entry.due, entry.slack);
        let deadline = self.deadline(wall, due, slack, now);
        let pass = self.pass;
        self.table.entry(key).arm(pass);
        self.walls += usize::from(wall);
        self.arm(key, deadline);
    }

    /// Inserts a timer that follows the wall clock into the queue. `due` is its due time on the
    /// steady timeline. The timer keeps the number of the pass in which it was armed.
    pub(super) fn file_at(&mut self, key: Key, due: u64, now: u64) {
        let slack = self.table.entry(key).slack;
        let deadline = self.deadline_at(due, slack, now);
        self.walls += 1;
        self.arm(key, deadline);
    }

    #[inline]
    fn arm(&mut self, key: Key, deadline: Tick) {
        self.table.queue_mut().arm(key, deadline);
        self.tell_alarm(key);
    }

    #[inline]
    fn tell_alarm(&mut self, key: Key) {
        if self.alarm.is_some() && (self.urgent == 0 || !self.is_host(key)) {
            self.bring_alarm_forward(key);
        }
    }

    #[cold]
    fn bring_alarm_forward(&mut self, key: Key) {
        let Some(at) = self.table.queue().expiry(key).map(|tick| self.ticks.start(tick)) else { return };
        if let Some(alarm) = self.alarm.as_ref().filter(|_| self.alarm_at.is_none_or(|set| at < set)) {
            self.alarm_at = Some(at);
            alarm.set(Some(at));
        }
    }

    /// Takes a timer out of the queue. If `allowed` is set and the timer is kept, it becomes idle.
    /// Otherwise it is removed. If the timer is running, `here` returns whether it runs on the
    /// calling thread.
    #[inline]
    pub(super) fn remove(&mut self, id: TimerId, allowed: bool, here: impl FnOnce() -> bool) -> Cancelled<P> {
        let Some((key, entry)) = self.table.find_mut(id) else { return Cancelled::NotFound };
        if !allowed {
            entry.set(Flag::Kept, false);
        }
        let (kept, int) = (entry.is(Flag::Kept), entry.int);
        match entry.state {
            State::Running => {
                entry.set(Flag::Restarted, false);
                entry.set(Flag::Suppressed, true);
                return Cancelled::Running { here: here() };
            }
            State::Idle if kept => return Cancelled::Idle,
            State::Idle => {}
            State::Pending => {
                let wall = entry.is(Flag::Wall);
                entry.state = State::Idle;
                self.walls -= usize::from(wall);
                self.drop_aside(key);
                self.statistics.cancelled += 1;
            }
        }
        if kept {
            self.table.queue_mut().disarm(key);
            return Cancelled::Disarmed;
        }
        self.free_numbered(key, int).map_or(Cancelled::NotFound, Cancelled::Removed)
    }

    /// Counts a run whose callback panicked. If the timer was started during that run, this start
    /// is cancelled.
    pub(crate) fn note_panic(&mut self, id: TimerId) {
        if let Some((_, entry)) = self.table.find_mut(id) {
            entry.set(Flag::Restarted, false);
            let site = entry.site;
            self.sites.row(site).panicked += 1;
        }
    }

    /// Removes a running timer whose payload will not come back.
    pub(crate) fn abandon(&mut self, id: TimerId) {
        if let Some((key, entry)) = self.table.find(id)
            && entry.state == State::Running
        {
            // The timer has no payload to return.
            let _ = self.free(key);
        }
    }
}
