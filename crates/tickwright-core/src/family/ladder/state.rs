//! The state of a ladder: its record, the run, the work in progress, the progress of a purge.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::batch::{Batch, SORTED};
use super::chunks::{Entry, List, Pool, Rest};
pub(super) use super::near::Near;
use super::rungs::{BUCKETS, LEVELS, Number, Rungs};
use crate::contract::Tick;
use crate::storage::{Handle, Nodes, Record};

/// The bit of [`LadderRecord::link`] that is set for a pending timer.
pub(super) const LIVE: u32 = 1 << 31;

/// The record of a slot.
#[derive(Debug)]
pub struct LadderRecord {
    /// The tick at which the timer is due. A vacant slot keeps the tick while an entry for the slot
    /// exists.
    pub(super) expiry: Tick,
    /// The low half of the tick for which the timer was placed. That tick is less than 2^32 before
    /// `expiry`.
    pub(super) placed: u32,
    /// For a pending timer: `LIVE` and its arrival number. For a vacant slot: the next vacant slot.
    link: u32,
}

const _: () = assert!(size_of::<LadderRecord>() == 16);

impl<P: Handle> Record<P> for LadderRecord {
    const IDLE: Self = Self { expiry: 0, placed: 0, link: 0 };

    #[inline]
    fn vacant(next: Option<P>) -> Self {
        Self { expiry: 0, placed: 0, link: next.map_or(0, Handle::number) }
    }

    #[inline]
    fn next_vacant(&self) -> Option<P> {
        P::from_number(self.link)
    }

    #[inline]
    fn set_vacant(&mut self, next: Option<P>) {
        self.link = next.map_or(0, Handle::number);
    }

    const REMEMBERS: bool = true;

    fn forget(&mut self) {
        self.expiry = 0;
        self.placed = 0;
    }
}

/// A record that stores what a ladder needs. [`AdaptiveQueue`](crate::AdaptiveQueue) has records
/// that serve other structures as well.
pub trait LadderNode<P: Handle>: Record<P> {
    /// The tick at which the timer is due. A vacant slot keeps the tick while an entry for the slot
    /// exists.
    fn expiry(&self) -> Tick;

    /// The low half of the tick for which the timer was placed.
    fn placed_low(&self) -> u32;

    /// For a pending timer: `LIVE` and its arrival number.
    fn link(&self) -> u32;

    /// Writes all that a ladder needs.
    fn write(&mut self, expiry: Tick, placed: u32, link: u32);

    /// Whether a timer is pending in the slot.
    #[inline]
    fn is_live(&self) -> bool {
        self.link() & LIVE != 0
    }

    /// The arrival number of a pending timer.
    #[inline]
    fn sequence(&self) -> u32 {
        self.link() & !LIVE
    }

    /// The tick of the witness.
    #[inline]
    fn placed(&self) -> Tick {
        self.expiry().wrapping_sub((self.expiry() as u32).wrapping_sub(self.placed_low()).into())
    }

    /// Whether the timer is due later than its witness.
    #[inline]
    fn is_moved(&self) -> bool {
        self.expiry() as u32 != self.placed_low()
    }

    /// Makes the slot pending until `expiry`, with a witness for that tick.
    #[inline]
    fn place(&mut self, expiry: Tick, sequence: u32) {
        self.write(expiry, expiry as u32, LIVE | sequence);
    }

    /// Sets the tick of the witness to the expiry, for a timer that gets a new entry.
    #[inline]
    fn place_again(&mut self) {
        self.write(self.expiry(), self.expiry() as u32, self.link());
    }

    /// Changes the expiry of the timer; its witness must be early enough.
    #[inline]
    fn stretch(&mut self, expiry: Tick, sequence: u32) {
        self.write(expiry, self.placed_low(), LIVE | sequence);
    }

    /// Gives the timer another arrival number.
    fn renumber(&mut self, sequence: u32) {
        self.write(self.expiry(), self.placed_low(), LIVE | sequence);
    }

