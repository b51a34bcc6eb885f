//! The geometry of a shard's wheels, as a type.

use core::fmt::Debug;

use tickwright_core::structure::{Discipline, Handle, Nodes};
use tickwright_core::structures::{Coarse, Geometry};
use tickwright_core::{HeadChange, Span, Tick};

use super::word::PARKED;

/// The geometry of Linux's timer wheel, and the default. It has 9 levels of 64 buckets. The buckets
/// of each level are 8 times as wide as the buckets of the next finer level.
pub type Linux = Geometry<64, 3, 9>;

/// The geometry of a shard's wheels. It is a [`Geometry`] with at most 15 levels.
///
/// The trait is sealed. It exists so that the types of shards have one type parameter instead of
/// three numbers.
pub trait WheelGeometry: Debug + Send + Sync + Sized + 'static + sealed::Sealed {
    /// The wheel of this geometry for handles of type `P`.
    #[doc(hidden)]
    type Wheel<P: Handle>: Discipline<P>;

    /// A compile-time check. It does not compile if the word has too few bits for the number of
    /// levels.
    #[doc(hidden)]
    const FITS_THE_WORD: ();

    /// The coarsest level.
    #[doc(hidden)]
    const TOP: u8;

    /// Returns the smallest delay with which a timer is inserted at `level`.
    #[doc(hidden)]
    fn start(level: u8) -> Span;

    /// Returns whether two deadlines belong to the same turn of the same bucket at `level`, and not
    /// only to buckets with the same index.
    #[doc(hidden)]
    fn same_bucket(a: Tick, b: Tick, level: u8) -> bool;

    /// Returns the level of `p`, if `p` is in a normal bucket. The bucket's end then follows from
    /// the deadline and this level.
    #[doc(hidden)]
    fn level<P: Handle>(wheel: &Self::Wheel<P>, nodes: &impl Nodes<P, RecordOf<Self, P>>, p: P)
    -> Option<u8>;

    /// Like `insert`, but a timer whose deadline has passed expires at the next tick, and not in
    /// the current pass.
    #[doc(hidden)]
    fn insert_behind<P: Handle>(
        wheel: &mut Self::Wheel<P>,
        nodes: &mut impl Nodes<P, RecordOf<Self, P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange;
}

/// The record that a wheel of geometry `G` keeps for each node.
pub(super) type RecordOf<G, P> = <<G as WheelGeometry>::Wheel<P> as Discipline<P>>::Record;

mod sealed {
    pub trait Sealed {}
}

impl<const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> sealed::Sealed
    for Geometry<BUCKETS, SHIFT, DEPTH>
{
}

impl<const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> WheelGeometry
    for Geometry<BUCKETS, SHIFT, DEPTH>
{
    type Wheel<P: Handle> = Coarse<P, BUCKETS, SHIFT, DEPTH>;

    const FITS_THE_WORD: () =
        assert!(DEPTH <= PARKED as usize, "DEPTH: at most 15, the word has four bits for a level");

    const TOP: u8 = DEPTH as u8 - 1;

    #[inline]
    fn start(level: u8) -> Span {
        Self::start(level.into())
    }

    #[inline]
    fn same_bucket(a: Tick, b: Tick, level: u8) -> bool {
        Self::same_bucket(a, b, level.into())
    }

    #[inline]
    fn level<P: Handle>(
        wheel: &Self::Wheel<P>,
        nodes: &impl Nodes<P, RecordOf<Self, P>>,
        p: P,
    ) -> Option<u8> {
        wheel.level(nodes, p)
    }

    #[inline]
    fn insert_behind<P: Handle>(
        wheel: &mut Self::Wheel<P>,
        nodes: &mut impl Nodes<P, RecordOf<Self, P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        wheel.insert_behind(nodes, p, deadline, now)
    }
}
