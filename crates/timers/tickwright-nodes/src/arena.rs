//! Slots that are named by an index and a generation, for structures that own their values. This
//! module has no unsafe code.
//!
//! # Layout
//! ```text
//!   index       0        1          2          3
//!   record  [ unused | record  | record   | vacant -> 1 ]     what an algorithm walks
//!   slot    [ unused | gen, T  | gen, T   | gen, free   ]     the value, while the slot is live
//! ```
//! [`ApartColumns`] keeps records and slots in two vectors: an algorithm that walks records reads
//! no values, and its code does not depend on `T`. [`TogetherColumns`] keeps a record and its slot
//! in one cell, so that a search that compares values reads adjacent memory. [`Inline`] has a fixed
//! number of cells and needs no allocator.
//!
//! A new value is stored in the slot of the free list that was vacated last, or, if the list is
//! empty, in the first free slot after index `seen`. When only few slots are live, the list is
//! dropped and `seen` becomes 0, because a walk by index is faster than a walk along a long list in
//! random order.
//!
//! # Invariants
//! 1. The generation of a live slot is never 0. The compiler uses 0 in this field to encode a free
//!    slot.
//! 2. Each occupation of a slot has a different generation, so a stale [`SlotId`] never becomes
//!    valid again. A slot that has used up its [`GENERATIONS`] is retired. An [`Inline`] slot is an
//!    exception: it is not retired, because no other slot could replace it, and its generations
//!    begin again at 1.
//! 3. Each free slot that is not retired is on the free list exactly once, if its index is at most
//!    `seen`. No other slot is on the list. The records link the list ([`Violation::Storage`], also
//!    for invariant 4).
//! 4. `len` slots are live and `retired` slots are retired. The slot with index 0 is neither live
//!    nor retired.
//! 5. In exactly `idle` of the live slots, the top bit of the generation is set. No id has this bit
//!    set, so the generations of an idle slot and of its id differ, as with a stale id. One
//!    comparison therefore distinguishes a slot that is live and not idle from all other slots.

use core::num::NonZeroU32;

use crate::Handle;
#[cfg(doc)]
use crate::Violation;

mod columns;
mod inline;
mod slots;
#[cfg(feature = "alloc")]
mod vectors;

pub use columns::{Cell, Columns};
pub use inline::Inline;
pub use slots::Arena;
#[cfg(feature = "alloc")]
pub use vectors::{ApartColumns, Records, TogetherColumns};

/// The index of a slot. An index is never 0, so that an optional index takes four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Idx(NonZeroU32);

impl Idx {
    /// Returns the index as a `usize`, for a vector.
    #[inline]
    #[must_use]
    pub fn at(self) -> usize {
        self.0.get() as usize
    }

    /// Returns the index for a position in a vector. Returns `None` for position 0, and for
    /// positions after the last index.
    #[inline]
    #[must_use]
    pub fn of(at: usize) -> Option<Self> {
        NonZeroU32::new(u32::try_from(at).ok()?).map(Self).filter(|_| at <= MOST)
    }
}

impl Handle for Idx {
    const NUMBERED: bool = true;

    #[inline]
    fn number(self) -> u32 {
        self.0.get()
    }

    #[inline]
    fn from_number(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Self)
    }
}

/// Names one occupation of a slot. When the slot is vacated, the id is stale forever. An id takes
/// eight bytes, and so does an `Option<SlotId>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId {
    /// The index of the slot.
    pub index: Idx,
    /// The generation, which identifies the occupation of the slot.
    pub generation: NonZeroU32,
}

const _: () = assert!(size_of::<Option<SlotId>>() == 8);

impl SlotId {
    /// Returns the id as a number that is never 0.
    #[inline]
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation.get()) << 32 | u64::from(self.index.0.get())
    }

    /// Returns the id for which [`to_bits`](Self::to_bits) returned `bits`. Returns `None` for a
    /// number that does not stand for an id, such as 0.
    #[inline]
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        let index = NonZeroU32::new(u32::try_from(bits & u64::from(u32::MAX)).ok()?)?;
        let generation = NonZeroU32::new(u32::try_from(bits >> 32).ok()?)?;
        if generation.get() > GENERATIONS {
            return None;
        }
        Some(Self { index: Idx(index), generation })
    }
}

/// One slot. A `Free` slot stores the generation of the last occupation, or 0 if there was no
/// occupation.
#[derive(Debug)]
pub enum SlotState<T> {
    /// The slot holds a value.
    Live {
        /// The generation of this occupation. The top bit is set while the slot is idle.
        generation: NonZeroU32,
        /// The value.
        value: T,
    },
    /// The slot is free or retired.
    Free {
        /// The generation of the last occupation.
        last: u32,
    },
}

const _: () = assert!(size_of::<SlotState<u32>>() == 8);

impl<T> SlotState<T> {
    /// Returns whether the slot holds a value.
    #[inline]
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Live { .. })
    }

    /// Returns whether the slot holds a value, and is idle.
    #[inline]
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        matches!(self, Self::Live { generation, .. } if generation.get() > GENERATIONS)
    }

    fn is_usable(&self) -> bool {
        matches!(self, Self::Free { last } if *last < GENERATIONS)
    }
}

/// The number of occupations that a slot can have.
pub const GENERATIONS: u32 = u32::MAX >> 1;

/// The error that is returned when there is no memory for another slot, when no index is left, or
/// when the bound is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The greatest number of slots. The number is limited because an index is a `u32`, and 0 stands
/// for no slot.
pub const MOST: usize = u32::MAX as usize - 1;

/// Returns the number of slots that are needed for `total` values, `retired` retired slots and
/// slot 0. Returns `None` if there are too few indices.
#[must_use]
pub fn slots_for(total: usize, retired: usize) -> Option<usize> {
    let slots = total.checked_add(retired)?;
    if slots <= MOST { Some(slots + 1) } else { None }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
