//! A timing wheel that never cascades: the farther a timer, the coarser its bucket, and it leaves when its bucket ends.
//!
//! # Invariants
//! `clk` is the tick up to which the wheel has been told the time. *X(deadline, level)* is
//! [`Geometry::bucket_end`]: the deadline rounded up to the end of its granule at the level.
//! 1. Each bucket and the due list is linked both ways ([`Violation::BackLink`]) between its head and its tail
//!    ([`Violation::Head`]), and together they hold every pending node once ([`Violation::Count`]).
//! 2. A bit of a level's bitmap is set exactly when its bucket holds a node ([`Violation::Occupied`]).
//! 3. The level and index that a node has noted are those of its bucket ([`Violation::Position`]); those of a node in the due list are the
//!    bucket it was moved from, or none.
//! 4. A node in a bucket of level n has its expiry X(deadline, n) later than `clk`, and within one turn of the level; a node in the due list
//!    has its expiry at or before `clk` ([`Violation::Bucket`]). So a level and a deadline say where a node is.
//! 5. Expiries never decrease along the due list ([`Violation::Order`]).
//! 6. No bucket ends before `quiet_until` ([`Violation::Minimum`]).
//! 7. A far node waits in far bucket k, the highest bit in which `clk` and its last granule (its deadline rounded *down* at the top level)
//!    differ; or, while `clk` stands at the end of that bucket, until it is re-filed ([`Violation::Bucket`]).
//!
//! # Layout
//! ```text
//!   level 0   [ 1 tick  x 64 ]  delays     0 ..        due list:  [e] <-> [e] <-> [e]    sorted by expiry
//!   level 1   [ 8 ticks x 64 ]  delays    63 ..
//!   level 2   [ 64      x 64 ]  delays   504 ..        bucket of E at level n: (E >> 3n) + 1, modulo 64
//!     ...                                              ends at:                ((E >> 3n) + 1) << 3n
//!   level 8   [ 2^24    x 64 ]  delays  2^26 * 1.97 ..
//!   far       [ one bucket for each power of two: re-filed at the latest when the top level can take them ]
//! ```
//! When the time comes to the end of buckets, they are moved to the due list whole, in the order of their ends, and the coarser before the finer
//! where ends are equal. A node's expiry is fixed when it is filed: nothing moves from level to level.
//!
//! *Why no bucket is met a turn too early or too late.* At level n a delay is less than `(BUCKETS - 1)` granules, so its bucket number
//! `(E >> SHIFT n) + 1` is among the `BUCKETS` numbers that follow `clk >> SHIFT n`: no two of them share an index, and the bucket's end
//! follows from `clk` and the index.
//!
//! *Why a far node is never late.* With k as in invariant 7 its last granule L has bit k and `clk` has not, and above it they
//! are equal. Its bucket ends where bit k of `clk` turns, at L with all bits below k cleared: not after L, hence before the expiry, which is
//! after L. There it goes into the top level, or differs from `clk` in a lower bit only: a timer is re-filed less than 64 times however far it
//! is. Nodes with the same expiry have the same L, so they are in the same far bucket, in the order of their arrival.
//!
//! # Order
//! By expiry. Within a bucket first in first out; among buckets that end together from the highest level to the lowest; a far node
//! stands behind those that are in its top bucket already. A timer that was due when it was inserted stands behind all that were due then.
//!
//! # Costs
//! L is the number of levels (9), B that of buckets that end meanwhile, F that of timers in the first far bucket.
//!
//! | operation | worst | usual | cache lines |
//! |---|---|---|---|
//! | insert | O(L (B + 1)) once a bucket ends + far buckets that end meanwhile are re-filed, whatever their size | O(1), O(L) into an empty bucket | 2 written |
//! | remove | O(1), O(L) when its bucket becomes empty | O(1) | 3 |
//! | reschedule within the bucket | O(1), writes the deadline alone | O(1) | 1 |
//! | reschedule elsewhere | as remove + insert | O(1) | as remove + insert |
//! | peek, second, next_expiry | O(L + F) | O(L); O(1) when one is due | 1 to 3 |
//! | next_wake | O(L) | O(L) | bitmaps only |
//! | pop | O(1), after O(L (B + 1)) when the time has moved | O(1) | 2 |
//! | advance, k expired | O(k + L (B + 1)) and the re-filed ones, each of which takes one of the budget | O(k + L) | 1 to 2 per timer |
//!
//! Bytes per timer: slab 24 + slot (8 for a `u32`), hook 40 (64-bit). The queue itself takes 5 KiB (slab) or 10 KiB (hook). It never allocates.
//!
//! # Choose when
//! - timers are time-outs: many, mostly removed or re-armed before they expire, and late by 8/63 of the delay is early enough;
//! - the worst case of insert, remove and pop must not depend on how many are pending, unless a far bucket ends: its timers are re-filed.
//!
//! # Avoid when
//! - deadlines are meant to the tick: lateness is up to 8 ticks from a delay of 63, 64 from 504, and so on ([`Geometry::lateness`]);
//! - peek or next_expiry is asked for often while nothing but far timers is pending: they look at each of those.
//!
//! # References
//! Linux, kernel/time/timer.c since 4.8 (levels, starts, rounding up; clamps far timers where this one re-files them); Gleixner,
//! "timers: Switch to a non-cascading wheel", 2016; Varghese & Lauck, SOSP 1987, scheme 7 without migration.

