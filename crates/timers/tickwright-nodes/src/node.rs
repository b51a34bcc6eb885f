//! What an algorithm may ask of memory.

use core::fmt::Debug;

/// Names a node inside one storage: an index or a pointer.
///
/// An index is also a number, so a record without room for an `Option<P>` can store an index for
/// the free list. A pointer has no number, because no free list holds hooks.
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

/// The data that a family keeps for each node: links, and the expiry if the node itself must hold
/// it.
pub trait Record<P: Handle>: Sized {
    /// The record of a node that is in no queue.
    const IDLE: Self;

    /// A record that stores only another handle; the slab links its free list through such records.
    fn vacant(next: Option<P>) -> Self;

    /// The handle that [`vacant`](Self::vacant) stored.
    fn next_vacant(&self) -> Option<P>;

    /// Makes this the record of a slot on the free list, in front of `next`.
    #[inline]
    fn set_vacant(&mut self, next: Option<P>) {
        *self = Self::vacant(next);
    }

    /// The most slots whose numbers an algorithm with such records can store. An arena with more
    /// values is full.
    const SLOTS: usize = u32::MAX as usize - 1;

    /// Whether a vacant record keeps data of its last timer.
    const REMEMBERS: bool = false;

    /// Makes a vacant or idle record forget its last timer.
    fn forget(&mut self) {}
}

/// Looks records up. Stores implement it; algorithms are generic over it.
pub trait Nodes<P: Handle, R> {
    /// The record of `p`.
    fn record(&self, p: P) -> &R;

    /// The record of `p`, for writing.
    fn record_mut(&mut self, p: P) -> &mut R;

    /// Prefetches the record of `p`, which may be read next. Changes no result.
    #[inline]
    fn prefetch(&self, _p: Option<P>) {}
}
