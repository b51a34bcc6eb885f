//! The traits and errors that all ordered dictionaries share.

use core::cmp::Ordering;
use core::fmt;
use core::ops::Bound;

#[cfg(feature = "alloc")]
mod bplus;
#[cfg(feature = "alloc")]
mod cells;
mod hook;
mod shell;
#[cfg(feature = "alloc")]
mod slab;
mod sorted;
mod tree;

#[cfg(feature = "alloc")]
pub use bplus::BPlusDict;
#[cfg(feature = "alloc")]
pub use cells::EntryKey;
pub use hook::{HookDict, InDict, Link, Membership, ObjectRef, Position};
#[cfg(feature = "alloc")]
pub use slab::SlabDict;
pub(crate) use tickwright_nodes::tree::{Balance, RedBlack};

pub(crate) use sorted::{Objects, Sorted};
#[cfg(feature = "alloc")]
use tickwright_nodes::arena::Full;
use tickwright_nodes::hook::Claimed;
use tickwright_nodes::{Violation, error_texts};
pub(crate) use tree::DictRecord;

/// A trait that returns the key of an object of type `T` and compares two keys. The user implements
/// it.
///
/// The order must be total. When the key of an entry has changed, the caller must call
/// [`Dictionary::rekeyed`]. [`Dictionary`] documents what happens otherwise. Never subtract keys to
/// compare them, because the difference of two wide integers can overflow.
pub trait KeyOrder<T> {
    /// The type of the key: a number, a reference into the object, or a tuple of numbers and
    /// references.
    type Key<'k>
    where
        Self: 'k,
        T: 'k;

    /// Returns the key of `object`.
    fn key<'k>(&'k self, object: &'k T) -> Self::Key<'k>;

    /// Compares two keys.
    fn compare(&self, a: &Self::Key<'_>, b: &Self::Key<'_>) -> Ordering;
}

/// A [`KeyOrder`] for keys that are not references: the function `F` returns the key of an object,
/// and the keys are compared by `Ord`.
///
/// ```
/// use tickwright_collections::{By, Dictionary, SlabDict};
///
/// let mut squares = SlabDict::new(By(|n: &i32| n * n));
/// for n in [3, -2, 1] {
///     squares.insert(n)?;
/// }
/// assert_eq!(squares.find_geq(&3).and_then(|entry| squares.get(entry).ok()), Some(&-2));
/// # Ok::<(), tickwright_collections::DictError>(())
/// ```
#[derive(Clone, Copy)]
pub struct By<F>(pub F);

impl<F> fmt::Debug for By<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("By")
    }
}

impl<T, K: Ord, F: Fn(&T) -> K> KeyOrder<T> for By<F> {
    type Key<'k>
        = K
    where
        Self: 'k,
        T: 'k;

    #[inline]
    fn key<'k>(&'k self, object: &'k T) -> K {
        (self.0)(object)
    }

    #[inline]
    fn compare(&self, a: &K, b: &K) -> Ordering {
        a.cmp(b)
    }
}

/// An order whose keys are plain values that can be copied out of the objects. Maps and B-trees
/// store such copies in their nodes.
pub trait PlainKey<T>: KeyOrder<T> {
    /// The type of the copied key. Its `Ord` is the order of the keys.
    type Plain: Copy + Ord + fmt::Debug;

    /// Returns a copy of the key.
    fn plain(&self, key: &Self::Key<'_>) -> Self::Plain;
}

impl<T, K: Copy + Ord + fmt::Debug, F: Fn(&T) -> K> PlainKey<T> for By<F> {
    type Plain = K;

    #[inline]
    fn plain(&self, key: &K) -> K {
        *key
    }
}

/// The key type of a dictionary.
pub type KeyOf<'k, D> = <<D as Dictionary>::Order as KeyOrder<<D as Dictionary>::Object>>::Key<'k>;

/// The condition of a search, which determines the entry that the search returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seek {
    /// The first entry with the key.
    Equal,
    /// The last entry with the key.
    LastEqual,
    /// The first entry with the key or a greater key.
    Geq,
    /// The first entry with a greater key.
    Gt,
    /// The last entry with the key or a lesser key.
    Leq,
    /// The last entry with a lesser key.
    Lt,
}

