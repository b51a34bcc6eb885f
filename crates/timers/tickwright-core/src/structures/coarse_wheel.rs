//! `CoarseWheel`: a timing wheel in which whole buckets expire and timers never cascade.

use core::{fmt, mem};

pub use self::geometry::Geometry;
use crate::contract::{HeadChange, Order, Span, Tick, Violation};
use crate::explain::{Explanation, Whereabouts};
use crate::layout::Together;
use crate::structure::{Discipline, Due, Family, Handle, Record, Shape, View};
use tickwright_nodes::chain::{Chain, Chained, Links};

mod check;
mod geometry;

/// The coarse wheel, as the type argument of a queue: `DEPTH` levels of `BUCKETS` buckets. On
/// 64-bit targets the queue takes 5 KiB (slab) or 10 KiB (hooks), so box it, or make it a static.
///
/// [`HookQueue::new`](crate::HookQueue::new) creates a queue over hooks that is all zeros, so a
/// static queue lies in `.bss`: on 32-bit targets it takes 5 KiB of RAM and no flash.
///
/// A bucket of each level is `1 << SHIFT` times as long as a bucket of the level below.
/// [`Geometry`] lists the parameter values that compile. Every timer is at least one tick late,
/// except a timer whose deadline has already come when it is inserted.
///
/// The wheel selects the width of a timer's bucket by the delay from the current time to the
/// deadline. Every insert and reschedule therefore takes the current time as an argument: call
/// [`insert_at`](crate::SlabQueue::insert_at) and
/// [`reschedule_at`](crate::SlabQueue::reschedule_at). A timer is then late by at most 8/63 of its
/// delay (or by one tick, if that is more), however long the program has run or slept:
///
/// ```
/// use tickwright_core::{CoarseWheel, SlabQueue};
///
/// let mut queue: SlabQueue<CoarseWheel, &str> = SlabQueue::new();
/// // An idle hour has passed, in ticks of 1 ms. Now a time-out of 1 s is armed.
/// let now = 3_600_000;
/// let key = queue.insert_at(now + 1_000, "time-out", now)?;
/// // 24 ms late. If the delay counted from 0, it would be 3,601 s, and the timer 69 s late.
/// assert_eq!(queue.next_expiry(), Some(now + 1_024));
/// // A message arrives 900 ms later, and the time-out begins again.
/// let now = now + 900;
/// queue.reschedule_at(key, now + 1_000, now)?;
/// assert_eq!(queue.next_expiry(), Some(now + 1_020)); // 20 ms late
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// An insert without the current time does not compile:
///
/// ```compile_fail,E0277
/// use tickwright_core::{CoarseWheel, SlabQueue};
///
/// let mut queue: SlabQueue<CoarseWheel, &str> = SlabQueue::new();
/// let now = 3_600_000;
/// let _ = queue.insert(now + 1_000, "time-out");
/// ```
///
/// A timing wheel that never cascades. The longer the delay of a timer, the wider its bucket. A
/// timer expires when its bucket ends.
///
/// # Choose when
/// - there are many timers, most of them time-outs that are removed or re-armed before they expire,
///   and a lateness of 8/63 of the delay is acceptable;
/// - the cost of insert, remove and pop must not depend on how many timers are pending, and no
///   delay is far (see R under *Costs*).
///
/// # Avoid when
/// - deadlines must be exact to the tick: a timer can be 8 ticks late if its delay is at least 63
///   ticks, and 64 ticks late if its delay is at least 504 ticks ([`Geometry::lateness`]);
/// - the program does not know the time when it inserts: if the time that it passes to
///   [`insert_at`](crate::TimerQueue::insert_at) is an hour old, the wheel selects a bucket as wide
///   as for a delay of an hour;
/// - the program often calls peek or next_expiry while only far timers are pending: each of the two
///   calls reads every timer in the first far bucket.
///
/// # Layout
/// ```text
///   level 0   [ 1 tick  x 64 ]  delays     0 ..        due list:  [e] <-> [e]   sorted by expiry
///   level 1   [ 8 ticks x 64 ]  delays    63 ..
///   level 2   [ 64      x 64 ]  delays   504 ..        bucket of E at level n:
///     ...                                                number  (E >> 3n) + 1, modulo 64
///                                                        end    ((E >> 3n) + 1) << 3n
///   level 8   [ 2^24    x 64 ]  delays  2^26 * 1.97 ..
///   far       [ one bucket for each power of two: its nodes are inserted again when it ends ]
/// ```
/// A bucket that has ended moves as a whole to the due list. The buckets move in the order in which
/// they end. If two buckets end at the same tick, the wider bucket moves first. The expiry of a
/// node is fixed at its insert, because no node moves from level to level.
///
/// *Why a timer is always late by a tick or more.* A bucket expires as a whole, and none of its
/// timers is allowed to expire early. The bucket therefore expires at its end, which is the tick
/// after its last tick. At level 0 a bucket is one tick wide. A timer for tick 5 waits in the
/// bucket of tick 5, which ends when tick 6 begins, so the timer is due at 6. At level 1, a timer
/// for tick 100 is in the bucket of ticks 96 to 103 and is due at 104. Only a timer whose deadline
/// has already come is due at once.
///
/// *Why no bucket expires a turn of its level too early or too late.* At level n a delay is less
/// than `BUCKETS - 1` granules. The bucket number `(E >> SHIFT n) + 1` is therefore among the
/// `BUCKETS` numbers that follow `clock >> SHIFT n`. No two of these numbers share an index, so
/// `clock` and the index of a bucket determine when the bucket ends.
///
/// *Why a far node is never late.* Take k as in invariant 7. The start L of the node's last granule
/// has bit k set, `clock` has bit k clear, and the bits above k are equal in L and in `clock`. The
/// far bucket ends when bit k of `clock` becomes set, which happens at the tick that is L with all
/// bits below k cleared. That tick is at or before L, and the node's expiry is after L. At that
/// tick the node enters the top level, or L differs from `clock` only in bits below k. A timer is
/// therefore inserted again fewer than 64 times, however far it is. Far nodes with the same expiry
/// have the same L. Such nodes are therefore in the same far bucket, in the order of their arrival.
///
/// # Costs
/// L is the number of levels (9). B is the number of buckets that end between two calls. F is the
/// number of timers in the first far bucket. R is the number of timers in far buckets that end
/// between two calls. Each such timer is inserted again, which uses one unit of the call's budget.
///
/// | operation | worst | usual | cache lines |
/// |---|---|---|---|
/// | insert | O(L (B + 1) + R) | O(1), O(L) into an empty bucket | 2 written |
/// | remove | O(1), O(L) if the bucket becomes empty | O(1) | 3 |
/// | reschedule in its bucket | O(1), for a far timer as insert | O(1), writes the deadline | 1 |
/// | reschedule elsewhere | as remove + insert | O(1) | as remove + insert |
/// | peek, second, next_expiry | O(L + F) | O(L); O(1) if a timer is due | 1 to 3 |
/// | next_wake | O(L) | O(L) | bitmaps only |
/// | pop | O(1), after O(L (B + 1) + R) when `now` advances | O(1) | 2 |
/// | advance, k expired | O(k + L (B + 1) + R) | O(k + L) | 1 to 2 per timer |
///
/// B is at most L * `BUCKETS`, however many timers are pending. R is therefore the only term in the
/// costs of insert, remove and pop that grows with the number of pending timers. A timer is far if
/// its delay is 1,056,964,608 ticks or more: 12 days in ticks of 1 ms. If a queue has no far
/// timers, R = 0.
///
/// A timer takes 24 bytes plus its slot (8 for a `u32`) in a slab, and 40 bytes over hooks (32 on
/// 32-bit targets). The queue itself takes 5 KiB (slab) or 10 KiB (hooks); on 32-bit targets it
/// takes 5 KiB in either case. The wheel never allocates.
///
/// # Invariants
/// `clock` is the tick up to which the wheel has advanced. *X(deadline, level)* is
/// [`Geometry::bucket_end`]: the end of that granule of the level in which the deadline lies.
/// 1. Each bucket, and also the due list, is a doubly linked list ([`Violation::BackLink`]) from
///    its head to its tail ([`Violation::Head`]). Together these lists hold every pending node
///    exactly once ([`Violation::Count`]).
/// 2. A bit of a level's bitmap is set if and only if the bucket of that bit holds a node
///    ([`Violation::Occupied`]).
/// 3. The level and index in a node's record are those of its bucket ([`Violation::Position`]). The
///    record of a node in the due list has the level and index of the bucket from which the node
///    came, or no level if the node was due when it was inserted.
/// 4. The expiry of a node in a bucket of level n is X(deadline, n). This expiry is after `clock`,
///    by at most one turn of the level. The expiry of a node in the due list is at or before
///    `clock` ([`Violation::Bucket`]), so the level and deadline in a record determine which list
///    holds the node.
/// 5. Expiries never decrease along the due list ([`Violation::Order`]).
/// 6. No bucket ends before `quiet_until` ([`Violation::Minimum`]).
/// 7. A far node waits in far bucket k. Bit k is the highest bit in which `clock` differs from the
///    start of the node's last granule, which is the node's deadline rounded *down* at the top
///    level. While `clock` is at the end of a far bucket, the nodes still in the bucket wait to be
///    inserted again ([`Violation::Bucket`]).
///
/// # Order
/// Timers leave by expiry. Within a bucket the order is first in, first out. If several buckets end
/// at the same tick, their timers leave from the highest level to the lowest. A far node leaves
/// after the nodes that were already in the top-level bucket that it enters. A timer that is due
/// when it is inserted leaves after all timers that were already due.
///
/// # References
/// Linux, kernel/time/timer.c since 4.8: the levels, their least delays, and rounding up. Linux
/// clamps the delay of far timers, whereas this wheel inserts far timers again. Gleixner, "timers:
/// Switch to a non-cascading wheel", 2016; Varghese & Lauck, SOSP 1987, scheme 7 without migration.
#[derive(Clone, Copy, Debug)]
pub struct CoarseWheel<const BUCKETS: usize = 64, const SHIFT: u32 = 3, const DEPTH: usize = 9>;

