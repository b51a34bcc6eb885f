//! The buckets, and what moves between them.

use crate::contract::{HeadChange, Order, Tick, Violation};
use crate::family::chain::{Chain, Chained, Links};
use crate::storage::{Discipline, Handle, Nodes, Popped, Record};

/// What a node of the wheel remembers.
#[derive(Debug)]
pub struct WheelRecord<P, const BUCKETS: usize> {
    pub(super) expiry: Tick,
    pub(super) links: Links<P>,
    pub(super) place: Place<BUCKETS>,
    stamp: u32,
}

impl<P: Handle, const BUCKETS: usize> Record<P> for WheelRecord<P, BUCKETS> {
    const IDLE: Self = Self { expiry: 0, links: Links::NONE, place: Place(0), stamp: 0 };

    #[inline]
    fn vacant(next: Option<P>) -> Self {
        Self { links: Links { next, prev: None }, ..Self::IDLE }
    }

    #[inline]
    fn next_vacant(&self) -> Option<P> {
        self.links.next
    }

    // In what would be padding.
    const STAMPED: bool = true;

    #[inline]
    fn stamp(&self) -> u32 {
        self.stamp
    }

    #[inline]
    fn set_stamp(&mut self, stamp: u32) {
        self.stamp = stamp;
    }
}

impl<P: Handle, const BUCKETS: usize> WheelRecord<P, BUCKETS> {
    /// Notes where the node stands.
    #[inline]
    fn put(&mut self, expiry: Tick, links: Links<P>, place: Place<BUCKETS>) {
        self.expiry = expiry;
        self.links = links;
        self.place = place;
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

/// A bucket by its number: its level's first, and its digit further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<const BUCKETS: usize>(u16);

impl<const BUCKETS: usize> Place<BUCKETS> {
    /// Bits of a digit.
    const BITS: u32 = BUCKETS.trailing_zeros();

    /// The bucket of a digit. At most 64 levels of 2 buckets, 11 of 64: the number is far below 2^16.
    #[inline]
    pub(super) const fn new(level: usize, digit: usize) -> Self {
        Self((level * BUCKETS + digit) as u16)
    }

    /// Where `expiry` belongs, seen from `elapsed`, which is not later: the highest digit in which they differ.
    #[inline]
    pub(super) const fn of(elapsed: Tick, expiry: Tick) -> Self {
        // Equal ones differ nowhere: level 0.
        let highest = u64::BITS - 1 - ((elapsed ^ expiry) | 1).leading_zeros();
        // In 16 bits, which both fit: rustc 1.95 (LLVM 22.1.2) for 32-bit x86 at opt-level 1 divides 32 bits by a multiplication whose lower half it
        // then takes for the level, and reads far outside of the wheel.
        let level = (highest as u16 / Self::BITS as u16) as u32;
        Self::new(level as usize, (expiry >> (level * Self::BITS)) as usize % BUCKETS)
    }

    #[inline]
    const fn number(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(super) const fn level(self) -> usize {
        self.number() / BUCKETS
    }

    #[inline]
    const fn digit(self) -> usize {
        self.number() % BUCKETS
    }

    /// Of the digit, in the level's words of marks.
    #[inline]
    const fn bit(self) -> u64 {
        1 << self.digit()
    }

    /// The first tick of the granule that `expiry` is in at this level.
    #[inline]
    const fn start(self, expiry: Tick) -> Tick {
        let shift = Self::BITS * self.level() as u32;
        expiry >> shift << shift
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket<P> {
    pub(super) min: Tick,
    pub(super) chain: Chain<P>,
}

/// A bucket that is being emptied into lower ones, which are seen from `base`: its `min` when it was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cascade<const BUCKETS: usize> {
    pub(super) from: Place<BUCKETS>,
    pub(super) base: Tick,
}

/// The wheel over handles `P`.
pub struct Hierarchy<P, const BUCKETS: usize, const LEVELS: usize> {
    pub(super) elapsed: Tick,
    len: usize,
    pub(super) cascade: Option<Cascade<BUCKETS>>,
    /// Which levels have an occupied bucket.
    pub(super) levels: u64,
    pub(super) occupied: [u64; LEVELS],
    pub(super) dirty: [u64; LEVELS],
    pub(super) buckets: [[Bucket<P>; BUCKETS]; LEVELS],
}

impl<P: Handle, const BUCKETS: usize, const LEVELS: usize> core::fmt::Debug
    for Hierarchy<P, BUCKETS, LEVELS>
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Wheel")
            .field("elapsed", &self.elapsed)
            .field("len", &self.len)
            .field("occupied", &self.occupied)
            .finish_non_exhaustive()
    }
}

/// So many nodes of a bucket are moved one after the other before both ends are taken at once: setting that up costs as much.
const FEW: usize = 8;

impl<P: Handle, const BUCKETS: usize, const LEVELS: usize> Hierarchy<P, BUCKETS, LEVELS> {
    #[inline]
    fn bucket(&self, at: Place<BUCKETS>) -> &Bucket<P> {
        &self.buckets.as_flattened()[at.number()]
    }

    #[inline]
    fn bucket_mut(&mut self, at: Place<BUCKETS>) -> &mut Bucket<P> {
        &mut self.buckets.as_flattened_mut()[at.number()]
    }

    /// The earliest occupied bucket.
    #[inline]
    fn first(&self) -> Option<Place<BUCKETS>> {
        let level = self.levels.trailing_zeros() as usize;
        let digit = self.occupied.get(level)?.trailing_zeros() as usize % BUCKETS;
        Some(Place::new(level, digit))
    }

    /// Every occupied bucket, the earliest first.
    fn places(&self) -> impl Iterator<Item = Place<BUCKETS>> + '_ {
        self.occupied.iter().enumerate().flat_map(|(level, &occupied)| {
            let mut left = occupied;
            core::iter::from_fn(move || {
                let digit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(Place::new(level, digit))
            })
        })
    }

    /// The node that leaves first of those in a bucket.
    fn earliest<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, nodes: &N, at: Place<BUCKETS>) -> Option<P> {
        // Of equals the first that came: `min_by_key` keeps it.
        self.bucket(at).chain.iter(nodes).min_by_key(|&p| nodes.record(p).expiry)
    }

