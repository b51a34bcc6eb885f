//! A timer service: a clock over a queue, and the life of each timer. One thread's;
//! [`Scheduler`](crate::scheduler::Scheduler) is the one to share.
//!
//! A [`Service`] holds payloads of any type and says when one is due: [`take`](Service::take) hands
//! the payload out and marks its timer as running, [`finish`](Service::finish) says what becomes of
//! it. What runs in between is the caller's affair.
//!
//! ```
//! use core::time::Duration;
//! use tickwright::clock::VirtualHost;
//! use tickwright::service::{Missed, Next, Service, Settings, Site, Timing};
//!
//! let host = VirtualHost::new();
//! let mut service = Service::new(Settings::new().clock(host.monotonic()));
//! let beat = Timing::after(Duration::from_millis(10)).every(Duration::from_millis(10)).missed(Missed::Skip);
//! service.add(beat, &Site::here("beat"), 0, "payload")?;
//! assert_eq!(service.remaining(), Some(Duration::from_millis(10)));
//!
//! host.advance(47_000_000);
//! service.begin_pass();
//! let due = service.take().expect("it is late");
//! assert_eq!((due.payload, due.due, due.overruns), ("payload", 40_000_000, 3));
//! service.finish(due.id, due.payload, Next::Again);
//! assert_eq!(service.remaining(), Some(Duration::from_millis(3)), "on the grid");
//! # Ok::<(), tickwright::service::Refused<&str>>(())
//! ```
//!
//! # Time
//!
//! Deadlines are rounded up to ticks and the clock down, so nothing is early. A tick is 1 ns, or 1
//! ms for wheels ([`Settings::tick`] changes it).
//!
//! What a step of the wall, a sleep of the machine or a pause means to each kind of timer is in
//! [`clock`](crate::clock).
//!
//! # Passes
//!
//! A pass begins with [`begin_pass`](Service::begin_pass), which looks at the clock once: nothing
//! that is due later is taken, and nothing that is armed after it began. So a timer that is always
//! armed for now cannot keep a pass from ending; it is the first of the next one. A poll loop sleeps
//! for [`remaining`](Service::remaining) between two passes. [`end_pass`](Service::end_pass) sets
//! the alarm; without an alarm it does nothing.
//!
//! # Costs
//!
//! `add`, `start`, `cancel`, `take`, `finish`: one operation of the queue, at most one read of the
//! clock (while timers by the wall are pending also one of its offset), and O(1) to look an id up;
//! nothing is allocated up to [`Settings::capacity`]. A step of the wall files all timers by the
//! wall anew: O(timers).

pub mod host;
mod int;
mod lateness;
mod settings;
mod site;
mod structure;
mod table;
mod timing;
mod wall;
mod words;

use core::alloc::Layout;
use core::fmt;
use core::time::Duration;
use std::alloc::handle_alloc_error;
use std::sync::Arc;

use tickwright_core::{Key, Reject, Tick, Violation};

pub use host::HostTick;
pub use lateness::Lateness;
pub use settings::Settings;
pub use site::{Origin, Site, SiteCounts};
pub use structure::{Structure, UnknownStructure};
pub use table::{State, TimerId};
pub use timing::{Missed, Timing, When};
pub use words::{Due, Finished, Info, Next, Refusal, Refused, Removal, Statistics};

use crate::alarm::Alarm;
use crate::clock::{Clock, Source, Ticks};
use host::Host;
use int::IntIds;
use site::Sites;
use structure::Queue;
use table::{Aim, Entry, Flag, Table};
pub(crate) use timing::nanos;
use timing::roundest;
use wall::{shifted, unshifted};

/// Timers of one thread, on a clock. See the [module](self).
pub struct Service<P> {
    clock: Source,
    structure: Structure,
    ticks: Ticks,
    queue: Box<dyn Queue>,
    table: Table<P>,
    ints: Option<IntIds>,
    sites: Sites,
    /// The queue takes so many timers without more memory. Never fewer than there are, so that
    /// arming one that exists cannot fail.
    room: usize,
    /// Popped already, and the first of the next pass: it was armed in the pass that popped it.
    ahead: Option<u32>,
    host: Host,
    pass: u16,
    cutoff: Tick,
    /// Pending timers by the wall, the offset that they are filed by, and when it last stepped.
    walls: usize,
    wall_offset: i64,
    stepped_at: u64,
    alarm: Option<Arc<dyn Alarm>>,
    alarm_at: Option<u64>,
    statistics: Statistics,
}