    /// Clears the record: the last entry for the slot is gone, and no timer is pending there.
    #[inline]
    fn leave(&mut self) {
        self.write(0, 0, 0);
    }
}

impl<P: Handle> LadderNode<P> for LadderRecord {
    #[inline]
    fn expiry(&self) -> Tick {
        self.expiry
    }

    #[inline]
    fn placed_low(&self) -> u32 {
        self.placed
    }

    #[inline]
    fn link(&self) -> u32 {
        self.link
    }

    #[inline]
    fn write(&mut self, expiry: Tick, placed: u32, link: u32) {
        *self = Self { expiry, placed, link };
    }
}

/// The most entries of the run to which an arrival is added.
pub(super) const SHORT: usize = 128;

/// The most entries of the run.
pub(super) const RUN: usize = SHORT + SORTED;

/// A ladder with room for this many entries has them all in the run.
pub(super) const SMALL: usize = 256;

/// Entries that have left a bucket of level `level` and are not delivered yet.
#[derive(Debug)]
pub(super) enum Work {
    None,
    /// The entries move to lower levels. After an interruption, entries that arrived since may
    /// stand before the rest.
    Cascade {
        rest: Rest,
        level: usize,
        interrupted: bool,
    },
    /// All entries are for the clock's tick. A radix sort is putting them in order of arrival. Each
    /// pass sorts by one digit of the arrival number, from the lowest digit up. From the first pass
    /// on, an entry holds its arrival number in place of its tick.
    Sort {
        rest: Rest,
        pass: u32,
        bound: u32,
    },
    /// All entries are for the clock's tick. Entries that arrived before `bound` are in order.
    /// Other entries have been moved since. The run's entries for that tick come before all of
    /// them.
    ///
    /// The entries of `behind` follow those of `rest`. A purge moves live entries from `rest` to
    /// `behind`, and drops the dead.
    Front {
        rest: Rest,
        behind: Rest,
        bound: u32,
    },
}

/// Lists by digit.
pub(super) type Targets = [List; BUCKETS];

pub(super) const NO_TARGETS: Targets = [List::EMPTY; BUCKETS];

/// The progress of a purge.
#[derive(Debug)]
pub(super) struct Purge {
    /// The purge has still to read the buckets before this one.
    pub(super) end: usize,
    /// The bucket that the purge is reading, and its unread rest.
    pub(super) reading: Option<(Number, Rest)>,
    /// Whether the purge has begun to read the front, which comes after all buckets.
    pub(super) reads_front: bool,
}

impl Purge {
    pub(super) const NEW: Self = Self { end: BUCKETS * LEVELS, reading: None, reads_front: false };

    /// Whether the purge is reading this bucket.
    #[inline]
    pub(super) fn holds(&self, at: Number) -> bool {
        matches!(self.reading, Some((reading, _)) if reading == at)
    }

    /// Stops reading a bucket. Returns the unread rest.
    #[inline]
    pub(super) fn give_up(&mut self, at: Number) -> Option<Rest> {
        if self.holds(at) { self.reading.take().map(|(_, rest)| rest) } else { None }
    }

    /// The bucket that the purge is reading, and its unread rest.
    pub(super) fn reading(&self) -> Option<(Number, Rest)> {
        self.reading
    }
}

/// What an entry stands for.
pub(super) enum Seen<P> {
    /// No timer: the timer has gone, or was placed elsewhere.
    Dead,
    /// A timer that is due later than the entry's tick.
    Moved(P),
    /// A timer that is due at the entry's tick, with its arrival number.
    Here(P, u32),
}

