//! `BPlusDict`: the dictionary over a B+ tree, without unsafe code.

#![forbid(unsafe_code)]

use core::fmt;

mod nodes;

use super::cells::{Cells, EntryKey};
use super::shell::dictionary;
use super::{DictError, Dictionary, KeyOf, NotInserted, PlainKey, Position, Reserve, Seek};
use nodes::{Home, LEAST, Spot, Tree, WIDTH};
use tickwright_nodes::Record;
use tickwright_nodes::Violation;
use tickwright_nodes::arena::{Columns as _, Idx};

/// The record of a cell. In a live cell it is the leaf that contains the cell's entry; in a free
/// cell it is the next free cell.
#[derive(Debug)]
struct InLeaf(Option<Idx>);

impl Record<Idx> for InLeaf {
    const IDLE: Self = Self(None);

    fn vacant(next: Option<Idx>) -> Self {
        Self(next)
    }

    fn next_vacant(&self) -> Option<Idx> {
        self.0
    }
}

impl<T> Home for Cells<InLeaf, T> {
    #[inline]
    fn leaf(&self, cell: Idx) -> Option<Idx> {
        self.arena.columns.0.get(cell.at())?.record.0
    }

    #[inline]
    fn set_leaf(&mut self, cell: Idx, leaf: Idx) {
        if let Some(cell) = self.arena.columns.0.get_mut(cell.at()) {
            cell.record.0 = Some(leaf);
        }
    }
}

/// A dictionary over a B+ tree, which owns its objects. Keys are adjacent in wide nodes, which come
/// from a pool.
///
/// ```
/// use tickwright_collections::{BPlusDict, By, DictError, Dictionary};
///
/// let mut dictionary = BPlusDict::pooled(By(|&n: &u32| n), 1)?;
/// for n in (0..30).rev() {
///     dictionary.insert(n)?;
/// }
/// assert_eq!(dictionary.insert(30).unwrap_err().reason, DictError::Full, "no node to split into");
/// assert_eq!(dictionary.find_leq(&99).and_then(|entry| dictionary.get(entry).ok()), Some(&29));
/// # Ok::<(), DictError>(())
/// ```
///
/// [`rekeyed`](Dictionary::rekeyed) has one more error here: [`DictError::Full`], when the entry
/// has to move and its new leaf cannot be split. In that case all entries stay where they were, and
/// `check` returns [`Violation::Order`] until you change the key back, or remove entries to free
/// nodes and call `rekeyed` again. In a pool of [`nodes_for(n)`](Self::nodes_for) nodes, no move
/// among n entries is refused.
///
/// A search for a key reads only the nodes. The object is in a cell, as in a
/// [`SlabDict`](super::SlabDict), and the cell records the leaf of its entry. The pool of nodes
/// either grows or has a fixed size. If the pool has too few nodes for an insert, the insert
/// returns [`DictError::Full`] and changes nothing.
///
/// Keys are copied into nodes, so this dictionary needs a [`PlainKey`]. The `Ord` of the copied
/// keys is the order of the dictionary.
///
/// # Invariants
/// 1. All leaves are equally deep, and each node except the root has 15 to 30 keys
///    ([`Violation::Balance`]). A node is a child of its `up`, and the nodes of a level are a
///    doubly linked list in order ([`Violation::BackLink`]). `root`, `first` and `last` match the
///    tree ([`Violation::Head`]).
/// 2. Keys ascend. A *fence* is a key of an inner node: no key to the left of the fence is greater
///    than the fence, and no key below the fence is less ([`Violation::Order`]). Entries with equal
///    keys are in the order of their arrival, because an insert places an entry after the entries
///    with an equal key.
/// 3. The key in the leaf equals the key of the object. If the object's key was changed without
///    [`Dictionary::rekeyed`], `check` returns [`Violation::Order`]. The object's cell names the
///    leaf ([`Violation::Position`]).
/// 4. Each entry is linked exactly once ([`Violation::Count`]). Each node is in the tree or on the
///    free list ([`Violation::Storage`]).
///
/// # Costs
/// The number of comparisons is as in the binary trees of the [dictionary](Dictionary), but a
/// search visits at most log15 n nodes instead of log2 n. An insert or removal moves up to 30 keys
/// in each node that it changes. Hints are verified but not used. A step to a neighbor takes O(1),
/// and usually stays in the same leaf. A node takes the size of 30 keys plus 136 bytes, rounded up
/// to whole cache lines. At least half of the keys of each node except the root are in use.
///
/// # References
/// - Bayer & McCreight, Acta Informatica 1972
/// - Comer, The ubiquitous B-tree, ACM Computing Surveys 1979
///
/// HelenOS had a B+ tree in its kernel until 2018.
pub struct BPlusDict<O: PlainKey<T>, T> {
    index: Index<O, T>,
}

impl<O: PlainKey<T>, T> BPlusDict<O, T> {
    /// Creates an empty dictionary that allocates when it grows.
    #[must_use]
    pub const fn new(order: O) -> Self {
        Self { index: Index { order, tree: Tree::new(), nodes: Cells::new(0) } }
    }

