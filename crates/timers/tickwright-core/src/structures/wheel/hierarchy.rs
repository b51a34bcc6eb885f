//! The wheel: the record of a node, the operations, and the check of the invariants.
//!
//! ```text
//!   insert, reschedule   schedule -> push -> BucketNumber::of      1 bucket, its tail, the node
//!   remove               unlink                                    neighbors, 1 bucket
//!   due, pop             fast_head: nothing is due, or the head is first at level 0
//!                        else cascade_to_head -> cascade_* -> push
//!   rearm_due            pop_front or unlink; schedule        as pop and insert
//! ```

use super::buckets::{Bucket, Buckets};
use crate::contract::{HeadChange, Order, Tick, Violation};
use crate::explain::{Explanation, Whereabouts};
use crate::structure::{Discipline, Due, Handle, Record, View};
use crate::structures::digits::BucketNumber;
use tickwright_nodes::chain::{Chained, Links};

/// The record of a node in the wheel.
#[derive(Debug)]
pub struct WheelRecord<P, const BUCKETS: usize> {
    pub(super) expiry: Tick,
    pub(super) links: Links<P>,
    /// The number of the node's bucket.
    pub(super) bucket: BucketNumber<BUCKETS>,
}

impl<P: Handle, const BUCKETS: usize> Record<P> for WheelRecord<P, BUCKETS> {
    const IDLE: Self = Self { expiry: 0, links: Links::NONE, bucket: BucketNumber::new(0, 0) };

    #[inline]
    fn vacant(next: Option<P>) -> Self {
        Self { links: Links { next, prev: None }, ..Self::IDLE }
    }

    #[inline]
    fn next_vacant(&self) -> Option<P> {
        self.links.next
    }

    #[inline]
    fn set_vacant(&mut self, next: Option<P>) {
        self.links.next = next;
    }
}

impl<P, const BUCKETS: usize> Chained<P> for WheelRecord<P, BUCKETS> {
    #[inline]
    fn links(&self) -> &Links<P> {
        &self.links
    }

    #[inline]
    fn links_mut(&mut self) -> &mut Links<P> {
        &mut self.links
    }
}

/// A cascade that is half done. The cascade's `clock` determines the new buckets of the nodes that
/// it has moved; `clock` is the minimum that the old bucket had when the cascade began. When the
/// old bucket is empty, `clock` becomes the wheel's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cascade<const BUCKETS: usize> {
    pub(super) from: BucketNumber<BUCKETS>,
    pub(super) clock: Tick,
}

/// What the first bucket shows about the head without reading any node.
enum FastHead<const BUCKETS: usize> {
    /// Nothing is due.
    NotDue,
    /// The head is the first node of this bucket of level 0, and is due at this tick.
    Ready(BucketNumber<BUCKETS>, Tick),
    /// To determine the head, nodes or the clock must move first; or the budget is used up.
    Unknown,
}

/// The wheel over handles `P`.
pub struct Hierarchy<P, const BUCKETS: usize, const LEVELS: usize> {
    /// The tick from which the buckets of nodes are computed. `clock` is not later than the queue's
    /// `now`, and not later than any pending expiry.
    pub(super) clock: Tick,
    len: usize,
    pub(super) cascade: Option<Cascade<BUCKETS>>,
    /// No timer is due before this tick, so a poll before this tick reads no bucket and does not
    /// advance the clock. `quiet` is at most `BUCKETS` ticks after the clock, so that the clock
    /// cannot stay far behind the polls.
    pub(super) quiet: Tick,
    pub(super) buckets: Buckets<P, BUCKETS, LEVELS>,
}

impl<P: Handle, const BUCKETS: usize, const LEVELS: usize> core::fmt::Debug
    for Hierarchy<P, BUCKETS, LEVELS>
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Wheel")
            .field("clock", &self.clock)
            .field("len", &self.len)
            .field("occupied", &self.buckets.occupied)
            .finish_non_exhaustive()
    }
}

