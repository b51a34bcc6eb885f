//! The operations of the ladder.
//!
//! ```text
//!   insert       adopt the slot's dead entry, or place        the record, 1 bucket
//!   remove       mark the record; purge some                  the record
//!   reschedule   later: write the record; earlier: place      the record, 1 bucket
//!   due, pop     the end of the run; else enter               see `enter`
//!   rearm_due    take_front, insert                           as pop and insert
//! ```

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::batch::Batch;
use super::chunks::{Entry, PER_CHUNK, Pool};
use super::rungs::{BUCKETS, LEVELS, Number, Rungs};
use super::state::{LIVE, Ladder, LadderNode, NO_TARGETS, Near, Purge, RUN, SHORT, SMALL, Work};
use crate::contract::{HeadChange, Order, Reject, Tick, Violation};
use crate::explain::{Explanation, Whereabouts};
use crate::storage::{Discipline, Due, Handle, Nodes};

/// Whether a witness for `placed` serves a timer that is due at `expiry`.
#[inline]
const fn serves(placed: Tick, expiry: Tick) -> bool {
    placed <= expiry && expiry - placed <= u32::MAX as Tick
}

/// Inserts an entry into a run. There is room.
#[inline]
fn insert_sorted(run: &mut Vec<Near>, near: Near) {
    let mut at = run.len();
    if at > FEW {
        at = run.partition_point(|&other| other > near);
        return run.insert(at, near);
    }
    run.push(near);
    // Invariant: `run[at]` is free, and all entries behind it are earlier than `near`.
    while at > 0 && run[at - 1] < near {
        run[at] = run[at - 1];
        at -= 1;
    }
    run[at] = near;
}

/// An insert moves up to this many entries one by one.
const FEW: usize = 24;

/// The most entries of `len` timers.
const fn most_entries(len: usize) -> usize {
    len + len / 3 + 24
}

/// The most chunks for this many entries. Each chunk has an entry, except chunks that are being
/// read. All chunks are full, except the last chunk of each bucket and of each digit. Chunks where
/// the digits were joined, and both ends of a list that is being read, may also be partly full.
fn most_chunks(entries: usize) -> usize {
    entries.min(entries.div_ceil(PER_CHUNK) + (LEVELS + 2) * BUCKETS) + 8
}

impl<P: Handle, R: LadderNode<P>> Ladder<P, R> {
    const IN_SLABS: () = assert!(P::NUMBERED, "a LadderQueue needs a SlabQueue: over hooks use a Wheel");