    #[inline]
    fn is_dirty(&self, at: Place<BUCKETS>) -> bool {
        self.dirty[at.level()] & at.bit() != 0
    }

    /// Puts `p` behind all in its bucket, seen from `from`. Answers the bucket if its minimum, or what bounds it, is another now.
    #[inline]
    fn file<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &mut self,
        nodes: &mut N,
        p: P,
        expiry: Tick,
        from: Tick,
    ) -> Option<Place<BUCKETS>> {
        let at = Place::of(from, expiry);
        let lower = self.count_in(at, expiry);
        let links = self.bucket_mut(at).chain.push_back(nodes, p);
        nodes.record_mut(p).put(expiry, links, at);
        lower.then_some(at)
    }

    /// Marks the bucket as one that holds `expiry` too. Whether its minimum, or what bounds it, is another now.
    #[inline]
    fn count_in(&mut self, at: Place<BUCKETS>, expiry: Tick) -> bool {
        let bucket = &mut self.buckets.as_flattened_mut()[at.number()];
        // Not by the chain: part of it may be aside.
        if self.occupied[at.level()] & at.bit() == 0 {
            bucket.min = expiry;
            self.occupied[at.level()] |= at.bit();
            self.levels |= 1 << at.level();
            true
        } else if expiry <= bucket.min {
            // Not later than a bound of all the others: now the minimum is known.
            let lower = expiry < bucket.min;
            bucket.min = expiry;
            self.dirty[at.level()] &= !at.bit();
            lower
        } else {
            false
        }
    }

    /// Marks a bucket that has become empty.
    #[inline]
    fn mark_empty(&mut self, at: Place<BUCKETS>) {
        self.occupied[at.level()] &= !at.bit();
        self.dirty[at.level()] &= !at.bit();
        if self.occupied[at.level()] == 0 {
            self.levels &= !(1 << at.level());
        }
        if let Some(cascade) = self.cascade
            && cascade.from == at
        {
            // Now all nodes below are seen from `base`, and those above do not tell it from `elapsed`.
            self.elapsed = cascade.base;
            self.cascade = None;
        }
    }

    /// Files `p`, which is in no bucket. Whether the next wake-up is another now.
    #[inline]
    fn arrive<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &mut self,
        nodes: &mut N,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> bool {
        if self.levels == 0 {
            self.elapsed = now;
        }
        let lower = self.file(nodes, p, deadline.max(now), self.elapsed);
        let Some(cascade) = self.cascade else {
            return lower.is_some() && lower == self.first();
        };
        // `base` has come, so this is not earlier, and its bucket is not below `from`. In `from` itself it stands behind all that is
        // still to be moved, and moves some of them on: with none, arrivals could keep up with every budget and nothing would ever leave;
        // with one each, as many as are moved could join at each level, so twice as many at the next. With `LEVELS`, those that join
        // while no more arrive than a budget moves make the last cascade (1 + 1/LEVELS)^LEVELS times as long at the most, less than e.
        if nodes.record(p).place == cascade.from {
            self.move_down(nodes, cascade, &mut { LEVELS });
        }
        self.cascade.is_none()
    }

    /// Whether taking `p` out may change the next wake-up.
    #[inline]
    fn leads<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, nodes: &N, p: P) -> bool {
        let &WheelRecord { expiry, place, .. } = nodes.record(p);
        // A dirty bucket's bound may be that of a timer that has left; emptied, it gives the alarm to another.
        self.cascade.is_some()
            || self.first() == Some(place) && (expiry == self.bucket(place).min || self.is_dirty(place))
    }

    #[inline]
    fn unlink<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&mut self, nodes: &mut N, p: P) {
        let &WheelRecord { expiry, links, place: at, .. } = nodes.record(p);
        let bucket = self.bucket_mut(at);
        bucket.chain.unlink(nodes, links);
        if bucket.chain.is_empty() {
            self.mark_empty(at);
        } else if expiry == bucket.min && at.level() > 0 {
            self.dirty[at.level()] |= at.bit();
        }
    }

    /// Moves `elapsed` as far as `now` allows: not into the granule of the first bucket, whose earliest is `min`.
    #[inline]
    fn forward(&mut self, first: Place<BUCKETS>, min: Tick, now: Tick) {
        self.elapsed = self.elapsed.max(now.min(first.start(min).saturating_sub(1)));
    }

    /// Goes on with a cascade while there is budget.
    fn move_down<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &mut self,
        nodes: &mut N,
        Cascade { from, base }: Cascade<BUCKETS>,
        budget: &mut usize,
    ) {
        // Each node taken from the head is filed before the next is touched: the wheel is whole at every step.
        while *budget > 0
            && let Some(p) = self.bucket(from).chain.head
        {
            let &WheelRecord { expiry, links, .. } = nodes.record(p);
            self.bucket_mut(from).chain.unlink(nodes, links);
            self.file(nodes, p, expiry, base);
            *budget -= 1;
        }
        if self.bucket(from).chain.is_empty() {
            self.mark_empty(from);
        } else {
            self.dirty[from.level()] |= from.bit();
        }
    }

    /// Empties a bucket into lower ones without a stop. Answers how many nodes it held.
    fn cascade_whole<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &mut self,
        nodes: &mut N,
        from: Place<BUCKETS>,
        base: Tick,
    ) -> usize {
        let Chain { head, tail } = core::mem::replace(&mut self.bucket_mut(from).chain, Chain::EMPTY);
        self.mark_empty(from);
        self.elapsed = base;
        let mut moved = 0;
        let mut at = head;
        while let Some(p) = at {
            if moved == FEW
                && let Some(last) = tail
            {
                return moved + self.file_from_both_ends(nodes, p, last);
            }
            let &WheelRecord { expiry, links, .. } = nodes.record(p);
            self.file(nodes, p, expiry, base);
            moved += 1;
            at = links.next;
        }
        moved
    }

    /// Files the nodes from `front` to `back`, both included, seen from `elapsed`, from both ends at once. They come from one bucket,
    /// that of the digit of `elapsed` at some level. Answers how many they were.
    ///
    /// What comes from the front goes behind what its bucket holds. What comes from the back goes before what came
    /// from the back earlier, in a chain aside: one for each bucket of the level just below, and one
    /// for all that belongs deeper. When the walks have met, the chains aside go behind.
    fn file_from_both_ends<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &mut self,
        nodes: &mut N,
        front: P,
        back: P,
    ) -> usize {
        let mut aside = [Chain::EMPTY; BUCKETS];
        let mut deeper = Chain::EMPTY;
        let below = nodes.record(front).place.level().saturating_sub(1);
        let mut touched = 0u64;
        let mut moved = 0;
        let (mut front, mut back) = (front, back);
        // What lies between the two, and they themselves, is still to be filed.
        loop {
            let &WheelRecord { expiry, links, .. } = nodes.record(front);
            if front == back {
                self.file(nodes, front, expiry, self.elapsed);
                moved += 1;
                break;
            }
            let &WheelRecord { expiry: last, links: Links { prev, .. }, .. } = nodes.record(back);
            self.file(nodes, front, expiry, self.elapsed);
            let at = Place::of(self.elapsed, last);
            let chain = if at.level() == below {
                touched |= at.bit();
                self.count_in(at, last);
                &mut aside[at.digit()]
            } else {
                &mut deeper
            };
            let links_of_back = chain.push_front(nodes, back);
            nodes.record_mut(back).put(last, links_of_back, at);
            moved += 2;
            let (Some(next), Some(prev)) = (links.next, prev) else { break };
            if next == back {
                break;
            }
            (front, back) = (next, prev);
        }
        while touched != 0 {
            let digit = touched.trailing_zeros() as usize % BUCKETS;
            touched &= touched - 1;
            self.buckets[below][digit].chain.append(nodes, aside[digit]);
        }
        let mut at = deeper.head;
        while let Some(p) = at {
            let &WheelRecord { expiry, links, .. } = nodes.record(p);
            self.file(nodes, p, expiry, self.elapsed);
            at = links.next;
        }
        moved
    }

    /// Empties buckets until the head stands alone in its own or at level 0. Answers it if it is due.
    #[inline(never)]
    fn bring_down<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &mut self,
        nodes: &mut N,
        now: Tick,
        budget: &mut usize,
    ) -> Option<P> {
        while *budget > 0 {
            if let Some(cascade) = self.cascade {
                self.move_down(nodes, cascade, budget);
                continue;
            }
            let Some(at) = self.first() else { break };
            let Bucket { min, chain } = *self.bucket(at);
            if min > now {
                self.forward(at, min, now);
                break;
            }
            if at.level() == 0 {
                self.elapsed = min;
                return chain.head;
            }
            if let Some(alone) = chain.single() {
                let expiry = nodes.record(alone).expiry;
                if expiry <= now {
                    // It need not fall to level 0 to be the head.
                    return Some(alone);
                }
                self.bucket_mut(at).min = expiry;
                self.dirty[at.level()] &= !at.bit();
            } else if *budget >= self.len {
                *budget -= self.cascade_whole(nodes, at, min);
            } else {
                self.cascade = Some(Cascade { from: at, base: min });
            }
        }
        None
    }

    /// The two that leave first. Apart from what is usual, which is inlined without it.
    #[inline(never)]
    fn front<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, nodes: &N) -> (Option<P>, Option<P>) {
        let mut two = EarliestTwo::default();
        // While a cascade is half done, all below its bucket shares a granule with what is left in that.
        let together = self.cascade.map_or(0, |cascade| cascade.from.level());
        for at in self.places() {
            let whole = self.cascade.is_none_or(|cascade| at.level() > together || at == cascade.from);
            for p in self.bucket(at).chain.iter(nodes).take(if at.level() == 0 { 2 } else { usize::MAX }) {
                two.offer(nodes.record(p).expiry, p);
            }
            if whole && two.second.is_some() {
                break;
            }
        }
        (two.first.map(|(_, p)| p), two.second.map(|(_, p)| p))
    }
}

