//! The operations of the ladder.
//!
//! ```text
//!   insert       take over the slot's entry, or place         the record, the run or a bucket
//!   remove       from the run; else leave a dead entry        the record
//!   reschedule   later: write the record; else place          the record, the run or a bucket
//!   due, pop     the first of the run; refill an empty run    see `refill`
//! ```

use super::pool::List;
use super::purge::{most_chunks, most_entries};
use super::record::{LadderRecord, SLOTS};
use super::refill::MANY;
use super::run::WINDOW;
use super::rungs::{Rung, sizes};
use super::state::{LONG, Ladder, Purge, Split};
use crate::contract::{HeadChange, Order, Reject, Tick, Violation};
use crate::explain::{Explanation, Whereabouts};
use crate::structure::{Discipline, Due, Handle, View};

impl<P: Handle> Ladder<P> {
    const IN_SLABS: () = assert!(P::NUMBERED, "a LadderQueue needs a SlabQueue: over hooks use a Wheel");

    #[inline]
    fn take_sequence(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Returns the result of `next_wake`.
    #[inline]
    fn wake(&self) -> Option<Tick> {
        if self.live == 0 {
            return None;
        }
        Some(self.run.first().map_or_else(|| self.earliest_outside(), |(tick, _)| tick))
    }

    /// Returns whether the result of `next_wake` might have changed since the first timer of the
    /// run was due at `first`. While the run is empty, the result depends on the buckets.
    #[inline]
    fn change_since(&self, first: Option<Tick>) -> HeadChange {
        HeadChange::when(first.is_none() || self.run.first_tick() != first)
    }

    /// Inserts a timer that has just been armed for `expiry` into the run or into a bucket. The
    /// caller has already counted the timer as pending.
    #[inline]
    fn place(&mut self, nodes: &mut impl View<P, Self>, p: P, expiry: Tick, now: Tick) {
        if u128::from(expiry) >= self.run_end {
            self.place_outside(nodes, p, expiry, now);
        } else {
            self.place_in_run(nodes, p, expiry, now);
        }
    }

    /// Handles the case of [`place`](Self::place) in which the tick is before the run's end.
    #[inline]
    fn place_in_run(&mut self, nodes: &mut impl View<P, Self>, p: P, expiry: Tick, now: Tick) {
        if self.run.len() < LONG && self.run.fits(expiry) {
            return self.run.insert(expiry, p.number());
        }
        self.place_in_full_run(nodes, p, expiry, now);
    }

    /// Handles the case of [`place`](Self::place) in which the tick is at or after the run's end.
    #[inline(never)]
    fn place_outside(&mut self, nodes: &mut impl View<P, Self>, p: P, expiry: Tick, now: Tick) {
        if self.entries == 0 && self.extend_run(expiry, now) {
            return self.run.insert(expiry, p.number());
        }
        if self.entries >= self.limit {
            self.purge_until_there_is_room(nodes);
        }
        self.file_again(nodes, p, false);
    }

    /// If the run is short, extends the ticks of the run up to `expiry`. All timers must be in the
    /// run. Returns whether the run now covers `expiry`.
    #[inline(never)]
    fn extend_run(&mut self, expiry: Tick, now: Tick) -> bool {
        let base = self.run.first().map_or(now, |(tick, _)| tick.min(now));
        if self.run.len() >= LONG || expiry - base > WINDOW {
            return false;
        }
        self.depth = 0;
        self.run.rebase(base);
        self.run_end = u128::from(base) + u128::from(WINDOW) + 1;
        true
    }

    /// Handles the case of [`place`](Self::place) in which the run is full or has no offset for the
    /// tick.
    #[inline(never)]
    fn place_in_full_run(&mut self, nodes: &mut impl View<P, Self>, p: P, expiry: Tick, now: Tick) {
        loop {
            let Some((first, _)) = self.run.first() else {
                self.run.restart(if expiry - now <= WINDOW { now } else { expiry });
                break;
            };
            let last = self.run.last().unwrap_or(first).max(expiry);
            let earliest = first.min(expiry);
            let is_wide = last - earliest > WINDOW;
            if self.run.len() >= LONG || is_wide {
                if self.has_equals_outside() {
                    self.give_back(nodes);
                } else {
                    let cut = if is_wide { earliest + WINDOW + 1 } else { self.middle(expiry) };
                    // If all timers of the run are due at the tick of the new timer, they stay in
                    // the run, before the new timer.
                    let stays = last == first && cut == first;
                    let from = if stays && expiry == first { self.run.len() } else { self.run.before(cut) };
                    self.lower_end(nodes, (cut, from), now);
                }
                if u128::from(expiry) >= self.run_end {
                    return self.place_outside(nodes, p, expiry, now);
                }
                continue;
            }
            let base = earliest.min(now);
            self.run.rebase(if last - base <= WINDOW { base } else { earliest });
            break;
        }
        self.run.insert(expiry, p.number());
    }

    /// Returns the tick at which a long run is cut into two parts, so that timers of one tick stay
    /// together. If all timers of the run are due at the same tick and `expiry` is not later, it
    /// returns that tick.
    fn middle(&self, expiry: Tick) -> Tick {
        let tick = |index| self.run.get(index).map_or(expiry, |(tick, _)| tick);
        let (first, middle) = (tick(0), tick(self.run.len() / 2));
        if middle > first {
            return middle;
        }
        let next = self.run.iter().map(|(tick, _)| tick).find(|&tick| tick > first);
        next.unwrap_or(if expiry < first { first } else { first + u64::from(first < expiry) })
    }

    /// Inserts a timer into a slot that still has entries of earlier timers.
    #[inline]
    fn insert_again(&mut self, nodes: &mut impl View<P, Self>, p: P, expiry: Tick, now: Tick) -> HeadChange {
        let record = nodes.record_mut(p);
        let placed = record.placed();
        if !record.waits() || placed > expiry || expiry - placed > u32::MAX.into() {
            return self.insert_anew(nodes, p, expiry, now);
        }
        let sequence = self.take_sequence();
        self.live += 1;
        nodes.record_mut(p).stretch(expiry, sequence);
        if placed == expiry {
            self.mix(expiry);
        }
        HeadChange::when(self.run.is_empty())
    }

    /// Handles the case of [`insert_again`](Self::insert_again) in which the timer cannot take over
    /// the slot's current entry.
    #[inline(never)]
    fn insert_anew(&mut self, nodes: &mut impl View<P, Self>, p: P, expiry: Tick, now: Tick) -> HeadChange {
        let first = self.run.first_tick();
        let sequence = self.take_sequence();
        self.live += 1;
        nodes.record_mut(p).arm(expiry, sequence);
        self.place(nodes, p, expiry, now);
        self.change_since(first)
    }

    /// Re-arms `p`, wherever it is.
    #[inline(never)]
    fn move_anywhere(&mut self, nodes: &mut impl View<P, Self>, p: P, expiry: Tick, now: Tick) -> HeadChange {
        let first = self.run.first_tick();
        let sequence = self.take_sequence();
        let record = nodes.record_mut(p);
        if record.waits() {
            if record.placed() == expiry {
                record.stretch(expiry, sequence);
                self.mix(expiry);
                return HeadChange::Same;
            }
        } else {
            let _ = self.run.remove(p.number());
        }
        nodes.record_mut(p).arm(expiry, sequence);
        self.place(nodes, p, expiry, now);
        self.purge_if_many_are_dead(nodes);
        self.change_since(first)
    }
}

// SAFETY: the promises of `Discipline`, 1. Over slots: an entry may name a slot that was vacated;
// its record stays readable. Returned handles belong to live records. Over pointers the ladder does
// not compile: `IN_SLABS`. 2. Entries hold numbers only, and no record holds a handle.
// 3. No user code is called at all. 4. The ladder holds numbers, ticks and vectors of them only.
unsafe impl<P: Handle> Discipline<P> for Ladder<P> {
    type Record = LadderRecord;
    const NEW: Self = Self::NEW;
    const ORDER: Order = Order::Exact;
    const MOVES: bool = true;

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        const { Self::IN_SLABS };
        if let Some(total) = len.checked_add(additional)
            && total <= self.room
        {
            return Ok(());
        }
        self.grow(len, additional)
    }

