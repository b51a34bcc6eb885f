//! The buckets, and what is known about each bucket without reading its nodes: whether it is
//! occupied, its minimum, and whether it is dirty.
//!
//! ```text
//!   levels      ..0 0 0 0 0 1 1 0      bit n: level n has an occupied bucket
//!   occupied[1] ..0 1 0 0 1 0 0 0      bit d: bucket d of level 1 holds a node
//!   dirty[1]    ..0 1 0 0 0 0 0 0      bit d: its minimum is a lower bound, not known to be exact
//!   array[1][3]  { min, head, tail }   one bucket: its minimum beside the ends of its chain
//! ```
//! The minimum of a bucket and the ends of its chain are on the same cache line, because an insert
//! writes both. The caller links the chains. [`add`](Buckets::add), [`remove`](Buckets::remove),
//! [`empty`](Buckets::empty) and [`set_min`](Buckets::set_min) maintain the marks (invariants 2 and
//! 4).

use crate::contract::{Tick, Violation};
use crate::structures::digits::BucketNumber;
use tickwright_nodes::chain::Chain;

/// A chain of nodes in order of arrival, and the earliest expiry among the nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket<P> {
    /// The earliest expiry, or a lower bound of the earliest expiry if the bucket is dirty. The
    /// field has no meaning while the bucket is empty.
    pub(super) min: Tick,
    pub(super) chain: Chain<P>,
}

/// All buckets of a wheel, with their marks.
pub(super) struct Buckets<P, const BUCKETS: usize, const LEVELS: usize> {
    pub(super) levels: u64,
    pub(super) occupied: [u64; LEVELS],
    pub(super) dirty: [u64; LEVELS],
    pub(super) array: [[Bucket<P>; BUCKETS]; LEVELS],
}

impl<P: crate::structure::Handle, const BUCKETS: usize, const LEVELS: usize> Buckets<P, BUCKETS, LEVELS> {
    pub(super) const NEW: Self = Self {
        levels: 0,
        occupied: [0; LEVELS],
        dirty: [0; LEVELS],
        array: [[Bucket { min: 0, chain: Chain::EMPTY }; BUCKETS]; LEVELS],
    };

    #[inline]
    pub(super) fn at(&self, at: BucketNumber<BUCKETS>) -> &Bucket<P> {
        &self.array.as_flattened()[at.index()]
    }

    #[inline]
    pub(super) fn chain_mut(&mut self, at: BucketNumber<BUCKETS>) -> &mut Chain<P> {
        &mut self.array.as_flattened_mut()[at.index()].chain
    }

