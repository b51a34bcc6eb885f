//! Brings due entries to the front: the ladder enters buckets, sorts them or moves their entries to
//! lower levels.
//!
//! ```text
//!   bucket   at most 448 entries     -> sorted into the run
//!            more, level above 0     -> Cascade: each to a lower level
//!            more, level 0, in order -> Front: 448 at a time move into the run
//!            more, level 0, mixed    -> Sort by arrival, then Front
//! ```
//! A budget may stop each of these steps. The next call then continues the stopped step before
//! anything else.

use super::batch::SORTED;
use super::chunks::{Entry, List, PER_CHUNK, Pool, Rest, Span};
use super::rungs::{BUCKETS, Number};
use super::state::{Ladder, LadderNode, NO_TARGETS, Near, RUN, Seen, Targets, Work};
use crate::contract::Tick;
use crate::storage::{Handle, Nodes};

/// While a batch is delivered, the records of this many entries behind it are prefetched.
const AHEAD: usize = 16;

/// At these levels, an entry and the clock together determine the full tick.
pub(super) const NEAR_LEVELS: usize = 5;

/// The bits of a digit by which arrivals are sorted, and the number of digits in an arrival number.
const DIGIT: u32 = BUCKETS.trailing_zeros();
const PASSES: u32 = 31_u32.div_ceil(DIGIT);

#[inline]
fn push(targets: &mut Targets, pool: &mut Pool, pass: u32, sequence: u32, slot: u32) {
    let digit = (sequence >> (DIGIT * pass)) as usize % BUCKETS;
    pool.push(&mut targets[digit], Entry::new(sequence, slot));
}

/// Joins all lists into one, at the end of a pass.
fn joined(targets: &mut Targets, pool: &mut Pool) -> List {
    let mut all = List::EMPTY;
    for target in targets {
        pool.append(&mut all, core::mem::replace(target, List::EMPTY));
    }
    all
}

/// Sorts entries that hold their arrival numbers.
pub(super) fn sort(pool: &mut Pool, mut list: List) -> List {
    let mut targets = NO_TARGETS;
    for pass in 0..PASSES {
        let mut rest = Rest::of(list);
        while !rest.is_empty() {
            let span = pool.span(&rest, PER_CHUNK);
            for at in 0..span.len() {
                let entry = pool.entry(span, at);
                push(&mut targets, pool, pass, entry.low(), entry.slot());
            }
            pool.done(&mut rest, span);
        }
        list = joined(&mut targets, pool);
    }
    list
}

/// The tick of an entry in a bucket of `level`, which must be a near level.
#[inline]
pub(super) fn tick_at(clock: Tick, level: usize, entry: Entry) -> Tick {
    let above = DIGIT * (level as u32 + 1);
    clock >> above << above | Tick::from(entry.low()) & ((1 << above) - 1)
}

/// Whether an entry of the current bucket of `level` may be for the tick `placed`.
#[inline]
pub(super) fn is_for(clock: Tick, level: usize, entry: Entry, placed: Tick) -> bool {
    if level < NEAR_LEVELS {
        placed == tick_at(clock, level, entry)
    } else {
        // The clock is in the bucket's granule.
        placed as u32 == entry.low() && placed >= clock && (placed ^ clock) >> (DIGIT * level as u32) == 0
    }
}

impl<P: Handle, R: LadderNode<P>> Ladder<P, R> {
    /// All lists of entries in work; the lists of the front come in order.
    pub(super) fn rests(&self) -> [Rest; BUCKETS + 2] {
        let mut rests = [Rest::EMPTY; BUCKETS + 2];
        for (rest, target) in rests.iter_mut().zip(&self.targets) {
            *rest = Rest::of(*target);
        }
        [rests[BUCKETS], rests[BUCKETS + 1]] = match self.work {
            Work::None => [Rest::EMPTY; 2],
            Work::Cascade { rest, .. } | Work::Sort { rest, .. } => [rest, Rest::EMPTY],
            Work::Front { rest, behind, .. } => [rest, behind],
        };
        rests
    }

