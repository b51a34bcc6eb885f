//! `Registry`: finds objects by id and by address, in two dictionaries.

use crate::dict::{DictError, Dictionary, KeyOf, KeyOrder};
use tickwright_nodes::{Violation, error_texts};

/// Why an object was not registered or not found. When this error is returned, nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegistryError {
    /// Another object has this id.
    IdTaken,
    /// Another object has this address.
    AddressTaken,
    /// No object has this id.
    Unknown,
    /// The error of a dictionary.
    Refused(DictError),
}

error_texts! { RegistryError:
    Self::IdTaken => "an object with this id is registered: unregister it, or take another id",
    Self::AddressTaken => "an object with this address is registered: unregister it first",
    Self::Unknown => "no object with this id is registered",
    Self::Refused(reason) => reason,
}

impl From<DictError> for RegistryError {
    fn from(reason: DictError) -> Self {
        Self::Refused(reason)
    }
}

/// A registry of objects, such as threads, tasks or memory areas, which finds each object by its id
/// and by its address. A registry consists of two dictionaries.
///
/// Ids and addresses are unique. An object is in both dictionaries or in neither.
/// [`around`](Self::around) returns the last object at or below an address, so that a caller can
/// find the area that contains an address.
///
/// The dictionaries are type parameters. Over hooks an object has two links, and nothing allocates.
/// Over slabs, both dictionaries hold a copy of the same small value, such as an `Arc`.
///
/// ```
/// use core::cmp::Ordering;
/// use tickwright_collections::{HookDict, KeyOrder, Link, Membership, Registry};
///
/// struct Area { id: u64, base: usize, len: usize, by_id: Link, by_base: Link }
///
/// struct ById;
/// impl KeyOrder<Area> for ById {
///     type Key<'k> = u64;
///     fn key<'k>(&'k self, area: &'k Area) -> u64 { area.id }
///     fn compare(&self, a: &u64, b: &u64) -> Ordering { a.cmp(b) }
/// }
/// impl Membership<Area> for ById {
///     fn link<'t>(&self, area: &'t Area) -> &'t Link { &area.by_id }
/// }
/// struct ByBase;
/// impl KeyOrder<Area> for ByBase {
///     type Key<'k> = usize;
///     fn key<'k>(&'k self, area: &'k Area) -> usize { area.base }
///     fn compare(&self, a: &usize, b: &usize) -> Ordering { a.cmp(b) }
/// }
/// impl Membership<Area> for ByBase {
///     fn link<'t>(&self, area: &'t Area) -> &'t Link { &area.by_base }
/// }
///
/// let area = |id, base, len| Area { id, base, len, by_id: Link::new(), by_base: Link::new() };
/// let areas = [area(7, 0x1000, 0x500), area(3, 0x8000, 0x100)];
/// let mut registry = Registry::new(HookDict::new(ById), HookDict::new(ByBase));
/// for area in &areas {
///     registry.register(area)?;
/// }
/// let holds = |address: usize| {
///     registry.around(&address).filter(|area| address - area.base < area.len)
/// };
/// assert_eq!(holds(0x14ff).map(|area| area.id), Some(7));
/// assert!(holds(0x1500).is_none());
/// assert_eq!(registry.by_id(&3).map(|area| area.base), Some(0x8000));
/// # Ok::<(), tickwright_collections::RegistryError>(())
/// ```
///
/// # Costs
/// Each look-up is one search, O(log n). `register` and `unregister` make at most two searches in
/// each dictionary. These calls allocate only when a slab grows.
///
/// If a comparison panics while an object is being registered, the object might be only in the
/// dictionary by ids, in which case `check` returns [`Violation::Count`]. The id and the address of
/// an object must not change while it is registered. If one of them changes, searches can miss the
/// object, and [`check`](Self::check) reports a violation.
#[derive(Debug)]
pub struct Registry<I, A> {
    by_id: I,
    by_address: A,
}

impl<I, A> Registry<I, A> {
    /// Creates a registry over two dictionaries, which must be empty.
    pub const fn new(by_id: I, by_address: A) -> Self {
        Self { by_id, by_address }
    }

    /// Returns the dictionary by ids, for iteration and searches.
    pub const fn ids(&self) -> &I {
        &self.by_id
    }

    /// Returns the dictionary by addresses, for iteration and searches.
    pub const fn addresses(&self) -> &A {
        &self.by_address
    }
}

