//! `Ids`: the id allocator, which stores free ids as ranges in a dictionary.

use core::cmp::Ordering;
use core::ops::RangeInclusive;

use crate::dict::{DictError, KeyOrder, PlainKey, Reserve};
use tickwright_nodes::{Violation, error_texts};

/// A range of free ids, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FreeRange {
    first: u64,
    last: u64,
}

impl FreeRange {
    fn count(self) -> u64 {
        self.last - self.first + 1
    }

    fn contains(self, id: u64) -> bool {
        (self.first..=self.last).contains(&id)
    }
}

/// Orders free ranges by their first ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByFirst;

impl KeyOrder<FreeRange> for ByFirst {
    type Key<'k> = u64;

    #[inline]
    fn key<'k>(&'k self, range: &'k FreeRange) -> u64 {
        range.first
    }

    #[inline]
    fn compare(&self, a: &u64, b: &u64) -> Ordering {
        a.cmp(b)
    }
}

impl PlainKey<FreeRange> for ByFirst {
    type Plain = u64;

    #[inline]
    fn plain(&self, first: &u64) -> u64 {
        *first
    }
}

/// Why a call was refused. When this error is returned, nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IdError {
    /// No id is free, or no free range is long enough.
    Exhausted,
    /// The id, or an id of the range, is not taken, because it was already given back or was never
    /// granted.
    NotTaken,
    /// The id is already taken.
    Taken,
    /// The id is not one of this allocator's ids, or the range is empty or contains 0.
    OutOfRange,
    /// There is no room for one more free range, because the dictionary is bounded or there is no
    /// memory.
    Full,
    /// The dictionary refused a call that must succeed. [`Ids::check`] reports the reason.
    Broken,
}

error_texts! { IdError:
    Self::Exhausted => "no such range of ids is free: give some back first",
    Self::NotTaken => "the id is not taken: it was given back before, or never given",
    Self::Taken => "the id is taken already",
    Self::OutOfRange =>
        "the ids are not within this allocator's: they count from the first to the last that it was made with, and never from 0",
    Self::Full => "no room to remember one more free range: give the dictionary more capacity",
    Self::Broken => "the dictionary of free ids contradicts itself: run check",
}

impl From<DictError> for IdError {
    fn from(error: DictError) -> Self {
        if error == DictError::Full { Self::Full } else { Self::Broken }
    }
}

/// An id allocator, which stores the free ids as ranges in a dictionary. The allocator grants the
/// smallest free id or, if a range is requested, the lowest free range that is long enough.
///
/// No two free ranges touch or overlap, so with n outstanding grants there are at most n + 1 free
/// ranges. Each grant makes room for this many ranges, so giving back one whole grant needs no
/// memory and cannot fail.
///
/// ```
/// use tickwright_collections::{IdError, Ids, SlabDict, ByFirst};
///
/// let mut ids = Ids::new(SlabDict::new(ByFirst), 1..=1000)?;
/// assert_eq!((ids.take()?, ids.take()?, ids.take()?), (1, 2, 3));
/// ids.give(2)?;
/// assert_eq!(ids.give(2), Err(IdError::NotTaken));
/// assert_eq!(ids.take_range(10)?, 4..=13);
/// assert_eq!(ids.take()?, 2, "the smallest");
/// # Ok::<(), IdError>(())
/// ```
///
/// # Costs
/// | operation | worst | usual |
/// |---|---|---|
/// | `take`, `give`, `give_range`, `claim` | O(log f), f ranges | the same; `take`: no search |
/// | `take_range` | O(f): walks to the first sufficient range | O(1) if it is the first range |
/// | `is_taken` | O(log f) | the same |
#[derive(Debug)]
pub struct Ids<D> {
    free: D,
    all: FreeRange,
    taken: u64,
    /// The number of calls that took ids, minus the number of calls that gave ids back.
    grants: usize,
    /// The number of free ranges for which the dictionary has room.
    room: usize,
}