use core::{fmt, mem};

pub use self::geometry::Geometry;
use super::chain::{Chain, Chained, Links};
use crate::contract::{HeadChange, Order, Tick, Violation};
use crate::storage::{Discipline, Family, Handle, Nodes, Popped, Record, Shape};

mod geometry;

/// The coarse wheel, as the type argument of a queue: `DEPTH` levels of `BUCKETS` buckets, each level `1 << SHIFT` times as coarse as the one
/// below. See [`Geometry`] for what may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct CoarseWheel<const BUCKETS: usize = 64, const SHIFT: u32 = 3, const DEPTH: usize = 9>;

impl<const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Family
    for CoarseWheel<BUCKETS, SHIFT, DEPTH>
{
    type Of<P: Handle> = Coarse<P, BUCKETS, SHIFT, DEPTH>;
    const ID: &'static str = "coarse";
    const SHAPE: Shape = Shape::Wheel;
    const DEFAULT_TICK_NS: u64 = 1_000_000;
}

/// Far buckets: one for each bit of a tick.
const POWERS: usize = 64;
/// The level of a node in a far bucket.
const FAR: u8 = u8::MAX - 1;
/// The level of a node that was due when it was filed.
const NONE: u8 = u8::MAX;

/// What a node of the wheel remembers.
#[derive(Debug)]
pub struct CoarseRecord<P> {
    /// `max(deadline, now)` of the last (re)insert.
    deadline: Tick,
    links: Links<P>,
    /// The level it was filed in, [`FAR`] or [`NONE`].
    level: u8,
    /// Its bucket there.
    index: u8,
}

impl<P: Handle> Record<P> for CoarseRecord<P> {
    const IDLE: Self = Self { deadline: 0, links: Links::NONE, level: NONE, index: 0 };

    fn vacant(next: Option<P>) -> Self {
        Self { links: Links { next, prev: None }, ..Self::IDLE }
    }

    fn next_vacant(&self) -> Option<P> {
        self.links.next
    }
}

impl<P> Chained<P> for CoarseRecord<P> {
    #[inline]
    fn links(&self) -> &Links<P> {
        &self.links
    }

    #[inline]
    fn links_mut(&mut self) -> &mut Links<P> {
        &mut self.links
    }
}

#[cfg(feature = "alloc")]
const _: () = assert!(size_of::<CoarseRecord<crate::storage::slab::Idx>>() <= 24);

/// The list that a node is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Due,
    Level(usize, usize),
    Far(usize),
}

/// The coarse wheel over handles `P`.
pub struct Coarse<P, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> {
    /// The time so far: buckets that end at or before it have been moved to `due`. It stands still at the end of a far bucket
    /// until that is re-filed; that bucket's bit is then set in `clk` and in `far_occupied`, and no other's is.
    clk: Tick,
    /// No bucket ends before this, so that telling the time up to here is moving `clk`. It may be too early.
    quiet_until: Tick,
    due: Chain<P>,
    occupied: [u64; DEPTH],
    far_occupied: u64,
    levels: [[Chain<P>; BUCKETS]; DEPTH],
    far: [Chain<P>; POWERS],
}

