//! The state of a ladder, and the functions that find the bucket for a tick.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::pool::{List, Pool};
use super::record::Entry;
use super::run::{Batch, Run};
use super::rungs::{MOST_PUSHED, Rung, SPARE, TOP, bits, bits_of};
use crate::contract::Tick;
use crate::structure::{Handle, View};

/// A new timer enters the run directly, or extends its ticks, only while the run has fewer timers
/// than this.
pub(super) const LONG: usize = 48;

/// If there are more slots than this, records are prefetched.
const CACHED: usize = 1 << 14;

/// A list whose entries move into the buckets of a rung.
#[derive(Debug)]
pub(super) struct Split {
    /// The entries that have not been moved yet: first the entries of `rest`, then the entries of
    /// `behind`.
    pub(super) rest: List,
    pub(super) behind: List,
    /// The first of the rungs that get the entries, or [`NO_RUNG`] if there are no entries.
    pub(super) rung: usize,
    /// The first and the last tick of the list.
    pub(super) first: Tick,
    pub(super) last: Tick,
    /// Whether the low half of a tick does not determine the bucket.
    pub(super) reads_records: bool,
}

/// Stands for "no rung" in [`Split::rung`].
const NO_RUNG: usize = usize::MAX;

impl Split {
    pub(super) const NONE: Self = Self {
        rest: List::EMPTY,
        behind: List::EMPTY,
        rung: NO_RUNG,
        first: 0,
        last: 0,
        reads_records: false,
    };

    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.rest.len > 0
    }

    /// Replaces `rest`. If no entries are left, also sets `rung` to [`NO_RUNG`].
    #[inline]
    pub(super) fn set_rest(&mut self, rest: List) {
        self.rest = rest;
        if rest.len == 0 {
            self.rung = NO_RUNG;
        }
    }
}

/// The progress of a purge.
#[derive(Debug)]
pub(super) struct Purge {
    /// The list that the purge is reading, or reads next.
    pub(super) at: usize,
    /// Whether the purge has begun to read that list.
    pub(super) is_on: bool,
    /// The live entries that the purge has read from that list. These entries come before the
    /// list's other entries.
    pub(super) done: List,
}

impl Purge {
    pub(super) const NEW: Self = Self { at: TOP, is_on: false, done: List::EMPTY };

    /// Returns whether the purge is reading this list.
    #[inline]
    pub(super) const fn holds(&self, list: usize) -> bool {
        self.is_on && self.at == list
    }
}

/// The ladder over slots `P`.
#[derive(Debug)]
pub struct Ladder<P> {
    pub(super) run: Run,
    /// The timers that a refill sorts. The batch is empty between two calls.
    pub(super) batch: Batch,
    /// Timers that arrive for a tick before `run_end` go to the run.
    pub(super) run_end: u128,
    pub(super) next_sequence: u64,
    /// The number of pending timers. The field is narrower than its neighbors, so that the compiler
    /// does not load it together with a neighbor. Such a load would wait until the store of a pop
    /// to one of the two fields is complete.
    pub(super) live: u32,
    /// The number of entries in lists, including dead entries, which do not belong to a pending
    /// timer.
    pub(super) entries: usize,
    /// The number of timers for which there is memory. The next field is the number of entries for
    /// which there is memory.
    pub(super) room: usize,
    pub(super) limit: usize,
    /// The number of rungs in use. A rung has earlier ticks than the rung before it.
    pub(super) depth: usize,
    pub(super) rungs: Vec<Rung>,
    /// The list of ticks after all rungs, and then the list of each bucket.
    pub(super) lists: Vec<List>,
    pub(super) pool: Pool,
    /// The ticks of all entries in the top are between these two bounds.
    pub(super) top_first: Tick,
    pub(super) top_last: Tick,
    pub(super) split: Split,
    pub(super) purge: Purge,
    pub(super) _slots: PhantomData<fn() -> P>,
}

impl<P: Handle> Ladder<P> {
    pub(super) const NEW: Self = Self {
        run: Run::NEW,
        batch: Batch::NEW,
        run_end: 0,
        next_sequence: 0,
        live: 0,
        entries: 0,
        room: 0,
        limit: 0,
        depth: 0,
        rungs: Vec::new(),
        lists: Vec::new(),
        pool: Pool::NEW,
        top_first: Tick::MAX,
        top_last: 0,
        split: Split::NONE,
        purge: Purge::NEW,
        _slots: PhantomData,
    };

    /// Returns the number of dead entries, which no pending timer needs.
    #[inline]
    pub(super) const fn dead(&self) -> usize {
        self.entries.saturating_sub(self.live as usize - self.run.len())
    }

    /// Returns whether there are too many records for a cache.
    #[inline]
    pub(super) const fn is_big(&self) -> bool {
        self.live as usize > CACHED
    }

