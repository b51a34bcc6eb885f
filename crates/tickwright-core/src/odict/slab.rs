//! The dictionary that owns its objects and names them by keys with generations. Safe code only.
//!
//! Unlike a [`SlabQueue`](crate::SlabQueue) it keeps record and object in one cell, since a search reads both. The free list runs through
//! the records; a cell that has used up its 2^32 - 1 generations is retired.

#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::num::NonZeroU32;

use super::{
    Balance, DictError, DictRecord, Dictionary, End, KeyOf, KeyOrder, Objects, RedBlack, Refused, Reserve,
    Seek, Sorted,
};
use crate::contract::Violation;
use crate::storage::hook::draw;
use crate::storage::slab::{Idx, MOST};
use crate::storage::{Nodes, Record};

/// Names one entry of a [`SlabDict`]. Twelve bytes; an optional one takes no more. It is stale for ever once the entry was
/// removed, and is known for another's by every other dictionary (on targets without compare-exchange dictionaries have no identity, and
/// another's key may name an entry).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    dictionary: NonZeroU32,
    index: Idx,
    generation: NonZeroU32,
}

const _: () = assert!(size_of::<Option<EntryKey>>() == 12);

/// A record, and its object while it is live. The generation of a live cell is never 0.
#[derive(Debug)]
struct Cell<B: Balance, T> {
    record: DictRecord<Idx, B>,
    slot: Slot<T>,
}

#[derive(Debug)]
enum Slot<T> {
    Live { generation: NonZeroU32, object: T },
    Free { last: u32 },
}

/// The cells; index 0 is never used.
#[derive(Debug)]
struct Cells<B: Balance, T>(Vec<Cell<B, T>>);

impl<B: Balance, T> Nodes<Idx, DictRecord<Idx, B>> for Cells<B, T> {
    #[inline]
    fn record(&self, p: Idx) -> &DictRecord<Idx, B> {
        &self.0[p.at()].record
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut DictRecord<Idx, B> {
        &mut self.0[p.at()].record
    }
}

impl<B: Balance, T> Objects<Idx, B> for Cells<B, T> {
    type Object = T;

    #[inline]
    fn object(&self, p: Idx) -> &T {
        match &self.0[p.at()].slot {
            Slot::Live { object, .. } => object,
            Slot::Free { .. } => unreachable!("a linked cell is live"),
        }
    }
}

/// An ordered dictionary that owns its objects. The [module](super) says what it can do.
///
/// ```
/// use tickwright_core::odict::{By, Dictionary, SlabDict};
///
/// let mut areas = SlabDict::new(By(|&(base, _): &(u64, u64)| base));
/// let low = areas.insert((0x1000, 0x2000))?;
/// areas.insert_near(Some(low), (0x8000, 0x100))?;
/// let around = areas.find_leq(&0x2fff).and_then(|entry| areas.get(entry).ok());
/// assert_eq!(around, Some(&(0x1000, 0x2000)));
///
/// areas.update(low, |area| area.0 = 0x9000)?;
/// assert_eq!(areas.last(), Some(low));
/// # Ok::<(), tickwright_core::odict::DictError>(())
/// ```
pub struct SlabDict<O, T, B: Balance = RedBlack> {
    sorted: Sorted<Idx, B, O>,
    cells: Cells<B, T>,
    free: Option<Idx>,
    /// Cells whose generations are used up.
    retired: usize,
    len: usize,
    limit: usize,
    /// None until the first insert.
    identity: Option<NonZeroU32>,
    first_generation: u32,
}

impl<O: KeyOrder<T>, T> SlabDict<O, T> {
    /// An empty red-black dictionary that allocates when it grows.
    #[must_use]
    pub const fn new(order: O) -> Self {
        Self::balanced(order)
    }
}

impl<O: KeyOrder<T>, T, B: Balance> SlabDict<O, T, B> {
    /// As [`new`](SlabDict::new) with any balance.
    #[must_use]
    pub const fn balanced(order: O) -> Self {
        Self {
            sorted: Sorted::new(order),
            cells: Cells(Vec::new()),
            free: None,
            retired: 0,
            len: 0,
            limit: MOST,
            identity: None,
            first_generation: 0,
        }
    }

    /// An empty dictionary that never holds more than `capacity` entries and never allocates on its own again: further
    /// inserts are refused with [`DictError::Full`]. A cell that has served 2^32 - 1 entries is retired, and from then on it holds one less.
    ///
    /// # Errors
    /// [`DictError::Full`] when there is no memory for it.
    pub fn bounded(order: O, capacity: usize) -> Result<Self, DictError> {
        let mut dictionary = Self::balanced(order);
        dictionary.reserve(capacity)?;
        dictionary.limit = capacity;
        Ok(dictionary)
    }

    /// As [`balanced`](Self::balanced), with new cells starting after generation `last`: for tests of retirement.
    #[doc(hidden)]
    #[must_use]
    pub fn with_last_generation(order: O, last: u32) -> Self {
        Self { first_generation: last, ..Self::balanced(order) }
    }