impl<D> Ids<D>
where
    D: Reserve<Object = FreeRange, Order = ByFirst, Value = FreeRange>,
{
    /// Creates an allocator for the range `ids`, in which all ids are free. `free` must be an empty
    /// dictionary. A dictionary that is bounded to `n` entries is enough for `n - 2` outstanding
    /// grants.
    ///
    /// # Errors
    /// [`IdError::OutOfRange`] when `ids` is empty or starts at 0, which is never an id.
    /// [`IdError::Broken`] when `free` is not empty. [`IdError::Full`] when there is no room.
    pub fn new(mut free: D, ids: RangeInclusive<u64>) -> Result<Self, IdError> {
        let (first, last) = ids.into_inner();
        if first == 0 || first > last {
            return Err(IdError::OutOfRange);
        }
        if !free.is_empty() {
            return Err(IdError::Broken);
        }
        let all = FreeRange { first, last };
        free.insert(all).map_err(DictError::from)?;
        Ok(Self { free, all, taken: 0, grants: 0, room: 1 })
    }

    /// Returns the number of taken ids. O(1).
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the number of free ranges. O(1).
    pub fn free_ranges(&self) -> usize {
        self.free.len()
    }

    /// Returns whether this id was granted and has not been given back.
    pub fn is_taken(&self, id: u64) -> bool {
        self.all.contains(id) && self.around(id).is_none()
    }

    /// Takes the smallest free id.
    ///
    /// # Errors
    /// [`IdError::Exhausted`], [`IdError::Full`].
    pub fn take(&mut self) -> Result<u64, IdError> {
        let entry = self.free.first().ok_or(IdError::Exhausted)?;
        let range = *self.free.get(entry)?;
        self.cut(entry, range, range.first, range.first)?;
        Ok(range.first)
    }

    /// Takes the lowest range of `count` free ids.
    ///
    /// # Errors
    /// [`IdError::Exhausted`] or [`IdError::Full`], or [`IdError::OutOfRange`] when `count` is 0.
    pub fn take_range(&mut self, count: u64) -> Result<RangeInclusive<u64>, IdError> {
        let beyond = count.checked_sub(1).ok_or(IdError::OutOfRange)?;
        let mut ranges =
            self.free.iter().filter_map(|entry| self.free.get(entry).ok().map(|&range| (entry, range)));
        let (entry, range) = ranges.find(|(_, range)| range.count() >= count).ok_or(IdError::Exhausted)?;
        let last = range.first + beyond;
        self.cut(entry, range, range.first, last)?;
        Ok(range.first..=last)
    }

    /// Takes this id.
    ///
    /// # Errors
    /// [`IdError::Taken`], [`IdError::OutOfRange`], [`IdError::Full`].
    pub fn claim(&mut self, id: u64) -> Result<(), IdError> {
        if !self.all.contains(id) {
            return Err(IdError::OutOfRange);
        }
        let (entry, range) = self.around(id).ok_or(IdError::Taken)?;
        self.cut(entry, range, id, id)
    }

    /// Gives an id back.
    ///
    /// # Errors
    /// As [`give_range`](Self::give_range).
    pub fn give(&mut self, id: u64) -> Result<(), IdError> {
        self.give_range(id..=id)
    }

    /// Gives back a range of ids: the ids of one grant, of several adjacent grants, or a part of a
    /// grant.
    ///
    /// # Errors
    /// [`IdError::NotTaken`] when an id of the range is free, or [`IdError::OutOfRange`].
    /// [`IdError::Full`] is possible only if parts of grants were given back separately.
    pub fn give_range(&mut self, ids: RangeInclusive<u64>) -> Result<(), IdError> {
        let (first, last) = ids.into_inner();
        if first > last || !self.all.contains(first) || !self.all.contains(last) {
            return Err(IdError::OutOfRange);
        }
        let before = self.free.find_leq(&last);
        let after = match before {
            Some(entry) => self.free.next(entry)?,
            None => self.free.first(),
        };
        let mut joined = FreeRange { first, last };
        let before = before.map(|entry| self.free.get(entry).map(|&range| (entry, range))).transpose()?;
        let after = after.map(|entry| self.free.get(entry).map(|&range| (entry, range))).transpose()?;
        if before.is_some_and(|(_, range)| range.last >= first) {
            return Err(IdError::NotTaken);
        }
        // Adjacent free ranges are merged: `before` ends directly below `first`, and `after` starts
        // directly above `last`.
        let before = before.filter(|(_, range)| range.last + 1 == first);
        let after = after.filter(|(_, range)| last + 1 == range.first);
        joined.first = before.map_or(first, |(_, range)| range.first);
        joined.last = after.map_or(last, |(_, range)| range.last);
        self.make_room(self.free.len() + 1)?;
        let hint = before.or(after).map(|(entry, _)| entry);
        self.free.insert_near(hint, joined).map_err(DictError::from)?;
        for (entry, _) in before.into_iter().chain(after) {
            self.free.remove(entry)?;
        }
        self.taken -= FreeRange { first, last }.count();
        self.grants = self.grants.saturating_sub(1);
        Ok(())
    }

    /// Removes the ids `first..=last` from the free `range` at `entry`.
    fn cut(&mut self, entry: D::Entry, range: FreeRange, first: u64, last: u64) -> Result<(), IdError> {
        // The old range stays until the new ranges have been inserted, so for a moment there is one
        // more range than the number of grants allows.
        self.make_room((self.grants + 3).max(self.free.len() + 2))?;
        let left = (range.first < first).then(|| FreeRange { first: range.first, last: first - 1 });
        let right = (last < range.last).then(|| FreeRange { first: last + 1, last: range.last });
        for part in left.into_iter().chain(right) {
            self.free.insert_near(Some(entry), part).map_err(DictError::from)?;
        }
        self.free.remove(entry)?;
        self.taken += FreeRange { first, last }.count();
        self.grants += 1;
        Ok(())
    }

    /// Returns the free range that holds `id`.
    fn around(&self, id: u64) -> Option<(D::Entry, FreeRange)> {
        let entry = self.free.find_leq(&id)?;
        let range = *self.free.get(entry).ok()?;
        range.contains(id).then_some((entry, range))
    }

    /// Ensures that the dictionary has room for `ranges` ranges, and tries to reserve room for
    /// twice as many.
    fn make_room(&mut self, ranges: usize) -> Result<(), IdError> {
        if ranges <= self.room {
            return Ok(());
        }
        let len = self.free.len();
        let most = usize::try_from(self.all.count()).unwrap_or(usize::MAX).saturating_add(2);
        for room in [ranges.saturating_mul(2).min(most), ranges] {
            if self.free.reserve(room.saturating_sub(len)).is_ok() {
                self.room = room;
                return Ok(());
            }
        }
        Err(IdError::Full)
    }

    /// Verifies the dictionary and the number of taken ids ([`Violation::Count`]). Also verifies
    /// that the free ranges are within this allocator's ids and do not touch
    /// ([`Violation::Order`]). O(f).
    ///
    /// # Errors
    /// The first violation found.
    pub fn check(&self) -> Result<(), Violation> {
        self.free.check()?;
        let mut free = 0;
        let mut before: Option<FreeRange> = None;
        for entry in self.free.iter() {
            let range = *self.free.get(entry).map_err(|_| Violation::Storage)?;
            let apart =
                before.is_none_or(|before| before.last < range.first && before.last + 1 < range.first);
            let ours = self.all.contains(range.first) && self.all.contains(range.last);
            if !ours || range.first > range.last || !apart {
                return Err(Violation::Order);
            }
            free += range.count();
            before = Some(range);
        }
        if self.all.count() - free == self.taken { Ok(()) } else { Err(Violation::Count) }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