impl<P: fmt::Debug, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> fmt::Debug
    for Coarse<P, BUCKETS, SHIFT, DEPTH>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coarse")
            .field("clk", &self.clk)
            .field("due", &self.due)
            .field("occupied", &self.occupied)
            .field("far_occupied", &self.far_occupied)
            .finish_non_exhaustive()
    }
}

/// A bucket that is occupied, and where it ends.
#[derive(Clone, Copy, Debug)]
struct Ending {
    end: Tick,
    level: usize,
    index: usize,
}

impl<P: Handle, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Coarse<P, BUCKETS, SHIFT, DEPTH> {
    /// The level in which `p`, which is linked, is filed: its bucket then ends at
    /// [`bucket_end`](Geometry::bucket_end)`(deadline, level)`. `None` when it is due, far, or about to be re-filed. O(1).
    ///
    /// For storages that re-arm a timer within its granule on their own.
    #[inline]
    pub fn level<N: Nodes<P, CoarseRecord<P>>>(&self, nodes: &N, p: P) -> Option<u8> {
        match self.place(nodes.record(p)) {
            Place::Level(level, _) => u8::try_from(level).ok(),
            Place::Due | Place::Far(_) => None,
        }
    }

    /// As [`insert`](Discipline::insert), but a deadline that has come is filed one tick ahead: it expires at `now + 1`, hence never
    /// in the pass that is under way. At `now = u64::MAX` no tick follows: there it is due at once.
    #[inline]
    pub fn insert_behind<N: Nodes<P, CoarseRecord<P>>>(
        &mut self,
        nodes: &mut N,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        if deadline > now || now == Tick::MAX {
            return self.insert(nodes, p, deadline, now);
        }
        let moved = self.tell(nodes, now);
        let filed =
            self.file(nodes, p, now, Place::Level(0, Geometry::<BUCKETS, SHIFT, DEPTH>::index(now, 0)));
        HeadChange::when(moved || filed.is_changed())
    }

    #[inline]
    fn place(&self, record: &CoarseRecord<P>) -> Place {
        match record.level {
            NONE => Place::Due,
            FAR => Place::Far(record.index.into()),
            // All buckets that end at or before `clk` have been moved.
            _ if Self::expiry_of(record) <= self.clk => Place::Due,
            level => Place::Level(level.into(), record.index.into()),
        }
    }

    #[inline]
    fn expiry_of(record: &CoarseRecord<P>) -> Tick {
        match record.level {
            NONE => record.deadline,
            level => {
                let level = usize::from(level).min(DEPTH - 1);
                Geometry::<BUCKETS, SHIFT, DEPTH>::bucket_end(record.deadline, level)
            }
        }
    }

    /// The first bucket of the levels to end; the highest level of those that end together.
    #[inline]
    fn first_ending(&self) -> Option<Ending> {
        let mut first: Option<Ending> = None;
        for level in (0..DEPTH).rev() {
            let found = Geometry::<BUCKETS, SHIFT, DEPTH>::first(self.occupied[level], self.clk, level);
            if let Some((index, end)) = found
                && first.is_none_or(|first| end < first.end)
            {
                first = Some(Ending { end, level, index });
            }
        }
        first
    }

    /// Where far bucket `power` ends: where that bit of `clk` turns, or `clk` itself while it is being re-filed.
    #[inline]
    fn far_end(&self, power: usize) -> Tick {
        ((self.clk >> power) | 1) << power
    }

    /// The far bucket that ends first. One that is being re-filed comes before all others; of these the lowest, since it ends within
    /// the granule of `clk` that each higher one waits for the end of.
    #[inline]
    fn first_far(&self) -> Option<usize> {
        let being_refiled = self.far_occupied & self.clk;
        let among = if being_refiled == 0 { self.far_occupied } else { being_refiled };
        (among != 0).then(|| among.trailing_zeros() as usize)
    }

    /// The earliest end of any bucket: no timer that is not yet due expires before it.
    #[inline]
    fn first_end(&self) -> Option<Tick> {
        let far = self.first_far().map(|power| self.far_end(power));
        let end = self.first_ending().map(|first| first.end);
        match (end, far) {
            (Some(end), Some(far)) => Some(end.min(far)),
            (end, far) => end.or(far),
        }
    }