impl<const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Family
    for CoarseWheel<BUCKETS, SHIFT, DEPTH>
{
    type Of<P: Handle> = Coarse<P, BUCKETS, SHIFT, DEPTH>;
    type Layout = Together;
    const ID: &'static str = "coarse";
    const SHAPE: Shape = Shape::Wheel;
    const DEFAULT_TICK_NS: u64 = 1_000_000;
}

/// The number of far buckets: one for each bit of a tick.
const POWERS: usize = 64;
/// The level of a node in a far bucket.
const FAR: u8 = u8::MAX - 1;
/// The level of a node that was due when it was inserted.
const NONE: u8 = u8::MAX;

/// The record of a node in the wheel.
#[derive(Debug)]
pub struct CoarseRecord<P> {
    /// `max(deadline, now)` of the last insert or reschedule.
    deadline: Tick,
    links: Links<P>,
    /// The level in which the node was inserted, [`FAR`] or [`NONE`].
    level: u8,
    /// The index of the node's bucket in that level.
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
const _: () = assert!(size_of::<CoarseRecord<crate::queue::slab::Idx>>() <= 24);

/// The list that a node is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    Due,
    Level(usize, usize),
    Far(usize),
}

/// The coarse wheel over handles `P`.
pub struct Coarse<P, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> {
    /// The tick up to which the wheel has advanced: buckets that end by then have moved to `due`.
    /// While a far bucket is being emptied, `clock` stays at the end of that bucket. During that
    /// time the bucket's bit is set in both `clock` and `far_occupied`, and no other bit is set in
    /// both.
    clock: Tick,
    /// No bucket ends before this tick, so an advance to an earlier tick only moves `clock`.
    /// `quiet_until` is a lower bound: it can be earlier than the end of the first bucket.
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
            .field("clock", &self.clock)
            .field("due", &self.due)
            .field("occupied", &self.occupied)
            .field("far_occupied", &self.far_occupied)
            .finish_non_exhaustive()
    }
}