    /// Returns the rung whose range contains `tick`, or `None` for the top.
    #[inline(always)]
    pub(super) fn rung_of(&self, tick: Tick) -> Option<usize> {
        // The ends become earlier from rung to rung.
        let mut at = None;
        for (next, rung) in self.rungs.get(..self.depth).into_iter().flatten().enumerate() {
            if u128::from(tick) >= rung.end {
                break;
            }
            at = Some(next);
        }
        at
    }

    /// Marks the list for a tick as occupied, and returns its index. Also returns whether some
    /// entries still have to move into the rung of that list.
    #[inline(always)]
    pub(super) fn list_for(&mut self, tick: Tick) -> (usize, bool) {
        let at = self.rung_of(tick);
        let Some(at) = at else {
            self.top_first = self.top_first.min(tick);
            self.top_last = self.top_last.max(tick);
            return (TOP, false);
        };
        let rung = &mut self.rungs[at];
        let bucket = rung.bucket(tick);
        debug_assert!(tick >= rung.base && bucket >= rung.next);
        rung.mark(bucket);
        (rung.first + bucket, at >= self.split.rung)
    }

    /// Appends an entry for `tick` to its bucket. `mixed` must be true if the timer might have
    /// arrived before other timers of the bucket.
    #[inline(always)]
    pub(super) fn file(&mut self, tick: Tick, entry: Entry, mixed: bool) {
        self.entries += 1;
        let (list, overtakes) = self.list_for(tick);
        let list = &mut self.lists[list];
        list.mixed |= mixed | overtakes;
        self.pool.push(list, entry);
    }

    /// Marks the bucket of a tick as mixed: its timers might not be in the order of their arrival.
    pub(super) fn mix(&mut self, tick: Tick) {
        let Some(at) = self.rung_of(tick) else {
            self.lists[TOP].mixed = true;
            return;
        };
        let rung = &self.rungs[at];
        self.lists[rung.first + rung.bucket(tick)].mixed = true;
        if at >= self.split.rung {
            self.split.rest.mixed = true;
            self.split.behind.mixed = true;
        }
    }

    /// Appends an entry for the expiry of the timer in `p`, which has no current entry. `mixed`
    /// must be true if the timer might have arrived before other timers of the bucket.
    pub(super) fn file_again(&mut self, nodes: &mut impl View<P, Self>, p: P, mixed: bool) {
        let record = nodes.record_mut(p);
        let entry = record.add_entry(p.number());
        let (tick, wrapped) = (record.expiry, record.is_wrapped());
        self.file(tick, entry, mixed);
        if wrapped {
            self.mix(tick);
        }
    }

    /// Returns the first list that no rung uses.
    fn free_list(&self) -> usize {
        self.depth.checked_sub(1).map_or(TOP + 1, |last| self.rungs[last].end_of_lists())
    }

    /// Returns the greatest number of bits with which `pieces` new rungs leave at least `spare`
    /// lists free.
    pub(super) fn most_bits(&self, pieces: usize, spare: usize) -> u32 {
        bits_of((self.lists.len().saturating_sub(self.free_list() + spare) / pieces) as u64).saturating_sub(1)
    }

    /// Returns how many bits (at most `most`) each rung must use, so that all rungs together divide
    /// `key_bits` bits into single keys.
    pub(super) fn bits_to_one(&self, key_bits: u32, most: u32) -> u32 {
        let free = self.lists.len().saturating_sub(self.free_list() + SPARE);
        let fits = |&bits: &u32| (key_bits.div_ceil(bits) as usize) << bits <= free;
        (1..=most).rev().find(fits).unwrap_or(1)
    }

    /// Returns whether a list can be divided into at least two buckets while one rung remains free
    /// for timers that arrive later for earlier ticks.
    pub(super) fn can_divide(&self) -> bool {
        self.depth + MOST_PUSHED < self.rungs.len() && self.most_bits(MOST_PUSHED, SPARE) > 0
    }

    /// Returns the rung and the bucket of a list other than the top.
    pub(super) fn place_of(&self, list: usize) -> Option<(usize, usize)> {
        let rung = self.rungs.get(..self.depth)?.iter().rposition(|rung| rung.first <= list)?;
        let bucket = list - self.rungs[rung].first;
        (bucket <= self.rungs[rung].mask).then_some((rung, bucket))
    }

    /// Adds a rung whose ticks come before those of all other rungs: from `start` up to but not
    /// including `end`. The rung divides the keys from `base` to `base + 2^key_bits - 1` into up to
    /// `1 << divide` buckets.
    pub(super) fn push_rung(
        &mut self,
        (start, end): (Tick, u128),
        (base, bound): (u64, u64),
        key_bits: u32,
        divide: u32,
    ) {
        let (depth, first) = (self.depth, self.free_list());
        let bits = divide.min(key_bits);
        debug_assert!(depth < self.rungs.len() && first + (1 << bits) <= self.lists.len());
        let rung = &mut self.rungs[depth];
        *rung = Rung::EMPTY;
        rung.base = base;
        rung.shift = key_bits - bits;
        rung.first = first;
        rung.mask = (1 << bits) - 1;
        rung.start = start;
        rung.end = end;
        rung.bound = bound;
        self.depth += 1;
    }