impl<I, A> Registry<I, A>
where
    I: Dictionary,
    I::Value: Clone,
    A: Dictionary<Object = I::Object, Value = I::Value>,
{
    /// Returns the number of registered objects. O(1).
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns whether no object is registered.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Registers an object by its id and by its address.
    ///
    /// # Errors
    /// [`RegistryError::IdTaken`] or [`RegistryError::AddressTaken`] when a registered object has
    /// this id or address, even if it is `object` itself. Otherwise the error of a dictionary.
    pub fn register(&mut self, object: I::Value) -> Result<(), RegistryError> {
        let id = self.by_id.insert(object.clone()).map_err(|refused| match refused.reason {
            DictError::AlreadyLinked => RegistryError::IdTaken,
            reason => RegistryError::Refused(reason),
        })?;
        let registered = self.register_address(id, object);
        if registered.is_err() {
            self.by_id.remove(id)?;
        }
        registered
    }

    /// Inserts the object at the entry `id` of the dictionary by ids into the dictionary by
    /// addresses as well, if its id and its address are unique.
    fn register_address(&mut self, id: I::Entry, object: I::Value) -> Result<(), RegistryError> {
        // The object is in a dictionary now, so both of its keys can be read.
        if let Some(before) = self.by_id.prev(id)? {
            let (order, before) = (self.by_id.order(), self.by_id.get(before)?);
            if order.compare(&order.key(before), &order.key(self.by_id.get(id)?)).is_eq() {
                return Err(RegistryError::IdTaken);
            }
        }
        let address = self.by_address.order().key(self.by_id.get(id)?);
        let below = self.by_address.find_leq(&address);
        if let Some(below) = below {
            let order = self.by_address.order();
            if order.compare(&order.key(self.by_address.get(below)?), &address).is_eq() {
                return Err(RegistryError::AddressTaken);
            }
        }
        drop(address);
        self.by_address.insert_near(below, object).map_err(|refused| match refused.reason {
            DictError::AlreadyLinked => RegistryError::AddressTaken,
            reason => RegistryError::Refused(reason),
        })?;
        Ok(())
    }

    /// Unregisters the object with this id.
    ///
    /// # Errors
    /// [`RegistryError::Unknown`], or the error of a dictionary.
    pub fn unregister(&mut self, id: &KeyOf<'_, I>) -> Result<I::Value, RegistryError> {
        let by_id = self.by_id.find(id).ok_or(RegistryError::Unknown)?;
        let address = self.by_address.order().key(self.by_id.get(by_id)?);
        let by_address = self.by_address.find(&address).ok_or(DictError::Stale)?;
        drop(address);
        self.by_address.remove(by_address)?;
        Ok(self.by_id.remove(by_id)?)
    }

    /// Returns the object with this id.
    #[inline]
    pub fn by_id(&self, id: &KeyOf<'_, I>) -> Option<&I::Object> {
        self.by_id.get(self.by_id.find(id)?).ok()
    }

    /// Returns the object at this address.
    #[inline]
    pub fn by_address(&self, address: &KeyOf<'_, A>) -> Option<&I::Object> {
        self.by_address.get(self.by_address.find(address)?).ok()
    }

    /// Returns the last object that begins at or below this address. To find out whether the
    /// address is within the object, compare it with the object's end.
    #[inline]
    pub fn around(&self, address: &KeyOf<'_, A>) -> Option<&I::Object> {
        self.by_address.get(self.by_address.find_leq(address)?).ok()
    }

    /// Iterates over the objects in the order of their ids.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &I::Object> {
        self.by_id.iter().filter_map(|entry| self.by_id.get(entry).ok())
    }

    /// Unregisters all objects.
    pub fn clear(&mut self) {
        self.by_address.clear();
        self.by_id.clear();
    }

    /// Verifies both dictionaries. Also verifies that a search by address finds each object of the
    /// dictionary by ids. O(n log n).
    ///
    /// # Errors
    /// The first [`Violation`] found: [`Violation::Count`] when one dictionary holds more objects
    /// than the other, [`Violation::Order`] when an address is not found.
    pub fn check(&self) -> Result<(), Violation> {
        self.by_id.check()?;
        self.by_address.check()?;
        if self.by_id.len() != self.by_address.len() {
            return Err(Violation::Count);
        }
        let found = |object| self.by_address(&self.by_address.order().key(object)).is_some();
        if self.iter().all(found) { Ok(()) } else { Err(Violation::Order) }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