    #[inline]
    fn insert(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let expiry = deadline.max(now);
        let record = nodes.record_mut(p);
        if record.has_entries() {
            return self.insert_again(nodes, p, expiry, now);
        }
        let sequence = self.take_sequence();
        self.live += 1;
        if u128::from(expiry) < self.run_end {
            record.arm(expiry, sequence);
            let is_first = self.run.first_tick().is_none_or(|tick| expiry < tick);
            self.place_in_run(nodes, p, expiry, now);
            return HeadChange::when(is_first);
        }
        let is_first = self.run.is_empty();
        if self.entries > 0 && self.entries < self.limit {
            // Some entries are outside the run, and there is memory for another entry.
            let entry = record.arm_with_entry(expiry, sequence, p.number());
            self.file(expiry, entry, false);
            if self.depth == 0 && (MANY..2 * MANY).contains(&self.entries) {
                self.divide_top(nodes);
            }
        } else {
            record.arm(expiry, sequence);
            self.place_outside(nodes, p, expiry, now);
        }
        HeadChange::when(is_first)
    }

    #[inline]
    fn remove(&mut self, nodes: &mut impl View<P, Self>, p: P) -> HeadChange {
        let record = nodes.record_mut(p);
        let waits = record.waits();
        record.leave();
        self.live -= 1;
        if waits {
            self.purge_if_many_are_dead(nodes);
            // If the run is empty, the last `next_wake` might have returned the tick of the removed
            // timer's entry.
            return HeadChange::when(self.run.is_empty());
        }
        HeadChange::when(self.run.remove(p.number()) == Some(0))
    }