    /// The number of the next arrival, and whether all other timers got new numbers for it.
    #[inline]
    fn take_sequence(&mut self, nodes: &mut impl Nodes<P, R>) -> (u32, bool) {
        let renumbers = self.next_sequence >= LIVE;
        if renumbers {
            self.rebuild(nodes, true);
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        (sequence, renumbers)
    }

    /// Gives `p` a new entry. `others` is the number of other pending timers. Returns whether the
    /// next wake-up may have changed.
    #[inline]
    fn place(
        &mut self,
        nodes: &mut impl Nodes<P, R>,
        p: P,
        expiry: Tick,
        sequence: u32,
        others: usize,
    ) -> bool {
        let rebuilt = self.entries >= self.limit;
        if rebuilt {
            // `rebuild` must not keep an entry for the tick that the timer leaves.
            nodes.record_mut(p).leave();
            self.rebuild(nodes, false);
        }
        // A dead entry of `p` for this tick becomes a witness again, at its old place.
        let revives = self.entries > others;
        self.entries += 1;
        nodes.record_mut(p).place(expiry, sequence);
        let before_buckets = self.is_before_buckets(expiry);
        let before_run = self.run.last().is_none_or(|front| expiry < front.tick());
        self.enter_entry(expiry, sequence, p, revives);
        rebuilt || before_buckets && before_run
    }

    /// Adds the entry of a timer to the run or to a bucket. If it `revives`, a dead entry for the
    /// same timer and tick may be there.
    #[inline(always)]
    fn enter_entry(&mut self, expiry: Tick, sequence: u32, p: P, revives: bool) {
        if expiry < self.horizon && self.run.len() < self.room || self.limit <= SMALL {
            insert_sorted(&mut self.run, Near::new(expiry, sequence, p.number()));
            return;
        }
        let at = self.append(expiry, p.number());
        if revives {
            self.rungs.mix(at);
        }
    }

    /// A witness for `placed` now serves a timer that is due at `expiry`.
    #[inline]
    fn stretched(&mut self, placed: Tick, expiry: Tick) {
        if placed == expiry {
            // The witness stands before timers that arrived earlier.
            self.rungs.mix(Number::of(self.clock, placed));
        } else {
            self.moved += 1;
        }
    }

    /// Whether only the run may have entries for `tick`: no bucket has an entry that early.
    #[inline]
    fn is_before_buckets(&self, tick: Tick) -> bool {
        // Without a bucket, the horizon is `Tick::MAX`, and the run may have entries for that tick.
        tick < self.horizon
            || tick == Tick::MAX && matches!(self.work, Work::None) && self.rungs.first().is_none()
    }

    /// The index of an entry in the run, if the entry can only be there.
    #[inline]
    fn find_in_run(&self, near: Near) -> Option<usize> {
        if self.run.is_empty() || !self.is_before_buckets(near.tick()) {
            return None;
        }
        self.run.binary_search_by(|other| near.cmp(other)).ok()
    }

    /// A timer that was due at `tick` leaves; it may have had another witness in the bucket.
    #[inline]
    fn leaves_bucket(&mut self, tick: Tick) {
        self.rungs.leaves(Number::of(self.clock, tick), tick);
    }

    /// Removes the witness of `p` if it is easily found: in the run, or alone in its bucket.
    /// Returns whether it was the first of all entries, or `None` if it was not removed.
    #[inline]
    fn take_out(&mut self, p: P, placed: Tick, sequence: u32) -> Option<bool> {
        let slot = p.number();
        let mut was_first = true;
        if let Some(&front) = self.run.last()
            && front.slot() == slot
            && front.tick() == placed
        {
            let _ = self.run.pop();
            if front.sequence() != sequence {
                self.leaves_bucket(placed);
            }
        } else if let Some(at) = self.find_in_run(Near::new(placed, sequence, slot)) {
            self.run.remove(at);
            was_first = false;
        } else {
            let at = Number::of(self.clock, placed);
            if self.rungs.at(at).min != placed || !self.rungs.is_occupied(at) {
                return None;
            }
            let alone = self.pool.single(&self.rungs.at(at).list) == Some(Entry::new(placed as u32, slot));
            if !alone || self.purge.holds(at) {
                self.rungs.leaves(at, placed);
                return None;
            }
            was_first = self.rungs.first() == Some(at);
            let list = self.rungs.take(at);
            self.pool.free(list);
            self.find_horizon();
        }
        self.entries -= 1;
        Some(was_first)
    }

    /// Removes the entry of `p`, which `find_due` has just returned: the last of the run.
    #[inline]
    fn take_front(&mut self, nodes: &mut impl Nodes<P, R>, p: P) {
        let _ = self.run.pop();
        self.entries -= 1;
        self.live -= 1;
        nodes.record_mut(p).leave();
    }

    /// Removes and returns the head if it is due, wherever the head is.
    #[inline(never)]
    fn pop_anywhere(
        &mut self,
        nodes: &mut impl Nodes<P, R>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        let due = self.due(nodes, now, budget)?;
        self.take_front(nodes, due.handle);
        Some(due)
    }

    /// Whether an earlier entry is in the same bucket as a witness for `placed`. Such a witness
    /// stays where it is.
    #[inline(always)]
    fn is_behind(&self, placed: Tick) -> bool {
        let at = Number::of(self.clock, placed);
        self.rungs.at(at).min < placed && self.rungs.is_occupied(at)
    }

    /// The fast path of a re-arm to a later tick: the timer keeps its witness. Returns false
    /// without a change if the witness may move, or serves no such tick.
    #[inline(always)]
    fn moves_later(&mut self, nodes: &mut impl Nodes<P, R>, p: P, expiry: Tick) -> bool {
        let sequence = self.next_sequence;
        let record = nodes.record_mut(p);
        let (placed, moved) = (record.placed(), record.is_moved());
        if placed >= expiry || !serves(placed, expiry) || !self.is_behind(placed) || sequence >= LIVE {
            return false;
        }
        self.next_sequence += 1;
        self.moved += usize::from(!moved);
        record.stretch(expiry, sequence);
        true
    }

    /// Re-arms `p`, wherever its witness is.
    #[inline(never)]
    fn move_anywhere(&mut self, nodes: &mut impl Nodes<P, R>, p: P, expiry: Tick) -> HeadChange {
        let (sequence, renumbered) = self.take_sequence(nodes);
        let record = nodes.record(p);
        let (placed, before) = (record.placed(), record.sequence());
        self.moved -= usize::from(record.is_moved());
        if let Some(was_first) = self.take_out(p, placed, before) {
            let is_first = self.place(nodes, p, expiry, sequence, self.live - 1);
            return HeadChange::when(was_first || is_first || renumbered);
        }
        if serves(placed, expiry) {
            nodes.record_mut(p).stretch(expiry, sequence);
            self.stretched(placed, expiry);
            return HeadChange::when(renumbered);
        }
        let is_first = self.place(nodes, p, expiry, sequence, self.live - 1);
        HeadChange::when(self.purge_if_many_are_dead(nodes) || is_first || renumbered)
    }

    /// Drops some dead entries when a fifth of all entries is dead. Returns whether it dropped
    /// some.
    #[inline]
    fn purge_if_many_are_dead(&mut self, nodes: &mut impl Nodes<P, R>) -> bool {
        let many = self.entries - self.live > self.live / 4 + 8;
        if many {
            self.purge_some(nodes);
        }
        many
    }
}

// SAFETY: the promises of `Discipline`, 1. Over slots: an entry may name a slot that was vacated;
// its record stays readable. Returned handles belong to live records. Over pointers the ladder does
// not compile: `IN_SLABS`. 2. Entries hold numbers only, and no record holds a handle.
// 3. No user code is called at all. 4. The ladder holds numbers, ticks and vectors of them only.
unsafe impl<P: Handle, R: LadderNode<P>> Discipline<P> for Ladder<P, R> {
    type Record = R;
    const NEW: Self = Self {
        clock: 0,
        live: 0,
        entries: 0,
        moved: 0,
        limit: 0,
        next_sequence: 0,
        horizon: Tick::MAX,
        room: SHORT,
        rungs: Rungs::NEW,
        pool: Pool::NEW,
        run: Vec::new(),
        batch: Batch::NEW,
        work: Work::None,
        targets: NO_TARGETS,
        purge: Purge::NEW,
        _slots: PhantomData,
    };
    const ORDER: Order = Order::Exact;
    const MOVES: bool = true;

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        const { Self::IN_SLABS };
        let total = len.checked_add(additional).filter(|&total| total < LIVE as usize).ok_or(Reject::Full)?;
        let entries = most_entries(total);
        if entries <= self.limit {
            return Ok(());
        }
        let run = if entries > SMALL { RUN } else { entries };
        if self.run.capacity() < run {
            self.run.try_reserve_exact(run - self.run.len()).map_err(|_| Reject::Full)?;
        }
        if entries > SMALL {
            self.batch.reserve()?;
            self.pool.reserve(most_chunks(entries))?;
        }
        self.limit = entries;
        Ok(())
    }

