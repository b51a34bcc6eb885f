//! Verifies all invariants of the ladder.

use alloc::vec::Vec;

use super::rungs::{Rung, TOP};
use super::scan::Place;
use super::state::Ladder;
use crate::contract::Violation;
use crate::structure::{Handle, View};

/// Returns `violation` as the error unless `condition` holds.
fn hold(condition: bool, violation: Violation) -> Result<(), Violation> {
    if condition { Ok(()) } else { Err(violation) }
}

impl<P: Handle> Ladder<P> {
    pub(super) fn check_all(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation> {
        hold(self.live as usize == len, Violation::Count)?;
        self.check_run(nodes)?;
        self.check_rungs()?;
        let mut slots = Vec::new();
        for place in self.places() {
            self.check_place(nodes, place, &mut slots)?;
        }
        hold(slots.len() == self.entries && self.entries <= self.limit, Violation::Count)?;
        slots.sort_unstable();
        let mut waiting = 0;
        for same in slots.chunk_by(|(slot, _), (next, _)| slot == next) {
            let [(slot, _), ..] = *same else { continue };
            let Some(p) = P::from_number(slot) else { return Err(Violation::Storage) };
            let record = nodes.record(p);
            hold(record.entries().is_none_or(|count| count as usize == same.len()), Violation::Count)?;
            let current = same.iter().filter(|&&(_, is_current)| is_current).count();
            let expected = usize::from(record.waits());
            hold(current == expected || record.is_wrapped() && current >= expected, Violation::Position)?;
            waiting += usize::from(record.waits() && record.is_live());
        }
        hold(waiting + self.run.len() == len, Violation::Count)
    }

    /// Verifies invariants 1 and 2.
    fn check_run(&self, nodes: &impl View<P, Self>) -> Result<(), Violation> {
        let (mut before, mut result) = (None, Ok(()));
        for (tick, slot) in self.run.iter() {
            let Some(p) = P::from_number(slot) else { return Err(Violation::Storage) };
            let record = nodes.record(p);
            hold(record.is_live() && !record.waits() && record.expiry == tick, Violation::Position)?;
            hold(record.sequence < self.next_sequence, Violation::Sequence)?;
            let this = Some((tick, record.sequence));
            result = result.and(hold(before < this, Violation::Order));
            before = this;
        }
        result?;
        hold(self.run.is_padded(), Violation::UnusedCell)?;
        hold(self.run.last().is_none_or(|last| u128::from(last) <= self.run_end), Violation::Head)
    }

    /// Verifies invariants 3 and 4.
    fn check_rungs(&self) -> Result<(), Violation> {
        let rungs = self.rungs.get(..self.depth).ok_or(Violation::Count)?;
        let ends = rungs.iter().map(|rung| (rung.end, u128::from(rung.start)));
        hold(
            ends.clone().is_sorted_by(|before, next| next.0 <= before.0 && next.1 <= before.0),
            Violation::Bucket,
        )?;
        let mut free = TOP + 1;
        for rung in rungs {
            hold(rung.first == free, Violation::Bucket)?;
            free = rung.end_of_lists();
        }
        hold(free <= self.lists.len().max(TOP + 1), Violation::Bucket)?;
        let empty_lists = || self.lists.iter().filter(|list| list.len == 0);
        hold(empty_lists().all(|list| list.taken == 0), Violation::Count)?;
        for (list, content) in self.lists.iter().enumerate() {
            if list == TOP {
                continue;
            }
            let is_marked = self.place_of(list).is_some_and(|(at, bucket)| rungs[at].is_marked(bucket));
            hold(is_marked == (content.len > 0), Violation::Occupied)?;
        }
        let consumed = |rung: &Rung| rung.occupied(0) != rung.occupied(rung.next);
        hold(!rungs.iter().any(consumed), Violation::Occupied)?;
        hold(
            !self.purge.is_on || self.lists.get(self.purge.at).is_some_and(|list| list.len > 0),
            Violation::Count,
        )
    }

    /// Verifies invariants 5 to 7.
    fn check_place(
        &self,
        nodes: &impl View<P, Self>,
        place: Place,
        slots: &mut Vec<(u32, bool)>,
    ) -> Result<(), Violation> {
        let rung = place.list.and_then(|list| self.place_of(list)).map(|(at, _)| &self.rungs[at]);
        let mut arrivals = Vec::new();
        for entry in self.entries_of(place) {
            let Some(p) = P::from_number(entry.slot()) else { return Err(Violation::Storage) };
            let record = nodes.record(p);
            let is_current = record.is_current(entry) && record.placed() as u32 == entry.low();
            slots.push((entry.slot(), is_current));
            if !is_current || !record.is_live() {
                continue;
            }
            let placed = record.placed();
            let is_here = place.first <= placed && placed <= place.last;
            hold(is_here || record.is_wrapped(), Violation::Bucket)?;
            hold(u128::from(placed) >= self.run_end || rung.is_some_and(Rung::by_arrival), Violation::Head)?;
            hold(placed <= record.expiry, Violation::Order)?;
            hold(record.sequence < self.next_sequence, Violation::Sequence)?;
            if is_here && placed == record.expiry {
                arrivals.push((placed, record.sequence));
            }
        }
        if self.is_in_order(place) && rung.is_none_or(|rung| !rung.by_arrival()) {
            arrivals.sort_by_key(|&(tick, _)| tick);
            hold(arrivals.is_sorted(), Violation::Sequence)?;
        }
        Ok(())
    }
}
