//! Drops dead entries before they are too many.
//!
//! A purge passes through the buckets from the latest to the earliest, some entries at a time, and
//! then through the front. It reads a list and appends the live entries to the list again.

use super::chunks::{Entry, List, PER_CHUNK, Rest};
use super::enter::{NEAR_LEVELS, sort, tick_at};
use super::rungs::{BUCKETS, LEVELS, Number};
use super::state::{Ladder, LadderNode, NO_TARGETS, Near, SMALL, Seen, Work};
use crate::storage::{Handle, Nodes};

/// The number of entries that one call reads. A purge begins when a fifth of all entries is dead.
/// So it drops some three entries for each entry that dies meanwhile.
///
/// Suppose that all `n` entries are in work: the memory is used up once a third of them is dead. A
/// purge begins once a quarter is dead. Until the purge ends, another `n / 64` may die in a cascade
/// or `6n / 128` in a sort, and `n / 32` while the front is read. The sum is less than a third.
const AT_ONCE: usize = 16;
const AT_ONCE_CASCADE: usize = 64;
const AT_ONCE_SORT: usize = 128;
const AT_ONCE_FRONT: usize = 32;

impl<P: Handle, R: LadderNode<P>> Ladder<P, R> {
    /// Reads some entries and drops the dead ones. A cascade or a sort in progress ends first.
    #[inline(never)]
    pub(super) fn purge_some(&mut self, nodes: &mut impl Nodes<P, R>) {
        match self.work {
            Work::Cascade { .. } => self.cascade(nodes, &mut { AT_ONCE_CASCADE }),
            Work::Sort { .. } => self.sort_front(nodes, &mut { AT_ONCE_SORT }),
            Work::None | Work::Front { .. } => self.purge_buckets(nodes),
        }
    }

    fn purge_buckets(&mut self, nodes: &mut impl Nodes<P, R>) {
        let mut left = AT_ONCE;
        while left > 0 {
            let Some((at, mut rest)) = self.purge.reading.take() else {
                let Some(at) = self.rungs.last_before(self.purge.end) else {
                    return self.purge_front(nodes);
                };
                self.purge.end = at.index();
                self.purge.reading = Some((at, Rest::of(self.rungs.borrow(at))));
                continue;
            };
            let span = self.pool.span(&rest, left);
            left -= span.len();
            self.prefetch(nodes, span);
            for place in 0..span.len() {
                let entry = self.pool.entry(span, place);
                match self.see_in(nodes, at, entry) {
                    Seen::Here(..) => self.rungs.push_again(&mut self.pool, at, entry),
                    seen => self.dispose(nodes, seen),
                }
            }
            self.pool.done(&mut rest, span);
            if !rest.is_empty() {
                // New arrivals now stand before the rest.
                self.rungs.mix(at);
                self.purge.reading = Some((at, rest));
            } else if self.rungs.at(at).list.is_empty() {
                let _ = self.rungs.take(at);
                self.find_horizon();
            }
        }
    }

    /// The end of a purge: drops the dead entries of the front, and keeps the others in order.
    fn purge_front(&mut self, nodes: &mut impl Nodes<P, R>) {
        let Work::Front { mut rest, mut behind, bound } = self.work else {
            return self.end_purge();
        };
        if !self.purge.reads_front {
            self.purge.reads_front = true;
            if behind.is_empty() {
                (rest, behind) = (Rest::EMPTY, rest);
            }
        }
        let mut left = AT_ONCE_FRONT;
        while left > 0 && !behind.is_empty() {
            let span = self.pool.span(&behind, left);
            left -= span.len();
            self.prefetch(nodes, span);
            for place in 0..span.len() {
                let entry = self.pool.entry(span, place);
                match Self::see(nodes, self.clock, entry.slot()) {
                    Seen::Here(..) => self.pool.push_behind(&mut rest, entry),
                    seen => self.dispose(nodes, seen),
                }
            }
            self.pool.done(&mut behind, span);
        }
        let is_read = behind.is_empty();
        self.work = Work::Front { rest, behind, bound };
        self.find_horizon();
        if rest.is_empty() {
            self.next_front();
        }
        if is_read {
            self.end_purge();
        }
    }

    /// The purge has read everything. The next purge begins at the latest bucket.
    fn end_purge(&mut self) {
        self.purge.end = BUCKETS * LEVELS;
        self.purge.reads_front = false;
    }

