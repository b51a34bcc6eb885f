//! The memory that holds the records and slots of an arena.

use super::{Full, Idx, SlotState};
use crate::{Nodes, Record};

/// Records and slots by index. Each slot has a record, and there can be more records than slots.
pub trait Columns: Sized {
    /// The record that an algorithm has for a slot.
    type Record: Record<Idx>;

    /// The value that a live slot holds.
    type Value;

    /// The type through which an algorithm reads and writes its records.
    type Nodes: Nodes<Idx, Self::Record>;

    /// Whether the number of slots is fixed, so that no slot is ever appended or retired.
    const FIXED: bool = false;

    /// Columns without slots, or, if the number of slots is fixed, columns in which all slots are
    /// free.
    const EMPTY: Self;

    /// Returns the records.
    fn nodes(&self) -> &Self::Nodes;

    /// Returns a mutable reference to the records.
    fn nodes_mut(&mut self) -> &mut Self::Nodes;

    /// Makes all records discard the data of their last timers. The caller must ensure that no slot
    /// is live.
    fn forget(&mut self);

    /// Returns the number of slots, including slot 0.
    fn len(&self) -> usize;

    /// Returns whether there are no slots, not even slot 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether each slot has a record.
    fn is_complete(&self) -> bool {
        true
    }

    /// Returns the number of slots for which there is memory.
    fn capacity(&self) -> usize {
        self.len()
    }

    /// Makes room for `additional` more slots and, unless `exact` is true, for later growth.
    ///
    /// # Errors
    /// [`Full`] when there is no memory.
    fn reserve(&mut self, additional: usize, exact: bool) -> Result<(), Full>;

    /// Appends a free slot. The caller must have made room for it.
    fn push(&mut self, last: u32);

    /// Returns the slot after `p` on the free list, which [`set_vacant`](Self::set_vacant) stored.
    #[inline]
    fn next_vacant(&self, p: Idx) -> Option<Idx> {
        self.nodes().record(p).next_vacant()
    }

    /// Stores in the record of the free slot `p` which slot is next on the free list.
    #[inline]
    fn set_vacant(&mut self, p: Idx, next: Option<Idx>) {
        self.nodes_mut().record_mut(p).set_vacant(next);
    }

    /// Makes the record of a retired slot an idle record.
    fn set_idle(&mut self, p: Idx) {
        *self.nodes_mut().record_mut(p) = Self::Record::IDLE;
    }

    /// Returns the slot at an index, if it exists.
    fn slot(&self, at: usize) -> Option<&SlotState<Self::Value>>;

    /// Returns a mutable reference to the slot at an index, if it exists.
    fn slot_mut(&mut self, at: usize) -> Option<&mut SlotState<Self::Value>>;

    /// Returns the number of bytes that the columns have allocated, without the memory that values
    /// own.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// A record and its slot.
#[derive(Debug)]
pub struct Cell<R, T> {
    /// The record that an algorithm has for the slot.
    pub record: R,
    /// The slot, which holds a value or is free.
    pub slot: SlotState<T>,
}
