//! The dictionary that owns its objects and names them by keys with generations. Safe code only.
//!
//! Unlike the slab of a timer queue it keeps record and object in one cell, since a search reads
//! both.

#![forbid(unsafe_code)]

use core::fmt;

use super::cells::{Cells, EntryKey};
use super::{
    Balance, DictError, DictRecord, Dictionary, End, KeyOf, KeyOrder, Objects, RedBlack, Refused, Reserve,
    Seek, Sorted,
};
use tickwright_nodes::Violation;
use tickwright_nodes::arena::{Columns as _, Idx};

impl<B: Balance, T> Objects<Idx, B> for Cells<DictRecord<Idx, B>, T> {
    type Object = T;

    #[inline]
    fn object(&self, p: Idx) -> &T {
        self.linked(p)
    }
}

/// An ordered dictionary that owns its objects. The [module](super) says what it can do.
///
/// ```
/// use tickwright_collections::{By, Dictionary, SlabDict};
///
/// let mut areas = SlabDict::new(By(|&(base, _): &(u64, u64)| base));
/// let low = areas.insert((0x1000, 0x2000))?;
/// areas.insert_near(Some(low), (0x8000, 0x100))?;
/// let around = areas.find_leq(&0x2fff).and_then(|entry| areas.get(entry).ok());
/// assert_eq!(around, Some(&(0x1000, 0x2000)));
///
/// areas.update(low, |area| area.0 = 0x9000)?;
/// assert_eq!(areas.last(), Some(low));
/// # Ok::<(), tickwright_collections::DictError>(())
/// ```
pub struct SlabDict<O, T, B: Balance = RedBlack> {
    sorted: Sorted<Idx, B, O>,
    cells: Cells<DictRecord<Idx, B>, T>,
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
        Self { sorted: Sorted::new(order), cells: Cells::new(0) }
    }

    /// An empty dictionary that never holds more than `capacity` entries and never allocates on its
    /// own again: further inserts are refused with [`DictError::Full`]. A cell that has served 2^32 -
    /// 1 entries is retired, and from then on it holds one less.
    ///
    /// # Errors
    /// [`DictError::Full`] when there is no memory for it.
    pub fn bounded(order: O, capacity: usize) -> Result<Self, DictError> {
        let mut dictionary = Self::balanced(order);
        dictionary.cells.bound(capacity)?;
        Ok(dictionary)
    }

    /// As [`balanced`](Self::balanced), with new cells starting after generation `last`: for tests
    /// of retirement.
    #[doc(hidden)]
    #[must_use]
    pub fn with_last_generation(order: O, last: u32) -> Self {
        Self { sorted: Sorted::new(order), cells: Cells::new(last) }
    }

    /// Makes room for `additional` more entries, so that as many inserts allocate nothing.
    ///
    /// # Errors
    /// [`DictError::Full`] when there is no memory for it, or a bound is below it.
    pub fn reserve(&mut self, additional: usize) -> Result<(), DictError> {
        Ok(self.cells.arena.reserve(additional)?)
    }

    /// The object of an entry, to change. If its key changes, [`rekeyed`](Dictionary::rekeyed) must
    /// follow; [`update`](Self::update) does both.
    ///
    /// # Errors
    /// As [`Dictionary::get`].
    pub fn get_mut(&mut self, entry: EntryKey) -> Result<&mut T, DictError> {
        self.cells.get_mut(entry)
    }

    /// Changes an object and gives it the place of its key, as [`Dictionary::rekeyed`]; answers
    /// whether it moved. Should `change` panic behind a change of the key, the entry stays where it
    /// is.
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
        self.cells.arena.columns.heap_bytes()
    }

    fn insert_at_end(&mut self, end: End, value: T) -> Result<EntryKey, Refused<T>> {
        let place = match self.sorted.place_at(&self.cells, end, &value) {
            Ok(place) => place,
            Err(reason) => return Err(Refused { reason, value }),
        };
        let entry = self.cells.occupy(value)?;
        self.sorted.tree.link(&mut self.cells, entry.slot.index, place);
        Ok(entry)
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
        self.cells.arena.len()
    }

    #[inline]
    fn get(&self, entry: EntryKey) -> Result<&T, DictError> {
        Ok(self.cells.linked(self.cells.validate(entry)?))
    }

    #[inline]
    fn insert_near(&mut self, hint: Option<EntryKey>, value: T) -> Result<EntryKey, Refused<T>> {
        let hint = match self.cells.hinted(hint) {
            Ok(hint) => hint,
            Err(reason) => return Err(Refused { reason, value }),
        };
        let place = self.sorted.place_of(&self.cells, hint, &value);
        let entry = self.cells.occupy(value)?;
        self.sorted.tree.link(&mut self.cells, entry.slot.index, place);
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
        let p = self.cells.validate(entry)?;
        self.sorted.tree.unlink(&mut self.cells, p);
        self.cells.vacate(p).ok_or(DictError::Stale)
    }

    fn rekeyed(&mut self, entry: EntryKey) -> Result<bool, DictError> {
        let p = self.cells.validate(entry)?;
        Ok(self.sorted.rekeyed(&mut self.cells, p))
    }

    #[inline]
    fn first(&self) -> Option<EntryKey> {
        self.cells.entry(self.sorted.tree.first())
    }

    #[inline]
    fn last(&self) -> Option<EntryKey> {
        self.cells.entry(self.sorted.tree.last())
    }

    #[inline]
    fn next(&self, entry: EntryKey) -> Result<Option<EntryKey>, DictError> {
        let p = self.cells.validate(entry)?;
        Ok(self.cells.entry(self.sorted.next(&self.cells, p)))
    }

    #[inline]
    fn prev(&self, entry: EntryKey) -> Result<Option<EntryKey>, DictError> {
        let p = self.cells.validate(entry)?;
        Ok(self.cells.entry(self.sorted.prev(&self.cells, p)))
    }

    #[inline]
    fn seek(
        &self,
        seek: Seek,
        key: &KeyOf<'_, Self>,
        hint: Option<EntryKey>,
    ) -> Result<Option<EntryKey>, DictError> {
        let hint = self.cells.hinted(hint)?;
        Ok(self.cells.entry(self.sorted.seek(&self.cells, seek, key, hint)))
    }

    fn clear(&mut self) {
        self.sorted.tree = super::tree::Tree::NEW;
        self.cells.arena.clear();
    }

    fn check(&self) -> Result<(), Violation> {
        self.cells.arena.check()?;
        self.sorted.check(&self.cells, self.cells.arena.len(), |p| self.cells.check_live(p))
    }
}

impl<O: KeyOrder<T>, T, B: Balance> Reserve for SlabDict<O, T, B> {
    fn reserve(&mut self, additional: usize) -> Result<(), DictError> {
        self.reserve(additional)
    }
}

impl<O, T, B: Balance> fmt::Debug for SlabDict<O, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlabDict").field("len", &self.cells.arena.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
