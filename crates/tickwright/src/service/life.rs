//! The life of a timer: added, armed, cancelled, gone.

use tickwright_core::storage::Handle;
use tickwright_nodes::arena::Idx;

use super::base::Service;
use super::entry::{Aim, Entry, Flag, Slack, State};
use super::held::Host;
use super::site::Origin;
use super::table::TimerId;
use super::timing::{Timing, When, roundest};
use super::wall::{shifted, unshifted};
use super::words::{Refusal, Refused, Removal};
use crate::clock::{Instant, nanos};

impl<P> Service<P> {
    /// Adds a timer and arms it. When it is done, it is gone.
    ///
    /// # Errors
    /// [`Refused`] with the payload: no memory, or a wall time on a clock without one.
    pub fn add(&mut self, timing: Timing, origin: &impl Origin, payload: P) -> Result<TimerId, Refused<P>> {
        // The origin and the clock are the user's code: they are asked while all is whole.
        let site = self.sites.number(origin);
        let now = self.clock.now().as_nanos();
        let aim = match self.aim(&timing, now) {
            Ok(aim) => aim,
            Err(reason) => return Err(Refused { reason, payload }),
        };
        let mut timer = Entry::idle(site);
        timer.aim(&aim, &timing);
        let (id, slot) = self.place(timer, payload)?;
        self.statistics.armed += 1;
        self.file(slot, now);
        Ok(id)
    }

    /// Adds a timer that is not armed, and that is kept when it is done or cancelled, until it is
    /// [shut down](Self::shutdown).
    ///
    /// # Errors
    /// [`Refused`] with the payload when there is no memory.
    pub fn keep(&mut self, origin: &impl Origin, payload: P) -> Result<TimerId, Refused<P>> {
        let site = self.sites.number(origin);
        let mut timer = Entry::idle(site);
        timer.set(Flag::Kept, true);
        self.place(timer, payload).map(|(id, _)| id)
    }

    /// Arms a timer that is idle, or gives one that is pending another time; one that runs is armed
    /// when it has finished, whatever its callback answers.
    ///
    /// # Errors
    /// [`Refusal`]; the timer is then as it was.
    pub fn start(&mut self, id: TimerId, timing: Timing) -> Result<(), Refusal> {
        let slot = self.table.find(id).ok_or(Refusal::NotFound)?;
        let now = self.clock.now().as_nanos();
        let aim = self.aim(&timing, now)?;
        let entry = self.table.entry(slot);
        if entry.is(Flag::Suppressed) && !entry.is(Flag::Kept) {
            // Cancelled in its run: it is as good as gone.
            return Err(Refusal::NotFound);
        }
        let was_wall = entry.is(Flag::Wall) && entry.state == State::Pending;
        entry.aim(&aim, &timing);
        let restarted = entry.state == State::Running;
        entry.set(Flag::Restarted, restarted);
        self.statistics.armed += 1;
        if restarted {
            return Ok(());
        }
        self.walls -= usize::from(was_wall);
        self.drop_aside(slot);
        self.file(slot, now);
        Ok(())
    }

    /// Takes a timer out; one that is kept becomes idle. One that runs is not armed again when it
    /// finishes.
    pub fn cancel(&mut self, id: TimerId) -> Removal<P> {
        self.table.find(id).map_or(Removal::NotFound, |slot| self.remove_slot(slot))
    }

    /// As [`cancel`](Self::cancel), and a timer that is kept goes too: its id is stale from then
    /// on, so nothing arms it again.
    pub fn shutdown(&mut self, id: TimerId) -> Removal<P> {
        let Some(slot) = self.table.find(id) else { return Removal::NotFound };
        self.table.entry(slot).set(Flag::Kept, false);
        self.remove_slot(slot)
    }

    /// Removes all timers that do not run and hands their payloads out; those that run are gone
    /// when they finish. O(slots).
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

    /// Puts an idle timer into a slot.
    fn place(&mut self, timer: Entry<P>, payload: P) -> Result<(TimerId, Idx), Refused<P>> {
        let site = timer.site;
        let Ok((id, slot)) = self.table.occupy(timer) else {
            return Err(Refused { reason: Refusal::Full, payload });
        };
        if let Some(ints) = &mut self.ints
            && ints.issue(slot.number()).is_none()
        {
            self.table.vacate(slot);
            return Err(Refused { reason: Refusal::Full, payload });
        }
        self.table.entry(slot).payload = Some(payload);
        self.sites.row(site).added += 1;
        self.statistics.high_water = self.statistics.high_water.max(self.table.live());
        Ok((id, slot))
    }

