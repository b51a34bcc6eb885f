//! What a ladder consists of: its record, the run, what is in work, how far a purge has come.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::chunks::{Entry, List, Pool, Rest};
use super::rungs::{BUCKETS, LEVELS, Number, Rungs};
use crate::contract::Tick;
use crate::storage::{Handle, Nodes, Record};

/// The bit of [`LadderRecord::link`] that a pending timer has.
pub(super) const LIVE: u32 = 1 << 31;

/// What the ladder remembers of a slot.
#[derive(Debug)]
pub struct LadderRecord {
    /// When the timer is due. A vacant slot keeps it while an entry for it is left.
    pub(super) expiry: Tick,
    /// The low half of the tick that the timer was placed for: less than 2^32 before `expiry`.
    pub(super) placed: u32,
    /// Of a pending timer, `LIVE` and the number of its arrival. Of a vacant slot the next one.
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

impl LadderRecord {
    #[inline]
    pub(super) fn is_live(&self) -> bool {
        self.link & LIVE != 0
    }

    #[inline]
    pub(super) fn sequence(&self) -> u32 {
        self.link & !LIVE
    }

    /// The tick of the witness.
    #[inline]
    pub(super) fn placed(&self) -> Tick {
        self.expiry.wrapping_sub((self.expiry as u32).wrapping_sub(self.placed).into())
    }

    /// Whether the timer is due later than its witness says.
    #[inline]
    pub(super) fn is_moved(&self) -> bool {
        self.expiry as u32 != self.placed
    }

    /// Makes the slot pending until `expiry`, placed for that tick.
    #[inline]
    pub(super) fn place(&mut self, expiry: Tick, sequence: u32) {
        *self = Self { expiry, placed: expiry as u32, link: LIVE | sequence };
    }

    /// Places the timer again, for the tick at which it is due.
    #[inline]
    pub(super) fn place_again(&mut self) {
        self.placed = self.expiry as u32;
    }

    /// Gives the timer another expiry, for which its witness is early enough.
    #[inline]
    pub(super) fn stretch(&mut self, expiry: Tick, sequence: u32) {
        self.expiry = expiry;
        self.link = LIVE | sequence;
    }

    pub(super) fn renumber(&mut self, sequence: u32) {
        self.link = LIVE | sequence;
    }

    /// The last entry for the slot is gone, and no timer is pending there.
    #[inline]
    pub(super) fn leave(&mut self) {
        *self = Self { expiry: 0, placed: 0, link: 0 };
    }
}

/// An entry of the run: tick, arrival and slot, so that numbers compare as timers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Near(u128);

impl Near {
    #[inline]
    pub(super) const fn new(tick: Tick, sequence: u32, slot: u32) -> Self {
        Self((tick as u128) << 64 | (sequence as u128) << 32 | slot as u128)
    }

    pub(super) const EMPTY: Self = Self(0);

    #[inline]
    pub(super) const fn tick(self) -> Tick {
        (self.0 >> 64) as Tick
    }

    #[inline]
    pub(super) const fn sequence(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) const fn slot(self) -> u32 {
        self.0 as u32
    }
}

/// Most entries of the run.
pub(super) const RUN: usize = 256;

/// Entries that have left a bucket of level `level` and are not delivered yet.
#[derive(Debug)]
pub(super) enum Work {
    None,
    /// They move to lower levels. Where that was interrupted, what arrived since may stand before.
    Cascade {
        rest: Rest,
        level: usize,
        interrupted: bool,
    },
    /// All are for the tick of the clock. They are being sorted by arrival, by one digit of their
    /// arrival numbers after the other, the lowest first. From the first pass on, an entry holds
    /// its arrival number in place of its tick.
    Sort {
        rest: Rest,
        pass: u32,
        bound: u32,
    },
    /// All are for the tick of the clock. Those that arrived before `bound` are in order. Others
    /// have been moved since.
    ///
    /// `behind` comes after `rest`. A purge moves it there without the dead.
    Front {
        rest: Rest,
        behind: Rest,
        bound: u32,
    },
}

/// Lists by digit.
pub(super) type Targets = [List; BUCKETS];

pub(super) const NO_TARGETS: Targets = [List::EMPTY; BUCKETS];

/// How far a purge has come.
#[derive(Debug)]
pub(super) struct Purge {
    /// The buckets before this one are still to be read.
    pub(super) end: usize,
    /// The bucket that is being read, and what is left of it.
    pub(super) reading: Option<(Number, Rest)>,
    /// Whether it has begun to read the front, which comes after all buckets.
    pub(super) reads_front: bool,
}

impl Purge {
    pub(super) const NEW: Self = Self { end: BUCKETS * LEVELS, reading: None, reads_front: false };