/// An occupied bucket, and the tick at which it ends.
#[derive(Clone, Copy, Debug)]
struct Ending {
    end: Tick,
    level: usize,
    index: usize,
}

/// The functions of [`Geometry`] for this wheel's parameters, so that callers need not repeat the
/// parameters.
impl<P, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Coarse<P, BUCKETS, SHIFT, DEPTH> {
    /// As [`Geometry::bucket_end`].
    #[inline]
    const fn bucket_end(deadline: Tick, level: usize) -> Tick {
        Geometry::<BUCKETS, SHIFT, DEPTH>::bucket_end(deadline, level)
    }

    /// Returns the bucket of `deadline` in `level`.
    #[inline]
    const fn bucket_at(deadline: Tick, level: usize) -> Location {
        Location::Level(level, Geometry::<BUCKETS, SHIFT, DEPTH>::index(deadline, level))
    }

    /// Returns the level for a delay, or `None` when the delay is far.
    #[inline]
    const fn level_for(delay: Span) -> Option<usize> {
        Geometry::<BUCKETS, SHIFT, DEPTH>::level(delay)
    }

    /// Returns the bucket of `level` among `occupied` that ends first, and the end of that bucket.
    #[inline]
    const fn first_of(&self, occupied: u64, level: usize) -> Option<(usize, Tick)> {
        Geometry::<BUCKETS, SHIFT, DEPTH>::first(occupied, self.clock, level)
    }
}

