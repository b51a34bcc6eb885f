//! A rung: the ticks or arrival numbers of its buckets. This file also defines how many rungs and
//! buckets there are. The lists of all buckets are in one array.

use crate::contract::Tick;

/// The greatest number of rungs. At most `AHEAD` rungs divide ticks after the clock, and one more
/// rung is for timers that arrive for earlier ticks than these. Each further rung except the first
/// two divides by 32, so 12 rungs divide down to a single tick, and 13 more rungs down to a single
/// arrival number. The last three rungs are for the clock's tick, which can have a separate rung,
/// and for timers that arrive for later ticks.
const RUNGS: usize = AHEAD + 1 + 12 + 13 + 3;

/// A long bucket after the clock's tick is divided only while there are fewer rungs than this.
pub(super) const AHEAD: usize = 7;

/// The number of rungs that have up to `1 << WIDE` buckets. The rungs after them have up to
/// `1 << NARROW` buckets.
const WIDE_RUNGS: usize = 2;
const WIDE: u32 = 8;
const NARROW: u32 = 5;

/// The index of the list for ticks after all rungs.
pub(super) const TOP: usize = 0;

/// The greatest number of lists, which is enough for all rungs.
const LISTS: usize = 1 + (WIDE_RUNGS << WIDE) + ((RUNGS - WIDE_RUNGS) << NARROW);

/// Up to this many timers need no rungs, because all their entries fit into a batch.
const FEW: usize = 36;

/// The number of lists that a division leaves free for a rung of timers that arrive later for
/// earlier ticks.
pub(super) const SPARE: usize = 4;

/// The greatest number of rungs that one division adds.
pub(super) const MOST_PUSHED: usize = 3;

/// Returns the number of lists and the number of rungs for a queue of `timers` timers. When the
/// lists or rungs are used up, a long bucket is not divided, and only its earliest timers move into
/// the run.
pub(super) fn sizes(timers: usize) -> (usize, usize) {
    let lists = (12 + timers / 4).min(LISTS);
    match timers {
        0..=FEW => (1, 0),
        _ => (lists, if timers <= 256 { 8 } else { RUNGS }),
    }
}

/// Returns the number of bits of a bucket's index in the rung at `depth`, if there are enough
/// lists.
pub(super) const fn bits(depth: usize) -> u32 {
    if depth < WIDE_RUNGS { WIDE } else { NARROW }
}

/// Returns the least number of bits of a bucket's index in the rung at `depth`. Rungs after the
/// first [`WIDE_RUNGS`] rungs use the greatest number of bits, because the number of rungs is
/// limited.
pub(super) const fn least_bits(depth: usize) -> u32 {
    if depth < WIDE_RUNGS { 3 } else { NARROW }
}

/// Returns the number of bits that `number` needs.
pub(super) const fn bits_of(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// The ticks or arrival numbers that a rung divides, and the rung's buckets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rung {
    /// The first tick, or the first arrival number, of bucket 0.
    pub(super) base: u64,
    /// The binary logarithm of the number of ticks or arrival numbers in a bucket.
    pub(super) shift: u32,
    /// The buckets before bucket `next` are empty.
    pub(super) next: usize,
    /// The index of the list of bucket 0.
    pub(super) first: usize,
    /// The greatest index of a bucket.
    pub(super) mask: usize,
    /// The first tick of the rung.
    pub(super) start: Tick,
    /// The tick after the last tick of the rung. A rung that divides its timers by arrival number
    /// holds only timers that are due at the tick `start`. For such a rung, `end` is also `start`,
    /// so that no new timer enters the rung.
    pub(super) end: u128,
    /// If the rung divides the arrivals of one tick, the least arrival number that is too great for
    /// the rung. Otherwise 0.
    pub(super) bound: u64,
    map: [u64; 4],
}

impl Rung {
    /// Returns the index of the list after the lists of the rung.
    #[inline]
    pub(super) const fn end_of_lists(&self) -> usize {
        self.first + self.mask + 1
    }

    pub(super) const EMPTY: Self =
        Self { base: 0, shift: 0, next: 0, first: 0, mask: 0, start: 0, end: 0, bound: 0, map: [0; 4] };

    /// Returns whether the rung divides the timers of one tick by arrival.
    #[inline]
    pub(super) const fn by_arrival(&self) -> bool {
        self.bound > 0
    }

    /// Returns the bucket of a tick or an arrival number.
    #[inline]
    pub(super) const fn bucket(&self, key: u64) -> usize {
        (key.wrapping_sub(self.base) >> self.shift) as usize & self.mask
    }

    /// Marks a bucket as occupied.
    #[inline]
    pub(super) fn mark(&mut self, bucket: usize) {
        self.map[bucket / 64 % 4] |= 1 << (bucket % 64);
    }

    #[inline]
    pub(super) fn unmark(&mut self, bucket: usize) {
        self.map[bucket / 64 % 4] &= !(1 << (bucket % 64));
    }

    pub(super) const fn is_marked(&self, bucket: usize) -> bool {
        self.map[bucket / 64 % 4] >> (bucket % 64) & 1 != 0
    }

    /// Returns the first occupied bucket at or after `from`.
    #[inline]
    pub(super) fn occupied(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut marks = self.map.get(word)? & (!0 << (from % 64));
        while marks == 0 {
            word += 1;
            marks = *self.map.get(word)?;
        }
        Some(word * 64 + marks.trailing_zeros() as usize)
    }

    /// Returns the first and the last tick of a bucket.
    #[inline]
    pub(super) const fn ticks(&self, bucket: usize) -> (Tick, Tick) {
        if self.by_arrival() {
            return (self.start, self.start);
        }
        let first = self.base.wrapping_add((bucket as u64) << self.shift);
        let end = first as u128 + (1 << self.shift);
        let end = if end < self.end { end } else { self.end };
        (first, (end - 1) as Tick)
    }
}
