//! The buckets, and the properties of each that are known without reading its entries.
//!
//! ```text
//!   levels      ..0 0 0 0 0 1 1 0      bit n: level n has an occupied bucket
//!   occupied[1] ..0 1 0 0 1 0 0 0      bit d: bucket d of level 1 holds an entry
//!   dirty[1]    ..0 1 0 0 0 0 0 0      bit d: its minimum is a lower bound, not known to be exact
//!   mixed[1]    ..0 0 0 0 1 0 0 0      bit d: its entries may not be in the order of arrival
//!   array[1][3]  { min, list }
//! ```

use super::chunks::{Entry, List, Pool};
use crate::contract::{Tick, Violation};
use crate::family::digits::BucketNumber;

/// Names a bucket.
pub(super) type Number = BucketNumber<BUCKETS>;

pub(super) const BUCKETS: usize = 64;
pub(super) const LEVELS: usize = 11;

#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// A lower bound of the entries' ticks. It has no meaning while the bucket is empty.
    pub(super) min: Tick,
    pub(super) list: List,
}

/// All buckets, with their marks.
#[derive(Debug)]
pub(super) struct Rungs {
    levels: u64,
    occupied: [u64; LEVELS],
    dirty: [u64; LEVELS],
    mixed: [u64; LEVELS],
    array: [[Bucket; BUCKETS]; LEVELS],
}

impl Rungs {
    pub(super) const NEW: Self = Self {
        levels: 0,
        occupied: [0; LEVELS],
        dirty: [0; LEVELS],
        mixed: [0; LEVELS],
        array: [[Bucket { min: 0, list: List::EMPTY }; BUCKETS]; LEVELS],
    };

    #[inline]
    pub(super) fn at(&self, at: Number) -> &Bucket {
        &self.array.as_flattened()[at.index()]
    }

    /// The earliest occupied bucket: the lowest occupied digit of the lowest occupied level.
    #[inline]
    pub(super) fn first(&self) -> Option<Number> {
        let level = self.levels.trailing_zeros() as usize;
        let digit = self.occupied.get(level)?.trailing_zeros() as usize % BUCKETS;
        Some(Number::new(level, digit))
    }

    /// Every occupied bucket, the earliest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Number> + '_ {
        self.occupied.iter().enumerate().flat_map(|(level, &occupied)| {
            let mut left = occupied;
            core::iter::from_fn(move || {
                let digit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(Number::new(level, digit))
            })
        })
    }

    /// The last occupied bucket before `end`.
    pub(super) fn last_before(&self, end: usize) -> Option<Number> {
        (0..LEVELS).rev().find_map(|level| {
            let below = end.saturating_sub(level * BUCKETS);
            let mask = if below >= BUCKETS { u64::MAX } else { (1 << below) - 1 };
            let found = self.occupied[level] & mask;
            (found != 0).then(|| Number::new(level, 63 - found.leading_zeros() as usize))
        })
    }

    #[inline]
    pub(super) fn is_occupied(&self, at: Number) -> bool {
        self.occupied[at.level()] & at.bit() != 0
    }

    #[inline]
    pub(super) fn is_dirty(&self, at: Number) -> bool {
        self.dirty[at.level()] & at.bit() != 0
    }

    #[inline]
    pub(super) fn is_mixed(&self, at: Number) -> bool {
        self.mixed[at.level()] & at.bit() != 0
    }

    /// If the minimum was `tick`, it is now only a lower bound.
    #[inline]
    pub(super) fn leaves(&mut self, at: Number, tick: Tick) {
        if self.at(at).min == tick && self.is_occupied(at) {
            self.dirty[at.level()] |= at.bit();
        }
    }

    #[inline]
    pub(super) fn mix(&mut self, at: Number) {
        self.mixed[at.level()] |= at.bit();
    }

    /// Appends an entry for `tick`.
    #[inline]
    pub(super) fn push(&mut self, pool: &mut Pool, at: Number, tick: Tick, entry: Entry) {
        let bucket = &mut self.array.as_flattened_mut()[at.index()];
        let bit = at.bit();
        if self.occupied[at.level()] & bit == 0 {
            self.occupied[at.level()] |= bit;
            self.levels |= 1 << at.level();
            self.dirty[at.level()] &= !bit;
            self.mixed[at.level()] &= !bit;
            bucket.min = tick;
        } else if tick <= bucket.min {
            bucket.min = tick;
            self.dirty[at.level()] &= !bit;
        }
        pool.push(&mut bucket.list, entry);
    }

    /// Appends an entry that came from this bucket. The marks stay.
    #[inline]
    pub(super) fn push_again(&mut self, pool: &mut Pool, at: Number, entry: Entry) {
        pool.push(&mut self.array.as_flattened_mut()[at.index()].list, entry);
    }

    /// Removes and returns the list of a bucket, which stays occupied.
    pub(super) fn borrow(&mut self, at: Number) -> List {
        core::mem::replace(&mut self.array.as_flattened_mut()[at.index()].list, List::EMPTY)
    }

    /// Empties a bucket. Returns its list.
    #[inline]
    pub(super) fn take(&mut self, at: Number) -> List {
        self.occupied[at.level()] &= !at.bit();
        if self.occupied[at.level()] == 0 {
            self.levels &= !(1 << at.level());
        }
        self.borrow(at)
    }

    /// Verifies the marks of levels.
    pub(super) fn check_marks(&self) -> Result<(), Violation> {
        for (level, (&occupied, buckets)) in self.occupied.iter().zip(&self.array).enumerate() {
            if (occupied != 0) != (self.levels >> level & 1 == 1) {
                return Err(Violation::Occupied);
            }
            for (digit, bucket) in buckets.iter().enumerate() {
                if occupied >> digit & 1 == 0 && !bucket.list.is_empty() {
                    return Err(Violation::Occupied);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl Rungs {
    /// Overwrites a minimum on purpose.
    pub(super) fn set_min(&mut self, at: Number, change: impl Fn(Tick) -> Tick) {
        let bucket = &mut self.array.as_flattened_mut()[at.index()];
        bucket.min = change(bucket.min);
    }

    /// Clears the mark of an occupied bucket.
    pub(super) fn forget_occupied(&mut self, at: Number) {
        self.occupied[at.level()] &= !at.bit();
    }

    /// Clears the marks of all mixed buckets.
    pub(super) fn forget_mixed(&mut self) {
        self.mixed = [0; LEVELS];
    }
}