/// A dictionary that owns its objects and can reserve room in advance.
pub trait Reserve: Dictionary {
    /// Makes room for `additional` more entries, so that none of the next `additional` inserts is
    /// refused with [`DictError::Full`].
    ///
    /// # Errors
    /// [`DictError::Full`] when there is no memory for these entries, or when the dictionary's
    /// bound does not allow this many.
    fn reserve(&mut self, additional: usize) -> Result<(), DictError>;
}

/// Why a dictionary refused an operation. The dictionary is then unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DictError {
    /// A bounded dictionary is full, or there is no memory for a dictionary to grow.
    Full,
    /// The object's link is already in this dictionary.
    AlreadyLinked,
    /// The object's link, the entry or the hint belongs to another dictionary.
    WrongDictionary,
    /// The entry or hint was removed, or was never in the dictionary.
    Stale,
    /// The appended key is less than the last key, or the prepended key is not less than the first
    /// key.
    OutOfOrder,
    /// The link is not inside the object, or is at another offset than in the dictionary's other
    /// objects.
    WrongLink,
    /// All 2^31 - 1 dictionary identities of this process are used up.
    NoIdentity,
    /// This kind of dictionary does not have the operation. An unordered dictionary, for example,
    /// has no neighbors. No dictionary of this crate returns this error.
    NotOffered,
}

error_texts! { DictError:
    Self::Full => "the dictionary is full: give it more capacity, or remove an entry first",
    Self::AlreadyLinked =>
        "the object is already in this dictionary: if its key changed, call rekeyed",
    Self::WrongDictionary =>
        "the object or entry belongs to another dictionary: remove it there first",
    Self::Stale => "the entry is not in the dictionary any more",
    Self::OutOfOrder => "the object does not belong at this end: insert it instead",
    Self::WrongLink =>
        "the link is not in the object where the others have it: let link answer one field of it",
    Self::NoIdentity => "no identity is left for a new dictionary: construct it with one of your own",
    Self::NotOffered => "this dictionary does not offer that: use an ordered one",
}

impl From<Claimed> for DictError {
    fn from(claimed: Claimed) -> Self {
        match claimed {
            Claimed::Here => Self::AlreadyLinked,
            Claimed::Elsewhere => Self::WrongDictionary,
        }
    }
}

#[cfg(feature = "alloc")]
impl From<Full> for DictError {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

/// The error of a refused insert, which contains the unchanged value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NotInserted<V, E = DictError> {
    /// The reason for the refusal.
    pub reason: E,
    /// The value that the caller wanted to insert.
    pub value: V,
}

/// Shows only the reason, so that a program can call `unwrap` although the objects are not `Debug`.
impl<V, E: fmt::Debug> fmt::Debug for NotInserted<V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotInserted").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<V, E: fmt::Display> fmt::Display for NotInserted<V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<V, E: fmt::Debug + fmt::Display> core::error::Error for NotInserted<V, E> {}

impl<V> From<NotInserted<V>> for DictError {
    fn from(refused: NotInserted<V>) -> Self {
        refused.reason
    }
}