    /// The front's `rest` is used up: continues with `behind`.
    #[cold]
    pub(super) fn next_front(&mut self) {
        if let Work::Front { behind, bound, .. } = self.work {
            self.work = match behind.is_empty() {
                true => Work::None,
                false => Work::Front { rest: behind, behind: Rest::EMPTY, bound },
            };
            self.find_horizon();
        }
    }

    /// The head, if the head is due. The head is then the last entry of the run.
    #[inline]
    pub(super) fn find_due(
        &mut self,
        nodes: &mut impl Nodes<P, R>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<P> {
        // Fast path: the run has the head.
        if let Some(&near) = self.run.last()
            && near.tick() < self.horizon
            && *budget > 0
        {
            if near.tick() > now {
                return None;
            }
            if let Some(p) = Self::arrived(nodes, near) {
                return Some(p);
            }
        }
        self.search_due(nodes, now, budget)
    }

    /// As [`find_due`](Self::find_due), wherever the head is.
    #[inline(never)]
    fn search_due(&mut self, nodes: &mut impl Nodes<P, R>, now: Tick, budget: &mut usize) -> Option<P> {
        // Each iteration costs one unit of the budget, delivers, or begins work that the next
        // iteration continues.
        while *budget > 0 && self.live > 0 {
            let first = self.rungs.first().map(|at| (at, self.rungs.at(at).min));
            if let Some(&near) = self.run.last()
                && match self.work {
                    Work::None => first.is_none_or(|(at, min)| self.precedes(near.tick(), at, min)),
                    Work::Front { .. } => near.tick() <= self.clock,
                    Work::Cascade { .. } | Work::Sort { .. } => false,
                }
            {
                if near.tick() > now {
                    return None;
                }
                match Self::see(nodes, near.tick(), near.slot()) {
                    Seen::Here(p, sequence) if sequence == near.sequence() => return Some(p),
                    seen => {
                        let _ = self.run.pop();
                        *budget -= 1;
                        self.dispose(nodes, seen);
                    }
                }
                continue;
            }
            match self.work {
                Work::None => {
                    let (at, min) = first?;
                    if min > now {
                        return None;
                    }
                    self.enter(nodes, at, min, budget);
                }
                Work::Cascade { .. } => self.cascade(nodes, budget),
                Work::Sort { .. } => self.sort_front(nodes, budget),
                Work::Front { .. } => self.gather_front(nodes, budget),
            }
        }
        None
    }

    /// Whether an entry of the run leaves before the ladder enters the first bucket. If an unmixed
    /// bucket has the same tick, its entries arrived after the entry came into the run.
    #[inline]
    fn precedes(&self, tick: Tick, first: Number, min: Tick) -> bool {
        tick < min || tick == min && first.level() == 0 && !self.rungs.is_mixed(first)
    }

    /// Drops or moves a timer whose entry was removed and does not lead to a delivery.
    #[inline]
    pub(super) fn dispose(&mut self, nodes: &mut impl Nodes<P, R>, seen: Seen<P>) {
        match seen {
            Seen::Dead => self.entries -= 1,
            Seen::Moved(p) => {
                self.place_again(nodes, p);
            }
            Seen::Here(p, _) => {
                let at = self.place_again(nodes, p);
                // The timer may have another witness in the run, and may be delivered from there.
                self.rungs.leaves(at, nodes.record(p).expiry());
            }
        }
    }

    /// Empties the first bucket, whose earliest entry is due.
    #[inline(never)]
    fn enter(&mut self, nodes: &mut impl Nodes<P, R>, at: Number, min: Tick, budget: &mut usize) {
        if self.run.len() + SORTED > RUN {
            return self.spill(budget);
        }
        let mut mixed = self.rungs.is_mixed(at);
        let mut list = self.rungs.take(at);
        if let Some(rest) = self.purge.give_up(at) {
            let mut both = self.pool.unread(rest);
            self.pool.append(&mut both, list);
            (list, mixed) = (both, true);
        }
        self.clock = min;
        let level = at.level();
        let count = self.pool.count(&list, SORTED);
        if let Some(count) = count.filter(|count| count <= budget) {
            *budget -= count;
            self.gather(nodes, list, level);
            self.batch.move_into(&mut self.run, level, !mixed);
        } else if level > 0 {
            self.work = Work::Cascade { rest: Rest::of(list), level, interrupted: mixed };
        } else if mixed {
            self.work = Work::Sort { rest: Rest::of(list), pass: 0, bound: self.next_sequence };
        } else {
            self.work = Work::Front { rest: Rest::of(list), behind: Rest::EMPTY, bound: self.next_sequence };
        }
        self.find_horizon();
        if self.horizon > 0 {
            self.prefetch_next(nodes);
        }
    }

    /// Prefetches the records of these entries, which are read next.
    #[inline]
    pub(super) fn prefetch(&self, nodes: &impl Nodes<P, R>, span: Span) {
        for entry in self.pool.entries(span) {
            nodes.prefetch(Self::slot(entry.slot()));
        }
    }

    /// The ladder enters the first bucket soon: prefetches the records of its first entries.
    #[inline]
    fn prefetch_next(&self, nodes: &impl Nodes<P, R>) {
        if let Some(at) = self.rungs.first() {
            let span = self.pool.span(&Rest::of(self.rungs.at(at).list), AHEAD);
            if span.len() > 0 {
                self.prefetch(nodes, span);
            }
        }
    }

    /// Moves the entries of a short bucket into the batch.
    #[inline]
    fn gather(&mut self, nodes: &mut impl Nodes<P, R>, list: List, level: usize) {
        let mut rest = Rest::of(list);
        while !rest.is_empty() {
            let span = self.pool.span(&rest, PER_CHUNK);
            self.prefetch(nodes, span);
            for at in 0..span.len() {
                let entry = self.pool.entry(span, at);
                match self.see_at(nodes, level, entry) {
                    (Seen::Here(_, sequence), tick) => {
                        self.batch.push(Near::new(tick, sequence, entry.slot()));
                    }
                    (seen, _) => self.dispose(nodes, seen),
                }
            }
            self.pool.done(&mut rest, span);
        }
    }

    /// What an entry of the entered bucket stands for, and its tick.
    #[inline]
    pub(super) fn see_at(&self, nodes: &mut impl Nodes<P, R>, level: usize, entry: Entry) -> (Seen<P>, Tick) {
        let tick = if level < NEAR_LEVELS {
            tick_at(self.clock, level, entry)
        } else {
            // The record has the digits that the entry lacks.
            match Self::slot(entry.slot()).map(|p| nodes.record(p).placed()) {
                Some(placed) if is_for(self.clock, level, entry, placed) => placed,
                _ => return (Seen::Dead, 0),
            }
        };
        (Self::see(nodes, tick, entry.slot()), tick)
    }

    /// Moves the later half of the run back to buckets, as far as the budget allows.
    #[cold]
    fn spill(&mut self, budget: &mut usize) {
        let moved = (self.run.len() / 2).min(*budget);
        *budget -= moved;
        for at in 0..moved {
            let near = self.run[at];
            let to = self.append_unseen(near.tick(), near.slot());
            self.rungs.mix(to);
        }
        self.run.copy_within(moved.., 0);
        self.run.truncate(self.run.len() - moved);
    }

    /// Moves the first entries of the front into the run, which has no other entries for the
    /// clock's tick.
    fn gather_front(&mut self, nodes: &mut impl Nodes<P, R>, budget: &mut usize) {
        let Work::Front { mut rest, behind, bound } = self.work else { return };
        // The ladder enters a bucket only if the run has room for a batch, and a run gets no other
        // entries while there is a front.
        let mut most = SORTED.min(RUN - self.run.len()).min(*budget);
        *budget -= most;
        while most > 0 && !rest.is_empty() {
            let span = self.pool.span(&rest, most);
            most -= span.len();
            self.pool.prefetch_next(&rest);
            self.prefetch(nodes, span);
            for at in 0..span.len() {
                let entry = self.pool.entry(span, at);
                match Self::see(nodes, self.clock, entry.slot()) {
                    Seen::Here(_, sequence) if sequence < bound => {
                        self.batch.push(Near::new(self.clock, sequence, entry.slot()));
                    }
                    seen => self.dispose(nodes, seen),
                }
            }
            self.pool.done(&mut rest, span);
        }
        *budget += most;
        self.batch.move_into(&mut self.run, 0, true);
        self.work = Work::Front { rest, behind, bound };
        if rest.is_empty() {
            self.next_front();
        }
        self.find_horizon();
    }

    /// Moves entries to lower levels.
    pub(super) fn cascade(&mut self, nodes: &mut impl Nodes<P, R>, budget: &mut usize) {
        let Work::Cascade { mut rest, level, interrupted } = core::mem::replace(&mut self.work, Work::None)
        else {
            return;
        };
        while *budget > 0 && !rest.is_empty() {
            let span = self.pool.span(&rest, *budget);
            *budget -= span.len();
            self.pool.prefetch_next(&rest);
            if level < NEAR_LEVELS {
                for at in 0..span.len() {
                    let entry = self.pool.entry(span, at);
                    let to = self.append_unseen(tick_at(self.clock, level, entry), entry.slot());
                    if interrupted {
                        self.rungs.mix(to);
                    }
                }
                self.pool.done(&mut rest, span);
                continue;
            }
            self.prefetch(nodes, span);
            for at in 0..span.len() {
                let entry = self.pool.entry(span, at);
                match self.see_at(nodes, level, entry) {
                    (Seen::Here(..), tick) => {
                        let to = self.append(tick, entry.slot());
                        if interrupted {
                            self.rungs.mix(to);
                        }
                    }
                    (seen, _) => self.dispose(nodes, seen),
                }
            }
            self.pool.done(&mut rest, span);
        }
        if !rest.is_empty() {
            self.work = Work::Cascade { rest, level, interrupted: true };
        }
        self.find_horizon();
    }

    /// The first pass over an entry for the clock's tick.
    #[inline]
    fn sort_first(&mut self, nodes: &mut impl Nodes<P, R>, slot: u32) {
        match Self::see(nodes, self.clock, slot) {
            Seen::Here(_, sequence) => push(&mut self.targets, &mut self.pool, 0, sequence, slot),
            seen => self.dispose(nodes, seen),
        }
    }

    /// Sorts a long bucket whose only tick is the clock's, together with the run's entries for that
    /// tick.
    pub(super) fn sort_front(&mut self, nodes: &mut impl Nodes<P, R>, budget: &mut usize) {
        let Work::Sort { mut rest, mut pass, bound } = core::mem::replace(&mut self.work, Work::None) else {
            return;
        };
        while *budget > 0 && pass < PASSES {
            if rest.is_empty() {
                if pass == 0
                    && let Some(near) = self.run.pop_if(|near| near.tick() == self.clock)
                {
                    *budget -= 1;
                    self.sort_first(nodes, near.slot());
                    continue;
                }
                rest = Rest::of(joined(&mut self.targets, &mut self.pool));
                pass += 1;
                continue;
            }
            let span = self.pool.span(&rest, *budget);
            *budget -= span.len();
            if pass == 0 {
                self.prefetch(nodes, span);
            }
            for at in 0..span.len() {
                let entry = self.pool.entry(span, at);
                if pass > 0 {
                    push(&mut self.targets, &mut self.pool, pass, entry.low(), entry.slot());
                    continue;
                }
                self.sort_first(nodes, entry.slot());
            }
            self.pool.done(&mut rest, span);
        }
        self.work = if pass < PASSES {
            Work::Sort { rest, pass, bound }
        } else {
            Work::Front { rest, behind: Rest::EMPTY, bound }
        };
        self.find_horizon();
    }
}