impl<P: Handle, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Coarse<P, BUCKETS, SHIFT, DEPTH> {
    /// Returns the level of the linked node `p`, or `None` when `p` is due or far. The bucket of
    /// `p` ends at [`bucket_end`](Geometry::bucket_end)`(deadline, level)`. O(1).
    ///
    /// The function is for storages that re-arm a timer within its granule without a call to the
    /// wheel.
    #[inline]
    pub fn level(&self, nodes: &impl View<P, Self>, p: P) -> Option<u8> {
        match self.location(nodes.record(p)) {
            Location::Level(level, _) => u8::try_from(level).ok(),
            Location::Due | Location::Far(_) => None,
        }
    }

    /// Like [`insert`](Discipline::insert), but a timer whose deadline is at or before `now`
    /// expires at `now + 1`, so the timer never leaves during the advance to `now`. At
    /// `now = u64::MAX` no tick follows, so the timer is due at once.
    #[inline]
    pub fn insert_behind(
        &mut self,
        nodes: &mut impl View<P, Self>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        if deadline > now || now == Tick::MAX {
            return self.insert(nodes, p, deadline, now);
        }
        let moved = self.advance_clock(nodes, now);
        let pushed = self.push(nodes, p, now, Self::bucket_at(now, 0));
        HeadChange::when(moved || pushed.is_changed())
    }

    #[inline]
    fn location(&self, record: &CoarseRecord<P>) -> Location {
        match record.level {
            NONE => Location::Due,
            FAR => Location::Far(record.index.into()),
            // All buckets that end at or before `clock` have been moved.
            _ if Self::expiry_of(record) <= self.clock => Location::Due,
            level => Location::Level(level.into(), record.index.into()),
        }
    }

    #[inline]
    fn expiry_of(record: &CoarseRecord<P>) -> Tick {
        match record.level {
            NONE => record.deadline,
            level => {
                let level = usize::from(level).min(DEPTH - 1);
                Self::bucket_end(record.deadline, level)
            }
        }
    }

    /// Returns the bucket that ends first, over all levels. If several buckets end at that tick, it
    /// returns the bucket at the highest level.
    #[inline]
    fn first_ending(&self) -> Option<Ending> {
        let mut first: Option<Ending> = None;
        for level in (0..DEPTH).rev() {
            let found = self.first_of(self.occupied[level], level);
            if let Some((index, end)) = found
                && first.is_none_or(|first| end < first.end)
            {
                first = Some(Ending { end, level, index });
            }
        }
        first
    }

    /// Returns the end of far bucket `power`: the tick at which bit `power` of `clock` becomes set,
    /// or `clock` itself while the bucket is being emptied.
    #[inline]
    fn far_end(&self, power: usize) -> Tick {
        ((self.clock >> power) | 1) << power
    }

    /// Returns the far bucket that ends first. A bucket that is being emptied comes before all
    /// others. Otherwise the lowest bucket comes first, because a higher bucket ends after every
    /// tick that the lowest bucket covers.
    #[inline]
    fn first_far(&self) -> Option<usize> {
        let being_emptied = self.far_occupied & self.clock;
        let among = if being_emptied == 0 { self.far_occupied } else { being_emptied };
        (among != 0).then(|| among.trailing_zeros() as usize)
    }

    /// Returns the earliest end of any bucket. A timer that is not yet due does not expire before
    /// this end.
    #[inline]
    fn first_end(&self) -> Option<Tick> {
        let far = self.first_far().map(|power| self.far_end(power));
        let end = self.first_ending().map(|first| first.end);
        match (end, far) {
            (Some(end), Some(far)) => Some(end.min(far)),
            (end, far) => end.or(far),
        }
    }