impl<P> Service<P> {
    /// An empty service. If there is no memory for [`Settings::capacity`], it is made without.
    ///
    /// # Panics
    /// Without memory for an empty one, as every allocation of the standard library;
    /// [`try_new`](Self::try_new) does not.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let capacity = settings.capacity;
        let settings = settings.capacity(0);
        let mut service =
            Self::try_new(settings).unwrap_or_else(|_| handle_alloc_error(Layout::new::<Self>()));
        let _ = service.reserve(capacity);
        service
    }

    /// An empty service with [`Settings::capacity`].
    ///
    /// # Errors
    /// [`Refusal::Full`] when there is no memory for it.
    pub fn try_new(settings: Settings) -> Result<Self, Refusal> {
        let Settings { structure, tick, clock, int_ids, capacity } = settings;
        let ticks = tick.unwrap_or(structure.default_tick());
        let mut queue = structure.build().ok_or(Refusal::Full)?;
        queue.touch(ticks.now(clock.now()));
        let mut service = Self {
            clock,
            structure,
            ticks,
            queue,
            table: Table::new(),
            ints: int_ids.then(IntIds::new),
            sites: Sites::new().ok_or(Refusal::Full)?,
            room: 0,
            ahead: None,
            host: Host::none(),
            pass: 0,
            cutoff: 0,
            walls: 0,
            wall_offset: 0,
            stepped_at: 0,
            alarm: None,
            alarm_at: None,
            statistics: Statistics {
                timers: 0,
                pending: 0,
                high_water: 0,
                armed: 0,
                fired: 0,
                cancelled: 0,
                overruns: 0,
                passes: 0,
                steps: 0,
                lateness: Lateness::new(),
            },
        };
        service.reserve(capacity)?;
        Ok(service)
    }

    /// Makes room for `additional` more timers, so that as many adds allocate nothing.
    ///
    /// # Errors
    /// [`Refusal::Full`] when there is no memory for it.
    pub fn reserve(&mut self, additional: usize) -> Result<(), Refusal> {
        let ints = self.ints.as_mut().is_none_or(|ints| ints.reserve(additional));
        if !ints || !self.table.reserve(additional) {
            return Err(Refusal::Full);
        }
        self.make_room(self.table.live().saturating_add(additional))
    }

    /// Room in the queue for `timers` in all.
    fn make_room(&mut self, timers: usize) -> Result<(), Refusal> {
        if timers > self.room {
            let additional = timers.saturating_sub(self.queue.len());
            self.queue.reserve(additional).map_err(|_| Refusal::Full)?;
            self.room = timers;
        }
        Ok(())
    }

    /// The clock's time, in ns.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.clock.get()
    }

    pub(crate) fn shared_clock(&self) -> Arc<dyn Clock> {
        self.clock.shared()
    }

    /// The structure underneath.
    #[must_use]
    pub fn structure(&self) -> Structure {
        self.structure
    }

    /// How long a tick is.
    #[must_use]
    pub fn ticks(&self) -> Ticks {
        self.ticks
    }

    /// Adds a timer and arms it. When it is done, it is gone. The service notes `token` for the
    /// caller, who may find timers by it.
    ///
    /// # Errors
    /// [`Refused`] with the payload: no memory, or a wall time on a clock without one.
    pub fn add(
        &mut self,
        timing: Timing,
        origin: &impl Origin,
        token: usize,
        payload: P,
    ) -> Result<TimerId, Refused<P>> {
        // The origin and the clock are the user's code: they are asked while all is whole.
        let site = self.sites.number(origin);
        let now = self.clock.now();
        let aim = match self.aim(&timing, now) {
            Ok(aim) => aim,
            Err(reason) => return Err(Refused { reason, payload }),
        };
        let mut timer = Entry::idle(site, token);
        timer.aim(&aim, &timing);
        let (id, slot) = self.place(timer, payload)?;
        self.statistics.armed += 1;
        match self.file(slot, now) {
            Ok(()) => Ok(id),
            Err(reason) => match self.free(slot) {
                Some(payload) => Err(Refused { reason, payload }),
                // A timer that is not running has its payload.
                None => Ok(id),
            },
        }
    }

    /// Adds a timer that is not armed, and that is kept when it is done or cancelled, until it is
    /// [shut down](Self::shutdown).
    ///
    /// # Errors
    /// [`Refused`] with the payload when there is no memory.
    pub fn keep(&mut self, origin: &impl Origin, token: usize, payload: P) -> Result<TimerId, Refused<P>> {
        let site = self.sites.number(origin);
        let mut timer = Entry::idle(site, token);
        timer.set(Flag::Kept, true);
        let (id, _) = self.place(timer, payload)?;
        Ok(id)
    }

    /// Arms a timer that is idle, or gives one that is pending another time; one that runs is armed
    /// when it has finished, whatever its callback answers.
    ///
    /// # Errors
    /// [`Refusal`]; the timer is then as it was.
    pub fn start(&mut self, id: TimerId, timing: Timing) -> Result<(), Refusal> {
        let slot = self.table.find(id).ok_or(Refusal::NotFound)?;
        self.start_slot(slot, timing)
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
        self.entry(slot).set(Flag::Kept, false);
        self.remove_slot(slot)
    }

    /// Begins a pass: what is due now, and was armed before, can be taken.
    pub fn begin_pass(&mut self) {
        let now = self.clock.now();
        self.look_at_wall(now);
        self.statistics.passes += 1;
        self.pass = self.pass.checked_add(1).unwrap_or_else(|| {
            // The number comes round: nobody is to be taken for one armed in this pass.
            self.table.entries.iter_mut().for_each(|entry| entry.pass = 0);
            1
        });
        self.cutoff = self.ticks.now(now);
        // So that whatever is armed from now on, for however long ago, comes after what is due.
        self.queue.touch(self.cutoff);
    }

    /// Takes the next timer of this pass; the [host tick](Self::set_host) after all others of its
    /// tick. It runs from now on.
    pub fn take(&mut self) -> Option<Due<P>> {
        let mut unlimited = usize::MAX;
        self.take_within(&mut unlimited)
    }

    /// As [`take`](Self::take), and moves at most so many timers inside the queue on the way, which
    /// are taken from `moves`. With none of them left the answer is `None`, although there may be a
    /// next one: call it again. So the time that it takes has a bound.
    pub fn take_within(&mut self, moves: &mut usize) -> Option<Due<P>> {
        loop {
            // The clock is the user's code: it is asked while all is whole.
            let now = self.clock.now();
            let offset = if self.walls > 0 { self.clock.wall_offset() } else { None };
            let mut slot = self.next_slot(moves)?;
            let pass = self.pass;
            if self.entry(slot).pass == pass {
                // All that is left of what is due was armed in this pass as well, but for a host
                // tick that was put aside.
                self.ahead = Some(slot);
                slot = self.release_host()?;
            }
            let entry = self.entry(slot);
            let (by_wall, due) = (entry.is(Flag::Wall), entry.due);
            let offset = offset.unwrap_or(self.wall_offset);
            if by_wall {
                self.walls -= 1;
                if shifted(now, offset) < due {
                    // The wall runs slower than what it was filed by. In this pass it does not come
                    // again, also if there is no later tick.
                    self.entry(slot).pass = pass;
                    let _ = self.file_at(slot, unshifted(due, offset), now);
                    continue;
                }
            }
            return self.run(slot, now, by_wall.then_some(offset));
        }
    }

    /// Marks a timer as running: one by the wall with the wall's `offset`.
    fn run(&mut self, slot: u32, now: u64, offset: Option<i64>) -> Option<Due<P>> {
        let id = self.table.id(slot)?;
        let entry = self.entry(slot);
        let payload = entry.payload.take()?;
        entry.state = Some(State::Running);
        let base = offset.map_or(now, |offset| shifted(now, offset));
        let (overruns, due, from) = match entry.is(Flag::Periodic) {
            true => entry.missed.deliver(entry.due, entry.period, base),
            false => (0, entry.due, entry.due),
        };
        entry.due = from;
        entry.set(Flag::Started, true);
        let (token, site) = (entry.token, entry.site);
        let due = offset.map_or(due, |offset| unshifted(due, offset));
        // To a timer by the wall that was due in the past because of a step, it became due with
        // that.
        let since = offset.map_or(due, |_| due.max(self.stepped_at));
        self.statistics.fired += 1;
        self.count_overruns(overruns);
        self.statistics.lateness.note(now.saturating_sub(since));
        self.host.note_run(slot, now.saturating_sub(since));
        self.sites.row(site).fired += 1;
        Some(Due { id, payload, token, due, now, overruns })
    }

    fn count_overruns(&mut self, overruns: u64) {
        self.statistics.overruns = self.statistics.overruns.saturating_add(overruns);
    }

    /// Says what becomes of a timer that was [taken](Self::take). Only the id of a running timer is
    /// meant; for another one nothing happens, and the payload comes back.
    pub fn finish(&mut self, id: TimerId, payload: P, next: Next) -> Finished<P> {
        let nothing = |payload| Finished { payload: Some(payload), suppressed: false };
        let Some(slot) = self.table.find(id) else { return nothing(payload) };
        let entry = self.entry(slot);
        if entry.state != Some(State::Running) {
            return nothing(payload);
        }
        let (kept, suppressed) = (entry.is(Flag::Kept), entry.take(Flag::Suppressed));
        let restarted = entry.take(Flag::Restarted);
        let again = restarted || (!suppressed && next != Next::Done);
        entry.payload = Some(payload);
        entry.state = Some(State::Idle);
        if again {
            let now = self.clock.now();
            if !restarted {
                self.set_next(slot, next, now);
            }
            if self.file(slot, now).is_ok() {
                return Finished { payload: None, suppressed: false };
            }
        }
        let payload = if kept { None } else { self.free(slot) };
        Finished { payload, suppressed: suppressed && !restarted && next != Next::Done }
    }

    /// Sets when a timer is due again, by what it answered.
    fn set_next(&mut self, slot: u32, next: Next, now: u64) {
        let base = match self.entry(slot).is(Flag::Wall) {
            true => shifted(now, self.clock.wall_offset().unwrap_or(self.wall_offset)),
            false => now,
        };
        let entry = self.entry(slot);
        let period = match next {
            Next::After(period) => nanos(period),
            Next::Again | Next::Done => entry.period,
        };
        // Of a periodic timer the missed periods were counted when it was taken; what passed
        // meanwhile is counted the next time.
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

    /// Ends a pass: sets the alarm for what comes next.
    pub fn end_pass(&mut self) {
        if self.alarm.is_none() {
            return;
        }
        // Whoever was told of a step, and found a pass under way, relies on this look.
        if self.walls > 0 {
            self.look_at_wall(self.clock.now());
        }
        let next = self.wake_bound();
        if let Some(alarm) = &self.alarm {
            self.alarm_at = next;
            alarm.set(next);
        }
    }

    /// From now on `alarm` is told when the service is to be run, and `None` is told any more.
    pub fn set_alarm(&mut self, alarm: Option<Arc<dyn Alarm>>) {
        self.alarm = alarm;
        self.end_pass();
    }

    pub(crate) fn alarm(&self) -> Option<&Arc<dyn Alarm>> {
        self.alarm.as_ref()
    }

    /// How long there is nothing to do; zero if something is due, `None` if nothing is pending. At
    /// most what the clock [can be trusted for](Clock::longest_sleep) where that matters: then look
    /// again. O(levels) at most: over a wheel it may be too short, and the pass that finds nothing
    /// due puts it right ([`next_wake`](Self::next_wake) is exact).
    #[must_use]
    pub fn remaining(&mut self) -> Option<Duration> {
        let now = self.clock.now();
        self.look_at_wall(now);
        let left = self.wake_bound()?.saturating_sub(now);
        let most = match self.clock.get().longest_sleep() {
            // Only the wall may jump, and no timer goes by it.
            Some(_) if self.walls == 0 && self.clock.wall_offset().is_some() => u64::MAX,
            Some(most) => most,
            None => u64::MAX,
        };
        Some(Duration::from_nanos(left.min(most)))
    }

    /// What is known of a timer.
    #[must_use]
    pub fn find(&self, id: TimerId) -> Option<Info> {
        let slot = self.table.find(id)?;
        self.info(slot, self.table.entries.get(slot as usize)?)
    }

    /// Every timer, by the order of slots. O(slots).
    pub fn iter(&self) -> impl Iterator<Item = Info> + '_ {
        self.table.slots().filter_map(|(slot, entry)| self.info(slot, entry))
    }

    /// The `int` id of a timer; `None` if [`Settings::int_ids`] was not asked for.
    #[must_use]
    pub fn int_id(&self, id: TimerId) -> Option<i32> {
        self.ints.as_ref()?.of(self.table.find(id)?)
    }

    /// The timer of an `int` id.
    #[must_use]
    pub fn from_int(&self, int: i32) -> Option<TimerId> {
        self.table.id(self.ints.as_ref()?.find(int)?)
    }

    /// The payload of a timer that does not run.
    #[must_use]
    pub fn payload(&self, id: TimerId) -> Option<&P> {
        self.table.entries.get(self.table.find(id)? as usize)?.payload.as_ref()
    }

    /// The first timer in slot `*from` or a later one, and puts the number of the slot behind it
    /// there. Who begins at 0 meets each timer that is there all the time once, whatever happens to
    /// others between the calls.
    #[must_use]
    pub fn next_from(&self, from: &mut usize) -> Option<Info> {
        loop {
            let slot = *from;
            let entry = self.table.entries.get(slot)?;
            *from += 1;
            if let Some(info) = u32::try_from(slot).ok().and_then(|slot| self.info(slot, entry)) {
                return Some(info);
            }
        }
    }

    /// What was counted.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let pending = self.queue.len() + self.aside();
        Statistics { timers: self.table.live(), pending, ..self.statistics.clone() }
    }

    /// What was counted for each origin.
    #[must_use]
    pub fn sites(&self) -> Vec<SiteCounts> {
        self.sites.counts().collect()
    }

    /// The same for who can go on without.
    ///
    /// # Errors
    /// [`Refusal::Full`] when there is no memory for it.
    pub fn try_sites(&self) -> Result<Vec<SiteCounts>, Refusal> {
        let mut sites = Vec::new();
        sites.try_reserve_exact(self.sites.counts().count()).map_err(|_| Refusal::Full)?;
        sites.extend(self.sites.counts());
        Ok(sites)
    }

    /// Counts a run of a callback that ended in a panic. What armed the timer meanwhile counts no
    /// more.
    pub(crate) fn note_panic(&mut self, id: TimerId) {
        if let Some(slot) = self.table.find(id) {
            let entry = self.entry(slot);
            entry.set(Flag::Restarted, false);
            let site = entry.site;
            self.sites.row(site).panicked += 1;
        }
    }

    /// Forgets a timer that runs, and whose payload will not come back.
    pub(crate) fn abandon(&mut self, id: TimerId) {
        if let Some(slot) = self.table.find(id)
            && self.entry(slot).state == Some(State::Running)
        {
            // There is no payload to hand out.
            let _ = self.free(slot);
        }
    }

    /// Bytes on the heap, without what payloads own themselves and the counts by origin.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes() + self.table.heap_bytes() + self.ints.as_ref().map_or(0, IntIds::heap_bytes)
    }

    /// Removes all timers that do not run and hands their payloads out; those that run are gone
    /// when they finish. O(slots).
    pub fn clear(&mut self) -> Vec<P> {
        self.queue.clear();
        (self.ahead, self.walls) = (None, 0);
        self.host.let_go();
        let slots: Vec<u32> = self.table.slots().map(|(slot, _)| slot).collect();
        let mut payloads = Vec::with_capacity(slots.len());
        for slot in slots {
            let entry = self.entry(slot);
            entry.set(Flag::Kept, false);
            entry.key = None;
            if entry.state == Some(State::Running) {
                entry.set(Flag::Suppressed, true);
                entry.set(Flag::Restarted, false);
            } else {
                payloads.extend(self.free(slot));
            }
        }
        self.end_pass();
        payloads
    }

    /// Verifies the queue, and that it and the timers agree. O(slots).
    ///
    /// # Errors
    /// The first violation found: a bug in this library.
    pub fn check(&self) -> Result<(), Violation> {
        self.queue.check()?;
        let (mut filed, mut walls) = (0, 0);
        for (slot, entry) in self.table.slots() {
            let ahead = self.ahead == Some(slot) || self.host.holds(slot);
            let pending = entry.state == Some(State::Pending);
            let known = entry.key.is_some_and(|key| self.queue.expiry(key).is_some());
            if pending != (known || ahead) || known != entry.key.is_some() {
                return Err(Violation::Storage);
            }
            if entry.payload.is_some() == (entry.state == Some(State::Running)) {
                return Err(Violation::Storage);
            }
            if let Some(ints) = &self.ints
                && ints.of(slot).and_then(|id| ints.find(id)) != Some(slot)
            {
                return Err(Violation::Position);
            }
            filed += usize::from(known);
            walls += usize::from(pending && entry.is(Flag::Wall));
        }
        let right = filed == self.queue.len() && walls == self.walls && self.host_is_right();
        if right { Ok(()) } else { Err(Violation::Count) }
    }

    // ---- slots

    fn entry(&mut self, slot: u32) -> &mut Entry<P> {
        &mut self.table.entries[slot as usize]
    }

    fn info(&self, slot: u32, entry: &Entry<P>) -> Option<Info> {
        let due = if entry.is(Flag::Wall) { unshifted(entry.due, self.wall_offset) } else { entry.due };
        Some(Info {
            id: self.table.id(slot)?,
            int_id: self.ints.as_ref().and_then(|ints| ints.of(slot)),
            state: entry.state?,
            due,
            period: entry.period,
            periodic: entry.is(Flag::Periodic),
            token: entry.token,
            site: self.sites.site(entry.site),
        })
    }

    /// Puts an idle timer into a slot.
    fn place(&mut self, timer: Entry<P>, payload: P) -> Result<(TimerId, u32), Refused<P>> {
        let full = |payload| Refused { reason: Refusal::Full, payload };
        let site = timer.site;
        let timers = self.table.live() + 1;
        if timers > self.room && self.make_room(timers.saturating_mul(2).max(64)).is_err() {
            return Err(full(payload));
        }
        let (id, slot) = self.table.occupy(timer, payload).map_err(full)?;
        if let Some(ints) = &mut self.ints
            && ints.issue(slot).is_none()
            && let Some(payload) = self.free(slot)
        {
            return Err(full(payload));
        }
        self.sites.row(site).added += 1;
        self.statistics.high_water = self.statistics.high_water.max(timers);
        Ok((id, slot))
    }

    /// Gives the slot of a timer that is not in the queue back.
    fn free(&mut self, slot: u32) -> Option<P> {
        let payload = self.entry(slot).payload.take();
        self.host.forget(slot);
        if let Some(ints) = &mut self.ints {
            ints.release(slot);
        }
        self.table.vacate(slot);
        payload
    }

    /// What a timing means now.
    fn aim(&self, timing: &Timing, now: u64) -> Result<Aim, Refusal> {
        Ok(match timing.when {
            When::After(delay) => Aim { wall: false, due: now.saturating_add(delay), delay },
            When::At(due) => Aim { wall: false, due, delay: due.saturating_sub(now) },
            When::Wall(due) => {
                let offset = self.clock.wall_offset().ok_or(Refusal::NoWall)?;
                Aim { wall: true, due, delay: due.saturating_sub(shifted(now, offset)) }
            }
        })
    }

    fn start_slot(&mut self, slot: u32, timing: Timing) -> Result<(), Refusal> {
        let now = self.clock.now();
        let aim = self.aim(&timing, now)?;
        let entry = self.entry(slot);
        if entry.is(Flag::Suppressed) && !entry.is(Flag::Kept) {
            // Cancelled in its run: it is as good as gone.
            return Err(Refusal::NotFound);
        }
        let was_wall = entry.is(Flag::Wall) && entry.state == Some(State::Pending);
        entry.aim(&aim, &timing);
        let restarted = entry.state == Some(State::Running);
        entry.set(Flag::Restarted, restarted);
        self.statistics.armed += 1;
        if restarted {
            return Ok(());
        }
        self.walls -= usize::from(was_wall);
        self.drop_aside(slot);
        self.file(slot, now)
    }

    /// Puts a timer into the queue, by the due time noted in it; one that is there already is
    /// moved. There is [room](Self::make_room).
    #[inline]
    fn file(&mut self, slot: u32, now: u64) -> Result<(), Refusal> {
        self.look_at_wall(now);
        let pass = self.pass;
        let entry = self.entry(slot);
        entry.pass = pass;
        let (wall, mut due) = (entry.is(Flag::Wall), entry.due);
        if wall {
            if self.walls == 0 {
                self.wall_offset = self.clock.wall_offset().unwrap_or(0);
            }
            due = unshifted(due, self.wall_offset);
        }
        self.file_at(slot, due, now)
    }

    /// As [`file`](Self::file), due at `due` on the steady timeline. It counts as armed when it
    /// was.
    #[inline(always)]
    fn file_at(&mut self, slot: u32, due: u64, now: u64) -> Result<(), Refusal> {
        let ticks = self.ticks;
        if !self.structure.is_exact() {
            // Lateness counts from the queue's clock.
            self.queue.touch(ticks.now(now));
        }
        let entry = self.entry(slot);
        let earliest = ticks.deadline(due);
        let deadline = match entry.slack() {
            0 => earliest,
            slack => roundest(earliest, ticks.now(due.saturating_add(slack)).max(earliest)),
        };
        // What the queue says of its head is about `next_wake`; the alarm is set by what is exact.
        let key = match entry.key {
            Some(key) => {
                let _ = self.queue.reschedule(key, deadline);
                key
            }
            None => self.queue.insert(deadline, slot).map_err(|_: Reject| Refusal::Full)?.key,
        };
        let entry = self.entry(slot);
        (entry.key, entry.state) = (Some(key), Some(State::Pending));
        let wall = entry.is(Flag::Wall);
        self.walls += usize::from(wall);
        if self.alarm.is_some() && !self.host.silences(slot) {
            self.bring_alarm_forward(key);
        }
        Ok(())
    }

    #[cold]
    fn bring_alarm_forward(&mut self, key: Key) {
        let at = self.queue.expiry(key).map(|expiry| self.ticks.start(expiry));
        let earlier = match (at, self.alarm_at) {
            (Some(at), Some(set)) => at < set,
            (at, _) => at.is_some(),
        };
        if let Some(alarm) = self.alarm.as_ref().filter(|_| earlier) {
            self.alarm_at = at;
            alarm.set(at);
        }
    }

    fn remove_slot(&mut self, slot: u32) -> Removal<P> {
        let entry = self.entry(slot);
        let kept = entry.is(Flag::Kept);
        match entry.state {
            Some(State::Running) => {
                entry.set(Flag::Restarted, false);
                entry.set(Flag::Suppressed, true);
                return Removal::Running;
            }
            Some(State::Idle) if kept => return Removal::Idle,
            Some(State::Pending) => {
                let (key, wall) = (entry.key.take(), entry.is(Flag::Wall));
                entry.state = Some(State::Idle);
                self.walls -= usize::from(wall);
                if let Some(key) = key {
                    self.queue.remove(key);
                }
                self.drop_aside(slot);
                self.statistics.cancelled += 1;
            }
            _ => {}
        }
        if kept {
            return Removal::Disarmed;
        }
        self.free(slot).map_or(Removal::NotFound, Removal::Removed)
    }
}

/// Whoever waits at its alarm looks once more, and finds it gone.
impl<P> Drop for Service<P> {
    fn drop(&mut self) {
        if let Some(alarm) = &self.alarm {
            alarm.set(Some(0));
        }
    }
}

impl<P> fmt::Debug for Service<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("structure", &self.structure)
            .field("ticks", &self.ticks)
            .field("timers", &self.table.live())
            .field("pending", &self.queue.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