/// A collection of objects in the order of their keys. Objects with equal keys are in the order of
/// their arrival.
///
/// An object has a key. A [`KeyOrder`] returns the key of an object and compares two keys. The
/// dictionary is a balanced tree, whose nodes are also linked in an ordered list. [`HookDict`]
/// links objects through the [`Link`]s that they contain, and never allocates. An object with two
/// links can be in two dictionaries. [`SlabDict`] owns its objects. The kind of balance is a type
/// parameter: [`RedBlack`] by default, or [`Avl`](crate::Avl). [`tickwright_nodes::tree`]
/// implements linking and balancing.
///
/// ```
/// use core::cmp::Ordering;
/// use tickwright_collections::{Dictionary, HookDict, KeyOrder, Link, Membership};
///
/// struct Task { id: u64, name: &'static str, by_id: Link, by_name: Link }
/// impl Task {
///     fn new(id: u64, name: &'static str) -> Self {
///         Self { id, name, by_id: Link::new(), by_name: Link::new() }
///     }
/// }
///
/// struct ById;
/// impl KeyOrder<Task> for ById {
///     type Key<'k> = u64;
///     fn key<'k>(&'k self, task: &'k Task) -> u64 { task.id }
///     fn compare(&self, a: &u64, b: &u64) -> Ordering { a.cmp(b) }
/// }
/// impl Membership<Task> for ById {
///     fn link<'t>(&self, task: &'t Task) -> &'t Link { &task.by_id }
/// }
///
/// struct ByName;
/// impl KeyOrder<Task> for ByName {
///     type Key<'k> = &'k str;
///     fn key<'k>(&'k self, task: &'k Task) -> &'k str { task.name }
///     fn compare(&self, a: &&str, b: &&str) -> Ordering { a.cmp(b) }
/// }
/// impl Membership<Task> for ByName {
///     fn link<'t>(&self, task: &'t Task) -> &'t Link { &task.by_name }
/// }
///
/// let tasks = [Task::new(9, "init"), Task::new(3, "vfs"), Task::new(7, "console")];
/// let mut by_id = HookDict::new(ById);
/// let mut by_name = HookDict::new(ByName);
/// for task in &tasks {
///     by_id.insert(task)?;
///     by_name.insert(task)?;
/// }
/// assert_eq!(by_id.find(&7).map(|task| task.name), Some("console"));
/// assert_eq!(by_id.find_leq(&8).map(|task| task.id), Some(7));
/// assert_eq!(by_name.first().map(|task| task.name), Some("console"));
/// assert!(by_id.insert(&tasks[0]).is_err(), "already linked");
/// # Ok::<(), tickwright_collections::DictError>(())
/// ```
///
/// A hint is an entry at which a search starts. A search finds the correct result from any hint,
/// and finds it sooner if the hint is near the result.
///
/// # Invariants
/// 1. Every node except the root is a child of exactly one node, its `up`; the root has no `up`
///    ([`Violation::BackLink`], [`Violation::Head`] for the root). The number of nodes that can be
///    reached from the root is the number of entries ([`Violation::Count`]).
/// 2. From left to right, no key is greater than the next key ([`Violation::Order`]). Entries with
///    equal keys are in the order of their arrival, because an insert places a node to the right of
///    the nodes with an equal key, and rotations do not change the order.
/// 3. The list has the nodes in the order of the tree, and each node points at its neighbors in the
///    list ([`Violation::BackLink`]). One end of the list is the first node, which has no
///    predecessor. The other end is the last node, which has no successor ([`Violation::Head`]).
/// 4. Red-black: the root is black, and no red node has a red child ([`Violation::RedRed`]). All
///    paths from a node down to a missing child pass the same number of black nodes
///    ([`Violation::BlackHeight`]).
/// 5. AVL: each node's balance factor is the difference of the heights of its subtrees, and is -1,
///    0 or 1 ([`Violation::Balance`]).
/// 6. Slab: exactly the linked cells are live, and all other cells are on the free list
///    ([`Violation::Storage`]). Hooks: the owner word of each linked node has this dictionary's
///    identity ([`Violation::Owner`]).
///
/// Nothing records the order in which entries with equal keys arrived, so `check` cannot verify
/// this order. The conformance suite verifies it with a model.
///
/// **When user code misbehaves.** The key getter, the comparator and the link getter run before the
/// first link write of an operation, while the dictionary is consistent. If one of these functions
/// panics, the dictionary has not changed. (If the operation was an insert into a slab, the object
/// is dropped.) Entries can be in wrong places, where searches can miss them, if the comparator
/// contradicts itself or a key was changed without [`Dictionary::rekeyed`]. Even then links, counts
/// and balance stay correct, nothing loops, and every entry can still be removed. `check` reports
/// [`Violation::Order`] if two neighbors are out of order.
///
/// # Layout
/// ```text
///   link (64-bit hook, 56 bytes):
///     [ left 8 | right 8 | up 8 | mark 1, unused 7 | next 8 | prev 8 | owner 4, unused 4 ]
///   cell (slab, 24 bytes + slot):
///     [ left 4 | right 4 | up 4 | mark 1, unused 3 | next 4 | prev 4 ][ generation 4 | object ]
///
///            (30)               lines down: the tree, links up omitted
///           /    \              arrows: the list, also backwards
///        (12)    (40)
///        /  \    ^  \           hint (12)', key 20: its neighbor 30 is greater, so the place
///     (10)->(12)'->(30)->...     is between the two, in two comparisons
/// ```
/// The distance from the start of the object to the link is the same for all objects of a
/// dictionary, so a link needs no pointer to its object. A slab stores an object and its record in
/// the same cell, because a search reads both.
///
/// # Costs
/// | operation | worst | usual | comparisons |
/// |---|---|---|---|
/// | find, insert | O(log n) | O(log n) down, O(1) links | one per level |
/// | the same with a hint, d entries off | O(log n) | O(log d) | 2 to a neighbor, 4 + 2 per level |
/// | append, prepend | O(log n) to balance | O(1) | 1 |
/// | remove | O(log n), red-black at most 3 rotations | O(1) links | 0 |
/// | rekeyed | O(log n) | O(1) if it stays, else remove, insert with a hint | 2 if it stays |
/// | first, last, next, prev, len | O(1) | O(1) | 0 |
/// | range, k entries | O(log n + k) | the same | as two finds, plus 1 |
/// | check | O(n) | O(n) | n - 1 |
///
/// The removal of a node from an AVL tree can rotate at every level. The number of bytes per entry
/// is listed under *Layout*. A hook dictionary never allocates; a slab dictionary allocates only
/// when it grows.
///
/// # Choose when
/// - objects must be found by key or by range (for example, the last object at or below an
///   address), or must be visited in order, and cannot be copied or moved;
/// - no allocation is allowed, or an object must be in several dictionaries at once;
/// - keys arrive nearly in order, so that an insert with a hint, or an append, makes O(1)
///   comparisons.
///
/// # Avoid when
/// - the order does not matter: a look-up in a hash map takes O(1);
/// - there are many small entries, which are looked up far more often than they change: a B-tree
///   has many keys on one cache line;
/// - the objects are timers: a timer queue stores the expiry in the timer's record, and has the
///   operations that timers need.
///
/// Even if an adversary chooses the keys, a path has at most 2 log2(n + 1) nodes (AVL: 1.44
/// log2(n + 2)). Operations on equal keys cost no more than operations on different keys.
///
/// # References
/// HelenOS `odict` (J. Svoboda, 2016), which replaced an AVL tree in its kernel in 2018. Guibas &
/// Sedgewick, FOCS 1978. Adelson-Velsky & Landis, Doklady 1962. Perlis & Thornton, Symbol
/// manipulation by threaded lists, CACM 1960, for the list through the tree. Guibas, McCreight,
/// Plass & Roberts, STOC 1977, for searches from a hint.
pub trait Dictionary {
    /// The type of the objects.
    type Object;
    /// The order of the objects.
    type Order: KeyOrder<Self::Object>;
    /// Names an object of the dictionary.
    type Entry: Copy + Eq + fmt::Debug;
    /// The type of the value that an insert takes and a removal returns: the object, or a reference
    /// to the object.
    type Value;

