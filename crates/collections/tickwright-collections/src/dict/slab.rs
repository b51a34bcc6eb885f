//! `SlabDict`: the dictionary that owns its objects and names them by keys with generations,
//! without unsafe code.
//!
//! Unlike the slab of a timer queue, it stores the record and the object in the same cell, because
//! a search reads both.

#![forbid(unsafe_code)]

use core::fmt;

use super::cells::{Cells, EntryKey};
use super::shell::dictionary;
use super::{
    Balance, DictError, DictRecord, Dictionary, KeyOf, KeyOrder, NotInserted, Objects, Position, RedBlack,
    Reserve, Seek, Sorted,
};
use tickwright_nodes::Violation;
use tickwright_nodes::arena::{Columns as _, Idx};

impl<B: Balance, T> Objects<Idx, B> for Cells<DictRecord<Idx, B>, T> {
    type Object = T;

    #[inline]
    fn object(&self, p: Idx) -> &T {
        Cells::object(self, p)
    }
}

/// An ordered dictionary that owns its objects. The documentation of [`Dictionary`] has the
/// details.
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
    sorted: Sorted<Idx, B, O, Cells<DictRecord<Idx, B>, T>>,
}

impl<O: KeyOrder<T>, T> SlabDict<O, T> {
    /// Creates an empty red-black dictionary that allocates when it grows.
    #[must_use]
    pub const fn new(order: O) -> Self {
        Self::balanced(order)
    }
}

impl<O: KeyOrder<T>, T, B: Balance> SlabDict<O, T, B> {
    /// Does what [`new`](SlabDict::new) does, for any balance.
    #[must_use]
    pub const fn balanced(order: O) -> Self {
        Self { sorted: Sorted::new(order, Cells::new(0)) }
    }

    /// Returns an empty dictionary that holds at most `capacity` entries and allocates nothing
    /// after this call. When it holds `capacity` entries, a further insert is refused with
    /// [`DictError::Full`]. A cell that has held 2^31 - 1 entries is retired. Each retired cell
    /// lowers the capacity by one.
    ///
    /// # Errors
    /// [`DictError::Full`] when the memory for the cells cannot be allocated.
    pub fn bounded(order: O, capacity: usize) -> Result<Self, DictError> {
        let mut dictionary = Self::balanced(order);
        dictionary.sorted.nodes.bound(capacity)?;
        Ok(dictionary)
    }

    /// Does what [`balanced`](Self::balanced) does, but new cells start after generation `last`.
    /// The function is for tests of the retirement of cells.
    #[cfg(test)]
    fn with_last_generation(order: O, last: u32) -> Self {
        Self { sorted: Sorted::new(order, Cells::new(last)) }
    }

    /// Makes room for `additional` more entries, so that the next `additional` inserts allocate
    /// nothing.
    ///
    /// # Errors
    /// [`DictError::Full`] when there is no memory for these entries, or when the dictionary's
    /// bound does not allow this many.
    pub fn reserve(&mut self, additional: usize) -> Result<(), DictError> {
        Ok(self.sorted.nodes.arena.reserve(additional)?)
    }

    /// Returns a mutable reference to the object of an entry. If you change the object's key, call
    /// [`rekeyed`](Dictionary::rekeyed) afterwards, or use [`update`](Self::update), which does
    /// both.
    ///
    /// # Errors
    /// As [`Dictionary::get`].
    pub fn get_mut(&mut self, entry: EntryKey) -> Result<&mut T, DictError> {
        self.sorted.nodes.get_mut(entry)
    }

    /// Changes an object and moves it to the place of its new key, as [`Dictionary::rekeyed`] does.
    /// Returns whether the object moved. If `change` panics after it has changed the key, the entry
    /// stays at its old place.
    ///
    /// # Errors
    /// The errors of [`Dictionary::get`]. When this error is returned, `change` has not run.
    pub fn update(&mut self, entry: EntryKey, change: impl FnOnce(&mut T)) -> Result<bool, DictError> {
        change(self.get_mut(entry)?);
        self.rekeyed(entry)
    }

    /// Returns the number of bytes that the dictionary has allocated, without the memory that
    /// objects own.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.sorted.nodes.arena.columns.heap_bytes()
    }

    #[inline]
    fn validate(&self, entry: EntryKey) -> Result<Idx, DictError> {
        self.sorted.nodes.validate(entry)
    }

    // Each caller passes a constant position, so that after inlining only the code for that
    // position remains.
    #[inline(always)]
    fn put(&mut self, position: Position<EntryKey>, value: T) -> Result<EntryKey, NotInserted<T>> {
        let place = position
            .try_map(|hint| self.validate(hint))
            .and_then(|position| self.sorted.place_of(position, &value));
        match place {
            Ok(place) => {
                let entry = self.sorted.nodes.occupy(value)?;
                self.sorted.tree.link(&mut self.sorted.nodes, entry.slot.index, place);
                Ok(entry)
            }
            Err(reason) => Err(NotInserted { reason, value }),
        }
    }

    #[inline]
    fn withdraw(&mut self, p: Idx) -> Option<T> {
        self.sorted.tree.unlink(&mut self.sorted.nodes, p);
        self.sorted.nodes.vacate(p)
    }

    fn withdraw_all(&mut self) {
        self.sorted.tree = super::tree::Tree::NEW;
        self.sorted.nodes.arena.clear();
    }

    fn verify(&self) -> Result<(), Violation> {
        self.sorted.nodes.arena.check()?;
        self.sorted.check(self.sorted.nodes.arena.len(), |p| self.sorted.nodes.check_live(p))
    }
}

dictionary! {
    impl [O: KeyOrder<T>, T, B: Balance] SlabDict<O, T, B>;
    object T, order O, entry EntryKey, value T,
    index sorted, count sorted.nodes.arena.len()
}

impl<O: KeyOrder<T>, T, B: Balance> Reserve for SlabDict<O, T, B> {
    fn reserve(&mut self, additional: usize) -> Result<(), DictError> {
        self.reserve(additional)
    }
}

impl<O, T, B: Balance> fmt::Debug for SlabDict<O, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlabDict").field("len", &self.sorted.nodes.arena.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
