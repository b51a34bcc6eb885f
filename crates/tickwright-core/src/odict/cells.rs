//! Where dictionaries that own their objects keep them: cells with generations, and what the structure remembers of each.
//!
//! The free list runs through the records. A cell that has used up its 2^32 - 1 generations is retired.

#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::num::NonZeroU32;

use super::{DictError, Refused};
use crate::contract::Violation;
use crate::hint;
use crate::storage::hook::draw;
use crate::storage::slab::{Idx, MOST, cells_for};
use crate::storage::{Nodes, Record};

/// Names one entry of a dictionary that owns its objects. Twelve bytes; an optional one takes no more. It is stale for ever once the entry was
/// removed, and is known for another's by every other dictionary (on targets without compare-exchange dictionaries have no identity, and
/// another's key may name an entry).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    pub(super) dictionary: NonZeroU32,
    pub(super) index: Idx,
    pub(super) generation: NonZeroU32,
}

const _: () = assert!(size_of::<Option<EntryKey>>() == 12);

/// A record, and its object while it is live. The generation of a live cell is never 0.
#[derive(Debug)]
pub(super) struct Cell<R, T> {
    pub(super) record: R,
    pub(super) slot: Slot<T>,
}

#[derive(Debug)]
pub(super) enum Slot<T> {
    Live { generation: NonZeroU32, object: T },
    Free { last: u32 },
}

/// The cells; index 0 is never used.
pub(super) struct Cells<R, T> {
    pub(super) cells: Vec<Cell<R, T>>,
    pub(super) free: Option<Idx>,
    /// Cells whose generations are used up.
    pub(super) retired: usize,
    pub(super) len: usize,
    pub(super) limit: usize,
    /// None until the first insert.
    identity: Option<NonZeroU32>,
    pub(super) first_generation: u32,
}

impl<R, T> fmt::Debug for Cells<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cells").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<R: Record<Idx>, T> Nodes<Idx, R> for Cells<R, T> {
    #[inline]
    fn record(&self, p: Idx) -> &R {
        &self.cells[p.at()].record
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut R {
        &mut self.cells[p.at()].record
    }

    #[inline]
    fn prefetch(&self, p: Option<Idx>) {
        hint::prefetch(self.cells.as_ptr().wrapping_add(p.map_or(0, Idx::at)));
    }
}

impl<R, T> Cells<R, T> {
    /// No cells. New ones start after generation `last`, which is 0 but in tests of retirement.
    pub(super) const fn new(last: u32) -> Self {
        Self {
            cells: Vec::new(),
            free: None,
            retired: 0,
            len: 0,
            limit: MOST,
            identity: None,
            first_generation: last,
        }
    }
}

impl<R: Record<Idx>, T> Cells<R, T> {
    /// Makes room for `additional` more objects.
    pub(super) fn reserve(&mut self, additional: usize) -> Result<(), DictError> {
        let total = self.len.checked_add(additional).filter(|&total| total <= self.limit);
        // Free cells serve first; retired ones and cell 0 serve nobody.
        let cells = total.and_then(|total| cells_for(total, self.retired)).ok_or(DictError::Full)?;
        let missing = cells.saturating_sub(self.cells.len());
        self.cells.try_reserve_exact(missing).map_err(|_| DictError::Full)
    }

    /// Makes room for `capacity` objects, and never for more.
    pub(super) fn bound(&mut self, capacity: usize) -> Result<(), DictError> {
        self.reserve(capacity)?;
        self.limit = capacity;
        Ok(())
    }

