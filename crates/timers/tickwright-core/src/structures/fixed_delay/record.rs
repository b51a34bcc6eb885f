//! The record of a node, in 24 bytes of a slab.

use crate::contract::Tick;
use crate::structure::{Handle, Record};
use crate::structures::dary_heap::InCell;

/// The record of a node in the queue.
///
/// A node is *inside* a list if another node of the list is before it. Whether `prev` is set
/// therefore determines what the last two fields mean.
#[derive(Debug)]
pub struct FixedDelayRecord<P> {
    /// The tick at which the timer is due.
    pub(super) expiry: Tick,
    /// The node after this one in its list. In a free slot of a slab: the next free slot.
    pub(super) next: Option<P>,
    /// The node before this one in its list. A node without `prev` has an entry in the heap.
    pub(super) prev: Option<P>,
    /// If the node has an entry in the heap: the cell of this entry. Inside a list: the list's
    /// number.
    pub(super) place: u32,
    /// If the node has an entry in the heap: the list's number plus 1, or 0 without a list. (The
    /// entry has the arrival number.) Inside a list: the arrival number.
    pub(super) mark: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<FixedDelayRecord<core::num::NonZeroU32>>() == 24);

/// Where a node is, according to its record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<P> {
    /// The node has an entry in the heap. The node is the first of a list, or belongs to no list.
    InHeap { cell: usize, list: Option<usize> },
    /// The node directly follows the node `prev` in a list.
    Inside { prev: P, list: usize },
}

impl<P: Handle> FixedDelayRecord<P> {
    /// Returns the record for a node whose entry goes into the heap. The heap sets the cell later.
    #[inline]
    pub(super) fn in_heap(expiry: Tick, next: Option<P>, list: Option<usize>) -> Self {
        Self { expiry, next, prev: None, place: 0, mark: list.map_or(0, |list| list as u32 + 1) }
    }

    /// Returns the record for a node inside a list.
    #[inline]
    pub(super) fn inside(expiry: Tick, prev: P, next: Option<P>, list: usize, arrival: u32) -> Self {
        Self { expiry, next, prev: Some(prev), place: list as u32, mark: arrival }
    }

    /// Returns where the node is.
    #[inline]
    pub(super) fn place(&self) -> Place<P> {
        match self.prev {
            Some(prev) => Place::Inside { prev, list: self.place as usize },
            None => Place::InHeap { cell: self.place as usize, list: (self.mark as usize).checked_sub(1) },
        }
    }
}

impl<P> InCell for FixedDelayRecord<P> {
    #[inline]
    fn cell(&self) -> usize {
        self.place as usize
    }

    #[inline]
    fn set_cell(&mut self, cell: u32) {
        self.place = cell;
    }
}

impl<P: Handle> Record<P> for FixedDelayRecord<P> {
    const IDLE: Self = Self { expiry: 0, next: None, prev: None, place: 0, mark: 0 };

    #[inline]
    fn vacant(next: Option<P>) -> Self {
        Self { next, ..Self::IDLE }
    }

    #[inline]
    fn next_vacant(&self) -> Option<P> {
        self.next
    }

    #[inline]
    fn set_vacant(&mut self, next: Option<P>) {
        self.next = next;
    }
}