    /// Appends `p` to the list at `location`. Returns whether the next wake-up might have changed.
    #[inline]
    fn push(
        &mut self,
        nodes: &mut impl View<P, Self>,
        p: P,
        deadline: Tick,
        location: Location,
    ) -> HeadChange {
        let (level, index) = match location {
            Location::Due => (NONE, 0),
            Location::Level(level, index) => (level as u8, index as u8),
            Location::Far(power) => (FAR, power as u8),
        };
        let nothing_due = self.due.is_empty();
        let (bucket, end) = match location {
            Location::Due => (&mut self.due, None),
            Location::Level(level, index) => {
                self.occupied[level] |= 1 << index;
                let end = Self::bucket_end(deadline, level);
                (&mut self.levels[level][index], Some(end))
            }
            Location::Far(power) => {
                self.far_occupied |= 1 << power;
                let end = self.far_end(power);
                (&mut self.far[power], Some(end))
            }
        };
        let opened = bucket.is_empty();
        self.quiet_until = self.quiet_until.min(end.unwrap_or(Tick::MAX));
        debug_assert!(end.is_none_or(|end| end > self.clock), "the bucket has ended");
        let links = bucket.push_back(nodes, p);
        *nodes.record_mut(p) = CoarseRecord { deadline, links, level, index };
        HeadChange::when(opened && nothing_due && (end.is_none() || self.first_end() == end))
    }

    /// Removes `p` from the list at `location`, which must contain `p`. Returns whether the list is
    /// now empty.
    #[inline]
    fn unlink(&mut self, nodes: &mut impl View<P, Self>, p: P, location: Location) -> bool {
        let links = nodes.record(p).links;
        let (list, map, index) = match location {
            Location::Due => (&mut self.due, &mut 0, 0),
            Location::Level(level, index) => {
                (&mut self.levels[level][index], &mut self.occupied[level], index)
            }
            Location::Far(power) => (&mut self.far[power], &mut self.far_occupied, power),
        };
        list.unlink(nodes, links);
        let emptied = list.is_empty();
        *map &= !(u64::from(emptied) << index);
        emptied
    }

    /// Returns where to insert a timer that no level below the top level can hold. The timer's last
    /// granule must start after `clock`.
    #[inline]
    fn top_or_far(&self, deadline: Tick) -> Location {
        if Geometry::<BUCKETS, SHIFT, DEPTH>::in_reach(deadline, self.clock) {
            Self::bucket_at(deadline, DEPTH - 1)
        } else {
            Location::Far(Geometry::<BUCKETS, SHIFT, DEPTH>::power(deadline, self.clock))
        }
    }

    /// Moves all buckets that end at or before `until` to the due list, and sets the clock to
    /// `until`.
    #[inline]
    fn collect_ended(&mut self, nodes: &mut impl View<P, Self>, until: Tick) {
        while let Some(Ending { end, level, index }) = self.first_ending()
            && end <= until
        {
            let bucket = mem::replace(&mut self.levels[level][index], Chain::EMPTY);
            self.due.append(nodes, bucket);
            self.occupied[level] &= !(1 << index);
        }
        self.clock = self.clock.max(until);
    }

    /// Moves the clock towards `now`. Each far timer that this inserts again uses one unit of
    /// `budget`. The clock stops when the budget is used up. If `until_due` is set, the clock also
    /// stops when a timer is due. Returns whether far timers were inserted again.
    #[inline]
    fn catch_up(
        &mut self,
        nodes: &mut impl View<P, Self>,
        now: Tick,
        budget: &mut usize,
        until_due: bool,
    ) -> bool {
        let mut moved = false;
        // Each iteration moves the clock to the end of a far bucket and empties the bucket, or
        // moves the clock to `now`.
        loop {
            let far =
                self.first_far().map(|power| (power, self.far_end(power))).filter(|&(_, end)| end <= now);
            self.collect_ended(nodes, far.map_or(now, |(_, end)| end));
            let Some((power, _)) = far else {
                self.quiet_until = self.first_end().unwrap_or(Tick::MAX);
                return moved;
            };
            if until_due && !self.due.is_empty() {
                return moved;
            }
            while let Some(p) = self.far[power].head {
                let Some(left) = budget.checked_sub(1) else { return moved };
                *budget = left;
                moved = true;
                let deadline = nodes.record(p).deadline;
                self.unlink(nodes, p, Location::Far(power));
                let _ = self.push(nodes, p, deadline, self.top_or_far(deadline));
            }
        }
    }