/// The earliest two of what was offered; among equals those that came first.
#[derive(Debug)]
struct EarliestTwo<P> {
    first: Option<(Tick, P)>,
    second: Option<(Tick, P)>,
}

impl<P> Default for EarliestTwo<P> {
    fn default() -> Self {
        Self { first: None, second: None }
    }
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

// SAFETY: the promises of `Discipline`, 1. handles come from `insert` and from chains, which hold linked nodes only; 2. `unlink`
// takes a node out of its neighbours' links and its bucket's ends, and `clear` forgets all buckets; 3. no user code is called
// at all, and what is indexed by a record's number is in range, because the record was written with it here; 4. it holds
// handles, ticks and numbers only.
unsafe impl<P: Handle, const BUCKETS: usize, const LEVELS: usize> Discipline<P>
    for Hierarchy<P, BUCKETS, LEVELS>
{
    type Record = WheelRecord<P, BUCKETS>;
    const NEW: Self = {
        assert!(BUCKETS.is_power_of_two() && BUCKETS >= 2 && BUCKETS <= 64, "2, 4, 8, 16, 32 or 64 buckets");
        assert!(
            LEVELS as u32 == u64::BITS.div_ceil(Place::<BUCKETS>::BITS),
            "as many levels as cover 64 bits"
        );
        Self {
            elapsed: 0,
            len: 0,
            cascade: None,
            levels: 0,
            occupied: [0; LEVELS],
            dirty: [0; LEVELS],
            buckets: [[Bucket { min: 0, chain: Chain::EMPTY }; BUCKETS]; LEVELS],
        }
    };
    const ORDER: Order = Order::Exact;
    const MOVES: bool = true;

    #[inline]
    fn insert<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &mut self,
        nodes: &mut N,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        self.len += 1;
        HeadChange::when(self.arrive(nodes, p, deadline, now))
    }

