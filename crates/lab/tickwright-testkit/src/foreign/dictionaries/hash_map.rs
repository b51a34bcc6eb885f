//! `std::collections::HashMap`, **unordered**: it shows what a look-up of one key costs without
//! order. The dictionary owns its objects.

use core::fmt;
use core::hash::Hash;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tickwright_collections::{DictError, Dictionary, KeyOf, NotInserted, PlainKey, Seek};
use tickwright_core::Violation;

/// A dictionary without order, so it has no first and no last entry. A call that needs an order
/// returns [`DictError::NotOffered`], and so does a second insert of the same key. An entry is
/// identified by its key.
pub struct HashDict<O: PlainKey<T>, T> {
    order: O,
    map: HashMap<O::Plain, T>,
}

impl<O: PlainKey<T>, T> HashDict<O, T> {
    /// Creates an empty dictionary, with the standard library's hash function.
    #[must_use]
    pub fn new(order: O) -> Self {
        Self { order, map: HashMap::new() }
    }
}

impl<O: PlainKey<T, Plain: Hash>, T> Dictionary for HashDict<O, T> {
    type Object = T;
    type Order = O;
    type Entry = O::Plain;
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
        if let Some(reason) = hint.and_then(|hint| self.get(hint).err()) {
            return Err(NotInserted { reason, value });
        }
        let key = self.order.plain(&self.order.key(&value));
        match self.map.entry(key) {
            Entry::Occupied(_) => Err(NotInserted { reason: DictError::NotOffered, value }),
            Entry::Vacant(vacant) => {
                vacant.insert(value);
                Ok(key)
            }
        }
    }

    fn append(&mut self, value: T) -> Result<Self::Entry, NotInserted<T>> {
        Err(NotInserted { reason: DictError::NotOffered, value })
    }

    fn prepend(&mut self, value: T) -> Result<Self::Entry, NotInserted<T>> {
        Err(NotInserted { reason: DictError::NotOffered, value })
    }

    #[inline]
    fn remove(&mut self, entry: Self::Entry) -> Result<T, DictError> {
        self.map.remove(&entry).ok_or(DictError::Stale)
    }

    fn rekeyed(&mut self, entry: Self::Entry) -> Result<bool, DictError> {
        self.get(entry)?;
        Err(DictError::NotOffered)
    }

    fn first(&self) -> Option<Self::Entry> {
        None
    }

    fn last(&self) -> Option<Self::Entry> {
        None
    }

    fn next(&self, entry: Self::Entry) -> Result<Option<Self::Entry>, DictError> {
        self.get(entry)?;
        Err(DictError::NotOffered)
    }

    fn prev(&self, entry: Self::Entry) -> Result<Option<Self::Entry>, DictError> {
        self.get(entry)?;
        Err(DictError::NotOffered)
    }

    #[inline]
    fn seek(
        &self,
        seek: Seek,
        key: &KeyOf<'_, Self>,
        hint: Option<Self::Entry>,
    ) -> Result<Option<Self::Entry>, DictError> {
        if let Some(hint) = hint {
            self.get(hint)?;
        }
        match seek {
            Seek::Equal | Seek::LastEqual => {
                let key = self.order.plain(key);
                Ok(self.map.contains_key(&key).then_some(key))
            }
            Seek::Geq | Seek::Gt | Seek::Leq | Seek::Lt => Err(DictError::NotOffered),
        }
    }

    fn clear(&mut self) {
        self.map.clear();
    }

    /// Verifies that no key has changed since its object was inserted. No other property is visible
    /// from outside.
    fn check(&self) -> Result<(), Violation> {
        let own = |object| self.order.plain(&self.order.key(object));
        if self.map.iter().all(|(&key, object)| key == own(object)) { Ok(()) } else { Err(Violation::Order) }
    }
}

impl<O: PlainKey<T>, T> fmt::Debug for HashDict<O, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashDict").field("len", &self.map.len()).finish_non_exhaustive()
    }
}
