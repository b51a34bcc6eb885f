//! Where the records and slots of an arena lie.

use alloc::vec::Vec;
use core::fmt;

use super::{Full, Idx, Slot};
use crate::{Nodes, Record, hint};

/// Records and slots by index, as many of the one as of the other.
pub trait Columns: Sized {
    /// What an algorithm keeps for each slot.
    type Record: Record<Idx>;
    /// What a live slot holds.
    type Value;

    /// No slots.
    const EMPTY: Self;

    /// How many slots there are, slot 0 among them.
    fn len(&self) -> usize;

    /// Whether there are none, not even slot 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For how many slots there is memory.
    fn capacity(&self) -> usize;

    /// Gets memory for `additional` more, and for later growth.
    ///
    /// # Errors
    /// [`Full`] when there is none.
    fn try_reserve(&mut self, additional: usize) -> Result<(), Full>;

    /// Gets memory for `additional` more.
    ///
    /// # Errors
    /// [`Full`] when there is none.
    fn try_reserve_exact(&mut self, additional: usize) -> Result<(), Full>;

    /// Appends a free slot. There is memory for it.
    fn push(&mut self, last: u32);

    /// The record of a slot that there is.
    fn record(&self, p: Idx) -> &Self::Record;

    /// The record of a slot that there is, to write.
    fn record_mut(&mut self, p: Idx) -> &mut Self::Record;

    /// The slot at a place, if there is one.
    fn slot(&self, at: usize) -> Option<&Slot<Self::Value>>;

    /// The slot at a place, if there is one, to write.
    fn slot_mut(&mut self, at: usize) -> Option<&mut Slot<Self::Value>>;

    /// Bytes on the heap, without what values own themselves.
    fn heap_bytes(&self) -> usize;
}

/// The records of an arena whose slots lie apart; index 0 is never used.
#[derive(Debug)]
pub struct Records<R>(#[doc(hidden)] pub Vec<R>);

impl<R> Records<R> {
    /// The record at a place, if there is one.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&R> {
        self.0.get(at)
    }

    /// All of them, that of index 0 first.
    pub fn iter(&self) -> impl Iterator<Item = &R> + '_ {
        self.0.iter()
    }
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
}

/// Records in one vector, slots in another.
#[derive(Debug)]
pub struct Apart<R, T> {
    /// What an algorithm walks.
    pub records: Records<R>,
    #[doc(hidden)]
    pub slots: Vec<Slot<T>>,
}

impl<R: Record<Idx>, T> Columns for Apart<R, T> {
    type Record = R;
    type Value = T;
    const EMPTY: Self = Self { records: Records(Vec::new()), slots: Vec::new() };

    #[inline]
    fn len(&self) -> usize {
        self.slots.len()
    }

    fn capacity(&self) -> usize {
        self.records.0.capacity().min(self.slots.capacity())
    }

    fn try_reserve(&mut self, additional: usize) -> Result<(), Full> {
        self.records.0.try_reserve(additional).map_err(|_| Full)?;
        self.slots.try_reserve(additional).map_err(|_| Full)
    }

    fn try_reserve_exact(&mut self, additional: usize) -> Result<(), Full> {
        self.records.0.try_reserve_exact(additional).map_err(|_| Full)?;
        self.slots.try_reserve_exact(additional).map_err(|_| Full)
    }

    fn push(&mut self, last: u32) {
        self.records.0.push(R::IDLE);
        self.slots.push(Slot::Free { last });
    }

    #[inline]
    fn record(&self, p: Idx) -> &R {
        &self.records.0[p.at()]
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut R {
        &mut self.records.0[p.at()]
    }

    #[inline]
    fn slot(&self, at: usize) -> Option<&Slot<T>> {
        self.slots.get(at)
    }

    #[inline]
    fn slot_mut(&mut self, at: usize) -> Option<&mut Slot<T>> {
        self.slots.get_mut(at)
    }

    fn heap_bytes(&self) -> usize {
        self.records.0.capacity() * size_of::<R>() + self.slots.capacity() * size_of::<Slot<T>>()
    }
}

/// A record and its slot.
#[derive(Debug)]
pub struct Cell<R, T> {
    /// What an algorithm keeps for the slot.
    pub record: R,
    /// What it holds.
    pub slot: Slot<T>,
}

/// Each record beside its slot.
pub struct Together<R, T>(#[doc(hidden)] pub Vec<Cell<R, T>>);

impl<R, T> fmt::Debug for Together<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Together").field("cells", &self.0.len()).finish()
    }
}

impl<R: Record<Idx>, T> Columns for Together<R, T> {
    type Record = R;
    type Value = T;
    const EMPTY: Self = Self(Vec::new());

    #[inline]
    fn len(&self) -> usize {
        self.0.len()
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn try_reserve(&mut self, additional: usize) -> Result<(), Full> {
        self.0.try_reserve(additional).map_err(|_| Full)
    }

    fn try_reserve_exact(&mut self, additional: usize) -> Result<(), Full> {
        self.0.try_reserve_exact(additional).map_err(|_| Full)
    }

    fn push(&mut self, last: u32) {
        self.0.push(Cell { record: R::IDLE, slot: Slot::Free { last } });
    }

    #[inline]
    fn record(&self, p: Idx) -> &R {
        &self.0[p.at()].record
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut R {
        &mut self.0[p.at()].record
    }

    #[inline]
    fn slot(&self, at: usize) -> Option<&Slot<T>> {
        self.0.get(at).map(|cell| &cell.slot)
    }

    #[inline]
    fn slot_mut(&mut self, at: usize) -> Option<&mut Slot<T>> {
        self.0.get_mut(at).map(|cell| &mut cell.slot)
    }

    fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Cell<R, T>>()
    }
}

impl<R: Record<Idx>, T> Nodes<Idx, R> for Together<R, T> {
    #[inline]
    fn record(&self, p: Idx) -> &R {
        Columns::record(self, p)
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut R {
        Columns::record_mut(self, p)
    }

    #[inline]
    fn prefetch(&self, p: Option<Idx>) {
        hint::prefetch(self.0.as_ptr().wrapping_add(p.map_or(0, Idx::at)));
    }
}
