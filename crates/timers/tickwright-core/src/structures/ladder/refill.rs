//! Fills an empty run with the earliest timers of all buckets. A pop that empties the run does this
//! before it returns. This file also divides a long top during an insert.
//!
//! ```text
//!   the first bucket has        it
//!   up to 64 entries            is sorted into the run, with the next short buckets
//!   more, all of one tick       is taken 64 at a time if it is in order, else divided by arrival
//!   more                        is divided into the buckets of a new rung
//! ```

use super::pool::{CHUNK, List};
use super::record::Entry;
use super::run::{SORTED, WINDOW};
use super::rungs::{AHEAD, MOST_PUSHED, SPARE, TOP, bits, bits_of, least_bits};
use super::state::{Ladder, Split};
use crate::contract::Tick;
use crate::structure::{Handle, View};

/// If the top has at most this many entries, they are sorted directly into the run.
pub(super) const DIRECT: usize = 24;

/// When the top has this many entries and there is no rung, an insert divides the top. Without this
/// rule, the first pop after a million inserts would have to divide a million entries.
pub(super) const MANY: usize = 1024;

/// Consecutive short buckets are sorted together until they have this many entries.
const GOAL: usize = 20;

/// The greatest number of buckets that are sorted together.
const TOGETHER: usize = 12;

/// Only buckets of fewer than `1 << SHORT` ticks are sorted together.
const SHORT: u32 = 20;

/// A list is divided so that a bucket gets on average this many entries, or down to half as many.
/// The top is divided into shorter buckets, because its early ticks have more timers than its late
/// ticks.
const PER_BUCKET: usize = 16;
const PER_TOP_BUCKET: usize = 4;

/// A mixed list of one tick with up to this many entries is not divided: its earliest arrivals move
/// into the run.
const READ_AT_ONCE: usize = 256;

/// The number of timers that move into the run at once from a long list that cannot be divided.
const EARLIEST: usize = 48;

/// Returns how many bits the index of a bucket needs in a rung at this depth, if the rung is to
/// have at least `buckets` buckets.
fn buckets_for(buckets: usize, depth: usize) -> u32 {
    bits_of(buckets.next_power_of_two() as u64 - 1).clamp(least_bits(depth), bits(depth))
}

/// The ticks whose timers are taken from a list.
#[derive(Clone, Copy)]
struct Range {
    first: Tick,
    last: Tick,
    /// The last tick of the list.
    outer: Tick,
    /// The `bound` of the rung if the rung divides arrival numbers, otherwise 0.
    bound: u64,
    /// Timers of the last tick whose arrival number is `until` or greater stay in the list.
    until: u64,
}

impl Range {
    /// Returns the range that takes all timers of a list with these ticks.
    const fn all((first, last): (Tick, Tick), bound: u64) -> Self {
        Self { first, last, outer: last, bound, until: u64::MAX }
    }

    /// Returns whether the tick of a timer is enough to decide whether the timer is taken.
    const fn is_of_ticks(&self) -> bool {
        self.bound == 0 && self.until == u64::MAX
    }
}

impl<P: Handle> Ladder<P> {
    /// Fills the run, which must be empty, if a timer is pending and the budget suffices.
    #[inline(never)]
    pub(super) fn refill(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) {
        while self.run.is_empty() && self.live > 0 && *budget > 0 && self.step(nodes, now, budget) {}
    }

