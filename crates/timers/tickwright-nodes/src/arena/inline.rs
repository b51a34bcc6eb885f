//! A fixed number of records and slots, without an allocator.

use core::fmt;

use super::columns::{Cell, Columns};
use super::{Full, Idx, SlotState};
use crate::{Nodes, Record};

/// `N` records, each next to its slot. The slot with index `i` is at position `i - 1`.
pub struct Inline<R, T, const N: usize>([Cell<R, T>; N]);

impl<R: Record<Idx>, T, const N: usize> Columns for Inline<R, T, N> {
    type Record = R;
    type Value = T;
    type Nodes = Self;

    const FIXED: bool = true;
    const EMPTY: Self = Self([const { Cell { record: R::IDLE, slot: SlotState::Free { last: 0 } } }; N]);

    #[inline]
    fn nodes(&self) -> &Self {
        self
    }

    #[inline]
    fn nodes_mut(&mut self) -> &mut Self {
        self
    }

    fn forget(&mut self) {
        if R::REMEMBERS {
            self.0.iter_mut().for_each(|cell| cell.record.forget());
        }
    }

    #[inline]
    fn len(&self) -> usize {
        N + 1
    }

    fn reserve(&mut self, additional: usize, _: bool) -> Result<(), Full> {
        if additional == 0 { Ok(()) } else { Err(Full) }
    }

    fn push(&mut self, _: u32) {
        debug_assert!(false, "no slot was reserved");
    }

    #[inline]
    fn slot(&self, at: usize) -> Option<&SlotState<T>> {
        self.0.get(at.wrapping_sub(1)).map(|cell| &cell.slot)
    }

    #[inline]
    fn slot_mut(&mut self, at: usize) -> Option<&mut SlotState<T>> {
        self.0.get_mut(at.wrapping_sub(1)).map(|cell| &mut cell.slot)
    }
}

impl<R: Record<Idx>, T, const N: usize> Nodes<Idx, R> for Inline<R, T, N> {
    #[inline]
    fn record(&self, p: Idx) -> &R {
        &self.0[p.at() - 1].record
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut R {
        &mut self.0[p.at() - 1].record
    }
}

impl<R, T, const N: usize> fmt::Debug for Inline<R, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inline").field("cells", &N).finish()
    }
}
