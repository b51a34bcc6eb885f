//! A rung: what its buckets stand for. The lists of all buckets lie in one array.

use crate::contract::Tick;

/// The most rungs. At most `AHEAD` rungs divide ticks ahead of the clock. One is for timers that
/// arrive before them. Each further rung but the first two divides by 32: 12 rungs reach one tick,
/// and 13 more reach one arrival number. Three are for the tick of the clock, which may have a rung
/// of its own, and for arrivals after it.
const RUNGS: usize = AHEAD + 1 + 12 + 13 + 3;

/// A long bucket ahead of the clock is divided while there are fewer rungs than this.
pub(super) const AHEAD: usize = 7;

/// The first rungs have up to `1 << WIDE` buckets, the others up to `1 << NARROW`.
const WIDE_RUNGS: usize = 2;
const WIDE: u32 = 8;
const NARROW: u32 = 5;

/// The index of the list for ticks after all rungs.
pub(super) const TOP: usize = 0;

/// The most lists: enough for all rungs.
const LISTS: usize = 1 + (WIDE_RUNGS << WIDE) + ((RUNGS - WIDE_RUNGS) << NARROW);

/// Up to this many timers need no rungs: all their entries fit into a batch.
const FEW: usize = 36;

/// A division leaves so many lists for the rung of earlier arrivals.
pub(super) const SPARE: usize = 4;

/// The most rungs that one division adds.
pub(super) const MOST_PUSHED: usize = 3;

/// The number of lists and of rungs for a queue of so many timers. If they are used up, the run
/// takes the earliest timers of a long bucket instead of dividing it.
pub(super) fn sizes(timers: usize) -> (usize, usize) {
    let lists = (12 + timers / 4).min(LISTS);
    match timers {
        0..=FEW => (1, 0),
        _ => (lists, if timers <= 256 { 8 } else { RUNGS }),
    }
}

/// The number of bits of a bucket's index in the rung at `depth`, if there are enough lists.
pub(super) const fn bits(depth: usize) -> u32 {
    if depth < WIDE_RUNGS { WIDE } else { NARROW }
}

/// The least number of these bits. The deeper rungs use all, since their number is limited.
pub(super) const fn least_bits(depth: usize) -> u32 {
    if depth < WIDE_RUNGS { 3 } else { NARROW }
}

/// The number of bits of a number.
pub(super) const fn bits_of(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// What a rung divides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rung {
    /// The first tick, or the first arrival number, of bucket 0.
    pub(super) base: u64,
    /// A bucket has `1 << shift` ticks or arrival numbers.
    pub(super) shift: u32,
    /// The buckets before this one are empty.
    pub(super) next: usize,
    /// The index of the list of bucket 0.
    pub(super) first: usize,
    /// The greatest index of a bucket.
    pub(super) mask: usize,
    /// The first tick of the rung.
    pub(super) start: Tick,
    /// The tick after the last. A rung that divides arrivals has timers for `start` alone; its end
    /// is `start`, so that no arrival enters it.
    pub(super) end: u128,
    /// If the rung divides arrivals of one tick: timers with these and later numbers do not belong
    /// here. Otherwise 0.
    pub(super) bound: u64,
    map: [u64; 4],
}

impl Rung {
    /// The index of the list behind those of the rung.
    #[inline]
    pub(super) const fn end_of_lists(&self) -> usize {
        self.first + self.mask + 1
    }

    pub(super) const EMPTY: Self =
        Self { base: 0, shift: 0, next: 0, first: 0, mask: 0, start: 0, end: 0, bound: 0, map: [0; 4] };

    /// Whether the rung divides the timers of one tick by arrival.
    #[inline]
    pub(super) const fn by_arrival(&self) -> bool {
        self.bound > 0
    }

    /// The bucket of a tick or an arrival number.
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

    /// The first occupied bucket at `from` or behind it.
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

    /// The first and the last tick of a bucket.
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