impl<P: Handle, const BUCKETS: usize, const LEVELS: usize> Hierarchy<P, BUCKETS, LEVELS> {
    /// Inserts `p`, which must not be in a bucket. Returns whether the next wake-up might have
    /// changed.
    #[inline(always)]
    fn schedule(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> bool {
        if self.buckets.is_empty() {
            self.clock = now;
            self.quiet = now;
        }
        let expiry = deadline.max(now);
        let fell = self.push(nodes, p, expiry, self.clock);
        if fell.is_some() {
            self.quiet = self.quiet.min(expiry);
        }
        let Some(cascade) = self.cascade else {
            return fell.is_some() && fell == self.buckets.first();
        };
        // The cascade's clock is at most `now`, so this expiry is not before the cascade's clock.
        // The timer's bucket is `from` or a later bucket. If the bucket is `from`, the timer
        // follows all nodes that still have to move, and the insert moves `LEVELS` of these nodes.
        // If such an insert moved no node, moving the new timers could use up every budget, and no
        // timer would ever leave. If such an insert moved one node, a level could get as many new
        // timers as moved nodes, so the number of nodes could double at each level. An insert
        // therefore moves `LEVELS` nodes. If at most as many timers are inserted as the budget
        // moves, the last cascade is at most (1 + 1/LEVELS)^LEVELS times as long as it would be
        // without these inserts. This factor is less than e.
        if nodes.record(p).bucket == cascade.from {
            self.cascade_some(nodes, cascade, &mut { LEVELS });
        }
        self.cascade.is_none()
    }

    /// Returns whether the removal of `p` can change the next wake-up.
    #[inline]
    fn decides_next_wake(&self, nodes: &impl View<P, Self>, p: P) -> bool {
        let (expiry, bucket) = (nodes.record(p).expiry, nodes.record(p).bucket);
        // The `min` of a dirty bucket might be the expiry of a timer that has left. If this removal
        // empties the bucket, another bucket determines the next wake-up.
        self.cascade.is_some()
            || self.buckets.first() == Some(bucket)
                && (expiry == self.buckets.at(bucket).min || self.buckets.is_dirty(bucket))
    }

    #[inline(always)]
    fn unlink(&mut self, nodes: &mut impl View<P, Self>, p: P) {
        let (expiry, links, at) = (nodes.record(p).expiry, nodes.record(p).links, nodes.record(p).bucket);
        if let Links { next: Some(next), prev: Some(prev) } = links {
            // The usual case: `p` is not at an end of the bucket's chain.
            nodes.record_mut(prev).links.next = Some(next);
            nodes.record_mut(next).links.prev = Some(prev);
            return self.buckets.remove(at, expiry);
        }
        let chain = self.buckets.chain_mut(at);
        chain.unlink(nodes, links);
        if chain.is_empty() {
            self.empty(at);
        } else {
            self.buckets.remove(at, expiry);
        }
    }

    /// Advances the clock towards `now`, but not into the granule of the first bucket, whose
    /// earliest expiry is `min`. If the clock were in that granule, the nodes of the bucket would
    /// belong to lower levels.
    #[inline]
    fn advance_clock(&mut self, first: BucketNumber<BUCKETS>, min: Tick, now: Tick) {
        self.clock = self.clock.max(now.min(first.first_tick(min).saturating_sub(1)));
    }

    /// The fast path of [`due`](Discipline::due) and [`pop`](Discipline::pop), which reads no node.
    #[inline]
    fn fast_head(&self, now: Tick, budget: usize) -> FastHead<BUCKETS> {
        if budget == 0 || self.cascade.is_some() {
            return FastHead::Unknown;
        }
        let Some(at) = self.buckets.first() else { return FastHead::NotDue };
        let min = self.buckets.at(at).min;
        if min > now && now.wrapping_sub(self.clock) < BUCKETS as Tick {
            FastHead::NotDue
        } else if min <= now && at.level() == 0 {
            FastHead::Ready(at, min)
        } else {
            FastHead::Unknown
        }
    }

    /// Sets the tick before which polls read no bucket. The caller ensures that nothing is due now
    /// and no cascade is half done.
    #[inline]
    fn set_quiet(&mut self) {
        let Some(at) = self.buckets.first() else { return };
        self.quiet = self.buckets.at(at).min.min(self.clock.saturating_add(BUCKETS as Tick));
    }

    /// Does what [`pop`](Discipline::pop) does when `now` is not before `quiet`.
    #[inline]
    fn pop_after_quiet(
        &mut self,
        nodes: &mut impl View<P, Self>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        let p = match self.fast_head(now, *budget) {
            FastHead::NotDue => {
                self.set_quiet();
                return None;
            }
            FastHead::Ready(at, expiry) => {
                self.clock = expiry;
                let handle = self.pop_front(nodes, at)?;
                self.len -= 1;
                return Some(Due { handle, deadline: expiry, expiry });
            }
            FastHead::Unknown => self.cascade_to_head(nodes, now, budget)?,
        };
        let expiry = nodes.record(p).expiry;
        self.unlink(nodes, p);
        self.len -= 1;
        debug_assert!(self.clock <= expiry && expiry <= now, "{} <= {expiry} <= {now}", self.clock);
        // If the node was the only node in its bucket, the bucket's granule is now empty, and the
        // clock can enter the granule. Otherwise the node was at level 0, and the clock is already
        // at its tick.
        self.clock = expiry;
        Some(Due { handle: p, deadline: expiry, expiry })
    }

    /// Unlinks the first node of a bucket of level 0. The caller ensures that no cascade is half
    /// done.
    #[inline]
    fn pop_front(&mut self, nodes: &mut impl View<P, Self>, at: BucketNumber<BUCKETS>) -> Option<P> {
        let chain = self.buckets.chain_mut(at);
        let head = chain.head?;
        chain.head = nodes.record(head).links().next;
        match chain.head {
            Some(next) => nodes.record_mut(next).links.prev = None,
            None => {
                chain.tail = None;
                self.buckets.empty(at);
            }
        }
        Some(head)
    }

    /// Cascades buckets until the head is at level 0 or is the only node of its bucket. Returns the
    /// head if it is due.
    #[inline(never)]
    fn cascade_to_head(
        &mut self,
        nodes: &mut impl View<P, Self>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<P> {
        // The loop ends, because each iteration moves nodes down a level or makes a minimum exact.
        while *budget > 0 {
            if let Some(cascade) = self.cascade {
                self.cascade_some(nodes, cascade, budget);
                continue;
            }
            let Some(at) = self.buckets.first() else { break };
            let Bucket { min, chain } = *self.buckets.at(at);
            if min > now {
                self.advance_clock(at, min, now);
                self.set_quiet();
                break;
            }
            if at.level() == 0 {
                self.clock = min;
                return chain.head;
            }
            if let Some(alone) = chain.single() {
                let expiry = nodes.record(alone).expiry;
                if expiry <= now {
                    // The only node of the bucket is the head, and need not move to level 0.
                    return Some(alone);
                }
                self.buckets.set_min(at, expiry);
            } else if *budget >= self.len {
                *budget -= self.cascade_whole(nodes, at, min);
            } else {
                self.cascade = Some(Cascade { from: at, clock: min });
            }
        }
        None
    }

    /// Returns the node that leaves first among the nodes of a bucket.
    #[inline(never)]
    fn earliest(&self, nodes: &impl View<P, Self>, at: BucketNumber<BUCKETS>) -> Option<P> {
        let Bucket { min, chain } = self.buckets.at(at);
        let mut earliest: Option<(Tick, P)> = None;
        for p in chain.iter(nodes) {
            let expiry = nodes.record(p).expiry;
            if earliest.is_none_or(|(earliest, _)| expiry < earliest) {
                earliest = Some((expiry, p));
                // No later node of the chain is earlier than this node, and all of them arrived
                // later.
                if expiry == *min {
                    break;
                }
            }
        }
        earliest.map(|(_, p)| p)
    }

    /// Returns the two nodes that leave first. The function is not inlined, so that the fast path
    /// of `head` stays short.
    #[inline(never)]
    fn earliest_two(&self, nodes: &impl View<P, Self>) -> (Option<P>, Option<P>) {
        let mut two = EarliestTwo { first: None, second: None };
        // While a cascade is half done, all nodes at lower levels are in the same granule as the
        // nodes that the cascade still has to move.
        let shared = self.cascade.map_or(0, |cascade| cascade.from.level());
        for at in self.buckets.iter() {
            let whole = self.cascade.is_none_or(|cascade| at.level() > shared || at == cascade.from);
            let Bucket { min, chain } = self.buckets.at(at);
            for p in chain.iter(nodes) {
                // No node of the bucket is earlier than `min`, and all further nodes that are due
                // at `min` arrived later.
                if two.second.is_some_and(|(second, _)| second <= *min) {
                    break;
                }
                two.offer(nodes.record(p).expiry, p);
            }
            if whole && two.second.is_some() {
                break;
            }
        }
        (two.first.map(|(_, p)| p), two.second.map(|(_, p)| p))
    }
}

/// The two earliest nodes among the nodes visited so far. Among nodes of equal expiry, they are the
/// nodes that arrived first.
#[derive(Debug)]
struct EarliestTwo<P> {
    first: Option<(Tick, P)>,
    second: Option<(Tick, P)>,
}

impl<P: Handle> EarliestTwo<P> {
    fn offer(&mut self, expiry: Tick, p: P) {
        if self.first.is_none_or(|(first, _)| expiry < first) {
            self.second = self.first.replace((expiry, p));
        } else if self.second.is_none_or(|(second, _)| expiry < second) {
            self.second = Some((expiry, p));
        }
    }
}

// SAFETY: the promises of `Discipline`:
// 1. handles come from `insert` and from chains, which hold linked nodes only;
// 2. `unlink` and `pop_front` take a node out of its neighbours' links and its bucket's ends, and
//    `clear` forgets all buckets;
// 3. no user code is called; a bucket's number from a record is in range, because it was written
//    here; the `debug_assert!`s state invariants, which hold while the structure is whole;
// 4. the wheel and its records hold handles, ticks and numbers only.
unsafe impl<P: Handle, const BUCKETS: usize, const LEVELS: usize> Discipline<P>
    for Hierarchy<P, BUCKETS, LEVELS>
{
    type Record = WheelRecord<P, BUCKETS>;
    const NEW: Self = {
        assert!(BUCKETS.is_power_of_two() && BUCKETS >= 2 && BUCKETS <= 64, "2, 4, 8, 16, 32 or 64 buckets");
        assert!(LEVELS as u32 == BucketNumber::<BUCKETS>::LEVELS, "as many levels as cover 64 bits");
        Self { clock: 0, len: 0, cascade: None, quiet: 0, buckets: Buckets::NEW }
    };
    const ORDER: Order = Order::Exact;
    const MOVES: bool = true;

    #[inline]
    fn insert(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        self.len += 1;
        HeadChange::when(self.schedule(nodes, p, deadline, now))
    }

    #[inline(always)]
    fn remove(&mut self, nodes: &mut impl View<P, Self>, p: P) -> HeadChange {
        let decides = self.decides_next_wake(nodes, p);
        self.unlink(nodes, p);
        self.len -= 1;
        HeadChange::when(decides)
    }

    #[inline]
    fn reschedule(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let decided = self.decides_next_wake(nodes, p);
        self.unlink(nodes, p);
        let decides = self.schedule(nodes, p, deadline, now);
        HeadChange::when(decided || decides)
    }

    #[inline]
    fn head(&self, nodes: &impl View<P, Self>) -> Option<P> {
        let at = self.buckets.first()?;
        match self.cascade {
            None if at.level() == 0 => self.buckets.at(at).chain.head,
            None => self.earliest(nodes, at),
            Some(_) => self.earliest_two(nodes).0,
        }
    }

    fn second(&self, nodes: &impl View<P, Self>) -> Option<P> {
        self.earliest_two(nodes).1
    }

    fn any(&self, _: &impl View<P, Self>) -> Option<P> {
        self.buckets.at(self.buckets.first()?).chain.head
    }

    #[inline]
    fn expiry(&self, nodes: &impl View<P, Self>, p: P) -> Tick {
        nodes.record(p).expiry
    }

    #[inline]
    fn next_expiry(&self, nodes: &impl View<P, Self>) -> Option<Tick> {
        let at = self.buckets.first()?;
        if self.cascade.is_none() && !self.buckets.is_dirty(at) {
            Some(self.buckets.at(at).min)
        } else {
            self.head(nodes).map(|p| nodes.record(p).expiry)
        }
    }

    #[inline]
    fn next_wake(&self, _: &impl View<P, Self>) -> Option<Tick> {
        match self.cascade {
            Some(cascade) => Some(cascade.clock),
            None => self.buckets.first().map(|at| self.buckets.at(at).min),
        }
    }

    #[inline]
    fn due(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        match self.fast_head(now, *budget) {
            FastHead::NotDue => None,
            FastHead::Ready(at, expiry) => {
                self.clock = expiry;
                let handle = self.buckets.at(at).chain.head?;
                Some(Due { handle, deadline: expiry, expiry })
            }
            FastHead::Unknown => {
                let handle = self.cascade_to_head(nodes, now, budget)?;
                let expiry = nodes.record(handle).expiry;
                Some(Due { handle, deadline: expiry, expiry })
            }
        }
    }

    #[inline]
    fn rearm_due(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) {
        let at = nodes.record(p).bucket;
        if at.level() == 0 && self.cascade.is_none() {
            let _ = self.pop_front(nodes, at);
        } else {
            self.unlink(nodes, p);
        }
        let _ = self.schedule(nodes, p, deadline, now);
    }

    #[inline]
    fn is_quiet(&self, _: &impl View<P, Self>, now: Tick) -> bool {
        now < self.quiet
    }

    // In most polls nothing is due, so the check for this case is inlined.
    #[inline(always)]
    fn pop(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        if now < self.quiet { None } else { self.pop_after_quiet(nodes, now, budget) }
    }

    fn explain(&self, nodes: &impl View<P, Self>, p: P) -> Explanation {
        let (expiry, at) = (nodes.record(p).expiry, nodes.record(p).bucket);
        let Bucket { min, chain } = self.buckets.at(at);
        let moves_at = match self.cascade {
            Some(Cascade { from, clock }) if from == at => Some(clock),
            _ if at.level() == 0 || chain.single().is_some() => None,
            _ => Some(*min),
        };
        let whereabouts = Whereabouts::Bucket {
            level: at.level(),
            bucket: at.digit(),
            first: at.first_tick(expiry),
            last: at.last_tick(expiry),
            moves_at,
        };
        Explanation::new(expiry, expiry, whereabouts)
    }

    fn for_each(&self, nodes: &impl View<P, Self>, mut visit: impl FnMut(P)) {
        for at in self.buckets.iter() {
            let mut next = self.buckets.at(at).chain.head;
            while let Some(p) = next {
                // The link is read before the visit, because the visitor is allowed to free the
                // node's record.
                next = nodes.record(p).links().next;
                visit(p);
            }
        }
    }

    fn clear(&mut self) {
        *self = Self::NEW;
    }

    fn check(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation> {
        let mut left = len;
        for level in 0..LEVELS {
            self.buckets.check_level(level)?;
            for digit in 0..BUCKETS {
                self.check_bucket(nodes, BucketNumber::new(level, digit), &mut left)?;
            }
        }
        if self.buckets.levels.checked_shr(LEVELS as u32).is_some_and(|beyond| beyond != 0) {
            return Err(Violation::Occupied);
        }
        if let Some(Cascade { from, clock }) = self.cascade {
            // The bucket of a half-done cascade must be the earliest bucket of its level, this
            // level must be above 0, and the cascade's clock must be in the bucket's granule.
            let first = self.buckets.occupied[from.level()].trailing_zeros() as usize == from.digit();
            let inside = self.clock <= clock && BucketNumber::of(self.clock, clock) == from;
            if !first || from.level() == 0 || !inside {
                return Err(Violation::Bucket);
            }
        }
        if left == 0 && self.len == len { Ok(()) } else { Err(Violation::Count) }
    }
}

impl<P: Handle, const BUCKETS: usize, const LEVELS: usize> Hierarchy<P, BUCKETS, LEVELS> {
    /// Verifies one bucket. Subtracts the number of its nodes from `left`.
    fn check_bucket(
        &self,
        nodes: &impl View<P, Self>,
        at: BucketNumber<BUCKETS>,
        left: &mut usize,
    ) -> Result<(), Violation> {
        // The clock of a half-done cascade determines the buckets of the nodes that the cascade has
        // moved.
        let placed_by = match self.cascade {
            Some(Cascade { from, clock }) if at.level() < from.level() => clock,
            _ => self.clock,
        };
        // Nodes that a cascade still has to move are not earlier than the cascade's clock.
        let not_before = match self.cascade {
            Some(Cascade { from, clock }) if at == from => clock,
            _ => placed_by,
        };
        let mut earliest = None;
        self.buckets.at(at).chain.check(nodes, left, |record: &WheelRecord<P, BUCKETS>| {
            if record.bucket != at {
                return Err(Violation::Position);
            }
            if record.expiry < not_before {
                return Err(Violation::Order);
            }
            if record.expiry < self.quiet {
                return Err(Violation::Minimum);
            }
            if BucketNumber::of(placed_by, record.expiry) != at {
                return Err(Violation::Bucket);
            }
            earliest = Some(earliest.map_or(record.expiry, |earliest: Tick| earliest.min(record.expiry)));
            Ok(())
        })?;
        self.buckets.check_min(at, earliest)
    }
}