    /// Returns the order.
    fn order(&self) -> &Self::Order;

    /// Returns the number of entries. O(1).
    fn len(&self) -> usize;

    /// Returns whether the dictionary is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the object of an entry.
    ///
    /// # Errors
    /// [`DictError::Stale`] or [`DictError::WrongDictionary`] when `entry` is not an entry of this
    /// dictionary.
    fn get(&self, entry: Self::Entry) -> Result<&Self::Object, DictError>;

    /// Inserts a value after all entries with an equal key. The search starts at `hint`, if there
    /// is one.
    ///
    /// # Errors
    /// [`NotInserted`] with the value and one of these reasons: [`DictError::Full`],
    /// [`DictError::AlreadyLinked`], [`DictError::WrongLink`], [`DictError::NoIdentity`]. A wrong
    /// hint causes [`DictError::Stale`]. A wrong hint or a wrong value causes
    /// [`DictError::WrongDictionary`].
    fn insert_near(
        &mut self,
        hint: Option<Self::Entry>,
        value: Self::Value,
    ) -> Result<Self::Entry, NotInserted<Self::Value>>;

    /// Inserts a value after all entries with an equal key.
    ///
    /// # Errors
    /// As [`insert_near`](Self::insert_near).
    #[inline]
    fn insert(&mut self, value: Self::Value) -> Result<Self::Entry, NotInserted<Self::Value>> {
        self.insert_near(None, value)
    }