    /// Creates an empty dictionary with a pool of `nodes` nodes and room for 30 entries per node.
    /// The dictionary allocates only in this call. If an insert needs more nodes than the pool has,
    /// it is refused with [`DictError::Full`].
    ///
    /// # Errors
    /// [`DictError::Full`] when the memory for the pool cannot be allocated.
    pub fn pooled(order: O, nodes: usize) -> Result<Self, DictError> {
        let mut dictionary = Self::new(order);
        dictionary.index.nodes.bound(nodes.checked_mul(WIDTH).ok_or(DictError::Full)?)?;
        if dictionary.index.tree.bound(nodes) { Ok(dictionary) } else { Err(DictError::Full) }
    }

    /// Returns the greatest number of nodes that a dictionary of at most `entries` entries ever
    /// uses, including the nodes that it uses during moves.
    ///
    /// A level of n nodes, for n > 1, holds at least 15 n entries or children, so `entries` entries
    /// have at most `entries / 15` leaves. The level above has at most a fifteenth as many nodes,
    /// and so on up to the single root. No intermediate step needs more nodes: during an insert the
    /// tree never has more nodes than after the insert, and a move consists of a removal and an
    /// insert.
    #[must_use]
    pub const fn nodes_for(entries: usize) -> usize {
        let (mut nodes, mut level) = (1, entries / LEAST);
        while level > 1 {
            nodes += level;
            level /= LEAST;
        }
        nodes
    }

    /// Returns a mutable reference to the object of an entry. If you change the object's key, call
    /// [`rekeyed`](Dictionary::rekeyed) afterwards, or use [`update`](Self::update), which does
    /// both.
    ///
    /// # Errors
    /// As [`Dictionary::get`].
    pub fn get_mut(&mut self, entry: EntryKey) -> Result<&mut T, DictError> {
        self.index.nodes.get_mut(entry)
    }

    /// Changes an object and moves it to the place of its new key, as [`Dictionary::rekeyed`] does.
    /// Returns whether the object moved.
    ///
    /// # Errors
    /// The errors of [`Dictionary::get`], in which case `change` has not run. [`DictError::Full`]
    /// as in `rekeyed`, in which case `change` has run.
    pub fn update(&mut self, entry: EntryKey, change: impl FnOnce(&mut T)) -> Result<bool, DictError> {
        change(self.get_mut(entry)?);
        self.rekeyed(entry)
    }

    /// Returns the number of bytes that the dictionary has allocated, without the memory that
    /// objects own.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.index.nodes.arena.columns.heap_bytes() + self.index.tree.heap_bytes()
    }

    #[inline]
    fn validate(&self, entry: EntryKey) -> Result<Idx, DictError> {
        self.index.nodes.validate(entry)
    }

    #[inline]
    fn put(&mut self, position: Position<EntryKey>, value: T) -> Result<EntryKey, NotInserted<T>> {
        let place = position.try_map(|hint| self.validate(hint));
        match place.and_then(|position| self.index.make_place(position, &value)) {
            Ok((spot, key)) => {
                let entry = self.index.nodes.occupy(value)?;
                self.index.tree.insert(&mut self.index.nodes, spot, key, entry.slot.index);
                Ok(entry)
            }
            Err(reason) => Err(NotInserted { reason, value }),
        }
    }

    #[inline]
    fn withdraw(&mut self, cell: Idx) -> Option<T> {
        let spot = self.index.spot_of(cell).ok()?;
        self.index.tree.remove(&mut self.index.nodes, spot);
        self.index.nodes.vacate(cell)
    }

    fn withdraw_all(&mut self) {
        self.index.tree.clear();
        self.index.nodes.arena.clear();
    }

    fn verify(&self) -> Result<(), Violation> {
        self.index.nodes.arena.check()?;
        self.index.tree.check(self.index.nodes.arena.len(), |key, cell, leaf| {
            self.index.nodes.check_live(cell)?;
            match self.index.nodes.leaf(cell) == Some(leaf) {
                false => Err(Violation::Position),
                true if self.index.key(self.index.nodes.object(cell)) != key => Err(Violation::Order),
                true => Ok(()),
            }
        })
    }
}

/// A tree of keys in the user's order, and the cells of its entries.
struct Index<O: PlainKey<T>, T> {
    order: O,
    tree: Tree<O::Plain>,
    nodes: Cells<InLeaf, T>,
}

impl<O: PlainKey<T>, T> Index<O, T> {
    #[inline]
    fn key(&self, object: &T) -> O::Plain {
        self.order.plain(&self.order.key(object))
    }

    /// Returns the spot of a linked cell's entry.
    #[inline]
    fn spot_of(&self, cell: Idx) -> Result<Spot, DictError> {
        self.nodes.leaf(cell).and_then(|leaf| self.tree.spot_of(leaf, cell)).ok_or(DictError::Stale)
    }