    /// Moves the clock to `now`, without a budget. Returns whether far timers were inserted again.
    #[inline]
    fn advance_clock(&mut self, nodes: &mut impl View<P, Self>, now: Tick) -> bool {
        if now < self.quiet_until {
            self.clock = self.clock.max(now);
            return false;
        }
        let mut unlimited = usize::MAX;
        (now > self.clock || self.far_occupied & self.clock != 0)
            && self.catch_up(nodes, now, &mut unlimited, false)
    }

    /// Returns the node that leaves first, ignoring the node `without`.
    fn first(&self, nodes: &impl View<P, Self>, without: Option<P>) -> Option<P> {
        let skip = |p: P| if Some(p) == without { nodes.record(p).links.next } else { Some(p) };
        if let Some(p) = self.due.head.and_then(skip) {
            return Some(p);
        }
        let mut first: Option<(Ending, P)> = None;
        for level in (0..DEPTH).rev() {
            let mut occupied = self.occupied[level];
            while let Some((index, end)) = self.first_of(occupied, level) {
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

    /// Returns the far node with the earliest expiry, ignoring `without`, together with that
    /// expiry. If several far nodes have this expiry, it returns the node that is inserted again
    /// first. Returns `None` if there is no such node, or if no far bucket ends before `before`.
    fn first_of_far(
        &self,
        nodes: &impl View<P, Self>,
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
        // All nodes of a lower far bucket expire before all nodes of a higher far bucket. A node of
        // a bucket that is being emptied can expire at any time, and leaves after other nodes with
        // the same expiry.
        let bits = |map: u64| (0..POWERS).filter(move |&power| (map >> power) & 1 == 1);
        let _ = bits(self.far_occupied & !self.clock).any(&mut scan);
        let _ = bits(self.far_occupied & self.clock).any(&mut scan);
        first
    }
}

// SAFETY: the promises of `Discipline`:
// 1. handles come from `insert` and from the ends and links of lists, which hold linked nodes;
// 2. `unlink` joins the node's neighbours, or the ends of the one list that `location` names (by
//    invariants 3, 4 and 7), over the node, which nothing else names; `clear` forgets the ends of
//    all lists;
// 3. no user code is called; indices into arrays are taken modulo their length or come from
//    records that were written so; the `debug_assert!`s state invariants, which hold while the
//    structure is whole;
// 4. the wheel and its records hold handles, ticks and numbers only.
unsafe impl<P: Handle, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Discipline<P>
    for Coarse<P, BUCKETS, SHIFT, DEPTH>
{
    type Record = CoarseRecord<P>;
    const NEW: Self = {
        let () = Geometry::<BUCKETS, SHIFT, DEPTH>::VALID;
        Self {
            clock: 0,
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
    fn insert(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let moved = self.advance_clock(nodes, now);
        let deadline = deadline.max(now);
        let location = match Self::level_for(deadline - now) {
            _ if deadline == now => Location::Due,
            Some(level) => Self::bucket_at(deadline, level),
            None => self.top_or_far(deadline),
        };
        let pushed = self.push(nodes, p, deadline, location);
        HeadChange::when(moved || pushed.is_changed())
    }

    #[inline]
    fn remove(&mut self, nodes: &mut impl View<P, Self>, p: P) -> HeadChange {
        let record = nodes.record(p);
        let location = self.location(record);
        let (expiry, first) = (Self::expiry_of(record), record.links.prev.is_none());
        let emptied = self.unlink(nodes, p, location);
        let end = match location {
            Location::Due => return HeadChange::when(first && self.next_wake(nodes) != Some(expiry)),
            Location::Level(..) => expiry,
            Location::Far(power) => self.far_end(power),
        };
        HeadChange::when(emptied && self.due.is_empty() && self.first_end().is_none_or(|first| first > end))
    }

    #[inline]
    fn reschedule(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        // The top level might now be able to hold a far timer.
        let moved = nodes.record(p).level == FAR && self.advance_clock(nodes, now);
        let record = nodes.record(p);
        if let Location::Level(level, _) = self.location(record)
            && deadline > now
            && Geometry::<BUCKETS, SHIFT, DEPTH>::same_bucket(record.deadline, deadline, level)
            && Self::level_for(deadline - now).is_none_or(|fresh| fresh >= level)
        {
            // The node's expiry stays the same, and its lateness is within the bound for the new
            // delay. The bucket ends after `now`, so the node also stays in the bucket when the
            // clock advances to `now`.
            nodes.record_mut(p).deadline = deadline;
            return HeadChange::when(moved);
        }
        let removed = self.remove(nodes, p);
        let inserted = self.insert(nodes, p, deadline, now);
        HeadChange::when(moved || removed.is_changed() || inserted.is_changed())
    }

    #[inline]
    fn head(&self, nodes: &impl View<P, Self>) -> Option<P> {
        self.first(nodes, None)
    }

    #[inline]
    fn second(&self, nodes: &impl View<P, Self>) -> Option<P> {
        self.first(nodes, Some(self.head(nodes)?))
    }

    #[inline]
    fn any(&self, _: &impl View<P, Self>) -> Option<P> {
        let ending = || self.first_ending().and_then(|first| self.levels[first.level][first.index].head);
        let far = || self.first_far().and_then(|power| self.far[power].head);
        self.due.head.or_else(ending).or_else(far)
    }

    #[inline]
    fn expiry(&self, nodes: &impl View<P, Self>, p: P) -> Tick {
        Self::expiry_of(nodes.record(p))
    }

    #[inline]
    fn deadline(&self, nodes: &impl View<P, Self>, p: P) -> Tick {
        nodes.record(p).deadline
    }

    #[inline]
    fn next_wake(&self, nodes: &impl View<P, Self>) -> Option<Tick> {
        match self.due.head {
            Some(p) => Some(Self::expiry_of(nodes.record(p))),
            None => self.first_end(),
        }
    }

    #[inline]
    fn due(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        if *budget > 0 && self.due.is_empty() {
            if now < self.quiet_until {
                self.clock = self.clock.max(now);
                return None;
            }
            let _ = self.catch_up(nodes, now, budget, true);
        }
        // The far timers that were inserted again might have used up the budget.
        if *budget == 0 {
            return None;
        }
        let handle = self.due.head?;
        let record = nodes.record(handle);
        Some(Due { handle, deadline: record.deadline, expiry: Self::expiry_of(record) })
    }

    #[inline]
    fn pop(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        let due = self.due(nodes, now, budget)?;
        self.due.unlink(nodes, nodes.record(due.handle).links);
        Some(due)
    }

    fn explain(&self, nodes: &impl View<P, Self>, p: P) -> Explanation {
        let record = nodes.record(p);
        let (deadline, expiry) = (record.deadline, Self::expiry_of(record));
        let whereabouts = match self.location(record) {
            Location::Due => Whereabouts::DueList,
            Location::Level(level, bucket) => {
                let granule = Geometry::<BUCKETS, SHIFT, DEPTH>::granule(level);
                let first = deadline & !(granule - 1);
                Whereabouts::EndingBucket { level, bucket, first, last: deadline | (granule - 1) }
            }
            Location::Far(power) => Whereabouts::FarBucket { power, reinserted_at: self.far_end(power) },
        };
        Explanation::new(deadline, expiry, whereabouts)
    }

    fn for_each(&self, nodes: &impl View<P, Self>, mut visit: impl FnMut(P)) {
        // Timers of the same expiry are visited in the order in which they leave. Timers at a
        // higher level leave before timers at lower levels, and far timers leave after the timers
        // at the top level. Nodes of a far bucket that is being emptied leave after all others.
        self.due.iter(nodes).for_each(&mut visit);
        let visit_levels = |levels: &[[Chain<P>; BUCKETS]], visit: &mut dyn FnMut(P)| {
            levels.iter().rev().flatten().for_each(|bucket| bucket.iter(nodes).for_each(&mut *visit));
        };
        let (below, top) = self.levels.split_at(DEPTH - 1);
        visit_levels(top, &mut visit);
        for emptied in [false, true] {
            for (power, bucket) in self.far.iter().enumerate() {
                if (self.clock >> power & 1 == 1) == emptied {
                    bucket.iter(nodes).for_each(&mut visit);
                }
            }
        }
        visit_levels(below, &mut visit);
    }

    fn clear(&mut self) {
        *self = Self::NEW;
    }

    fn check(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation> {
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

#[cfg(all(test, feature = "alloc"))]
mod tests;