    /// Removes the last rung, which must be empty.
    pub(super) fn pop_rung(&mut self) {
        self.depth -= 1;
        self.run_end = self.run_end.max(self.rungs[self.depth].end);
    }

    /// Takes a list out of the ladder as two parts: first the entries that a purge has read, and
    /// then the other entries. Both parts are marked as mixed if either part is mixed.
    pub(super) fn take(&mut self, list: usize) -> (List, List) {
        if list == TOP {
            self.top_first = Tick::MAX;
            self.top_last = 0;
        } else if let Some((rung, bucket)) = self.place_of(list) {
            self.rungs[rung].unmark(bucket);
        }
        let mut rest = core::mem::replace(&mut self.lists[list], List::EMPTY);
        if !self.purge.holds(list) {
            return (rest, List::EMPTY);
        }
        self.purge.is_on = false;
        let mut done = core::mem::replace(&mut self.purge.done, List::EMPTY);
        done.mixed |= rest.mixed;
        rest.mixed = done.mixed;
        if done.len == 0 { (rest, List::EMPTY) } else { (done, rest) }
    }

    /// Returns the number of entries of a list.
    #[inline]
    pub(super) fn len_of(&self, list: usize) -> usize {
        let done = if self.purge.holds(list) { self.purge.done.len } else { 0 };
        (self.lists[list].len + done) as usize
    }

    /// Returns a lower bound of the ticks of all timers outside the run. At least one timer must be
    /// outside the run.
    pub(super) fn earliest_outside(&self) -> Tick {
        let rungs = self.rungs.iter().take(self.depth).rev();
        let in_buckets = rungs.filter_map(|rung| Some(rung.ticks(rung.occupied(rung.next)?).0)).next();
        let in_split = if self.split.is_on() { self.split.first } else { Tick::MAX };
        in_buckets.map_or(self.top_first, |tick| tick.min(self.top_first)).min(in_split)
    }

    /// Lowers the end of the run to `cut`, and moves the timers from index `from` on into buckets.
    pub(super) fn lower_end(
        &mut self,
        nodes: &mut impl View<P, Self>,
        (cut, from): (Tick, usize),
        now: Tick,
    ) {
        self.run_end = cut.into();
        if let Some(last) = self.depth.checked_sub(1) {
            let rung = &mut self.rungs[last];
            if cut < rung.start {
                // All timers of the last rung are due after the clock's tick.
                rung.next = 0;
                let (start, end) = (now.min(cut), rung.start);
                let key_bits = bits_of(end - 1 - start);
                let divide = bits(self.depth).min(self.most_bits(1, 0));
                self.push_rung((start, end.into()), (start, 0), key_bits, divide);
                let rung = &mut self.rungs[last + 1];
                rung.next = rung.bucket(cut);
            } else {
                rung.next = rung.next.min(rung.bucket(cut));
            }
        }
        let len = self.run.len();
        for index in from..len {
            if let Some(p) = self.run.get(index).and_then(|(_, slot)| P::from_number(slot)) {
                self.file_again(nodes, p, false);
            }
        }
        for _ in from..len {
            let _ = self.run.pop_last();
        }
    }

    /// Returns whether the last timers of the run are due at the run's end. If this is the case,
    /// timers that arrived later for the same tick are in buckets.
    #[inline]
    pub(super) fn has_equals_outside(&self) -> bool {
        self.run.last().is_some_and(|last| u128::from(last) >= self.run_end)
    }

    /// If a tick has timers both in the run and in a bucket, moves the tick's timers from the run
    /// back to that bucket. If the run was filled from a rung that divides arrivals, the bucket is
    /// in this rung. The function adds no rung. Otherwise a program that fills the run with timers
    /// of one tick again and again, each time at an earlier tick, could use up the rungs.
    pub(super) fn give_back(&mut self, nodes: &mut impl View<P, Self>) {
        while let Some(last) = self.depth.checked_sub(1)
            && self.rungs[last].occupied(0).is_none()
        {
            self.pop_rung();
        }
        if !self.has_equals_outside() {
            return;
        }
        let tick = self.run_end as Tick;
        let last = self.depth.wrapping_sub(1);
        let arrivals = self.rungs.get(last).is_some_and(|rung| rung.by_arrival() && rung.start == tick);
        let from = self.run.before(tick);
        for index in from..self.run.len() {
            let Some(p) = self.run.get(index).and_then(|(_, slot)| P::from_number(slot)) else { continue };
            if !arrivals {
                self.file_again(nodes, p, true);
                continue;
            }
            let record = nodes.record_mut(p);
            let entry = record.add_entry(p.number());
            let rung = &mut self.rungs[last];
            let bucket = rung.bucket(record.sequence);
            rung.mark(bucket);
            rung.next = rung.next.min(bucket);
            self.entries += 1;
            self.pool.push(&mut self.lists[rung.first + bucket], entry);
        }
        for _ in from..self.run.len() {
            let _ = self.run.pop_last();
        }
    }
}
