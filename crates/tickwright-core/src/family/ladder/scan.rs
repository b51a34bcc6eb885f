//! Queries that change nothing: the head, the timer after it, every timer.

use alloc::vec::Vec;

use super::chunks::{Entry, Rest};
use super::enter::{NEAR_LEVELS, is_for, tick_at};
use super::rungs::Number;
use super::state::{Ladder, LadderNode, Near, Work};
use crate::contract::Tick;
use crate::storage::{Handle, Nodes};

/// Where an entry is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// In the run, with its tick and arrival.
    Run(Near),
    /// Among the entries that a cascade or a sort works on.
    Work(Entry),
    /// In a bucket.
    Bucket(Number, Entry),
}

impl Place {
    #[inline]
    fn slot(self) -> u32 {
        match self {
            Self::Run(near) => near.slot(),
            Self::Work(entry) | Self::Bucket(_, entry) => entry.slot(),
        }
    }
}

impl<P: Handle, R: LadderNode<P>> Ladder<P, R> {
    /// Returns the timer of an entry if the entry is a witness. Returns `None` for a dead entry.
    #[inline]
    pub(super) fn witness(&self, nodes: &impl Nodes<P, R>, place: Place) -> Option<P> {
        let p = Self::slot(place.slot())?;
        let record = nodes.record(p);
        let placed = record.placed();
        let same = match place {
            Place::Run(near) => near.tick() == placed,
            Place::Work(entry) => match self.work {
                Work::Cascade { level, .. } => is_for(self.clock, level, entry, placed),
                _ => placed == self.clock,
            },
            Place::Bucket(at, entry) => {
                self.may_be(at.level(), entry, placed) && Number::of(self.clock, placed) == at
            }
        };
        (same && record.is_live()).then_some(p)
    }

    /// Whether an entry of a bucket of `level` may be for the tick `placed`.
    #[inline]
    fn may_be(&self, level: usize, entry: Entry, placed: Tick) -> bool {
        if level < NEAR_LEVELS {
            placed == tick_at(self.clock, level, entry)
        } else {
            placed as u32 == entry.low() && placed >= self.clock
        }
    }

    /// All entries in work.
    pub(super) fn in_work(&self) -> impl Iterator<Item = Place> + '_ {
        self.rests().into_iter().flat_map(move |rest| self.pool.iter(rest)).map(Place::Work)
    }

    /// All entries of a bucket, in order.
    pub(super) fn in_bucket(&self, at: Number) -> impl Iterator<Item = Place> + '_ {
        let unread = match self.purge.reading() {
            Some((reading, rest)) if reading == at => rest,
            _ => Rest::EMPTY,
        };
        self.pool
            .iter(unread)
            .chain(self.pool.iter(Rest::of(self.rungs.at(at).list)))
            .map(move |entry| Place::Bucket(at, entry))
    }

    /// The expiry of the head, if it is known without a search.
    #[inline]
    pub(super) fn known_head(&self, nodes: &impl Nodes<P, R>) -> Option<Tick> {
        match self.work {
            _ if self.live == 0 => return None,
            Work::None => {}
            Work::Front { .. } if self.run.last().is_some_and(|near| near.tick() <= self.clock) => {}
            Work::Front { rest, .. } => {
                let p = self.witness(nodes, Place::Work(self.pool.peek(&rest)?))?;
                return (nodes.record(p).expiry() == self.clock).then_some(self.clock);
            }
            Work::Cascade { .. } | Work::Sort { .. } => return None,
        }
        let first = self.rungs.first().filter(|_| matches!(self.work, Work::None));
        match (self.run.last(), first.map(|at| (at, self.rungs.at(at).min))) {
            (Some(&near), first) if first.is_none_or(|(_, min)| near.tick() <= min) => {
                let p = self.witness(nodes, Place::Run(near))?;
                (nodes.record(p).expiry() == near.tick()).then_some(near.tick())
            }
            (_, Some((at, min))) if !self.rungs.is_dirty(at) => Some(min),
            _ => None,
        }
    }

    /// The head, and the timer after it if `wanted` is 2, with their expiries and arrivals. Where
    /// entries are in the order of arrival, it reads only those up to the `wanted`-th timer of the
    /// earliest tick.
    pub(super) fn earliest(&self, nodes: &impl Nodes<P, R>, wanted: usize) -> [Option<(Near, P)>; 2] {
        let mut found: [Option<(Near, P)>; 2] = [None; 2];
        let consider = |found: &mut [Option<(Near, P)>; 2], place: Place| {
            let p = self.witness(nodes, place)?;
            let record = nodes.record(p);
            let this = Near::new(record.expiry(), record.sequence(), p.number());
            match *found {
                // This is a second witness of the same timer.
                [Some((first, _)), _] if first == this => {}
                [Some((first, _)), second] if first < this => {
                    if second.is_none_or(|(second, _)| this < second) {
                        found[1] = Some((this, p));
                    }
                }
                [first, _] => *found = [Some((this, p)), first],
            }
            Some(this)
        };
        // Whether all the wanted timers are found and are due before `tick`. Entries for `tick` and
        // for later ticks can then be skipped.
        let known = |found: &[Option<(Near, P)>; 2], tick: Tick| {
            found[wanted - 1].is_some_and(|(last, _)| last.tick() < tick)
        };
        // Whether the wanted timers precede the timers behind `this`, which are later arrivals.
        let enough = |found: &[Option<(Near, P)>; 2], this: Near| {
            found[wanted - 1].is_some_and(|(last, _)| last <= this)
        };
        let bound = if let Work::Front { bound, .. } = self.work { bound } else { 0 };
        for place in self.in_work() {
            // The front's entries that arrived before `bound` are in order, all for one tick.
            if let Some(this) = consider(&mut found, place)
                && this.tick() == self.clock
                && this.sequence() < bound
                && enough(&found, this)
            {
                break;
            }
        }
        for &near in self.run.iter().rev() {
            if known(&found, near.tick()) {
                break;
            }
            // The rest of the run is later, by tick and arrival.
            if consider(&mut found, Place::Run(near)) == Some(near) && enough(&found, near) {
                break;
            }
        }
        for at in self.rungs.iter() {
            let min = self.rungs.at(at).min;
            if known(&found, min) {
                break;
            }
            let in_order = !self.rungs.is_mixed(at);
            for place in self.in_bucket(at) {
                if let Some(this) = consider(&mut found, place)
                    && in_order
                    && this.tick() == min
                    && enough(&found, this)
                {
                    return found;
                }
            }
        }
        found
    }

    /// Every entry.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let run = self.run.iter().map(|&near| Place::Run(near));
        run.chain(self.in_work()).chain(self.rungs.iter().flat_map(move |at| self.in_bucket(at)))
    }

    /// Visits every pending timer once.
    pub(super) fn each_witness(&self, nodes: &impl Nodes<P, R>, mut visit: impl FnMut(P)) {
        let witnesses = || self.places().filter_map(move |place| self.witness(nodes, place));
        if witnesses().count() == self.live {
            return witnesses().for_each(visit);
        }
        // Some timers have two witnesses. Two witnesses are rare, and only checks call this
        // function.
        let mut seen: Vec<u32> = witnesses().map(Handle::number).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.into_iter().filter_map(Self::slot).for_each(&mut visit);
    }
}
