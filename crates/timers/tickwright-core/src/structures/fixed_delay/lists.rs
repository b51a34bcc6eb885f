//! The table of lists, which records the delay and the tail of each list.

use alloc::vec::Vec;

use super::FixedDelayRecord;
use crate::contract::{Span, Tick};
use crate::structure::{Handle, Nodes};

/// The number of lists.
pub(super) const LISTS: usize = 256;

/// The list of one delay. Only the heap holds the first node of the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayList<P> {
    /// The delay, in ticks, of the timers that are appended to this list. A list that becomes empty
    /// retains its delay.
    pub(super) delay: Span,
    /// The last timer, or `None` when the list is empty.
    pub(super) tail: Option<P>,
    /// Whether the list has held two timers at once since it was last empty. While this is false,
    /// another delay can take the list.
    pub(super) shared: bool,
}

impl<P: Handle> DelayList<P> {
    const EMPTY: Self = Self { delay: 0, tail: None, shared: false };

    /// Appends `p` after the tail, which must not be later than `p`.
    #[inline]
    pub(super) fn link(
        &mut self,
        nodes: &mut impl Nodes<P, FixedDelayRecord<P>>,
        tail: P,
        p: P,
        expiry: Tick,
        number: usize,
        arrival: u32,
    ) {
        nodes.record_mut(tail).next = Some(p);
        *nodes.record_mut(p) = FixedDelayRecord::inside(expiry, tail, None, number, arrival);
        self.tail = Some(p);
        self.shared = true;
    }
}

/// All lists: no list until memory is allocated, then [`LISTS`] lists.
#[derive(Debug)]
pub(super) struct Lists<P>(pub(super) Vec<DelayList<P>>);

impl<P: Handle> Lists<P> {
    /// A table without lists, which has allocated nothing.
    pub(super) const NONE: Self = Self(Vec::new());

    /// Allocates the lists, if there is memory. If there is no memory, every timer goes into the
    /// heap.
    #[cold]
    pub(super) fn allocate(&mut self) {
        if self.0.try_reserve_exact(LISTS).is_ok() {
            self.0.resize(LISTS, DelayList::EMPTY);
        }
    }

    /// Returns the number of the only list that a delay can use. The multiplier is 2^64 divided by
    /// the golden ratio, so the highest bits of the product are spread evenly for delays in
    /// arithmetic progression.
    #[inline]
    pub(super) const fn number_of(delay: Span) -> usize {
        (delay.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (Span::BITS - LISTS.ilog2())) as usize
    }

    /// Returns whether `p` is the last node of list `number`.
    #[inline]
    pub(super) fn ends_at(&self, number: usize, p: P) -> bool {
        self.0.get(number).is_some_and(|list| list.tail == Some(p))
    }

    /// Makes `p` the last node of list `number`.
    #[inline]
    pub(super) fn end_at(&mut self, number: usize, p: P) {
        if let Some(list) = self.0.get_mut(number) {
            list.tail = Some(p);
        }
    }

    /// Empties list `number` if `p` is its only timer. If `p` was the only timer of the list,
    /// another delay might have taken the list since; `p` is then only in the heap, and the list
    /// does not change.
    #[inline]
    pub(super) fn leave(&mut self, number: Option<usize>, p: P) {
        if let Some(list) = number.and_then(|number| self.0.get_mut(number))
            && list.tail == Some(p)
        {
            list.tail = None;
            list.shared = false;
        }
    }

    /// Empties all lists.
    pub(super) fn clear(&mut self) {
        self.0.fill(DelayList::EMPTY);
    }

    /// Returns the number of bytes that the table has allocated.
    pub(super) fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<DelayList<P>>()
    }
}