    /// Links `p` at the tail of `place`.
    #[inline]
    fn file<N: Nodes<P, CoarseRecord<P>>>(
        &mut self,
        nodes: &mut N,
        p: P,
        deadline: Tick,
        place: Place,
    ) -> HeadChange {
        let (level, index) = match place {
            Place::Due => (NONE, 0),
            Place::Level(level, index) => (level as u8, index as u8),
            Place::Far(power) => (FAR, power as u8),
        };
        let nothing_due = self.due.is_empty();
        let (bucket, end) = match place {
            Place::Due => (&mut self.due, None),
            Place::Level(level, index) => {
                self.occupied[level] |= 1 << index;
                let end = Geometry::<BUCKETS, SHIFT, DEPTH>::bucket_end(deadline, level);
                (&mut self.levels[level][index], Some(end))
            }
            Place::Far(power) => {
                self.far_occupied |= 1 << power;
                let end = self.far_end(power);
                (&mut self.far[power], Some(end))
            }
        };
        let opened = bucket.is_empty();
        self.quiet_until = self.quiet_until.min(end.unwrap_or(Tick::MAX));
        let links = bucket.push_back(nodes, p);
        *nodes.record_mut(p) = CoarseRecord { deadline, links, level, index };
        HeadChange::when(opened && nothing_due && (end.is_none() || self.first_end() == end))
    }

    /// Takes `p` out of the list it is in, which is `place`.
    #[inline]
    fn unlink<N: Nodes<P, CoarseRecord<P>>>(&mut self, nodes: &mut N, p: P, place: Place) {
        let links = nodes.record(p).links;
        match place {
            Place::Due => self.due.unlink(nodes, links),
            Place::Level(level, index) => {
                let bucket = &mut self.levels[level][index];
                bucket.unlink(nodes, links);
                self.occupied[level] &= !(u64::from(bucket.is_empty()) << index);
            }
            Place::Far(power) => {
                let bucket = &mut self.far[power];
                bucket.unlink(nodes, links);
                self.far_occupied &= !(u64::from(bucket.is_empty()) << power);
            }
        }
    }

    /// Where a timer belongs whose last granule is still ahead, and whose level is not finer than the top.
    #[inline]
    fn top_or_far(&self, deadline: Tick) -> Place {
        let top = Geometry::<BUCKETS, SHIFT, DEPTH>::TOP;
        if Geometry::<BUCKETS, SHIFT, DEPTH>::in_reach(deadline, self.clk) {
            Place::Level(top, Geometry::<BUCKETS, SHIFT, DEPTH>::index(deadline, top))
        } else {
            Place::Far(Geometry::<BUCKETS, SHIFT, DEPTH>::power(deadline, self.clk))
        }
    }

    /// Moves all buckets that end at or before `until` to the due list, and `clk` there.
    #[inline]
    fn collect<N: Nodes<P, CoarseRecord<P>>>(&mut self, nodes: &mut N, until: Tick) {
        while let Some(Ending { end, level, index }) = self.first_ending()
            && end <= until
        {
            let bucket = mem::replace(&mut self.levels[level][index], Chain::EMPTY);
            self.due.append(nodes, bucket);
            self.occupied[level] &= !(1 << index);
        }
        self.clk = self.clk.max(until);
    }

    /// Moves `clk` towards `now`, as far as `budget` allows far timers to be re-filed on the way; with `enough` no farther than to where
    /// something is due. Whether far timers were re-filed.
    #[inline]
    fn catch_up<N: Nodes<P, CoarseRecord<P>>>(
        &mut self,
        nodes: &mut N,
        now: Tick,
        budget: &mut usize,
        enough: bool,
    ) -> bool {
        let mut moved = false;
        loop {
            let far =
                self.first_far().map(|power| (power, self.far_end(power))).filter(|&(_, end)| end <= now);
            self.collect(nodes, far.map_or(now, |(_, end)| end));
            let Some((power, _)) = far else {
                self.quiet_until = self.first_end().unwrap_or(Tick::MAX);
                return moved;
            };
            if enough && !self.due.is_empty() {
                return moved;
            }
            while let Some(p) = self.far[power].head {
                let Some(left) = budget.checked_sub(1) else { return moved };
                *budget = left;
                moved = true;
                let deadline = nodes.record(p).deadline;
                self.unlink(nodes, p, Place::Far(power));
                let _ = self.file(nodes, p, deadline, self.top_or_far(deadline));
            }
        }
    }

