//! What a service reports about its timers and about itself.

use core::time::Duration;

use tickwright_core::Violation;
use tickwright_core::structure::Handle;
use tickwright_nodes::arena::Idx;

use super::base::Service;
use super::entry::{Entry, Flag, State};
use super::int::IntIds;
use super::site::SiteCounts;
use super::table::TimerId;
use super::wall::unshifted;
use super::words::{Info, Refusal, Statistics};
use crate::time::Instant;

impl<P> Service<P> {
    /// Returns the information about a timer, or `None` for a stale id.
    #[must_use]
    pub fn find(&self, id: TimerId) -> Option<Info> {
        let slot = self.table.find(id)?;
        self.info(slot, self.table.get(slot)?)
    }

    /// Every timer, in the order of the slots. O(slots).
    pub fn iter(&self) -> impl Iterator<Item = Info> + '_ {
        self.table.iter().filter_map(|(slot, entry)| self.info(slot, entry))
    }

    /// The `int` id of a timer; `None` without [`Settings::int_ids`](super::Settings::int_ids).
    #[must_use]
    pub fn int_id(&self, id: TimerId) -> Option<i32> {
        Some(self.table.get(self.table.find(id)?)?.int).filter(|&int| int > 0)
    }

    /// The timer that has an `int` id.
    #[must_use]
    pub fn from_int(&self, int: i32) -> Option<TimerId> {
        self.table.id(Idx::from_number(self.ints.as_ref()?.find(int)?)?)
    }

    /// The payload of a timer that is not running.
    #[must_use]
    pub fn payload(&self, id: TimerId) -> Option<&P> {
        self.table.payload(self.table.find(id)?)
    }

    /// Returns the first timer in slot `*from` or a later one, and sets `*from` to the slot after
    /// it. A caller that begins at 0 gets each timer that exists during all calls exactly once.
    /// Changes of other timers between the calls do not matter.
    #[must_use]
    pub fn next_from(&self, from: &mut usize) -> Option<Info> {
        let (slot, entry) = self.table.slots(*from).find_map(|slot| Some((slot, self.table.get(slot)?)))?;
        *from = slot.at() + 1;
        self.info(slot, entry)
    }

    /// Counts since the service was made.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let pending = self.table.queue().len() + self.aside();
        Statistics { timers: self.table.live(), pending, ..self.statistics.clone() }
    }

    /// Returns the counts of each origin.
    #[must_use]
    pub fn sites(&self) -> Vec<SiteCounts> {
        self.sites.counts().collect()
    }

    /// Like [`sites`](Self::sites), but returns an error if there is no memory.
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for the counts.
    pub fn try_sites(&self) -> Result<Vec<SiteCounts>, Refusal> {
        let mut sites = Vec::new();
        sites.try_reserve_exact(self.sites.counts().count()).map_err(|_| Refusal::Full)?;
        sites.extend(self.sites.counts());
        Ok(sites)
    }

    /// Bytes on the heap, except the counts by origin and what payloads own themselves.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.table.heap_bytes() + self.ints.as_ref().map_or(0, IntIds::heap_bytes)
    }

    /// Checks the queue, and that the queue and the timers agree. O(slots).
    ///
    /// # Errors
    /// The first violation found; it shows a bug in this library.
    pub fn check(&self) -> Result<(), Violation> {
        self.table.check()?;
        let (mut filed, mut walls) = (0, 0);
        for (slot, entry) in self.table.iter() {
            let ahead = self.ahead == Some(slot) || (self.held().is_some() && self.is_host(slot));
            let pending = entry.state == State::Pending;
            let linked = entry.is(Flag::Linked);
            let in_one_place = if pending { linked != ahead } else { !linked && !ahead };
            if !in_one_place || self.table.payload(slot).is_some() == (entry.state == State::Running) {
                return Err(Violation::Storage);
            }
            if let Some(ints) = &self.ints
                && ints.find(entry.int) != Some(slot.number())
            {
                return Err(Violation::Position);
            }
            filed += usize::from(linked);
            walls += usize::from(pending && entry.is(Flag::Wall));
        }
        let mut reachable = 0;
        self.table.queue().for_each(&mut |slot| {
            reachable += usize::from(self.table.get(slot).is_some_and(|entry| entry.is(Flag::Linked)));
        });
        let right = filed == self.table.queue().len()
            && filed == reachable
            && walls == self.walls
            && self.host_is_right();
        if right { Ok(()) } else { Err(Violation::Count) }
    }

    fn info(&self, slot: Idx, entry: &Entry) -> Option<Info> {
        let due = if entry.is(Flag::Wall) { unshifted(entry.due, self.wall_offset) } else { entry.due };
        Some(Info {
            id: self.table.id(slot)?,
            int_id: Some(entry.int).filter(|&int| int > 0),
            state: entry.state,
            due: Instant::from_nanos(due),
            period: Duration::from_nanos(entry.period),
            periodic: entry.is(Flag::Periodic),
            site: self.sites.site(entry.site),
        })
    }
}
