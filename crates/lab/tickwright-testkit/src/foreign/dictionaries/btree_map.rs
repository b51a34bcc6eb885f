//! `std::collections::BTreeMap` keyed by (key, arrival), so equal keys keep the order of their
//! arrival. The dictionary owns its objects.

use core::fmt;
use core::ops::Bound::{Excluded, Unbounded};
use std::collections::BTreeMap;

use tickwright_collections::{DictError, Dictionary, KeyOf, NotInserted, PlainKey, Seek};
use tickwright_core::Violation;

/// An entry: its key, and its number among all entries ever inserted. An entry of another
/// dictionary can by chance name an entry here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arrived<K> {
    key: K,
    arrival: u64,
}

/// The dictionary. Hints are checked but not used. [`rekeyed`](Dictionary::rekeyed) is not offered.
pub struct BTreeDict<O: PlainKey<T>, T> {
    order: O,
    map: BTreeMap<Arrived<O::Plain>, T>,
    arrivals: u64,
}

impl<O: PlainKey<T>, T> BTreeDict<O, T> {
    /// Creates an empty dictionary.
    #[must_use]
    pub const fn new(order: O) -> Self {
        Self { order, map: BTreeMap::new(), arrivals: 0 }
    }

    fn known(&self, entry: Arrived<O::Plain>) -> Result<(), DictError> {
        if self.map.contains_key(&entry) { Ok(()) } else { Err(DictError::Stale) }
    }

    #[inline]
    fn put(&mut self, value: T) -> Arrived<O::Plain> {
        let entry = Arrived { key: self.order.plain(&self.order.key(&value)), arrival: self.arrivals };
        self.arrivals += 1;
        self.map.insert(entry, value);
        entry
    }

    /// Inserts at one end if the key belongs there: `fits` receives the key at that end and the new
    /// key.
    fn put_at(
        &mut self,
        end: Option<Arrived<O::Plain>>,
        fits: fn(O::Plain, O::Plain) -> bool,
        value: T,
    ) -> Result<Arrived<O::Plain>, NotInserted<T>> {
        let key = self.order.plain(&self.order.key(&value));
        if end.is_some_and(|end| !fits(end.key, key)) {
            return Err(NotInserted { reason: DictError::OutOfOrder, value });
        }
        Ok(self.put(value))
    }
}

impl<O: PlainKey<T>, T> Dictionary for BTreeDict<O, T> {
    type Object = T;
    type Order = O;
    type Entry = Arrived<O::Plain>;
    type Value = T;

    fn order(&self) -> &O {
        &self.order
    }

    fn len(&self) -> usize {
        self.map.len()
    }

    #[inline]
    fn get(&self, entry: Self::Entry) -> Result<&T, DictError> {
        self.map.get(&entry).ok_or(DictError::Stale)
    }

    #[inline]
    fn insert_near(&mut self, hint: Option<Self::Entry>, value: T) -> Result<Self::Entry, NotInserted<T>> {
        if let Some(reason) = hint.and_then(|hint| self.known(hint).err()) {
            return Err(NotInserted { reason, value });
        }
        Ok(self.put(value))
    }

    fn append(&mut self, value: T) -> Result<Self::Entry, NotInserted<T>> {
        self.put_at(self.last(), |last, key| last <= key, value)
    }

    fn prepend(&mut self, value: T) -> Result<Self::Entry, NotInserted<T>> {
        self.put_at(self.first(), |first, key| key < first, value)
    }

    #[inline]
    fn remove(&mut self, entry: Self::Entry) -> Result<T, DictError> {
        self.map.remove(&entry).ok_or(DictError::Stale)
    }

    fn rekeyed(&mut self, entry: Self::Entry) -> Result<bool, DictError> {
        self.known(entry)?;
        Err(DictError::NotOffered)
    }

    #[inline]
    fn first(&self) -> Option<Self::Entry> {
        self.map.first_key_value().map(|(&entry, _)| entry)
    }

    #[inline]
    fn last(&self) -> Option<Self::Entry> {
        self.map.last_key_value().map(|(&entry, _)| entry)
    }

    #[inline]
    fn next(&self, entry: Self::Entry) -> Result<Option<Self::Entry>, DictError> {
        self.known(entry)?;
        Ok(self.map.range((Excluded(entry), Unbounded)).next().map(|(&entry, _)| entry))
    }

    #[inline]
    fn prev(&self, entry: Self::Entry) -> Result<Option<Self::Entry>, DictError> {
        self.known(entry)?;
        Ok(self.map.range(..entry).next_back().map(|(&entry, _)| entry))
    }

    #[inline]
    fn seek(
        &self,
        seek: Seek,
        key: &KeyOf<'_, Self>,
        hint: Option<Self::Entry>,
    ) -> Result<Option<Self::Entry>, DictError> {
        if let Some(hint) = hint {
            self.known(hint)?;
        }
        let key = self.order.plain(key);
        let (least, most) = (Arrived { key, arrival: 0 }, Arrived { key, arrival: u64::MAX });
        let found = match seek {
            Seek::Equal | Seek::Geq => self.map.range(least..).next(),
            Seek::LastEqual | Seek::Leq => self.map.range(..=most).next_back(),
            Seek::Gt => self.map.range((Excluded(most), Unbounded)).next(),
            Seek::Lt => self.map.range(..least).next_back(),
        };
        let found = found.map(|(&entry, _)| entry);
        let exact = matches!(seek, Seek::Equal | Seek::LastEqual);
        Ok(found.filter(|entry| !exact || entry.key == key))
    }

    fn clear(&mut self) {
        self.map.clear();
    }

    /// Verifies that no key has changed since its object was inserted. No other property is visible
    /// from outside.
    fn check(&self) -> Result<(), Violation> {
        let own = |object| self.order.plain(&self.order.key(object));
        if self.map.iter().all(|(entry, object)| entry.key == own(object)) {
            Ok(())
        } else {
            Err(Violation::Order)
        }
    }
}

impl<O: PlainKey<T>, T> fmt::Debug for BTreeDict<O, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BTreeDict").field("len", &self.map.len()).finish_non_exhaustive()
    }
}
