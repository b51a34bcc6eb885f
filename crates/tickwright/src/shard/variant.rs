//! How a re-arm is done: four ways as types, so that each is compiled on its own and the comparison of them is fair.

use core::fmt::Debug;

use tickwright_core::family::coarse_wheel::{Coarse, Geometry};
use tickwright_core::storage::{Discipline, Handle, Nodes};
use tickwright_core::{HeadChange, Span, Tick};

use super::specimen::Posting;
use super::word::PARKED;

/// What may be left out of a re-arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Nothing, unless the deadline is the same.
    AlwaysRequeue,
    /// The requeue and the lock, unsoundly.
    AsPosted,
    /// The requeue, by bucket index under the lock, unsoundly.
    IndexUnderLock,
    /// The requeue, by bucket expiry under the lock.
    UnderLock,
    /// The requeue and the lock.
    LockFree,
}

/// A way to re-arm, together with the geometry of the wheels. Sealed: [`LockFree`], [`UnderLock`], [`AlwaysRequeue`], and the
/// [specimens](super::specimen).
pub trait Variant: Debug + Send + Sync + Sized + 'static {
    /// Its name in tables.
    const NAME: &'static str;

    #[doc(hidden)]
    const HOW: How;

    #[doc(hidden)]
    type Wheel<P: Handle>: Wheel<P>;

    #[doc(hidden)]
    type Posted: Posting;
}

/// What the shard asks of a wheel beyond [`Discipline`].
pub trait Wheel<P: Handle>: Discipline<P> {
    /// Buckets in a level.
    const BUCKETS: u32;

    /// Evaluated, it fails to compile when a word has too few bits for a level.
    const FITS_THE_WORD: ();

    /// Ticks in a bucket of `level`.
    fn granule(level: u8) -> Span;

    /// The least delay that is filed at `level`.
    fn start(level: u8) -> Span;

    /// The level for a delay; none at or beyond the end of the last one.
    fn level_for(delay: Span) -> Option<u8>;

    /// Whether two deadlines have one bucket at `level`: the same granule, not the same index.
    fn same_bucket(a: Tick, b: Tick, level: u8) -> bool;

    /// Where `p` is filed, if in a normal bucket: its end is then a function of its deadline and this level.
    fn level(&self, nodes: &impl Nodes<P, Self::Record>, p: P) -> Option<u8>;

    /// As `insert`, but what is due already leaves at the next tick and not in the pass that is under way.
    fn insert_behind(
        &mut self,
        nodes: &mut impl Nodes<P, Self::Record>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange;
}

macro_rules! variants {
    ($($(#[$doc:meta])* $name:ident, $label:literal, $posted:ty;)+) => {$(
        $(#[$doc])*
        ///
        /// The parameters are the geometry of the wheels: buckets in a level, bits between the granules of two levels,
        /// levels (at most 15). The defaults are Linux's.
        #[derive(Clone, Copy, Debug)]
        pub struct $name<const BUCKETS: usize = 64, const SHIFT: u32 = 3, const DEPTH: usize = 9>;

        impl<const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Variant
            for $name<BUCKETS, SHIFT, DEPTH>
        {
            const NAME: &'static str = $label;
            const HOW: How = How::$name;
            type Wheel<P: Handle> = Coarse<P, BUCKETS, SHIFT, DEPTH>;
            type Posted = $posted;
        }
    )+};
}
pub(super) use variants;

variants! {
    /// Every re-arm unlinks and links anew under the lock, unless the deadline is the one that it has: Linux before the
    /// patch of 2016. (A timer beyond the last level is requeued in any case, here and in the others.)
    AlwaysRequeue, "requeue", ();

    /// A re-arm into the bucket where the timer stands leaves it there; found out under the lock, by the bucket's expiry.
    /// Linux since late 2016, without its compare of bucket indices.
    UnderLock, "under-lock", ();

    /// The same, found out and done by one compare-exchange without the lock. The default.
    LockFree, "lock-free", ();
}

impl<P: Handle, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Wheel<P>
    for Coarse<P, BUCKETS, SHIFT, DEPTH>
{
    const BUCKETS: u32 = BUCKETS as u32;
    const FITS_THE_WORD: () =
        assert!(DEPTH <= PARKED as usize, "DEPTH: at most 15, the word has four bits for a level");

    #[inline]
    fn granule(level: u8) -> Span {
        Geometry::<BUCKETS, SHIFT, DEPTH>::granule(level.into())
    }

    #[inline]
    fn start(level: u8) -> Span {
        Geometry::<BUCKETS, SHIFT, DEPTH>::start(level.into())
    }

    #[inline]
    fn level_for(delay: Span) -> Option<u8> {
        Geometry::<BUCKETS, SHIFT, DEPTH>::level(delay).and_then(|level| u8::try_from(level).ok())
    }

    #[inline]
    fn same_bucket(a: Tick, b: Tick, level: u8) -> bool {
        Geometry::<BUCKETS, SHIFT, DEPTH>::same_bucket(a, b, level.into())
    }

    #[inline]
    fn level(&self, nodes: &impl Nodes<P, Self::Record>, p: P) -> Option<u8> {
        self.level(nodes, p)
    }

    #[inline]
    fn insert_behind(
        &mut self,
        nodes: &mut impl Nodes<P, Self::Record>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        self.insert_behind(nodes, p, deadline, now)
    }
}