    /// Gives the slot of a timer that is not in the queue back.
    pub(super) fn free(&mut self, slot: Idx) -> Option<P> {
        self.host.take_if(|host| host.slot == slot);
        if let Some(ints) = &mut self.ints {
            ints.release(slot.number());
        }
        self.table.vacate(slot)
    }

    /// What a timing means now.
    fn aim(&self, timing: &Timing, now: u64) -> Result<Aim, Refusal> {
        let (wall, due, delay) = match timing.when {
            When::After(delay) => (false, now.saturating_add(nanos(delay)), nanos(delay)),
            When::At(at) => (false, at.as_nanos(), at.as_nanos().saturating_sub(now)),
            When::Wall(date) => {
                let offset = self.clock.get().wall_offset().ok_or(Refusal::NoWall)?;
                (true, nanos(date), nanos(date).saturating_sub(shifted(now, offset)))
            }
        };
        Ok(Aim { wall, due, delay })
    }

    /// Puts a timer into the queue, by the due time noted in it; one that is there already is
    /// moved. Room was reserved when the slot was occupied.
    #[inline]
    pub(super) fn file(&mut self, slot: Idx, now: u64) {
        self.look_at_wall(now);
        let pass = self.pass;
        let entry = self.table.entry(slot);
        entry.pass = pass;
        let (wall, mut due) = (entry.is(Flag::Wall), entry.due);
        if wall {
            if self.walls == 0 {
                self.wall_offset = self.clock.get().wall_offset().unwrap_or(0);
            }
            due = unshifted(due, self.wall_offset);
        }
        self.file_at(slot, due, now);
    }

    /// As [`file`](Self::file), due at `due` on the steady timeline. It counts as armed when it
    /// was.
    #[inline(always)]
    pub(super) fn file_at(&mut self, slot: Idx, due: u64, now: u64) {
        let ticks = self.ticks;
        if !self.structure.is_exact() {
            // Lateness counts from the queue's clock.
            self.table.queue_mut().touch(ticks.now(Instant::from_nanos(now)));
        }
        let entry = self.table.entry(slot);
        let earliest = ticks.deadline(Instant::from_nanos(due));
        let deadline = match entry.slack {
            Slack::NONE => earliest,
            slack => {
                let latest = ticks.now(Instant::from_nanos(due.saturating_add(slack.ns())));
                roundest(earliest, latest.max(earliest))
            }
        };
        entry.state = State::Pending;
        let linked = entry.is(Flag::Linked);
        entry.set(Flag::Linked, true);
        self.walls += usize::from(entry.is(Flag::Wall));
        let queue = self.table.queue_mut();
        if linked {
            queue.reschedule(slot, deadline);
        } else {
            queue.insert(slot, deadline);
        }
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

    fn remove_slot(&mut self, slot: Idx) -> Removal<P> {
        let entry = self.table.entry(slot);
        let kept = entry.is(Flag::Kept);
        match entry.state {
            State::Running => {
                entry.set(Flag::Restarted, false);
                entry.set(Flag::Suppressed, true);
                return Removal::Running;
            }
            State::Idle if kept => return Removal::Idle,
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
            return Removal::Disarmed;
        }
        self.free(slot).map_or(Removal::NotFound, Removal::Removed)
    }

    /// Counts a run of a callback that ended in a panic. What armed the timer meanwhile counts no
    /// more.
    pub(crate) fn note_panic(&mut self, id: TimerId) {
        if let Some(slot) = self.table.find(id) {
            let entry = self.table.entry(slot);
            entry.set(Flag::Restarted, false);
            let site = entry.site;
            self.sites.row(site).panicked += 1;
        }
    }

    /// Forgets a timer that runs, and whose payload will not come back.
    pub(crate) fn abandon(&mut self, id: TimerId) {
        if let Some(slot) = self.table.find(id)
            && self.table.entry(slot).state == State::Running
        {
            // There is no payload to hand out.
            let _ = self.free(slot);
        }
    }
}