    #[inline]
    fn remove<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&mut self, nodes: &mut N, p: P) -> HeadChange {
        let leads = self.leads(nodes, p);
        self.unlink(nodes, p);
        self.len -= 1;
        HeadChange::when(leads)
    }

    #[inline]
    fn reschedule<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &mut self,
        nodes: &mut N,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        let led = self.leads(nodes, p);
        self.unlink(nodes, p);
        let arrives_first = self.arrive(nodes, p, deadline, now);
        HeadChange::when(led || arrives_first)
    }

    #[inline]
    fn head<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, nodes: &N) -> Option<P> {
        let at = self.first()?;
        match self.cascade {
            None if at.level() == 0 => self.bucket(at).chain.head,
            None => self.earliest(nodes, at),
            Some(_) => self.front(nodes).0,
        }
    }

    fn second<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, nodes: &N) -> Option<P> {
        self.front(nodes).1
    }

    fn any<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, _: &N) -> Option<P> {
        self.bucket(self.first()?).chain.head
    }

    #[inline]
    fn expiry<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, nodes: &N, p: P) -> Tick {
        nodes.record(p).expiry
    }

    #[inline]
    fn next_expiry<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, nodes: &N) -> Option<Tick> {
        let at = self.first()?;
        if self.cascade.is_none() && !self.is_dirty(at) {
            Some(self.bucket(at).min)
        } else {
            self.head(nodes).map(|p| nodes.record(p).expiry)
        }
    }

    #[inline]
    fn next_wake<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, _: &N) -> Option<Tick> {
        match self.cascade {
            Some(cascade) => Some(cascade.base),
            None => self.first().map(|at| self.bucket(at).min),
        }
    }

    #[inline]
    fn due<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &mut self,
        nodes: &mut N,
        now: Tick,
        budget: &mut usize,
    ) -> Option<P> {
        // What is usual stands apart from the loop, to be inlined: nothing is due and the clock need not follow, or the head is at level 0.
        if *budget > 0 && self.cascade.is_none() {
            let at = self.first()?;
            let &Bucket { min, chain } = self.bucket(at);
            if min > now && now.wrapping_sub(self.elapsed) < BUCKETS as Tick {
                return None;
            }
            if min <= now && at.level() == 0 {
                self.elapsed = min;
                return chain.head;
            }
        }
        self.bring_down(nodes, now, budget)
    }

    #[inline]
    fn pop<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &mut self,
        nodes: &mut N,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Popped<P>> {
        let p = self.due(nodes, now, budget)?;
        let expiry = nodes.record(p).expiry;
        self.unlink(nodes, p);
        self.len -= 1;
        // If it was alone in its bucket, that granule is empty now and can be entered; if not, it is the granule of `elapsed`.
        self.elapsed = expiry;
        Some(Popped { handle: p, deadline: expiry, expiry })
    }

    fn for_each<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, nodes: &N, mut visit: impl FnMut(P)) {
        for at in self.places() {
            let mut next = self.bucket(at).chain.head;
            while let Some(p) = next {
                // Read first: the visitor may hand the node's record back.
                next = nodes.record(p).links.next;
                visit(p);
            }
        }
    }

    fn clear(&mut self) {
        *self = Self::NEW;
    }

    fn check<N: Nodes<P, WheelRecord<P, BUCKETS>>>(&self, nodes: &N, len: usize) -> Result<(), Violation> {
        let mut left = len;
        for level in 0..LEVELS {
            if (self.occupied[level] != 0) != (self.levels >> level & 1 != 0) {
                return Err(Violation::Occupied);
            }
            for digit in 0..BUCKETS {
                let at = Place::new(level, digit);
                if self.bucket(at).chain.is_empty() == (self.occupied[level] & at.bit() != 0) {
                    return Err(Violation::Occupied);
                }
                self.check_bucket(nodes, at, &mut left)?;
            }
        }
        if self.levels.checked_shr(LEVELS as u32).is_some_and(|beyond| beyond != 0) {
            return Err(Violation::Occupied);
        }
        if let Some(Cascade { from, base }) = self.cascade {
            // The earliest of its level, above the lowest, and entered at a tick of its own.
            let first = self.occupied[from.level()].trailing_zeros() as usize == from.digit();
            if !first || from.level() == 0 || base < self.elapsed || Place::of(self.elapsed, base) != from {
                return Err(Violation::Bucket);
            }
        }
        if left == 0 && self.len == len { Ok(()) } else { Err(Violation::Count) }
    }
}

