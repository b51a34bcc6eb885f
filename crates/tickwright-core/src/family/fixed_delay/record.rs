//! What a node remembers, in 24 bytes of a slab.

use crate::contract::Tick;
use crate::family::dary_heap::InCell;
use crate::storage::{Handle, Record};

/// What a node of the queue remembers.
///
/// Only a node inside of a list has one before it. So `prev` tells what the last two fields mean.
#[derive(Debug)]
pub struct FixedDelayRecord<P> {
    /// When it is due.
    pub(super) expiry: Tick,
    /// The node behind it in its list. On the free list of a slab, the next slot.
    pub(super) next: Option<P>,
    /// The node before it in its list. A node without one has an entry in the heap.
    pub(super) prev: Option<P>,
    /// In the heap: the cell of its entry. Inside of a list: the list's number.
    pub(super) place: u32,
    /// In the heap: the list's number plus 1, or 0 without a list; then the entry has the arrival
    /// number. Inside of a list: the arrival number.
    pub(super) mark: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<FixedDelayRecord<core::num::NonZeroU32>>() == 24);

/// Where a node stands, as its record tells.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<P> {
    /// Its entry is in the heap. The node is the head of a list, or alone.
    InHeap { cell: usize, list: Option<usize> },
    /// Behind the node `prev` of a list.
    Inside { prev: P, list: usize },
}

impl<P: Handle> FixedDelayRecord<P> {
    /// The record of a node whose entry goes into the heap, which sets the cell.
    #[inline]
    pub(super) fn in_heap(expiry: Tick, next: Option<P>, list: Option<usize>) -> Self {
        Self { expiry, next, prev: None, place: 0, mark: list.map_or(0, |list| list as u32 + 1) }
    }

    /// The record of a node inside of a list.
    #[inline]
    pub(super) fn inside(expiry: Tick, prev: P, next: Option<P>, list: usize, arrival: u32) -> Self {
        Self { expiry, next, prev: Some(prev), place: list as u32, mark: arrival }
    }

    /// Where the node stands.
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