    #[inline]
    fn reschedule(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let expiry = deadline.max(now);
        let record = nodes.record_mut(p);
        // Fast path: the timer moves to a later tick, and its entry stays in the old bucket.
        let placed = record.placed();
        if record.waits() && expiry > placed && expiry - placed <= u32::MAX.into() {
            record.stretch(expiry, self.next_sequence);
            self.next_sequence += 1;
            return HeadChange::Same;
        }
        self.move_anywhere(nodes, p, expiry, now)
    }

    #[inline]
    fn head(&self, nodes: &impl View<P, Self>) -> Option<P> {
        self.earliest(nodes, 0)
    }

    fn second(&self, nodes: &impl View<P, Self>) -> Option<P> {
        self.earliest(nodes, 1)
    }

    #[inline]
    fn upcoming(&self, k: usize) -> Option<P> {
        let k = Some(k).filter(|&k| k < self.run.len())?;
        P::from_number(self.run.get(k)?.1)
    }

    #[inline]
    fn expiry(&self, nodes: &impl View<P, Self>, p: P) -> Tick {
        nodes.record(p).expiry
    }

    #[inline]
    fn next_expiry(&self, nodes: &impl View<P, Self>) -> Option<Tick> {
        // Fast path: the head is in the run.
        match self.run.first() {
            Some((tick, _)) => Some(tick),
            None => self.earliest(nodes, 0).map(|p| nodes.record(p).expiry),
        }
    }

    #[inline]
    fn next_wake(&self, _: &impl View<P, Self>) -> Option<Tick> {
        self.wake()
    }

    #[inline]
    fn is_quiet(&self, _: &impl View<P, Self>, now: Tick) -> bool {
        self.run.first().map_or(self.live == 0, |(tick, _)| tick > now)
    }

    #[inline]
    fn due(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        if self.run.is_empty() {
            self.refill(nodes, now, budget);
        }
        let (expiry, slot) = self.run.first()?;
        if expiry > now || *budget == 0 {
            return None;
        }
        Some(Due { handle: P::from_number(slot)?, deadline: expiry, expiry })
    }

