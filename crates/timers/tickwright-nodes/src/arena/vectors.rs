//! Records and slots in vectors, which grow.

use alloc::vec::Vec;
use core::fmt;

use super::columns::{Cell, Columns};
use super::{Full, Idx, SlotState};
use crate::{Nodes, Record, hint};

/// The records of an arena that keeps its slots in another vector. Index 0 is never used.
#[derive(Debug)]
pub struct Records<R>(#[doc(hidden)] pub Vec<R>, Beside);

/// The address of the slots, so that a prefetch of a record also fetches its slot. The address is
/// only a hint: no code reads through it.
#[derive(Clone, Copy, Debug)]
struct Beside {
    address: usize,
    stride: usize,
}

impl Beside {
    const NONE: Self = Self { address: 0, stride: 0 };

    fn of<T>(slots: &[T]) -> Self {
        Self { address: slots.as_ptr().addr(), stride: size_of::<T>() }
    }

    #[inline]
    fn prefetch(self, at: usize) {
        if self.stride > 0 {
            let address = self.address.wrapping_add(at.wrapping_mul(self.stride));
            hint::prefetch(core::ptr::without_provenance::<u8>(address));
        }
    }
}

impl<R> Records<R> {
    /// A vector without records.
    pub const EMPTY: Self = Self(Vec::new(), Beside::NONE);
}

impl<R> Nodes<Idx, R> for Records<R> {
    #[inline]
    fn record(&self, p: Idx) -> &R {
        &self.0[p.at()]
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut R {
        &mut self.0[p.at()]
    }

    #[inline]
    fn prefetch(&self, p: Option<Idx>) {
        let at = p.map_or(0, Idx::at);
        hint::prefetch(self.0.as_ptr().wrapping_add(at));
        self.1.prefetch(at);
    }
}

fn reserve<T>(vector: &mut Vec<T>, additional: usize, exact: bool) -> Result<(), Full> {
    let got = if exact { vector.try_reserve_exact(additional) } else { vector.try_reserve(additional) };
    got.map_err(|_| Full)
}

/// Records are in one vector, and slots in another vector.
#[derive(Debug)]
pub struct ApartColumns<R, T> {
    /// The records, whose links an algorithm follows.
    pub records: Records<R>,
    #[doc(hidden)]
    pub slots: Vec<SlotState<T>>,
}

impl<R: Record<Idx>, T> Columns for ApartColumns<R, T> {
    type Record = R;
    type Value = T;
    type Nodes = Records<R>;

    const EMPTY: Self = Self { records: Records::EMPTY, slots: Vec::new() };

    #[inline]
    fn nodes(&self) -> &Records<R> {
        &self.records
    }

    #[inline]
    fn nodes_mut(&mut self) -> &mut Records<R> {
        &mut self.records
    }

    fn forget(&mut self) {
        if R::REMEMBERS {
            self.records.0.iter_mut().for_each(R::forget);
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.slots.len()
    }

    fn is_complete(&self) -> bool {
        self.records.0.len() >= self.slots.len()
    }

    fn capacity(&self) -> usize {
        self.records.0.capacity().min(self.slots.capacity())
    }

    fn reserve(&mut self, additional: usize, exact: bool) -> Result<(), Full> {
        reserve(&mut self.records.0, additional, exact)?;
        reserve(&mut self.slots, additional, exact)?;
        self.records.1 = Beside::of(&self.slots);
        Ok(())
    }

    #[inline]
    fn push(&mut self, last: u32) {
        self.records.0.push(R::IDLE);
        self.slots.push(SlotState::Free { last });
    }

    #[inline]
    fn slot(&self, at: usize) -> Option<&SlotState<T>> {
        self.slots.get(at)
    }

    #[inline]
    fn slot_mut(&mut self, at: usize) -> Option<&mut SlotState<T>> {
        self.slots.get_mut(at)
    }

    fn heap_bytes(&self) -> usize {
        self.records.0.capacity() * size_of::<R>() + self.slots.capacity() * size_of::<SlotState<T>>()
    }
}

/// Each record is next to its slot.
pub struct TogetherColumns<R, T>(#[doc(hidden)] pub Vec<Cell<R, T>>);

impl<R, T> fmt::Debug for TogetherColumns<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TogetherColumns").field("cells", &self.0.len()).finish()
    }
}

impl<R: Record<Idx>, T> Columns for TogetherColumns<R, T> {
    type Record = R;
    type Value = T;
    type Nodes = Self;

    const EMPTY: Self = Self(Vec::new());

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
        self.0.len()
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn reserve(&mut self, additional: usize, exact: bool) -> Result<(), Full> {
        reserve(&mut self.0, additional, exact)
    }

    #[inline]
    fn push(&mut self, last: u32) {
        self.0.push(Cell { record: R::IDLE, slot: SlotState::Free { last } });
    }

    #[inline]
    fn slot(&self, at: usize) -> Option<&SlotState<T>> {
        self.0.get(at).map(|cell| &cell.slot)
    }

    #[inline]
    fn slot_mut(&mut self, at: usize) -> Option<&mut SlotState<T>> {
        self.0.get_mut(at).map(|cell| &mut cell.slot)
    }

    fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Cell<R, T>>()
    }
}

impl<R: Record<Idx>, T> Nodes<Idx, R> for TogetherColumns<R, T> {
    #[inline]
    fn record(&self, p: Idx) -> &R {
        &self.0[p.at()].record
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut R {
        &mut self.0[p.at()].record
    }

    #[inline]
    fn prefetch(&self, p: Option<Idx>) {
        let cell = self.0.as_ptr().wrapping_add(p.map_or(0, Idx::at));
        hint::prefetch(cell);
        // A cell can be on two cache lines.
        if !64usize.is_multiple_of(size_of::<Cell<R, T>>()) {
            hint::prefetch(cell.wrapping_add(1).cast::<u8>().wrapping_sub(1));
        }
    }
}