    /// What an entry in a bucket stands for.
    pub(super) fn see_in(&self, nodes: &mut impl Nodes<P, R>, at: Number, entry: Entry) -> Seen<P> {
        let Some(p) = Self::slot(entry.slot()) else { return Seen::Dead };
        let placed = nodes.record(p).placed();
        let same = if at.level() < NEAR_LEVELS {
            placed == tick_at(self.clock, at.level(), entry)
        } else {
            placed as u32 == entry.low() && placed >= self.clock && Number::of(self.clock, placed) == at
        };
        if same { Self::see(nodes, placed, entry.slot()) } else { Seen::Dead }
    }

    /// Drops all dead entries and sorts the rest by arrival; with `anew` all timers get new arrival
    /// numbers. It serves a ladder that has used up its arrival numbers, or its memory for entries.
    /// O(entries).
    #[cold]
    pub(super) fn rebuild(&mut self, nodes: &mut impl Nodes<P, R>, anew: bool) {
        if self.limit <= SMALL {
            return self.renumber_run(nodes);
        }
        let mut all = List::EMPTY;
        while let Some(near) = self.run.pop() {
            let seen = Self::see(nodes, near.tick(), near.slot());
            self.keep(nodes, &mut all, seen);
        }
        while let Some(at) = self.rungs.first() {
            let unread = self.purge.give_up(at).unwrap_or(Rest::EMPTY);
            for mut rest in [unread, Rest::of(self.rungs.take(at))] {
                while !rest.is_empty() {
                    let span = self.pool.span(&rest, PER_CHUNK);
                    for place in 0..span.len() {
                        let seen = self.see_in(nodes, at, self.pool.entry(span, place));
                        self.keep(nodes, &mut all, seen);
                    }
                    self.pool.done(&mut rest, span);
                }
            }
        }
        let rests = self.rests();
        let work = core::mem::replace(&mut self.work, Work::None);
        self.targets = NO_TARGETS;
        for mut rest in rests {
            while !rest.is_empty() {
                let span = self.pool.span(&rest, PER_CHUNK);
                for place in 0..span.len() {
                    let entry = self.pool.entry(span, place);
                    let seen = match work {
                        Work::Cascade { level, .. } => self.see_at(nodes, level, entry).0,
                        _ => Self::see(nodes, self.clock, entry.slot()),
                    };
                    self.keep(nodes, &mut all, seen);
                }
                self.pool.done(&mut rest, span);
            }
        }
        let mut rest = Rest::of(sort(&mut self.pool, all));
        let (mut last, mut arrivals) = (None, 0);
        self.entries = 0;
        self.moved = 0;
        while !rest.is_empty() {
            let span = self.pool.span(&rest, PER_CHUNK);
            for place in 0..span.len() {
                let entry = self.pool.entry(span, place);
                // A timer may have had two witnesses.
                if last.replace(entry) == Some(entry) {
                    continue;
                }
                let Some(p) = Self::slot(entry.slot()) else { continue };
                let record = nodes.record_mut(p);
                record.place_again();
                if anew {
                    record.renumber(arrivals);
                }
                arrivals += 1;
                self.entries += 1;
                let expiry = record.expiry();
                self.append(expiry, entry.slot());
            }
            self.pool.done(&mut rest, span);
        }
        self.find_horizon();
        if anew {
            self.next_sequence = arrivals;
        }
    }

    /// Gives all timers new arrival numbers, when all of them are in the run.
    fn renumber_run(&mut self, nodes: &mut impl Nodes<P, R>) {
        self.run.sort_unstable_by_key(|near| near.sequence());
        self.next_sequence = 0;
        for near in &mut self.run {
            *near = Near::new(near.tick(), self.next_sequence, near.slot());
            if let Some(p) = Self::slot(near.slot()) {
                nodes.record_mut(p).renumber(self.next_sequence);
            }
            self.next_sequence += 1;
        }
        self.run.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// Keeps a live timer: appends an entry with its arrival number to `all`.
    fn keep(&mut self, nodes: &impl Nodes<P, R>, all: &mut List, seen: Seen<P>) {
        if let Seen::Moved(p) | Seen::Here(p, _) = seen {
            self.pool.push(all, Entry::new(nodes.record(p).sequence(), p.number()));
        }
    }
}