    /// Makes room for `additional` more entries, so that as many inserts allocate nothing.
    ///
    /// # Errors
    /// [`DictError::Full`] when there is no memory for it, or a bound is below it.
    pub fn reserve(&mut self, additional: usize) -> Result<(), DictError> {
        let total = self.len.checked_add(additional).filter(|&total| total <= self.limit);
        // Free cells serve first; retired ones and cell 0 serve nobody.
        let cells = total.and_then(|total| total.checked_add(self.retired + 1));
        let cells = cells.filter(|&cells| cells - 1 <= MOST).ok_or(DictError::Full)?;
        let missing = cells.saturating_sub(self.cells.0.len());
        self.cells.0.try_reserve_exact(missing).map_err(|_| DictError::Full)
    }

    /// The object of an entry, to change. If its key changes, [`rekeyed`](Dictionary::rekeyed) must follow; [`update`](Self::update) does
    /// both.
    ///
    /// # Errors
    /// As [`Dictionary::get`].
    pub fn get_mut(&mut self, entry: EntryKey) -> Result<&mut T, DictError> {
        self.validate(entry)?;
        match self.cells.0.get_mut(entry.index.at()).map(|cell| &mut cell.slot) {
            Some(Slot::Live { object, .. }) => Ok(object),
            _ => Err(DictError::Stale),
        }
    }

    /// Changes an object and gives it the place of its key, as [`Dictionary::rekeyed`]; answers whether it moved. Should `change` panic behind a
    /// change of the key, the entry stays where it is.
    ///
    /// # Errors
    /// As [`Dictionary::get`]; `change` has not run then.
    pub fn update(&mut self, entry: EntryKey, change: impl FnOnce(&mut T)) -> Result<bool, DictError> {
        change(self.get_mut(entry)?);
        self.rekeyed(entry)
    }

    /// Bytes that the dictionary holds on the heap, without what objects own themselves.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.cells.0.capacity() * size_of::<Cell<B, T>>()
    }

    fn validate(&self, entry: EntryKey) -> Result<(), DictError> {
        if self.identity != Some(entry.dictionary) {
            return Err(DictError::WrongDictionary);
        }
        match self.cells.0.get(entry.index.at()).map(|cell| &cell.slot) {
            Some(Slot::Live { generation, .. }) if *generation == entry.generation => Ok(()),
            _ => Err(DictError::Stale),
        }
    }

    /// The node of a hint, if there is a hint.
    fn hinted(&self, hint: Option<EntryKey>) -> Result<Option<Idx>, DictError> {
        hint.map(|entry| self.validate(entry).map(|()| entry.index)).transpose()
    }

