//! Queries: the head, the timer that leaves after the head, and a visit of every timer.

use alloc::vec::Vec;

use super::pool::List;
use super::record::Entry;
use super::rungs::TOP;
use super::state::Ladder;
use crate::contract::Tick;
use crate::structure::{Handle, View};

/// A list and its ticks.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The index of the list, or `None` for the list that is being divided.
    pub(super) list: Option<usize>,
    pub(super) first: Tick,
    pub(super) last: Tick,
}

impl<P: Handle> Ladder<P> {
    /// Iterates over the lists that can have entries: first the list that is being divided, and
    /// then the other lists by increasing ticks.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let split = self.split.is_on().then_some(Place {
            list: None,
            first: self.split.first,
            last: self.split.last,
        });
        let rungs = self.rungs.get(..self.depth).unwrap_or(&[]).iter().rev();
        let buckets = rungs.flat_map(|rung| {
            let next = move |&bucket: &usize| rung.occupied(bucket + 1);
            core::iter::successors(rung.occupied(0), next).map(move |bucket| {
                let (first, last) = rung.ticks(bucket);
                Place { list: Some(rung.first + bucket), first, last }
            })
        });
        let top = Place { list: Some(TOP), first: self.top_first, last: self.top_last };
        split.into_iter().chain(buckets).chain((!self.lists.is_empty()).then_some(top))
    }

    /// Iterates over all entries of a place, in the order in which they were appended.
    pub(super) fn entries_of(&self, place: Place) -> impl Iterator<Item = Entry> + '_ {
        let nothing = &List::EMPTY;
        let (first, second) = match place.list {
            None => (&self.split.rest, &self.split.behind),
            Some(at) if self.purge.holds(at) => (&self.purge.done, &self.lists[at]),
            Some(at) => (&self.lists[at], nothing),
        };
        self.pool.iter(first).chain(self.pool.iter(second))
    }

    /// Returns whether the timers of each tick in a place are in the order of their arrival.
    pub(super) fn is_in_order(&self, place: Place) -> bool {
        match place.list {
            None => !self.split.rest.mixed,
            Some(at) => !self.lists[at].mixed,
        }
    }

    /// Returns the timer that leaves first (`index` 0) or second (`index` 1).
    pub(super) fn earliest(&self, nodes: &impl View<P, Self>, index: usize) -> Option<P> {
        if let Some((_, slot)) = self.run.get(index) {
            return P::from_number(slot);
        }
        let wanted = index - self.run.len();
        let mut found: [Option<(Tick, u64, P)>; 2] = [None; 2];
        for place in self.places() {
            if found[wanted].is_some_and(|(tick, ..)| tick < place.first) {
                break;
            }
            // If all entries of a list have the same tick and are in order, each entry arrived
            // later than the entries before it.
            let one_tick = place.first == place.last && self.is_in_order(place);
            let mut seen = 0;
            for entry in self.entries_of(place) {
                let Some((_, p)) = self.alive(nodes, entry, (place.first, place.last)) else { continue };
                let record = nodes.record(p);
                let this = (record.expiry, record.sequence, p);
                let is_before = |other: Option<(Tick, u64, P)>| {
                    other.is_none_or(|(tick, sequence, _)| (this.0, this.1) < (tick, sequence))
                };
                if is_before(found[0]) {
                    found = [Some(this), found[0]];
                } else if found[0].is_some_and(|(.., first)| first != p) && is_before(found[1]) {
                    found[1] = Some(this);
                }
                seen += usize::from(this.0 == place.first);
                if one_tick && seen > wanted {
                    break;
                }
            }
        }
        found[wanted].map(|(.., p)| p)
    }

    /// Iterates over the timers of all live entries.
    fn in_lists(&self, nodes: &impl View<P, Self>) -> impl Iterator<Item = P> {
        self.places().flat_map(move |place| {
            let ticks = (place.first, place.last);
            self.entries_of(place).filter_map(move |entry| self.alive(nodes, entry, ticks).map(|(_, p)| p))
        })
    }

    /// Visits every pending timer once.
    pub(super) fn each(&self, nodes: &impl View<P, Self>, mut visit: impl FnMut(P)) {
        self.run.iter().filter_map(|(_, slot)| P::from_number(slot)).for_each(&mut visit);
        if self.in_lists(nodes).count() + self.run.len() == self.live as usize {
            return self.in_lists(nodes).for_each(visit);
        }
        // In rare cases a slot has used all versions, and a dead entry looks like a current entry.
        let mut seen: Vec<u32> = self.in_lists(nodes).map(Handle::number).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.into_iter().filter_map(P::from_number).for_each(visit);
    }
}