    /// Inserts a value after the last entry, without a search.
    ///
    /// # Errors
    /// The errors of [`insert_near`](Self::insert_near), and [`DictError::OutOfOrder`] when the
    /// value's key is less than the last key.
    fn append(&mut self, value: Self::Value) -> Result<Self::Entry, NotInserted<Self::Value>>;

    /// Inserts a value before the first entry, without a search.
    ///
    /// # Errors
    /// The errors of [`insert_near`](Self::insert_near), and [`DictError::OutOfOrder`] unless the
    /// value's key is less than the first key. (A value whose key equals the first key belongs
    /// after that entry.)
    fn prepend(&mut self, value: Self::Value) -> Result<Self::Entry, NotInserted<Self::Value>>;

    /// Removes an entry and returns its value.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn remove(&mut self, entry: Self::Entry) -> Result<Self::Value, DictError>;

    /// Moves an entry to the place that an insert would choose, which is after all entries with an
    /// equal key. Call this function after you have changed the key of the entry. The entry stays
    /// valid. Returns whether the entry had to move.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn rekeyed(&mut self, entry: Self::Entry) -> Result<bool, DictError>;

    /// Returns the first entry. O(1).
    fn first(&self) -> Option<Self::Entry>;

    /// Returns the last entry. O(1).
    fn last(&self) -> Option<Self::Entry>;

    /// Returns the entry after `entry`. O(1).
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn next(&self, entry: Self::Entry) -> Result<Option<Self::Entry>, DictError>;

    /// Returns the entry before `entry`. O(1).
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn prev(&self, entry: Self::Entry) -> Result<Option<Self::Entry>, DictError>;

    /// Returns the entry that `seek` describes for this key. The search starts at `hint`, if there
    /// is one.
    ///
    /// # Errors
    /// The errors of [`get`](Self::get) when the hint is wrong. Without a hint, the call returns no
    /// error.
    fn seek(
        &self,
        seek: Seek,
        key: &KeyOf<'_, Self>,
        hint: Option<Self::Entry>,
    ) -> Result<Option<Self::Entry>, DictError>;

    /// Returns the first entry with this key.
    #[inline]
    fn find(&self, key: &KeyOf<'_, Self>) -> Option<Self::Entry> {
        self.seek(Seek::Equal, key, None).ok()?
    }

    /// Returns the last entry with this key.
    #[inline]
    fn find_last(&self, key: &KeyOf<'_, Self>) -> Option<Self::Entry> {
        self.seek(Seek::LastEqual, key, None).ok()?
    }

    /// Returns the first entry with this key or a greater key.
    #[inline]
    fn find_geq(&self, key: &KeyOf<'_, Self>) -> Option<Self::Entry> {
        self.seek(Seek::Geq, key, None).ok()?
    }

    /// Returns the first entry with a greater key.
    #[inline]
    fn find_gt(&self, key: &KeyOf<'_, Self>) -> Option<Self::Entry> {
        self.seek(Seek::Gt, key, None).ok()?
    }