    /// Brings `clk` to `now`, whatever that takes. Whether far timers were re-filed.
    #[inline]
    fn tell<N: Nodes<P, CoarseRecord<P>>>(&mut self, nodes: &mut N, now: Tick) -> bool {
        if now < self.quiet_until {
            self.clk = self.clk.max(now);
            return false;
        }
        let mut unlimited = usize::MAX;
        (now > self.clk || self.far_occupied & self.clk != 0)
            && self.catch_up(nodes, now, &mut unlimited, false)
    }

    /// The node that leaves first, were `without` not there.
    fn first<N: Nodes<P, CoarseRecord<P>>>(&self, nodes: &N, without: Option<P>) -> Option<P> {
        let skip = |p: P| if Some(p) == without { nodes.record(p).links.next } else { Some(p) };
        if let Some(p) = self.due.head.and_then(skip) {
            return Some(p);
        }
        let mut first: Option<(Ending, P)> = None;
        for level in (0..DEPTH).rev() {
            let mut occupied = self.occupied[level];
            while let Some((index, end)) = Geometry::<BUCKETS, SHIFT, DEPTH>::first(occupied, self.clk, level)
            {
                if let Some(p) = self.levels[level][index].head.and_then(skip) {
                    if first.is_none_or(|(first, _)| end < first.end) {
                        first = Some((Ending { end, level, index }, p));
                    }
                    break;
                }
                occupied &= !(1 << index);
            }
        }
        match (first, self.first_of_far(nodes, without, first.map(|(first, _)| first.end))) {
            (Some((first, _)), Some((expiry, far)))
                if expiry < first.end || expiry == first.end && first.level + 1 < DEPTH =>
            {
                Some(far)
            }
            (Some((_, p)), _) | (None, Some((_, p))) => Some(p),
            (None, None) => None,
        }
    }

    /// The far node with the earliest expiry, were `without` not there, and that expiry; of equal ones the one that will be re-filed
    /// first. `None` also when all of them expire after `before`.
    fn first_of_far<N: Nodes<P, CoarseRecord<P>>>(
        &self,
        nodes: &N,
        without: Option<P>,
        before: Option<Tick>,
    ) -> Option<(Tick, P)> {
        let mut first: Option<(Tick, P)> = None;
        let mut scan = |power: usize| {
            // Each node of the bucket expires after the bucket's end.
            if before.is_none_or(|before| self.far_end(power) < before) {
                for p in self.far[power].iter(nodes) {
                    let expiry = Self::expiry_of(nodes.record(p));
                    if Some(p) != without && first.is_none_or(|(earliest, _)| expiry < earliest) {
                        first = Some((expiry, p));
                    }
                }
            }
            first.is_some()
        };
        // All of a lower bucket expire before the nodes of a higher one. Those that are being re-filed may be anywhere, but go
        // behind their equals.
        let bits = |map: u64| (0..POWERS).filter(move |&power| (map >> power) & 1 == 1);
        let _ = bits(self.far_occupied & !self.clk).any(&mut scan);
        let _ = bits(self.far_occupied & self.clk).any(&mut scan);
        first
    }
}