    fn entry(&self, p: Option<Idx>) -> Option<EntryKey> {
        let index = p?;
        match &self.cells.0.get(index.at())?.slot {
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
    fn occupy(&mut self, object: T) -> Result<EntryKey, Refused<T>> {
        let cell = self.identity().and_then(|dictionary| Ok((dictionary, self.vacancy()?)));
        let (dictionary, index) = match cell {
            Ok(cell) => cell,
            Err(reason) => return Err(Refused { reason, value: object }),
        };
        let cell = &mut self.cells.0[index.at()];
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
        let used = self.cells.0.len().max(1);
        let index = Idx::of(used).ok_or(DictError::Full)?;
        let missing = used + 1 - self.cells.0.len();
        if self.limit < MOST && used + 1 > self.cells.0.capacity() {
            return Err(DictError::Full);
        }
        self.cells.0.try_reserve(missing).map_err(|_| DictError::Full)?;
        let empty = || Cell { record: DictRecord::IDLE, slot: Slot::Free { last: self.first_generation } };
        self.cells.0.resize_with(used + 1, empty);
        self.free = Some(index);
        Ok(index)
    }

    /// Puts the cell of an unlinked node on the free list, or retires it, and hands its object out.
    fn vacate(&mut self, index: Idx) -> Option<T> {
        let cell = &mut self.cells.0[index.at()];
        let Slot::Live { generation, .. } = cell.slot else { return None };
        let slot = mem::replace(&mut cell.slot, Slot::Free { last: generation.get() });
        if generation < NonZeroU32::MAX {
            cell.record = DictRecord::vacant(self.free);
            self.free = Some(index);
        } else {
            cell.record = DictRecord::IDLE;
            self.retired += 1;
        }
        self.len -= 1;
        match slot {
            Slot::Live { object, .. } => Some(object),
            Slot::Free { .. } => None,
        }
    }

    fn insert_at_end(&mut self, end: End, value: T) -> Result<EntryKey, Refused<T>> {
        let place = match self.sorted.place_at(&self.cells, end, &value) {
            Ok(place) => place,
            Err(reason) => return Err(Refused { reason, value }),
        };
        let entry = self.occupy(value)?;
        self.sorted.tree.link(&mut self.cells, entry.index, place);
        Ok(entry)
    }

    /// Every free cell that is not retired is on the free list once, and the retired ones are counted.
    fn check_free_list(&self) -> Result<(), Violation> {
        let usable = |slot: &Slot<T>| matches!(slot, Slot::Free { last } if *last < u32::MAX);
        let expected = self.cells.0.iter().skip(1).filter(|cell| usable(&cell.slot)).count();
        if self.len + expected + self.retired != self.cells.0.len().saturating_sub(1) {
            return Err(Violation::Storage);
        }
        let mut found = 0;
        let mut next = self.free;
        while let Some(p) = next {
            found += 1;
            let cell = self.cells.0.get(p.at()).filter(|cell| usable(&cell.slot));
            let cell = cell.filter(|_| found <= expected).ok_or(Violation::Storage)?;
            next = cell.record.next_vacant();
        }
        if found == expected { Ok(()) } else { Err(Violation::Storage) }
    }
}

impl<O: KeyOrder<T>, T, B: Balance> Dictionary for SlabDict<O, T, B> {
    type Object = T;
    type Order = O;
    type Entry = EntryKey;
    type Value = T;

    fn order(&self) -> &O {
        &self.sorted.order
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn get(&self, entry: EntryKey) -> Result<&T, DictError> {
        self.validate(entry)?;
        Ok(self.cells.object(entry.index))
    }

    #[inline]
    fn insert_near(&mut self, hint: Option<EntryKey>, value: T) -> Result<EntryKey, Refused<T>> {
        let hint = match self.hinted(hint) {
            Ok(hint) => hint,
            Err(reason) => return Err(Refused { reason, value }),
        };
        let place = self.sorted.place_of(&self.cells, hint, &value);
        let entry = self.occupy(value)?;
        self.sorted.tree.link(&mut self.cells, entry.index, place);
        Ok(entry)
    }

    fn append(&mut self, value: T) -> Result<EntryKey, Refused<T>> {
        self.insert_at_end(End::Last, value)
    }

    fn prepend(&mut self, value: T) -> Result<EntryKey, Refused<T>> {
        self.insert_at_end(End::First, value)
    }

    #[inline]
    fn remove(&mut self, entry: EntryKey) -> Result<T, DictError> {
        self.validate(entry)?;
        self.sorted.tree.unlink(&mut self.cells, entry.index);
        self.vacate(entry.index).ok_or(DictError::Stale)
    }

    fn rekeyed(&mut self, entry: EntryKey) -> Result<bool, DictError> {
        self.validate(entry)?;
        Ok(self.sorted.rekeyed(&mut self.cells, entry.index))
    }

    #[inline]
    fn first(&self) -> Option<EntryKey> {
        self.entry(self.sorted.tree.first())
    }

    #[inline]
    fn last(&self) -> Option<EntryKey> {
        self.entry(self.sorted.tree.last())
    }

    #[inline]
    fn next(&self, entry: EntryKey) -> Result<Option<EntryKey>, DictError> {
        self.validate(entry)?;
        Ok(self.entry(self.sorted.next(&self.cells, entry.index)))
    }

    #[inline]
    fn prev(&self, entry: EntryKey) -> Result<Option<EntryKey>, DictError> {
        self.validate(entry)?;
        Ok(self.entry(self.sorted.prev(&self.cells, entry.index)))
    }

    #[inline]
    fn seek(
        &self,
        seek: Seek,
        key: &KeyOf<'_, Self>,
        hint: Option<EntryKey>,
    ) -> Result<Option<EntryKey>, DictError> {
        let hint = self.hinted(hint)?;
        Ok(self.entry(self.sorted.seek(&self.cells, seek, key, hint)))
    }

    fn clear(&mut self) {
        /// Frees cell after cell; when an object's drop panics, its own drop frees the rest while unwinding.
        struct Clearing<'d, O: KeyOrder<T>, T, B: Balance> {
            dictionary: &'d mut SlabDict<O, T, B>,
            next: usize,
        }
        impl<O: KeyOrder<T>, T, B: Balance> Clearing<'_, O, T, B> {
            fn run(&mut self) {
                while self.next < self.dictionary.cells.0.len() {
                    let index = Idx::of(self.next);
                    self.next += 1;
                    drop(index.and_then(|index| self.dictionary.vacate(index)));
                }
            }
        }
        impl<O: KeyOrder<T>, T, B: Balance> Drop for Clearing<'_, O, T, B> {
            fn drop(&mut self) {
                self.run();
            }
        }
        self.sorted.tree = super::tree::Tree::NEW;
        Clearing { dictionary: self, next: 1 }.run();
    }

    fn check(&self) -> Result<(), Violation> {
        let live = self.cells.0.iter().skip(1).filter(|cell| matches!(cell.slot, Slot::Live { .. })).count();
        if live != self.len {
            return Err(Violation::Storage);
        }
        self.check_free_list()?;
        self.sorted.check(&self.cells, self.len, |p| match self.cells.0.get(p.at()).map(|cell| &cell.slot) {
            Some(Slot::Live { .. }) => Ok(()),
            _ => Err(Violation::Storage),
        })
    }
}

impl<O: KeyOrder<T>, T, B: Balance> Reserve for SlabDict<O, T, B> {
    fn reserve(&mut self, additional: usize) -> Result<(), DictError> {
        self.reserve(additional)
    }
}

impl<O, T, B: Balance> fmt::Debug for SlabDict<O, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlabDict").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