    #[inline]
    fn insert(&mut self, nodes: &mut impl Nodes<P, R>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let expiry = deadline.max(now);
        let (sequence, entries) = (self.next_sequence, self.entries);
        let record = nodes.record_mut(p);
        // Fast path: the slot has no entry, and there is memory for one.
        if record.placed() <= self.clock && entries > 0 && entries < self.limit && sequence < LIVE {
            record.place(expiry, sequence);
            let is_first = expiry < self.horizon && self.run.last().is_none_or(|front| expiry < front.tick());
            let (empty, revives) = (self.live == 0, entries > self.live);
            self.next_sequence = sequence + 1;
            self.entries = entries + 1;
            self.live += 1;
            self.enter_entry(expiry, sequence, p, revives);
            return HeadChange::when(is_first || empty);
        }
        if entries == 0 {
            self.clock = now;
        }
        let (sequence, renumbered) = self.take_sequence(nodes);
        let empty = self.live == 0;
        let record = nodes.record_mut(p);
        let placed = record.placed();
        // A vacant slot that stores a tick after the clock has an entry for that tick.
        let changed = if placed > self.clock && serves(placed, expiry) {
            record.stretch(expiry, sequence);
            self.stretched(placed, expiry);
            false
        } else {
            self.place(nodes, p, expiry, sequence, self.live)
        };
        self.live += 1;
        HeadChange::when(changed || empty || renumbered)
    }