// SAFETY: the promises of `Discipline`, 1. handles come from `insert` and from the ends and links of lists, which hold linked nodes;
// 2. `unlink` joins the neighbours (or the ends of the one list that `place` names, by invariants 3, 4 and 7) over the node, which nothing else
// names, `clear` forgets the ends of all lists; 3. no user code is called at all, and places in arrays are taken modulo
// their length or from records that were written so; 4. it holds handles, ticks and numbers only.
unsafe impl<P: Handle, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Discipline<P>
    for Coarse<P, BUCKETS, SHIFT, DEPTH>
{
    type Record = CoarseRecord<P>;
    const NEW: Self = {
        let () = Geometry::<BUCKETS, SHIFT, DEPTH>::VALID;
        Self {
            clk: 0,
            quiet_until: 0,
            due: Chain::EMPTY,
            occupied: [0; DEPTH],
            far_occupied: 0,
            levels: [[Chain::EMPTY; BUCKETS]; DEPTH],
            far: [Chain::EMPTY; POWERS],
        }
    };
    const ORDER: Order = Order::Granular { lateness: Geometry::<BUCKETS, SHIFT, DEPTH>::lateness };
    const MOVES: bool = true;

    #[inline]
    fn insert<N: Nodes<P, Self::Record>>(
        &mut self,
        nodes: &mut N,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        let moved = self.tell(nodes, now);
        let deadline = deadline.max(now);
        let place = match Geometry::<BUCKETS, SHIFT, DEPTH>::level(deadline - now) {
            _ if deadline == now => Place::Due,
            Some(level) => Place::Level(level, Geometry::<BUCKETS, SHIFT, DEPTH>::index(deadline, level)),
            None => self.top_or_far(deadline),
        };
        let filed = self.file(nodes, p, deadline, place);
        HeadChange::when(moved || filed.is_changed())
    }

    #[inline]
    fn remove<N: Nodes<P, Self::Record>>(&mut self, nodes: &mut N, p: P) -> HeadChange {
        let record = nodes.record(p);
        let place = self.place(record);
        let (end, emptied) = match place {
            Place::Due => {
                let (expiry, first) = (Self::expiry_of(record), record.links.prev.is_none());
                self.unlink(nodes, p, place);
                return HeadChange::when(first && self.next_wake(nodes) != Some(expiry));
            }
            Place::Level(level, index) => {
                let end = Self::expiry_of(record);
                self.unlink(nodes, p, place);
                (end, self.levels[level][index].is_empty())
            }
            Place::Far(power) => {
                let end = self.far_end(power);
                self.unlink(nodes, p, place);
                (end, self.far[power].is_empty())
            }
        };
        HeadChange::when(emptied && self.due.is_empty() && self.first_end().is_none_or(|first| first > end))
    }

    #[inline]
    fn reschedule<N: Nodes<P, Self::Record>>(
        &mut self,
        nodes: &mut N,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        // A far timer may have come into reach of the top level meanwhile.
        let moved = nodes.record(p).level == FAR && self.tell(nodes, now);
        let record = nodes.record(p);
        if let Place::Level(level, _) = self.place(record)
            && deadline > now
            && Geometry::<BUCKETS, SHIFT, DEPTH>::same_bucket(record.deadline, deadline, level)
            && Geometry::<BUCKETS, SHIFT, DEPTH>::level(deadline - now).is_none_or(|fresh| fresh >= level)
        {
            // It expires when it did, which is as early as the bound for the new delay asks for. The bucket ends after `now`, so it stays
            // where it is also when `clk` catches up.
            nodes.record_mut(p).deadline = deadline;
            return HeadChange::when(moved);
        }
        let removed = self.remove(nodes, p);
        let inserted = self.insert(nodes, p, deadline, now);
        HeadChange::when(moved || removed.is_changed() || inserted.is_changed())
    }

    #[inline]
    fn head<N: Nodes<P, Self::Record>>(&self, nodes: &N) -> Option<P> {
        self.first(nodes, None)
    }

    #[inline]
    fn second<N: Nodes<P, Self::Record>>(&self, nodes: &N) -> Option<P> {
        self.first(nodes, Some(self.head(nodes)?))
    }

    #[inline]
    fn any<N: Nodes<P, Self::Record>>(&self, _: &N) -> Option<P> {
        let ending = || self.first_ending().and_then(|first| self.levels[first.level][first.index].head);
        let far = || self.first_far().and_then(|power| self.far[power].head);
        self.due.head.or_else(ending).or_else(far)
    }

    #[inline]
    fn expiry<N: Nodes<P, Self::Record>>(&self, nodes: &N, p: P) -> Tick {
        Self::expiry_of(nodes.record(p))
    }

    #[inline]
    fn deadline<N: Nodes<P, Self::Record>>(&self, nodes: &N, p: P) -> Tick {
        nodes.record(p).deadline
    }

    #[inline]
    fn next_wake<N: Nodes<P, Self::Record>>(&self, nodes: &N) -> Option<Tick> {
        match self.due.head {
            Some(p) => Some(Self::expiry_of(nodes.record(p))),
            None => self.first_end(),
        }
    }

    #[inline]
    fn due<N: Nodes<P, Self::Record>>(&mut self, nodes: &mut N, now: Tick, budget: &mut usize) -> Option<P> {
        if *budget > 0 && self.due.is_empty() {
            if now < self.quiet_until {
                self.clk = self.clk.max(now);
                return None;
            }
            let _ = self.catch_up(nodes, now, budget, true);
        }
        // Re-filing may have used it up.
        if *budget == 0 { None } else { self.due.head }
    }

    #[inline]
    fn pop<N: Nodes<P, Self::Record>>(
        &mut self,
        nodes: &mut N,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Popped<P>> {
        let p = self.due(nodes, now, budget)?;
        let record = nodes.record(p);
        let (deadline, expiry, links) = (record.deadline, Self::expiry_of(record), record.links);
        self.due.unlink(nodes, links);
        Some(Popped { handle: p, deadline, expiry })
    }

    fn for_each<N: Nodes<P, Self::Record>>(&self, nodes: &N, mut visit: impl FnMut(P)) {
        for bucket in self.levels.iter().flatten().chain(&self.far).chain([&self.due]) {
            bucket.iter(nodes).for_each(&mut visit);
        }
    }

    fn clear(&mut self) {
        *self = Self { clk: self.clk, ..Self::NEW };
    }

    fn check<N: Nodes<P, Self::Record>>(&self, nodes: &N, len: usize) -> Result<(), Violation> {
        let mut left = len;
        self.check_due(nodes, &mut left)?;
        self.check_levels(nodes, &mut left)?;
        self.check_far(nodes, &mut left)?;
        if self.first_end().is_some_and(|end| end < self.quiet_until) {
            return Err(Violation::Minimum);
        }
        if left == 0 { Ok(()) } else { Err(Violation::Count) }
    }
}

impl<P: Handle, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Coarse<P, BUCKETS, SHIFT, DEPTH> {
    fn check_due<N: Nodes<P, CoarseRecord<P>>>(&self, nodes: &N, left: &mut usize) -> Result<(), Violation> {
        let mut earliest = 0;
        self.due.check(nodes, left, |record: &CoarseRecord<P>| {
            let expiry = Self::expiry_of(record);
            if expiry > self.clk || record.level == FAR {
                return Err(Violation::Bucket);
            }
            if expiry < earliest {
                return Err(Violation::Order);
            }
            earliest = expiry;
            Ok(())
        })
    }

    fn check_levels<N: Nodes<P, CoarseRecord<P>>>(
        &self,
        nodes: &N,
        left: &mut usize,
    ) -> Result<(), Violation> {
        for level in 0..DEPTH {
            for index in 0..BUCKETS {
                let bucket = &self.levels[level][index];
                let occupied = self.occupied[level] & (1 << index);
                if bucket.is_empty() != (occupied == 0) {
                    return Err(Violation::Occupied);
                }
                let end = Geometry::<BUCKETS, SHIFT, DEPTH>::first(occupied, self.clk, level);
                bucket.check(nodes, left, |record: &CoarseRecord<P>| {
                    if (usize::from(record.level), usize::from(record.index)) != (level, index) {
                        return Err(Violation::Position);
                    }
                    let filed = Geometry::<BUCKETS, SHIFT, DEPTH>::index(record.deadline, level);
                    let expiry = Self::expiry_of(record);
                    // The same index and the same end: not a turn of the level too early or too late.
                    if (filed, expiry) == (index, end.map_or(0, |(_, end)| end)) && expiry > self.clk {
                        Ok(())
                    } else {
                        Err(Violation::Bucket)
                    }
                })?;
            }
            if BUCKETS < 64 && self.occupied[level] >> (BUCKETS % 64) != 0 {
                return Err(Violation::Occupied);
            }
        }
        Ok(())
    }

    fn check_far<N: Nodes<P, CoarseRecord<P>>>(&self, nodes: &N, left: &mut usize) -> Result<(), Violation> {
        let being_refiled = self.far_occupied & self.clk;
        for (power, bucket) in self.far.iter().enumerate() {
            if bucket.is_empty() != ((self.far_occupied >> power) & 1 == 0) {
                return Err(Violation::Occupied);
            }
            // `clk` is where a bucket that is being re-filed ended.
            let refiling = (being_refiled >> power) & 1 == 1;
            if refiling && (being_refiled.count_ones() > 1 || self.clk != self.far_end(power)) {
                return Err(Violation::Bucket);
            }
            bucket.check(nodes, left, |record: &CoarseRecord<P>| {
                if (record.level, usize::from(record.index)) != (FAR, power) {
                    return Err(Violation::Position);
                }
                // Above the bit they are equal, and the node's is set: without it, `clk` is before the bucket's end and the node is not.
                let waits = record.deadline >> power == (self.clk >> power) | 1;
                if waits && Self::expiry_of(record) > self.far_end(power) {
                    Ok(())
                } else {
                    Err(Violation::Bucket)
                }
            })?;
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