/// The ladder over slots `P` and records `R`.
#[derive(Debug)]
pub struct Ladder<P, R = LadderRecord> {
    /// The tick that buckets are named by. No entry is earlier than this tick.
    pub(super) clock: Tick,
    /// The number of pending timers.
    pub(super) live: usize,
    /// The number of entries; entries that are not the witness of a timer are dead.
    pub(super) entries: usize,
    /// The number of timers that are due later than their witnesses.
    pub(super) moved: usize,
    /// The number of entries for which there is memory.
    pub(super) limit: usize,
    pub(super) next_sequence: u32,
    /// Entries of the run before this tick leave before all other entries.
    pub(super) horizon: Tick,
    /// If the run holds this many entries, an arrival goes to a bucket, even if it comes before all
    /// of them: `SHORT`, or 0 while entries are in work.
    pub(super) room: usize,
    pub(super) rungs: Rungs,
    pub(super) pool: Pool,
    /// The latest first.
    pub(super) run: Vec<Near>,
    /// Empty between two calls.
    pub(super) batch: Batch,
    pub(super) work: Work,
    /// The lists of a sort, by digit; they are empty at other times.
    pub(super) targets: Targets,
    pub(super) purge: Purge,
    pub(super) _slots: PhantomData<fn() -> (P, R)>,
}

impl<P: Handle, R: LadderNode<P>> Ladder<P, R> {
    /// The number of entries that no timer needs.
    pub(in crate::family) fn dead(&self) -> usize {
        self.entries - self.live
    }

    /// Converts an entry's slot number to a handle.
    #[inline]
    pub(super) fn slot(number: u32) -> Option<P> {
        P::from_number(number)
    }

    /// What an entry for `tick` and a slot stands for. If the entry is dead, the record of a vacant
    /// slot forgets its tick.
    #[inline]
    pub(super) fn see(nodes: &mut impl Nodes<P, R>, tick: Tick, slot: u32) -> Seen<P> {
        let Some(p) = Self::slot(slot) else { return Seen::Dead };
        let record = nodes.record(p);
        if record.placed() != tick {
            return Seen::Dead;
        }
        if !record.is_live() {
            nodes.record_mut(p).forget();
            return Seen::Dead;
        }
        if record.expiry() > tick { Seen::Moved(p) } else { Seen::Here(p, record.sequence()) }
    }

    /// The timer of an entry of the run, if its record still has the entry's arrival number. The
    /// timer is then due at the entry's tick: a timer that moves gets another number.
    #[inline]
    pub(super) fn arrived(nodes: &impl Nodes<P, R>, near: Near) -> Option<P> {
        Self::slot(near.slot()).filter(|&p| nodes.record(p).link() == LIVE | near.sequence())
    }

    /// Finds the horizon again, after a bucket was emptied or the work in progress changed.
    #[inline]
    pub(super) fn find_horizon(&mut self) {
        let earliest = self.rungs.first().map_or(Tick::MAX, |first| self.rungs.at(first).min);
        (self.horizon, self.room) = match self.work {
            Work::None => (earliest, SHORT),
            Work::Front { .. } => (earliest.min(self.clock.saturating_add(1)), 0),
            Work::Cascade { .. } | Work::Sort { .. } => (0, 0),
        };
    }

    /// Appends an entry to the bucket of its tick.
    #[inline]
    pub(super) fn append(&mut self, tick: Tick, slot: u32) -> Number {
        let at = Number::of(self.clock, tick);
        self.horizon = self.horizon.min(tick);
        self.rungs.push(&mut self.pool, at, tick, Entry::new(tick as u32, slot));
        at
    }

    /// Like [`append`](Self::append), for an entry whose record has not been read yet.
    #[inline]
    pub(super) fn append_unseen(&mut self, tick: Tick, slot: u32) -> Number {
        let at = self.append(tick, slot);
        // If no entry is dead and no timer moved, this entry is a witness, and its tick is the
        // expiry.
        if self.entries > self.live || self.moved > 0 {
            self.rungs.leaves(at, tick);
        }
        at
    }

    /// Places a timer whose entry has just been removed.
    #[inline]
    pub(super) fn place_again(&mut self, nodes: &mut impl Nodes<P, R>, p: P) -> Number {
        let record = nodes.record_mut(p);
        let expiry = record.expiry();
        self.moved -= usize::from(record.is_moved());
        record.place_again();
        let at = self.append(expiry, p.number());
        self.rungs.mix(at);
        at
    }
}