    /// Does one step of a refill. Returns false if no further step is possible or needed in this
    /// call.
    fn step(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> bool {
        if self.split.is_on() {
            *budget -= self.split_chunk(nodes, *budget);
            return true;
        }
        let Some(last) = self.depth.checked_sub(1) else {
            return self.enter_top(nodes, now, budget);
        };
        let rung = &self.rungs[last];
        let Some(bucket) = rung.occupied(rung.next) else {
            self.pop_rung();
            return true;
        };
        let range = Range::all(rung.ticks(bucket), rung.bound);
        let first = range.first;
        let (shift, list) = (rung.shift, rung.first + bucket);
        let len = self.len_of(list);
        if len <= SORTED {
            return self.enter_short(nodes, (last, bucket), range, budget);
        }
        // This bucket is after the clock's tick. The last free rungs are not used for it, because
        // timers that arrive for ticks before the bucket can need a rung.
        if first > now && last >= AHEAD - 1 {
            return false;
        }
        if range.first == range.last && range.bound == 0 && !self.lists[list].mixed {
            return self.stream(nodes, (last, bucket), first, budget);
        }
        if !self.can_divide() || range.first == range.last && range.bound == 0 && len <= READ_AT_ONCE {
            self.rungs[last].next = bucket;
            return self.take_window(nodes, list, range, budget);
        }
        let pauses = len > *budget;
        if pauses && first > now {
            return false;
        }
        let (rest, behind) = self.take(list);
        let rung = &mut self.rungs[last];
        let divide = buckets_for(len / PER_BUCKET, self.depth);
        self.run_end = first.into();
        if range.first < range.last {
            rung.next = bucket + 1;
            self.divide((rest, behind), (range.first, range.last), (shift, divide), pauses.then_some(now));
            return true;
        }
        // Timers that arrive for this tick enter the bucket, after the timers that are being
        // divided.
        let (base, key_bits, bound) = if range.bound > 0 {
            rung.next = bucket + 1;
            (rung.base.wrapping_add((bucket as u64) << shift), shift, range.bound)
        } else {
            rung.next = bucket;
            (0, bits_of(self.next_sequence), self.next_sequence)
        };
        let rung = self.depth;
        self.push_rung((first, first.into()), (base, bound), key_bits, self.bits_to_one(key_bits, divide));
        self.split = Split { rest, behind, rung, first, last: first, reads_records: true };
        true
    }

    /// Begins to divide a list with these ticks into the buckets of a new rung.
    ///
    /// If the division pauses at the time `now` because the budget is used up, timers that arrive
    /// for `now` must not enter a list that is divided again in each further rung. The tick `now`
    /// therefore gets a separate rung, between the rung of earlier ticks and the rung of later
    /// ticks.
    fn divide(
        &mut self,
        (rest, behind): (List, List),
        (first, last): (Tick, Tick),
        (key_bits, divide): (u32, u32),
        pauses_at: Option<Tick>,
    ) {
        let rung = self.depth;
        let end = u128::from(last) + 1;
        let pauses_at = pauses_at.filter(|now| (first..=last).contains(now));
        let divide = divide.min(self.most_bits(if pauses_at.is_some() { MOST_PUSHED } else { 1 }, SPARE));
        match pauses_at {
            None => self.push_rung((first, end), (first, 0), key_bits, divide),
            Some(now) => {
                if now < last {
                    self.push_rung((now + 1, end), (now + 1, 0), bits_of(last - now - 1), divide);
                }
                self.push_rung((now, u128::from(now) + 1), (now, 0), 0, 0);
                if first < now {
                    self.push_rung((first, now.into()), (first, 0), bits_of(now - 1 - first), divide);
                }
            }
        }
        let reads_records = key_bits > 32 || self.depth > rung + 1;
        self.split = Split { rest, behind, rung, first, last, reads_records };
    }

    /// Fills the run from the top, while no rung is in use.
    fn enter_top(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> bool {
        let len = self.len_of(TOP);
        if len <= DIRECT || !self.can_divide() {
            let range = Range::all((self.top_first, self.top_last), 0);
            return self.take_window(nodes, TOP, range, budget);
        }
        let pauses = len > *budget;
        if pauses && self.top_first > now {
            return false;
        }
        self.begin_to_divide_top(len, pauses.then_some(now));
        true
    }

    /// Divides the whole top into the first rung, if this is possible without reading records. The
    /// run does not change.
    #[inline(never)]
    pub(super) fn divide_top(&mut self, nodes: &mut impl View<P, Self>) {
        let ticks = self.top_last - self.top_first;
        if !self.can_divide() || ticks == 0 || ticks > u32::MAX.into() {
            return;
        }
        self.begin_to_divide_top(self.len_of(TOP), None);
        while self.split.is_on() {
            let _ = self.split_chunk(nodes, usize::MAX);
        }
    }

    fn begin_to_divide_top(&mut self, len: usize, pauses_at: Option<Tick>) {
        let (first, last) = (self.top_first, self.top_last);
        let key_bits = bits_of(last - first);
        let divide = buckets_for(len / PER_TOP_BUCKET, 0);
        // The end of the rung is also the end of a bucket.
        let bucket = 1_u128 << key_bits.saturating_sub(divide);
        let end = u128::from(first) + (u128::from(last - first) / bucket + 1) * bucket;
        let last = (end.min(1 << 64) - 1) as Tick;
        let lists = self.take(TOP);
        self.run_end = first.into();
        self.divide(lists, (first, last), (key_bits, divide), pauses_at);
    }

    /// Sorts a bucket of at most `SORTED` entries into the run.
    fn enter_short(
        &mut self,
        nodes: &mut impl View<P, Self>,
        (at, bucket): (usize, usize),
        mut range: Range,
        budget: &mut usize,
    ) -> bool {
        let rung = self.rungs[at];
        let len = self.len_of(rung.first + bucket);
        if range.last - range.first > WINDOW || len > *budget {
            // Later timers stay in the bucket.
            self.rungs[at].next = bucket;
            return self.take_window(nodes, rung.first + bucket, range, budget);
        }
        *budget -= len;
        let mut lists = [List::EMPTY; TOGETHER + 2];
        (lists[0], lists[1]) = self.take(rung.first + bucket);
        let (mut last, mut used) = (bucket, 2);
        let mut total = (lists[0].len + lists[1].len) as usize;
        if rung.shift < SHORT && !rung.by_arrival() && !self.purge.is_on {
            for list in &mut lists[2..] {
                let Some(next) = rung.occupied(last + 1) else { break };
                let len = self.lists[rung.first + next].len as usize;
                if total >= GOAL || total + len > SORTED || len >= *budget {
                    break;
                }
                *budget -= len;
                total += len;
                *list = self.take(rung.first + next).0;
                last = next;
                used += 1;
            }
            range.last = rung.ticks(last).1;
            range.outer = range.last;
        }
        self.rungs[at].next = last + 1;
        self.run_end = if rung.by_arrival() { range.first.into() } else { u128::from(range.last) + 1 };
        let mut mixed = rung.by_arrival();
        for list in lists.iter_mut().take(used) {
            mixed |= list.mixed;
            mixed |= self.gather(nodes, list, usize::MAX, range, TOP);
        }
        self.fill_run(nodes, range, mixed);
        if self.is_big() {
            self.prefetch_next(nodes, at);
        }
        true
    }

    /// Moves the first timers of a bucket into the run. All timers of the bucket are due at one
    /// tick, and are in order.
    fn stream(
        &mut self,
        nodes: &mut impl View<P, Self>,
        (at, bucket): (usize, usize),
        tick: Tick,
        budget: &mut usize,
    ) -> bool {
        let list = self.rungs[at].first + bucket;
        let most = SORTED.min(*budget);
        self.rungs[at].next = bucket;
        self.run_end = tick.into();
        let range = Range::all((tick, tick), 0);
        *budget -= most;
        if self.purge.holds(list) && self.purge.done.len > 0 {
            let mut done = core::mem::replace(&mut self.purge.done, List::EMPTY);
            self.gather(nodes, &mut done, most, range, TOP);
            self.purge.done = done;
        } else {
            let mut rest = core::mem::replace(&mut self.lists[list], List::EMPTY);
            self.gather(nodes, &mut rest, most, range, TOP);
            self.lists[list] = rest;
            if rest.len == 0 {
                let _ = self.take(list);
            }
        }
        self.fill_run(nodes, range, false);
        true
    }

    /// Moves the timers that are due within `WINDOW` ticks of the first timer into the run. The
    /// other timers stay in the list. If the list is long, or longer than the budget, the call
    /// reads all entries and moves only the earliest timers.
    fn take_window(
        &mut self,
        nodes: &mut impl View<P, Self>,
        list: usize,
        mut range: Range,
        budget: &mut usize,
    ) -> bool {
        let lists = self.take(list);
        let len = (lists.0.len + lists.1.len) as usize;
        let most = if len <= SORTED.min(*budget) { len } else { EARLIEST.min(*budget) };
        *budget -= most;
        if range.last - range.first > WINDOW || most < len {
            self.cut(nodes, (&lists.0, &lists.1), &mut range, most);
        }
        self.run_end = u128::from(range.last) + u128::from(range.is_of_ticks());
        let mut mixed = lists.0.mixed || range.bound > 0;
        for mut rest in [lists.0, lists.1] {
            mixed |= self.gather(nodes, &mut rest, usize::MAX, range, list);
        }
        if self.lists[list].len > 0 {
            self.lists[list].mixed |= mixed;
            if let Some((rung, bucket)) = self.place_of(list) {
                self.rungs[rung].mark(bucket);
            }
        }
        self.fill_run(nodes, range, mixed);
        true
    }

    /// Narrows the range to at most `most` timers: the earliest timers of the two lists. If the
    /// first tick has more than `most` timers, the range contains those of its timers that arrived
    /// first.
    fn cut(&self, nodes: &impl View<P, Self>, lists: (&List, &List), range: &mut Range, most: usize) {
        let mut keys = [(Tick::MAX, u64::MAX); 2 * SORTED];
        let mut len = 0;
        for entry in self.pool.iter(lists.0).chain(self.pool.iter(lists.1)) {
            let Some((placed, p)) = self.alive(nodes, entry, (range.first, range.last)) else { continue };
            if len == keys.len() {
                keys.select_nth_unstable(most);
                len = most + 1;
            }
            keys[len] = (placed, nodes.record(p).sequence);
            len += 1;
        }
        let keys = &mut keys[..len];
        let next = if len > most { Some(*keys.select_nth_unstable(most).1) } else { None };
        let Some(&(first, _)) = keys.iter().min() else { return };
        range.first = first;
        range.last = range.last.min(first.saturating_add(WINDOW));
        if let Some((tick, sequence)) = next {
            range.last = range.last.min(if tick > first { tick - 1 } else { first });
            range.until = if tick > first { u64::MAX } else { sequence };
        }
    }

    fn fill_run(&mut self, nodes: &impl View<P, Self>, range: Range, mixed: bool) {
        self.run.fill(range.first, range.last - range.first, &mut self.batch);
        self.batch.clear();
        if mixed {
            self.run.sort_equals(|slot| P::from_number(slot).map_or(0, |p| nodes.record(p).sequence));
        }
    }

    /// Returns the tick and the timer of an entry, if the entry is alive. The list of the entry has
    /// the given ticks.
    #[inline]
    pub(super) fn alive(
        &self,
        nodes: &impl View<P, Self>,
        entry: Entry,
        (first, last): (Tick, Tick),
    ) -> Option<(Tick, P)> {
        let p = P::from_number(entry.slot())?;
        let record = nodes.record(p);
        let placed = record.placed();
        (record.is_alive(entry) && placed >= first && placed <= last && placed as u32 == entry.low())
            .then_some((placed, p))
    }

    /// Reads up to `most` entries of a list, and adds their timers to the batch. Dead entries are
    /// dropped, timers that have moved out of the list's ticks are filed again, and timers after
    /// the range are appended to the list at `stay`. Returns whether timers of equal ticks might be
    /// out of order, because a timer was moved within the range.
    #[inline]
    fn gather(
        &mut self,
        nodes: &mut impl View<P, Self>,
        list: &mut List,
        most: usize,
        range: Range,
        stay: usize,
    ) -> bool {
        // If the tick of a timer does not suffice to decide, `ticks` is 0, so that no timer takes
        // the fast path.
        let ticks = if range.is_of_ticks() { (range.last - range.first).saturating_add(1) } else { 0 };
        let big = self.is_big();
        let mut mixed = false;
        let mut left = most;
        while list.len > 0 && left > 0 {
            if big {
                for entry in self.pool.first_chunk(list) {
                    nodes.prefetch(P::from_number(entry.slot()));
                }
            }
            let (entries, places) = self.pool.take_chunk(list, left);
            left -= places.len();
            self.entries -= places.len();
            for &entry in &entries[places] {
                let Some(p) = P::from_number(entry.slot()) else { continue };
                let record = nodes.record_mut(p);
                let offset = record.expiry.wrapping_sub(range.first);
                if offset < ticks && record.take_only_entry(entry) {
                    self.batch.push(offset as u32, entry.slot());
                } else {
                    mixed |= self.gather_other(nodes, p, entry, range, stay);
                }
            }
        }
        mixed
    }

    /// Handles the rare cases of [`gather`](Self::gather): the entry is dead; or the timer was
    /// moved, has other entries, stays in the list, or is in a rung that divides arrivals.
    #[inline(never)]
    fn gather_other(
        &mut self,
        nodes: &mut impl View<P, Self>,
        p: P,
        entry: Entry,
        range: Range,
        stay: usize,
    ) -> bool {
        let record = nodes.record_mut(p);
        let placed = record.placed();
        let is_here = placed >= range.first && placed <= range.outer && placed as u32 == entry.low();
        if !is_here || !record.is_alive(entry) {
            record.drop_dead(entry);
            return false;
        }
        let is_moved = record.is_moved();
        if placed > range.last || record.sequence >= range.until {
            if stay == TOP {
                self.top_first = self.top_first.min(placed);
                self.top_last = self.top_last.max(placed);
            }
            self.entries += 1;
            self.pool.push(&mut self.lists[stay], entry);
            return false;
        }
        record.take_entry();
        if record.expiry <= range.last && (range.bound == 0 || record.sequence < range.bound) {
            self.batch.push((record.expiry - range.first) as u32, entry.slot());
            return is_moved;
        }
        // Timers that arrived later can already be in that bucket.
        self.file_again(nodes, p, true);
        false
    }

    /// Updates the slot of a dead entry, so that the slot no longer counts the entry. The caller
    /// has already subtracted the entry from `entries`.
    pub(super) fn drop_dead(&mut self, nodes: &mut impl View<P, Self>, entry: Entry) {
        if let Some(p) = P::from_number(entry.slot()) {
            nodes.record_mut(p).drop_dead(entry);
        }
    }

    /// Moves up to `most` entries of one chunk into the buckets of their rung. Returns the number
    /// of moved entries.
    pub(super) fn split_chunk(&mut self, nodes: &mut impl View<P, Self>, most: usize) -> usize {
        let mut rest = self.split.rest;
        let at = self.split.rung;
        if self.is_big() && self.split.reads_records {
            for entry in self.pool.first_chunk(&rest) {
                nodes.prefetch(P::from_number(entry.slot()));
            }
        }
        let (entries, places) = self.pool.take_chunk(&mut rest, most);
        let len = places.len();
        let mixed = rest.mixed;
        if rest.len == 0 {
            rest = core::mem::replace(&mut self.split.behind, List::EMPTY);
        }
        self.split.set_rest(rest);
        self.prefetch_chunk(&rest);
        if self.split.reads_records {
            for &entry in &entries[places] {
                self.split_by_record(nodes, entry, at, mixed);
            }
            return len;
        }
        let rung = &mut self.rungs[at];
        let low = rung.base as u32;
        let Some(lists) = self.lists.get_mut(rung.first..=rung.first + rung.mask) else { return len };
        for &entry in &entries[places] {
            let bucket = (entry.low().wrapping_sub(low) >> rung.shift) as usize & rung.mask;
            rung.mark(bucket);
            if let Some(list) = lists.get_mut(bucket) {
                list.mixed |= mixed;
                self.pool.push(list, entry);
            }
        }
        len
    }

    /// Moves an entry into the bucket that the slot's record determines, in the rung at `at` or a
    /// later rung.
    fn split_by_record(&mut self, nodes: &mut impl View<P, Self>, entry: Entry, at: usize, mixed: bool) {
        let Some((placed, p)) = self.alive(nodes, entry, (self.split.first, self.split.last)) else {
            self.entries -= 1;
            return self.drop_dead(nodes, entry);
        };
        let rung = &mut self.rungs[at];
        let list = if rung.by_arrival() {
            let record = nodes.record_mut(p);
            if record.is_moved() || record.sequence >= rung.bound {
                self.entries -= 1;
                record.take_entry();
                return self.file_again(nodes, p, true);
            }
            let bucket = rung.bucket(record.sequence);
            rung.mark(bucket);
            rung.first + bucket
        } else {
            self.list_for(placed).0
        };
        let list = &mut self.lists[list];
        list.mixed |= mixed;
        self.pool.push(list, entry);
    }

    /// Prefetches the records of the next bucket that will fill the run.
    #[inline(never)]
    fn prefetch_next(&self, nodes: &impl View<P, Self>, at: usize) {
        let rung = &self.rungs[at];
        if let Some(bucket) = rung.occupied(rung.next) {
            let list = &self.lists[rung.first + bucket];
            for part in self.pool.parts(list).take(SORTED / CHUNK) {
                for entry in part {
                    nodes.prefetch(P::from_number(entry.slot()));
                }
            }
        }
    }

    #[inline]
    fn prefetch_chunk(&self, list: &List) {
        for line in self.pool.first_chunk(list).chunks(CHUNK / 2) {
            tickwright_nodes::hint::prefetch(line.as_ptr());
        }
    }
}
