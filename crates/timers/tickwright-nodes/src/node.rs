//! The traits through which an algorithm uses memory: `Handle`, `Record` and `Nodes`.

use core::fmt::Debug;

/// Names a node inside one storage: an index or a pointer.
///
/// An index is also a number, so a record that has no field of type `Option<P>` can store the
/// number of the next free slot. A pointer has no number, because hooks are never on a free list.
pub trait Handle: Copy + Eq + Debug + 'static {
    /// Whether the handle is an index.
    const NUMBERED: bool = false;

    /// Returns the number of an index, which is never 0. For a pointer it returns 0.
    fn number(self) -> u32 {
        0
    }

    /// Returns the index whose [`number`](Self::number) is `number`, or `None` for 0. For pointers
    /// it always returns `None`.
    fn from_number(number: u32) -> Option<Self> {
        let _ = number;
        None
    }
}

/// The data that a family stores for each node, such as links and an expiry.
pub trait Record<P: Handle>: Sized {
    /// The record of a node that is not in a queue.
    const IDLE: Self;

    /// Creates a record that stores only another handle. A slab links its free list through such
    /// records.
    fn vacant(next: Option<P>) -> Self;

    /// Returns the handle that [`vacant`](Self::vacant) stored.
    fn next_vacant(&self) -> Option<P>;

    /// Makes this the record of a slot on the free list, before `next`.
    #[inline]
    fn set_vacant(&mut self, next: Option<P>) {
        *self = Self::vacant(next);
    }

    /// The greatest number of slots that an algorithm with such records can distinguish. An arena
    /// with this many slots is full.
    const SLOTS: usize = u32::MAX as usize - 1;

    /// Whether a vacant record still holds data of the last timer.
    const REMEMBERS: bool = false;

    /// Makes a vacant or idle record discard the data of the last timer.
    fn forget(&mut self) {}
}

/// Looks up records. Stores implement this trait, and algorithms are generic over it.
pub trait Nodes<P: Handle, R> {
    /// Returns the record of `p`.
    fn record(&self, p: P) -> &R;

    /// Returns a mutable reference to the record of `p`.
    fn record_mut(&mut self, p: P) -> &mut R;

    /// Prefetches the record of `p`, because it might be read next. The call changes no result.
    #[inline]
    fn prefetch(&self, _p: Option<P>) {}
}
