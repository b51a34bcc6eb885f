//! The traits through which an algorithm uses memory: `Handle`, `Record` and `Nodes`.

use core::fmt::Debug;

/// Names a node inside one storage: an index or a pointer.
///
/// An index is also a number, so a record without room for an `Option<P>` can store an index for
/// the free list. A pointer has no number, because no free list holds hooks.
pub trait Handle: Copy + Eq + Debug + 'static {
    /// Whether the handle is an index.
    const NUMBERED: bool = false;

    /// Returns the number of an index, which is never 0, or 0 for a pointer.
    fn number(self) -> u32 {
        0
    }

    /// Returns the index whose [`number`](Self::number) this is, or `None` for 0 and for pointers.
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

    /// Creates a record that stores only another handle; the slab links its free list through such
    /// records.
    fn vacant(next: Option<P>) -> Self;

    /// Returns the handle that [`vacant`](Self::vacant) stored.
    fn next_vacant(&self) -> Option<P>;

    /// Makes this the record of a slot on the free list, before `next`.
    #[inline]
    fn set_vacant(&mut self, next: Option<P>) {
        *self = Self::vacant(next);
    }

    /// The greatest number of slots for which an algorithm with such records can store numbers. An
    /// arena with this many slots is full.
    const SLOTS: usize = u32::MAX as usize - 1;

    /// Whether a vacant record keeps data of the last timer.
    const REMEMBERS: bool = false;

    /// Makes a vacant or idle record forget the last timer.
    fn forget(&mut self) {}
}

/// Looks up records. Stores implement this trait, and algorithms are generic over it.
pub trait Nodes<P: Handle, R> {
    /// Returns the record of `p`.
    fn record(&self, p: P) -> &R;

    /// Returns the record of `p`, for writing.
    fn record_mut(&mut self, p: P) -> &mut R;

    /// Prefetches the record of `p`, which might be read next. Changes no result.
    #[inline]
    fn prefetch(&self, _p: Option<P>) {}
}