    #[inline]
    fn remove(&mut self, nodes: &mut impl Nodes<P, R>, p: P) -> HeadChange {
        let record = nodes.record(p);
        let (placed, sequence) = (record.placed(), record.sequence());
        self.live -= 1;
        self.moved -= usize::from(record.is_moved());
        let taken = if self.is_behind(placed) { None } else { self.take_out(p, placed, sequence) };
        let record = nodes.record_mut(p);
        let changed = match taken {
            Some(was_first) => {
                record.leave();
                was_first
            }
            None => {
                record.set_vacant(None);
                self.purge_if_many_are_dead(nodes)
            }
        };
        HeadChange::when(changed || self.live == 0)
    }

    #[inline]
    fn reschedule(&mut self, nodes: &mut impl Nodes<P, R>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let expiry = deadline.max(now);
        if self.moves_later(nodes, p, expiry) {
            return HeadChange::Same;
        }
        self.move_anywhere(nodes, p, expiry)
    }

    #[inline]
    fn head(&self, nodes: &impl Nodes<P, R>) -> Option<P> {
        self.earliest(nodes, 1)[0].map(|(_, p)| p)
    }

    fn second(&self, nodes: &impl Nodes<P, R>) -> Option<P> {
        self.earliest(nodes, 2)[1].map(|(_, p)| p)
    }

    #[inline]
    fn expiry(&self, nodes: &impl Nodes<P, R>, p: P) -> Tick {
        nodes.record(p).expiry()
    }

    #[inline]
    fn next_expiry(&self, nodes: &impl Nodes<P, R>) -> Option<Tick> {
        // Fast path: the run has the head.
        if let Some(&near) = self.run.last()
            && near.tick() < self.horizon
            && Self::arrived(nodes, near).is_some()
        {
            return Some(near.tick());
        }
        self.known_head(nodes).or_else(|| self.earliest(nodes, 1)[0].map(|(near, _)| near.tick()))
    }

    #[inline]
    fn next_wake(&self, _: &impl Nodes<P, R>) -> Option<Tick> {
        if self.live == 0 {
            return None;
        }
        if !matches!(self.work, Work::None) {
            return Some(self.clock);
        }
        // A timer pends, so there is an entry; the horizon is the earliest tick of the buckets.
        Some(self.run.last().map_or(self.horizon, |near| near.tick().min(self.horizon)))
    }