    /// Returns the last entry with this key or a lesser key.
    #[inline]
    fn find_leq(&self, key: &KeyOf<'_, Self>) -> Option<Self::Entry> {
        self.seek(Seek::Leq, key, None).ok()?
    }

    /// Returns the last entry with a lesser key.
    #[inline]
    fn find_lt(&self, key: &KeyOf<'_, Self>) -> Option<Self::Entry> {
        self.seek(Seek::Lt, key, None).ok()?
    }

    /// Iterates over the entries between two keys. The iterator can be used from both ends. If
    /// `from` is greater than `to`, it has no entries.
    fn range(&self, from: Bound<&KeyOf<'_, Self>>, to: Bound<&KeyOf<'_, Self>>) -> Range<'_, Self>
    where
        Self: Sized,
    {
        let front = match from {
            Bound::Included(key) => self.find_geq(key),
            Bound::Excluded(key) => self.find_gt(key),
            Bound::Unbounded => self.first(),
        };
        let within = |entry: &Self::Entry| {
            let Ok(object) = self.get(*entry) else { return false };
            let (order, own) = (self.order(), self.order().key(object));
            match to {
                Bound::Included(key) => order.compare(&own, key) != Ordering::Greater,
                Bound::Excluded(key) => order.compare(&own, key) == Ordering::Less,
                Bound::Unbounded => true,
            }
        };
        // If the first entry is not within the other bound, the range is empty. Otherwise the last
        // entry does not come before the first entry.
        let front = front.filter(within);
        let back = front.and_then(|_| match to {
            Bound::Included(key) => self.find_leq(key),
            Bound::Excluded(key) => self.find_lt(key),
            Bound::Unbounded => self.last(),
        });
        Range { dictionary: self, ends: front.zip(back) }
    }

    /// Iterates over all entries in order. The iterator can be used from both ends.
    fn iter(&self) -> Range<'_, Self>
    where
        Self: Sized,
    {
        Range { dictionary: self, ends: self.first().zip(self.last()) }
    }

    /// Removes every entry. The objects of a slab are dropped.
    fn clear(&mut self);

    /// Verifies every invariant of the structure in O(n).
    ///
    /// # Errors
    /// The first [`Violation`] found. A violation has one of four causes: the user's order
    /// contradicts itself, a key was changed without [`rekeyed`](Self::rekeyed), other code has
    /// overwritten memory, or this library has a bug.
    fn check(&self) -> Result<(), Violation>;
}

/// An iterator over entries in order. [`Dictionary::range`] and [`Dictionary::iter`] return it.
pub struct Range<'d, D: Dictionary> {
    dictionary: &'d D,
    /// The next entry from the front, and the next entry from the back.
    ends: Option<(D::Entry, D::Entry)>,
}

impl<D: Dictionary> Clone for Range<'_, D> {
    fn clone(&self) -> Self {
        Self { dictionary: self.dictionary, ends: self.ends }
    }
}

impl<D: Dictionary> fmt::Debug for Range<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").field("ends", &self.ends).finish_non_exhaustive()
    }
}

impl<D: Dictionary> Iterator for Range<'_, D> {
    type Item = D::Entry;

    #[inline]
    fn next(&mut self) -> Option<D::Entry> {
        let (front, back) = self.ends?;
        let next = if front == back { None } else { self.dictionary.next(front).ok()? };
        self.ends = next.map(|next| (next, back));
        Some(front)
    }
}

impl<D: Dictionary> DoubleEndedIterator for Range<'_, D> {
    #[inline]
    fn next_back(&mut self) -> Option<D::Entry> {
        let (front, back) = self.ends?;
        let prev = if front == back { None } else { self.dictionary.prev(back).ok()? };
        self.ends = prev.map(|prev| (front, prev));
        Some(back)
    }
}

impl<D: Dictionary> core::iter::FusedIterator for Range<'_, D> {}