    /// Returns whether every bucket is empty.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.levels == 0
    }

    /// Returns the earliest occupied bucket: the lowest occupied digit of the lowest occupied
    /// level.
    #[inline]
    pub(super) fn first(&self) -> Option<BucketNumber<BUCKETS>> {
        let level = self.levels.trailing_zeros() as usize;
        let digit = self.occupied.get(level)?.trailing_zeros() as usize % BUCKETS;
        Some(BucketNumber::new(level, digit))
    }

    /// Iterates over the occupied buckets, from the earliest to the latest.
    pub(super) fn iter(&self) -> impl Iterator<Item = BucketNumber<BUCKETS>> + '_ {
        self.occupied.iter().enumerate().flat_map(|(level, &occupied)| {
            let mut left = occupied;
            core::iter::from_fn(move || {
                let digit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(BucketNumber::new(level, digit))
            })
        })
    }

    #[inline]
    pub(super) fn is_occupied(&self, at: BucketNumber<BUCKETS>) -> bool {
        self.occupied[at.level()] & at.bit() != 0
    }

    /// Returns whether the bucket's minimum might be only a lower bound.
    #[inline]
    pub(super) fn is_dirty(&self, at: BucketNumber<BUCKETS>) -> bool {
        self.dirty[at.level()] & at.bit() != 0
    }

    /// Records that the bucket now also holds a node with `expiry`. Returns true if the next
    /// wake-up might have changed, because the bucket was empty or its minimum decreased.
    #[inline]
    pub(super) fn add(&mut self, at: BucketNumber<BUCKETS>, expiry: Tick) -> bool {
        let bucket = &mut self.array.as_flattened_mut()[at.index()];
        // The `occupied` mark decides whether the bucket is in use, because the bucket's chain can
        // look empty while a cascade from both ends holds a part of the chain.
        if self.occupied[at.level()] & at.bit() == 0 {
            bucket.min = expiry;
            self.occupied[at.level()] |= at.bit();
            self.levels |= 1 << at.level();
            true
        } else {
            self.lower_min(at, expiry)
        }
    }

    /// Does what [`add`](Self::add) does for a bucket that is occupied.
    #[inline]
    pub(super) fn lower_min(&mut self, at: BucketNumber<BUCKETS>, expiry: Tick) -> bool {
        let bucket = &mut self.array.as_flattened_mut()[at.index()];
        if expiry <= bucket.min {
            debug_assert!(at.level() > 0 || expiry == bucket.min, "a bucket of level 0 holds one tick");
            // `expiry` is not later than `min`, which is a lower bound of all other expiries, so
            // `expiry` is the exact minimum.
            let fell = expiry < bucket.min;
            bucket.min = expiry;
            self.dirty[at.level()] &= !at.bit();
            fell
        } else {
            debug_assert!(at.level() > 0, "a bucket of level 0 holds one tick");
            false
        }
    }

    /// Records that a node with `expiry` has left a bucket that still holds other nodes.
    #[inline]
    pub(super) fn remove(&mut self, at: BucketNumber<BUCKETS>, expiry: Tick) {
        // At level 0 all nodes have the same expiry, so the minimum stays exact.
        if expiry == self.at(at).min && at.level() > 0 {
            self.mark_dirty(at);
        }
    }

    /// Marks the bucket as dirty, because its minimum might no longer be exact.
    #[inline]
    pub(super) fn mark_dirty(&mut self, at: BucketNumber<BUCKETS>) {
        debug_assert!(
            at.level() > 0 && self.is_occupied(at),
            "only an occupied bucket above level 0 is dirty"
        );
        self.dirty[at.level()] |= at.bit();
    }

    /// Records that the last node has left the bucket.
    #[inline]
    pub(super) fn empty(&mut self, at: BucketNumber<BUCKETS>) {
        debug_assert!(self.at(at).chain.is_empty(), "the bucket still holds a node");
        self.occupied[at.level()] &= !at.bit();
        self.dirty[at.level()] &= !at.bit();
        if self.occupied[at.level()] == 0 {
            self.levels &= !(1 << at.level());
        }
    }

    /// Sets the exact minimum, which the caller has read from the nodes.
    #[inline]
    pub(super) fn set_min(&mut self, at: BucketNumber<BUCKETS>, min: Tick) {
        debug_assert!(min >= self.at(at).min, "the old minimum was no lower bound");
        self.array.as_flattened_mut()[at.index()].min = min;
        self.dirty[at.level()] &= !at.bit();
    }

    /// Verifies that the marks of a level agree with each other and with the chains of its buckets.
    ///
    /// # Errors
    /// [`Violation::Occupied`].
    pub(super) fn check_level(&self, level: usize) -> Result<(), Violation> {
        let chains = self.array[level].iter().zip(0..);
        let occupied = chains
            .fold(0, |bits, (bucket, digit): (_, u32)| bits | u64::from(!bucket.chain.is_empty()) << digit);
        let marked = self.levels >> level & 1 != 0;
        if self.occupied[level] == occupied && marked == (occupied != 0) {
            Ok(())
        } else {
            Err(Violation::Occupied)
        }
    }

    /// Verifies the minimum and the dirty mark of a bucket. `earliest` is the earliest expiry in
    /// the bucket.
    ///
    /// # Errors
    /// [`Violation::Minimum`].
    pub(super) fn check_min(
        &self,
        at: BucketNumber<BUCKETS>,
        earliest: Option<Tick>,
    ) -> Result<(), Violation> {
        let dirty = self.is_dirty(at);
        let right = match earliest {
            Some(earliest) if dirty => self.at(at).min <= earliest && at.level() > 0,
            Some(earliest) => self.at(at).min == earliest,
            None => !dirty,
        };
        if right { Ok(()) } else { Err(Violation::Minimum) }
    }
}