    #[inline]
    fn is_quiet(&self, _: &impl Nodes<P, R>, now: Tick) -> bool {
        let in_work = !matches!(self.work, Work::None);
        !in_work && now < self.horizon && self.run.last().is_none_or(|near| near.tick() > now)
    }

    #[inline]
    fn due(&mut self, nodes: &mut impl Nodes<P, R>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        let handle = self.find_due(nodes, now, budget)?;
        let expiry = nodes.record(handle).expiry();
        Some(Due { handle, deadline: expiry, expiry })
    }

    #[inline]
    fn rearm_due(&mut self, nodes: &mut impl Nodes<P, R>, p: P, deadline: Tick, now: Tick) {
        let sequence = self.next_sequence;
        // Fast path: the timer gets a new entry in place of its entry in the run.
        if self.entries > 1 && sequence < LIVE {
            let expiry = deadline.max(now);
            let _ = self.run.pop();
            self.next_sequence = sequence + 1;
            nodes.record_mut(p).place(expiry, sequence);
            self.enter_entry(expiry, sequence, p, self.entries > self.live);
            return;
        }
        self.take_front(nodes, p);
        let _ = self.insert(nodes, p, deadline, now);
    }

    #[inline]
    fn pop(&mut self, nodes: &mut impl Nodes<P, R>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        // Fast path: the run has the head.
        if let Some(&near) = self.run.last()
            && near.tick() < self.horizon
            && *budget > 0
        {
            let expiry = near.tick();
            if expiry > now {
                return None;
            }
            if let Some(handle) = Self::arrived(nodes, near) {
                let _ = self.run.pop();
                self.entries -= 1;
                self.live -= 1;
                nodes.record_mut(handle).leave();
                return Some(Due { handle, deadline: expiry, expiry });
            }
        }
        self.pop_anywhere(nodes, now, budget)
    }

    fn explain(&self, nodes: &impl Nodes<P, R>, p: P) -> Explanation {
        let record = nodes.record(p);
        let (expiry, placed) = (record.expiry(), record.placed());
        let at = Number::of(self.clock, placed);
        let in_run = || self.run.iter().any(|near| near.slot() == p.number() && near.tick() == placed);
        let whereabouts = if placed < expiry {
            Whereabouts::Deferred { placed }
        } else if !matches!(self.work, Work::None) && placed == self.clock || in_run() {
            Whereabouts::InOrder
        } else {
            Whereabouts::Bucket {
                level: at.level(),
                bucket: at.digit(),
                first: at.first_tick(expiry),
                last: at.last_tick(expiry),
                moves_at: (at.level() > 0).then(|| {
                    // A timer whose entry is in no bucket is being moved.
                    if self.rungs.is_occupied(at) { self.rungs.at(at).min } else { self.clock }
                }),
            }
        };
        Explanation::new(expiry, expiry, whereabouts)
    }

    fn for_each(&self, nodes: &impl Nodes<P, R>, visit: impl FnMut(P)) {
        self.each_witness(nodes, visit);
    }

    fn rank(&self, nodes: &impl Nodes<P, R>, p: P, _: u64) -> u64 {
        nodes.record(p).sequence().into()
    }

    fn start_sequence_at(&mut self, next: u32) {
        if self.entries == 0 {
            self.next_sequence = next >> 1;
        }
    }

    fn clear(&mut self) {
        self.rungs = Rungs::NEW;
        self.horizon = Tick::MAX;
        self.room = SHORT;
        self.pool.clear();
        self.run.clear();
        self.work = Work::None;
        self.targets = NO_TARGETS;
        self.purge = Purge::NEW;
        self.live = 0;
        self.entries = 0;
        self.moved = 0;
    }

    fn heap_bytes(&self) -> usize {
        self.pool.heap_bytes() + self.batch.heap_bytes() + self.run.capacity() * size_of::<Near>()
    }

    fn check(&self, nodes: &impl Nodes<P, R>, len: usize) -> Result<(), Violation> {
        self.check_all(nodes, len)
    }
}
