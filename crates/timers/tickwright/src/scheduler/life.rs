//! The life of a timer: it is added, armed, cancelled and removed.

use tickwright_core::Tick;
use tickwright_core::structure::Handle;
use tickwright_nodes::arena::Idx;

use super::results::{Cancelled, Refusal, Refused};
use super::site::Origin;
use super::table::TimerId;
use super::timer::{Aim, Entry, Flag, Slack, State};
use super::timer_set::{Host, TimerSet};
use super::timing::{Target, Timing, roundest};
use super::wall::{shifted, unshifted};
use crate::time::Instant;

impl<P> TimerSet<P> {
    /// Adds a timer and arms it. When the timer is done, it is removed.
    ///
    /// # Errors
    /// [`Refused`], with the payload, if there is no memory, or for a wall time on a clock without
    /// one.
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
        // The origin and the clock run the user's code, so they are called while the set is
        // whole.
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
        let (id, slot, int) = self.place(timer, payload)?;
        self.statistics.armed += 1;
        self.walls += usize::from(aim.wall);
        self.table.queue_mut().insert(slot, deadline);
        self.tell_alarm(slot);
        Ok((id, int))
    }

    /// Adds a timer that is not armed. It stays when it is done or cancelled, until it is [shut
    /// down](Self::shutdown).
    ///
    /// # Errors
    /// [`Refused`], with the payload, if there is no memory.
    pub fn keep(&mut self, origin: &impl Origin, payload: P) -> Result<TimerId, Refused<P>> {
        let site = self.sites.number(origin);
        let mut timer = Entry::idle(site);
        timer.set(Flag::Kept, true);
        self.place(timer, payload).map(|(id, ..)| id)
    }

    /// Arms an idle timer, or moves a pending one. A running timer is armed when it has finished,
    /// whatever its callback returns.
    ///
    /// # Errors
    /// [`Refusal`] says why; the timer is then as it was.
    #[inline]
    pub fn start(&mut self, id: TimerId, timing: Timing) -> Result<(), Refusal> {
        let now = self.now_for(&timing);
        let aim = self.aim(&timing, now);
        let slack = Slack::at_most(timing.slack_ns);
        let deadline = aim.as_ref().map_or(0, |aim| self.deadline(aim.wall, aim.due, slack, now));
        let pass = self.pass;
        let (slot, entry) = self.table.find_mut(id).ok_or(Refusal::NotFound)?;
        let aim = aim?;
        if entry.is(Flag::Suppressed) && !entry.is(Flag::Kept) {
            // The timer was cancelled during its run: the caller must find it gone.
            return Err(Refusal::NotFound);
        }
        let was_wall = entry.is(Flag::Wall) && entry.state == State::Pending;
        entry.aim(&aim, &timing);
        self.statistics.armed += 1;
        if entry.state == State::Running {
            entry.set(Flag::Restarted, true);
            return Ok(());
        }
        let was_linked = entry.is(Flag::Linked);
        entry.arm(pass);
        self.walls = self.walls + usize::from(aim.wall) - usize::from(was_wall);
        self.drop_aside(slot);
        self.link(slot, deadline, was_linked);
        Ok(())
    }

    /// Cancels a timer: removes it, or makes it idle if it is kept. A running timer is not armed
    /// again when it finishes.
    #[inline]
    pub fn cancel(&mut self, id: TimerId) -> Cancelled<P> {
        self.remove(id, true)
    }

    /// Like [`cancel`](Self::cancel), but removes a kept timer, too: its id is stale from then on,
    /// so nothing arms it again.
    pub fn shutdown(&mut self, id: TimerId) -> Cancelled<P> {
        self.remove(id, false)
    }

    /// Removes all timers that are not running, and returns their payloads. A running timer is
    /// removed when it finishes. O(slots).
    pub fn clear(&mut self) -> Vec<P> {
        self.table.queue_mut().clear();
        (self.ahead, self.walls) = (None, 0);
        self.host.iter_mut().for_each(Host::let_go);
        let mut payloads = Vec::with_capacity(self.table.live());
        for slot in self.table.slots(0) {
            if self.table.get(slot).is_none() {
                continue;
            }
            let entry = self.table.entry(slot);
            entry.set(Flag::Kept, false);
            entry.set(Flag::Linked, false);
            if entry.state == State::Running {
                entry.set(Flag::Suppressed, true);
                entry.set(Flag::Restarted, false);
            } else {
                payloads.extend(self.free(slot));
            }
        }
        self.end_pass();
        payloads
    }

    /// Puts a timer that is not linked into a slot.
    #[inline(always)]
    fn place(&mut self, mut timer: Entry, payload: P) -> Result<(TimerId, Idx, i32), Refused<P>> {
        if let Some(ints) = &mut self.ints {
            let Some(int) = ints.next() else { return Err(Refused { reason: Refusal::Full, payload }) };
            timer.int = int;
        }
        let (id, slot) = self
            .table
            .occupy(timer, payload)
            .map_err(|payload| Refused { reason: Refusal::Full, payload })?;
        if let Some(ints) = &mut self.ints {
            ints.put(timer.int, slot.number());
        }
        self.sites.row(timer.site).added += 1;
        self.statistics.high_water = self.statistics.high_water.max(self.table.live());
        Ok((id, slot, timer.int))
    }

    /// Gives back the slot of a timer that is not in the queue.
    pub(super) fn free(&mut self, slot: Idx) -> Option<P> {
        let int = self.table.entry(slot).int;
        self.free_numbered(slot, int)
    }

    /// Like [`free`](Self::free), but the caller knows the timer's `int` id.
    #[inline]
    fn free_numbered(&mut self, slot: Idx, int: i32) -> Option<P> {
        self.host.take_if(|host| host.slot == slot);
        if let Some(ints) = &mut self.ints {
            ints.release(int);
        }
        self.table.vacate(slot)
    }

    /// The `now` by which a timing is converted to a due time. A delay from a given instant does
    /// not need the time: then this is the instant, unless something else needs the time.
    #[inline]
    fn now_for(&self, timing: &Timing) -> u64 {
        match timing.target {
            // Two cases need it: the lateness of a granular structure counts from now, and timers
            // by the wall need a look at the wall.
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

    /// The deadline for a due time, which is by the wall or on the steady timeline.
    #[inline]
    fn deadline(&mut self, wall: bool, due: u64, slack: Slack, now: u64) -> Tick {
        self.look_at_wall(now);
        let due = if wall { self.steady(due) } else { due };
        self.deadline_at(due, slack, now)
    }

    /// When a timer with this timing would be due at the earliest; a past instant means at once.
    /// Returns `None` if such a timer is refused.
    #[cold]
    #[inline(never)]
    pub(crate) fn due_by(&mut self, timing: &Timing) -> Option<Instant> {
        let now = self.now_for(timing);
        let aim = self.aim(timing, now).ok()?;
        let deadline = self.deadline(aim.wall, aim.due, Slack::at_most(timing.slack_ns), now);
        Some(self.ticks.start(deadline))
    }

    /// Converts a time by the wall to the steady timeline.
    #[cold]
    fn steady(&mut self, date: u64) -> u64 {
        if self.walls == 0 {
            self.wall_offset = self.clock.get().wall_offset().unwrap_or(0);
        }
        unshifted(date, self.wall_offset)
    }

    /// The deadline for a due time on the steady timeline.
    #[inline(always)]
    fn deadline_at(&mut self, due: u64, slack: Slack, now: u64) -> Tick {
        let ticks = self.ticks;
        if !self.structure.is_exact() {
            // Lateness counts from the queue's clock, so the clock must be at `now`.
            self.table.queue_mut().touch(ticks.now(Instant::from_nanos(now)));
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

    /// Puts a timer into the queue, by the due time in its entry. A timer that is there already
    /// moves. The set reserved room in the queue when it occupied the slot.
    pub(super) fn file(&mut self, slot: Idx, now: u64) {
        let entry = self.table.entry(slot);
        let (wall, due, slack) = (entry.is(Flag::Wall), entry.due, entry.slack);
        let deadline = self.deadline(wall, due, slack, now);
        let pass = self.pass;
        self.table.entry(slot).pass = pass;
        self.file_for(slot, deadline);
    }

    /// Like [`file`](Self::file), but due at `due` on the steady timeline. The timer keeps the pass
    /// in which it was armed.
    pub(super) fn file_at(&mut self, slot: Idx, due: u64, now: u64) {
        let slack = self.table.entry(slot).slack;
        let deadline = self.deadline_at(due, slack, now);
        self.file_for(slot, deadline);
    }

    fn file_for(&mut self, slot: Idx, deadline: Tick) {
        let entry = self.table.entry(slot);
        let (wall, was_linked) = (entry.is(Flag::Wall), entry.is(Flag::Linked));
        entry.arm(entry.pass);
        self.walls += usize::from(wall);
        self.link(slot, deadline, was_linked);
    }

    /// Links a timer into the queue, or moves a linked one.
    #[inline]
    fn link(&mut self, slot: Idx, deadline: Tick, was_linked: bool) {
        let queue = self.table.queue_mut();
        if was_linked {
            queue.reschedule(slot, deadline);
        } else {
            queue.insert(slot, deadline);
        }
        self.tell_alarm(slot);
    }

    #[inline]
    fn tell_alarm(&mut self, slot: Idx) {
        if self.alarm.is_some() && (self.urgent == 0 || !self.is_host(slot)) {
            self.bring_alarm_forward(slot);
        }
    }

    #[cold]
    fn bring_alarm_forward(&mut self, slot: Idx) {
        let at = self.ticks.start(self.table.queue().expiry(slot));
        if let Some(alarm) = self.alarm.as_ref().filter(|_| self.alarm_at.is_none_or(|set| at < set)) {
            self.alarm_at = Some(at);
            alarm.set(Some(at));
        }
    }

    /// Takes a timer out of the queue. If `allowed`, a kept timer stays and becomes idle; any other
    /// timer is removed.
    #[inline]
    fn remove(&mut self, id: TimerId, allowed: bool) -> Cancelled<P> {
        let Some((slot, entry)) = self.table.find_mut(id) else { return Cancelled::NotFound };
        if !allowed {
            entry.set(Flag::Kept, false);
        }
        let (kept, int) = (entry.is(Flag::Kept), entry.int);
        match entry.state {
            State::Running => {
                entry.set(Flag::Restarted, false);
                entry.set(Flag::Suppressed, true);
                return Cancelled::Running { here: true };
            }
            State::Idle if kept => return Cancelled::Idle,
            State::Idle => {}
            State::Pending => {
                let (linked, wall) = (entry.take(Flag::Linked), entry.is(Flag::Wall));
                entry.state = State::Idle;
                self.walls -= usize::from(wall);
                if linked {
                    self.table.queue_mut().remove(slot);
                }
                self.drop_aside(slot);
                self.statistics.cancelled += 1;
            }
        }
        if kept {
            return Cancelled::Disarmed;
        }
        self.free_numbered(slot, int).map_or(Cancelled::NotFound, Cancelled::Removed)
    }

    /// Counts a run whose callback panicked. A start of the timer during that run no longer counts.
    pub(crate) fn note_panic(&mut self, id: TimerId) {
        if let Some(slot) = self.table.find(id) {
            let entry = self.table.entry(slot);
            entry.set(Flag::Restarted, false);
            let site = entry.site;
            self.sites.row(site).panicked += 1;
        }
    }

    /// Forgets a running timer whose payload will not come back.
    pub(crate) fn abandon(&mut self, id: TimerId) {
        if let Some(slot) = self.table.find(id)
            && self.table.entry(slot).state == State::Running
        {
            // The slot has no payload to return.
            let _ = self.free(slot);
        }
    }
}