impl<P: Handle, const BUCKETS: usize, const LEVELS: usize> Hierarchy<P, BUCKETS, LEVELS> {
    /// Verifies one bucket. Its nodes are taken from `left`.
    fn check_bucket<N: Nodes<P, WheelRecord<P, BUCKETS>>>(
        &self,
        nodes: &N,
        at: Place<BUCKETS>,
        left: &mut usize,
    ) -> Result<(), Violation> {
        let bucket = self.bucket(at);
        let seen_from = match self.cascade {
            Some(Cascade { from, base }) if at.level() < from.level() => base,
            _ => self.elapsed,
        };
        let not_before = match self.cascade {
            Some(Cascade { from, base }) if at == from => base,
            _ => seen_from,
        };
        let mut earliest = None;
        bucket.chain.check(nodes, left, |record: &WheelRecord<P, BUCKETS>| {
            if record.place != at {
                return Err(Violation::Position);
            }
            if record.expiry < not_before {
                return Err(Violation::Order);
            }
            if Place::of(seen_from, record.expiry) != at {
                return Err(Violation::Bucket);
            }
            earliest = Some(earliest.map_or(record.expiry, |earliest: Tick| earliest.min(record.expiry)));
            Ok(())
        })?;
        let dirty = self.is_dirty(at);
        let right = match earliest {
            Some(earliest) if dirty => bucket.min <= earliest && at.level() > 0,
            Some(earliest) => bucket.min == earliest,
            None => !dirty,
        };
        if right { Ok(()) } else { Err(Violation::Minimum) }
    }
}