    /// Bytes on the heap, without what objects own themselves.
    pub(super) fn heap_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cell<R, T>>()
    }

    /// The object of a linked cell.
    #[inline]
    pub(super) fn linked(&self, p: Idx) -> &T {
        match &self.cells[p.at()].slot {
            Slot::Live { object, .. } => object,
            Slot::Free { .. } => unreachable!("a linked cell is live"),
        }
    }

    /// The index of a valid entry.
    #[inline]
    pub(super) fn validate(&self, entry: EntryKey) -> Result<Idx, DictError> {
        if self.identity != Some(entry.dictionary) {
            return Err(DictError::WrongDictionary);
        }
        match self.cells.get(entry.index.at()).map(|cell| &cell.slot) {
            Some(Slot::Live { generation, .. }) if *generation == entry.generation => Ok(entry.index),
            _ => Err(DictError::Stale),
        }
    }

    pub(super) fn get_mut(&mut self, entry: EntryKey) -> Result<&mut T, DictError> {
        let index = self.validate(entry)?;
        match self.cells.get_mut(index.at()).map(|cell| &mut cell.slot) {
            Some(Slot::Live { object, .. }) => Ok(object),
            _ => Err(DictError::Stale),
        }
    }

    /// The index of a hint, if there is a hint.
    #[inline]
    pub(super) fn hinted(&self, hint: Option<EntryKey>) -> Result<Option<Idx>, DictError> {
        hint.map(|entry| self.validate(entry)).transpose()
    }

    #[inline]
    pub(super) fn entry(&self, p: Option<Idx>) -> Option<EntryKey> {
        let index = p?;
        match &self.cells.get(index.at())?.slot {
            Slot::Live { generation, .. } => {
                Some(EntryKey { dictionary: self.identity?, index, generation: *generation })
            }
            Slot::Free { .. } => None,
        }
    }

    fn identity(&mut self) -> Result<NonZeroU32, DictError> {
        if self.identity.is_none() {
            self.identity = draw();
            #[cfg(not(all(target_has_atomic = "32", not(tickwright_no_cas))))]
            {
                self.identity = Some(NonZeroU32::MIN);
            }
        }
        self.identity.ok_or(DictError::NoIdentity)
    }

    /// Puts an object into a free cell, or a new one.
    pub(super) fn occupy(&mut self, object: T) -> Result<EntryKey, Refused<T>> {
        let cell = self.identity().and_then(|dictionary| Ok((dictionary, self.vacancy()?)));
        let (dictionary, index) = match cell {
            Ok(cell) => cell,
            Err(reason) => return Err(Refused { reason, value: object }),
        };
        let cell = &mut self.cells[index.at()];
        self.free = cell.record.next_vacant();
        // A free cell that is not retired has a successor to its generation.
        let last = match cell.slot {
            Slot::Free { last } => last,
            Slot::Live { generation, .. } => generation.get(),
        };
        let generation = NonZeroU32::MIN.saturating_add(last);
        cell.slot = Slot::Live { generation, object };
        self.len += 1;
        Ok(EntryKey { dictionary, index, generation })
    }

    /// The head of the free list; grows by a cell when it is empty.
    fn vacancy(&mut self) -> Result<Idx, DictError> {
        if self.len >= self.limit {
            return Err(DictError::Full);
        }
        if let Some(index) = self.free {
            return Ok(index);
        }
        let used = self.cells.len().max(1);
        let index = Idx::of(used).ok_or(DictError::Full)?;
        let missing = used + 1 - self.cells.len();
        if self.limit < MOST && used + 1 > self.cells.capacity() {
            return Err(DictError::Full);
        }
        self.cells.try_reserve(missing).map_err(|_| DictError::Full)?;
        let empty = || Cell { record: R::IDLE, slot: Slot::Free { last: self.first_generation } };
        self.cells.resize_with(used + 1, empty);
        self.free = Some(index);
        Ok(index)
    }

    /// Puts the cell of an unlinked node on the free list, or retires it, and hands its object out.
    pub(super) fn vacate(&mut self, index: Idx) -> Option<T> {
        let cell = self.cells.get_mut(index.at())?;
        let Slot::Live { generation, .. } = cell.slot else { return None };
        let slot = mem::replace(&mut cell.slot, Slot::Free { last: generation.get() });
        if generation < NonZeroU32::MAX {
            cell.record = R::vacant(self.free);
            self.free = Some(index);
        } else {
            cell.record = R::IDLE;
            self.retired += 1;
        }
        self.len -= 1;
        match slot {
            Slot::Live { object, .. } => Some(object),
            Slot::Free { .. } => None,
        }
    }

    /// Vacates every cell: none is linked any more.
    pub(super) fn clear(&mut self) {
        /// Frees cell after cell; when an object's drop panics, its own drop frees the rest while unwinding.
        struct Clearing<'d, R: Record<Idx>, T> {
            cells: &'d mut Cells<R, T>,
            next: usize,
        }
        impl<R: Record<Idx>, T> Clearing<'_, R, T> {
            fn run(&mut self) {
                while self.next < self.cells.cells.len() {
                    let index = Idx::of(self.next);
                    self.next += 1;
                    drop(index.and_then(|index| self.cells.vacate(index)));
                }
            }
        }
        impl<R: Record<Idx>, T> Drop for Clearing<'_, R, T> {
            fn drop(&mut self) {
                self.run();
            }
        }
        Clearing { cells: self, next: 1 }.run();
    }

    /// Whether this cell is live: [`Violation::Storage`] otherwise.
    pub(super) fn check_live(&self, p: Idx) -> Result<(), Violation> {
        match self.cells.get(p.at()).map(|cell| &cell.slot) {
            Some(Slot::Live { .. }) => Ok(()),
            _ => Err(Violation::Storage),
        }
    }

    /// So many cells are live as there are objects; every free cell that is not retired is on the free list once, and the retired ones
    /// are counted.
    pub(super) fn check(&self) -> Result<(), Violation> {
        let live = |cell: &&Cell<R, T>| matches!(cell.slot, Slot::Live { .. });
        if self.cells.iter().skip(1).filter(live).count() != self.len {
            return Err(Violation::Storage);
        }
        let usable = |slot: &Slot<T>| matches!(slot, Slot::Free { last } if *last < u32::MAX);
        let expected = self.cells.iter().skip(1).filter(|cell| usable(&cell.slot)).count();
        if self.len + expected + self.retired != self.cells.len().saturating_sub(1) {
            return Err(Violation::Storage);
        }
        let mut found = 0;
        let mut next = self.free;
        while let Some(p) = next {
            found += 1;
            let cell = self.cells.get(p.at()).filter(|cell| usable(&cell.slot));
            let cell = cell.filter(|_| found <= expected).ok_or(Violation::Storage)?;
            next = cell.record.next_vacant();
        }
        if found == expected { Ok(()) } else { Err(Violation::Storage) }
    }
}