    #[inline]
    fn rearm_due(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) {
        let expiry = deadline.max(now);
        self.run.drop_first();
        let sequence = self.take_sequence();
        nodes.record_mut(p).arm(expiry, sequence);
        self.place(nodes, p, expiry, now);
        if self.run.is_empty() {
            self.refill(nodes, now, &mut { usize::MAX });
        }
    }

    #[inline]
    fn pop(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        let due = self.due(nodes, now, budget)?;
        // The timer's record need not change, because the timer has no current entry.
        self.run.drop_first();
        self.live -= 1;
        if self.run.is_empty() {
            // The queue subtracts one from the budget for the popped timer.
            *budget -= 1;
            self.refill(nodes, now, budget);
            *budget += 1;
        }
        Some(due)
    }

    fn explain(&self, nodes: &impl View<P, Self>, p: P) -> Explanation {
        let record = nodes.record(p);
        let (expiry, placed) = (record.expiry, record.placed());
        let whereabouts = if !record.waits() {
            Whereabouts::InOrder
        } else if placed < expiry {
            Whereabouts::Deferred { placed }
        } else if let Some(level) = self.rung_of(placed) {
            let rung = &self.rungs[level];
            let bucket = rung.bucket(placed);
            let (first, last) = rung.ticks(bucket);
            Whereabouts::Bucket { level, bucket, first, last, moves_at: Some(first) }
        } else {
            let first = self.depth.checked_sub(1).map_or(self.run_end, |_| self.rungs[0].end) as Tick;
            let moves_at = Some(self.top_first);
            Whereabouts::Bucket { level: self.depth, bucket: 0, first, last: Tick::MAX, moves_at }
        };
        Explanation::new(expiry, expiry, whereabouts)
    }

    fn for_each(&self, nodes: &impl View<P, Self>, visit: impl FnMut(P)) {
        self.each(nodes, visit);
    }

    fn rank(&self, nodes: &impl View<P, Self>, p: P, _: u64) -> u64 {
        nodes.record(p).sequence
    }

    fn clear(&mut self) {
        self.run.restart(0);
        self.run_end = 0;
        self.live = 0;
        self.entries = 0;
        self.depth = 0;
        self.lists.fill(List::EMPTY);
        self.pool.clear();
        self.top_first = Tick::MAX;
        self.top_last = 0;
        self.split = Split::NONE;
        self.purge = Purge::NEW;
    }

    fn heap_bytes(&self) -> usize {
        self.pool.heap_bytes()
            + self.rungs.capacity() * size_of::<Rung>()
            + self.lists.capacity() * size_of::<List>()
    }

    fn check(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation> {
        self.check_all(nodes, len)
    }
}

impl<P: Handle> Ladder<P> {
    /// Allocates memory for more timers. If the queue grows by one timer, it allocates memory for
    /// several.
    #[cold]
    fn grow(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        let total = len.checked_add(additional).filter(|&total| total <= SLOTS).ok_or(Reject::Full)?;
        let room = if additional > 1 { total } else { (total + (total / 8).clamp(4, 1024)).min(SLOTS) };
        let limit = most_entries(room);
        let (lists, rungs) = sizes(room);
        self.pool.reserve(most_chunks(limit, lists, rungs))?;
        let missing = |have: usize, wanted: usize| wanted.saturating_sub(have);
        self.lists.try_reserve_exact(missing(self.lists.len(), lists)).map_err(|_| Reject::Full)?;
        self.rungs.try_reserve_exact(missing(self.rungs.len(), rungs)).map_err(|_| Reject::Full)?;
        self.lists.resize(lists.max(self.lists.len()), List::EMPTY);
        self.rungs.resize(rungs.max(self.rungs.len()), Rung::EMPTY);
        self.room = room;
        self.limit = limit;
        Ok(())
    }
}