    /// Whether it reads this bucket.
    #[inline]
    pub(super) fn holds(&self, at: Number) -> bool {
        matches!(self.reading, Some((reading, _)) if reading == at)
    }

    /// Stops reading a bucket. Returns what has not been read.
    #[inline]
    pub(super) fn give_up(&mut self, at: Number) -> Option<Rest> {
        if self.holds(at) { self.reading.take().map(|(_, rest)| rest) } else { None }
    }

    /// The bucket that is being read, and what is left of it.
    pub(super) fn reading(&self) -> Option<(Number, Rest)> {
        self.reading
    }
}

/// What an entry stands for.
pub(super) enum Seen<P> {
    /// Nothing: its timer has gone, or was placed elsewhere.
    Dead,
    /// A timer that is due later.
    Moved(P),
    /// A timer that is due at the entry's tick, with the number of its arrival.
    Here(P, u32),
}

/// The ladder over slots `P`.
#[derive(Debug)]
pub struct Ladder<P> {
    /// The tick that buckets are named by. No entry is earlier.
    pub(super) clock: Tick,
    /// How many timers are pending.
    pub(super) live: usize,
    /// How many entries there are; those that are no timer's witness are dead.
    pub(super) entries: usize,
    /// How many timers are due later than their witnesses say.
    pub(super) moved: usize,
    /// For how many entries there is memory.
    pub(super) limit: usize,
    pub(super) next_sequence: u32,
    pub(super) rungs: Rungs,
    pub(super) pool: Pool,
    /// The latest first.
    pub(super) run: Vec<Near>,
    pub(super) work: Work,
    /// The lists of a sort, by digit; empty at other times.
    pub(super) targets: Targets,
    pub(super) purge: Purge,
    pub(super) _slots: PhantomData<P>,
}

impl<P: Handle> Ladder<P> {
    /// The slot of an entry.
    #[inline]
    pub(super) fn slot(number: u32) -> Option<P> {
        P::from_number(number)
    }

    /// What an entry for `tick` and a slot stands for. A vacant slot forgets a dead one.
    #[inline]
    pub(super) fn see(nodes: &mut impl Nodes<P, LadderRecord>, tick: Tick, slot: u32) -> Seen<P> {
        let Some(p) = Self::slot(slot) else { return Seen::Dead };
        let record = nodes.record(p);
        if record.placed() != tick {
            return Seen::Dead;
        }
        if !record.is_live() {
            <LadderRecord as Record<P>>::forget(nodes.record_mut(p));
            return Seen::Dead;
        }
        if record.expiry > tick { Seen::Moved(p) } else { Seen::Here(p, record.sequence()) }
    }

    /// Appends an entry to the bucket of its tick.
    #[inline]
    pub(super) fn append(&mut self, tick: Tick, slot: u32) -> Number {
        let at = Number::of(self.clock, tick);
        self.rungs.push(&mut self.pool, at, tick, Entry::new(tick as u32, slot));
        at
    }

    /// Like [`append`](Self::append), for an entry whose record was not read yet.
    #[inline]
    pub(super) fn append_unseen(&mut self, tick: Tick, slot: u32) -> Number {
        let at = self.append(tick, slot);
        // If nothing is dead or moved, this is a witness, and its tick the expiry.
        if self.entries > self.live || self.moved > 0 {
            self.rungs.leaves(at, tick);
        }
        at
    }

    /// Places a timer whose entry has just been taken out.
    #[inline]
    pub(super) fn place_again(&mut self, nodes: &mut impl Nodes<P, LadderRecord>, p: P) -> Number {
        let record = nodes.record_mut(p);
        let expiry = record.expiry;
        self.moved -= usize::from(record.is_moved());
        record.place_again();
        let at = self.append(expiry, p.number());
        self.rungs.mix(at);
        at
    }
}
