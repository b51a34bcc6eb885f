//! What an algorithm may ask of memory.

use core::fmt::Debug;

/// Names a node inside one storage: an index or a pointer.
///
/// An index is also a number, so that a record without room for an `Option<P>` can remember one on
/// the free list. A pointer has no number: nothing keeps a free list of hooks.
pub trait Handle: Copy + Eq + Debug + 'static {
    /// Whether the handle is an index.
    const NUMBERED: bool = false;

    /// The number of an index, never 0; 0 for a pointer.
    fn number(self) -> u32 {
        0
    }

    /// The index of [`number`](Self::number); `None` for 0, and for pointers.
    fn from_number(number: u32) -> Option<Self> {
        let _ = number;
        None
    }
}

/// What a family keeps for each node: links, and the expiry where the node itself must hold it.
pub trait Record<P: Handle>: Sized {
    /// The record of a node that is in no queue.
    const IDLE: Self;

    /// A record that only remembers another handle; the slab threads its free list through it.
    fn vacant(next: Option<P>) -> Self;

    /// What [`vacant`](Self::vacant) was given.
    fn next_vacant(&self) -> Option<P>;

    /// Makes it the record of a slot on the free list, in front of `next`.
    #[inline]
    fn set_vacant(&mut self, next: Option<P>) {
        *self = Self::vacant(next);
    }

    /// Whether a vacant record remembers something of its last timer.
    const REMEMBERS: bool = false;

    /// Lets a record that is vacant or idle forget its last timer.
    fn forget(&mut self) {}

    /// Whether it has room for a stamp: a slab then checks a key in the record alone, which the
    /// operation touches anyway.
    const STAMPED: bool = false;

    /// The stamp; 0 in records that are idle or vacant, and where there is no room.
    fn stamp(&self) -> u32 {
        0
    }

    /// Sets the stamp. It stays until the record is idle or vacant: a family that moves a node
    /// leaves it alone.
    fn set_stamp(&mut self, stamp: u32) {
        let _ = stamp;
    }
}

/// Looks records up. The shells implement it; algorithms are generic over it.
pub trait Nodes<P: Handle, R> {
    /// The record of `p`.
    fn record(&self, p: P) -> &R;

    /// The record of `p`, to write.
    fn record_mut(&mut self, p: P) -> &mut R;

    /// The record of `p` may be read next. Changes no result.
    #[inline]
    fn prefetch(&self, _p: Option<P>) {}
}