    /// Returns the spot and the key for inserting `object` at `position`, if the object belongs
    /// there. Also makes room for the entry in the tree.
    #[inline]
    fn make_place(
        &mut self,
        position: Position<Idx>,
        object: &T,
    ) -> Result<(Option<Spot>, O::Plain), DictError> {
        let key = self.key(object);
        let spot = match position {
            Position::Sorted(_) => self.tree.spot(&key, true),
            Position::First => self.tree.end(true),
            Position::Last => self.tree.end(false),
        };
        let fits = match (position, spot) {
            (Position::First, Some(spot)) => self.tree.after(spot).is_none_or(|(first, _)| key < first),
            (Position::Last, Some(spot)) => self.tree.before(spot).is_none_or(|(last, _)| last <= key),
            _ => true,
        };
        if !fits {
            return Err(DictError::OutOfOrder);
        }
        // All of the user's code has run at this point. If the insert fails later because the cells
        // have no room, the nodes that are reserved here remain available to the next insert.
        if self.tree.make_room(spot) { Ok((spot, key)) } else { Err(DictError::Full) }
    }

    /// Moves the entry of the linked cell `cell` after all entries whose key equals the object's
    /// current key. Returns whether the entry had to move.
    ///
    /// # Errors
    /// [`DictError::Full`] when the new leaf cannot be split. In that case all entries stay where
    /// they were.
    fn rekeyed(&mut self, cell: Idx) -> Result<bool, DictError> {
        let spot = self.spot_of(cell)?;
        let key = self.key(self.nodes.object(cell));
        let behind = Spot { at: spot.at + 1, ..spot };
        let stays = self.tree.before(spot).is_none_or(|(before, _)| before <= key)
            && self.tree.after(behind).is_none_or(|(after, _)| key < after);
        // The spot at which this entry belongs. During the search, the entry is still at its old
        // spot, with its old key.
        let target = if stays { None } else { self.tree.spot(&key, true) };
        let before = target.and_then(|target| self.tree.before(target));
        // If the comparator contradicts itself, the search can lead back to the entry itself.
        if stays || before.is_some_and(|(_, before)| before == cell) {
            self.tree.set_key(spot, key);
            return Ok(false);
        }
        let old = self.tree.after(spot).map_or(key, |(old, _)| old);
        let home = self.tree.remove(&mut self.nodes, spot);
        let target = match before {
            Some((_, before)) => self.spot_of(before).ok().map(|spot| Spot { at: spot.at + 1, ..spot }),
            None => self.tree.end(true),
        };
        // Room is made after the removal, because the removal can return nodes to the pool. If
        // there is still no room, the entry is inserted at its old spot again, where there is room.
        let fits = self.tree.make_room(target);
        let (spot, key) = if fits { (target, key) } else { (home, old) };
        self.tree.insert(&mut self.nodes, spot, key, cell);
        if let Some(leaf) = self.nodes.leaf(cell) {
            self.tree.mend_fences(leaf);
        }
        if fits { Ok(true) } else { Err(DictError::Full) }
    }

    #[inline]
    fn first(&self) -> Option<Idx> {
        self.tree.after(self.tree.end(true)?).map(|(_, cell)| cell)
    }

    #[inline]
    fn last(&self) -> Option<Idx> {
        self.tree.before(self.tree.end(false)?).map(|(_, cell)| cell)
    }

    #[inline]
    fn next(&self, cell: Idx) -> Result<Option<Idx>, DictError> {
        let spot = self.spot_of(cell)?;
        Ok(self.tree.after(Spot { at: spot.at + 1, ..spot }).map(|(_, cell)| cell))
    }

    #[inline]
    fn prev(&self, cell: Idx) -> Result<Option<Idx>, DictError> {
        Ok(self.tree.before(self.spot_of(cell)?).map(|(_, cell)| cell))
    }

    #[inline]
    fn seek(&self, seek: Seek, key: &O::Key<'_>, _: Option<Idx>) -> Option<Idx> {
        let key = self.order.plain(key);
        let behind = matches!(seek, Seek::LastEqual | Seek::Leq | Seek::Gt);
        let spot = self.tree.spot(&key, behind)?;
        let found = match seek {
            Seek::Equal | Seek::Geq | Seek::Gt => self.tree.after(spot),
            Seek::LastEqual | Seek::Leq | Seek::Lt => self.tree.before(spot),
        };
        let exact = matches!(seek, Seek::Equal | Seek::LastEqual);
        found.filter(|&(found, _)| !exact || found == key).map(|(_, cell)| cell)
    }
}

dictionary! {
    impl [O: PlainKey<T>, T] BPlusDict<O, T>;
    object T, order O, entry EntryKey, value T,
    index index, count index.nodes.arena.len()
}

impl<O: PlainKey<T>, T> Reserve for BPlusDict<O, T> {
    fn reserve(&mut self, additional: usize) -> Result<(), DictError> {
        self.index.nodes.arena.reserve(additional)?;
        let nodes = Self::nodes_for(self.index.nodes.arena.len().saturating_add(additional));
        if self.index.tree.reserve(nodes) { Ok(()) } else { Err(DictError::Full) }
    }
}

impl<O: PlainKey<T>, T> fmt::Debug for BPlusDict<O, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BPlusDict").field("len", &self.index.nodes.arena.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
