//! The measured dictionaries, and their common interface: the calls that a registry needs.
//!
//! Each dictionary is used as its users would use it. In a tree of caller-owned nodes or in a slab,
//! each object keeps its entry and is removed by that entry. Maps remove by key.

use core::cell::Cell;
use core::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use clap::ValueEnum;
use intrusive_collections::Bound;
use tickwright_collections::{
    Balance, Dictionary, HookDict, KeyOrder, Link, Membership, ObjectRef, PlainKey, SlabDict,
};

use super::intrusive::{self, Tree};
use crate::request;

/// A dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Red-black, nodes in the caller's objects
    OdictHook,
    /// Red-black, owned objects in a slab
    OdictSlab,
    /// AVL, nodes in the caller's objects
    AvlHook,
    /// AVL, owned objects in a slab
    AvlSlab,
    /// B+ tree, owned objects, nodes from a pool
    Bplus,
    /// std's B-tree
    BtreeMap,
    /// intrusive-collections' red-black tree
    IntrusiveRbtree,
    /// std's hash map: unordered, so it is no dictionary; it shows what order costs
    HashMap,
}

impl Kind {
    pub(crate) fn name(self) -> String {
        request::word(&self)
    }

    pub(crate) fn ours(self) -> bool {
        !matches!(self, Self::BtreeMap | Self::IntrusiveRbtree | Self::HashMap)
    }
}

/// How objects with ascending keys are inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// By a search from the root.
    Search,
    /// By a search from the last entry.
    Hint,
    /// After the last entry, without a search.
    Append,
}

/// The calls that a registry needs of a dictionary. The dictionary maps keys to the numbers of
/// objects.
pub(crate) trait Subject {
    /// Registers object `at`, which is not registered. Returns whether that succeeded.
    fn insert(&mut self, at: u32, key: u64) -> bool;

    /// Like `insert`, but for a key that is greater than all other keys. Returns `None` if `how` is
    /// not supported.
    fn insert_last(&mut self, _at: u32, _key: u64, _how: How) -> Option<bool> {
        None
    }

    /// Removes object `at`. Returns whether the object was registered.
    fn remove(&mut self, at: u32) -> bool;

    /// Returns the number of the object with this key.
    fn find(&self, key: u64) -> Option<u32>;

    fn len(&self) -> usize;

    fn clear(&mut self);

    /// Returns whether the structure passes its own check.
    fn whole(&self) -> bool;

    /// Returns whether the structure passes its check and has `count` entries.
    fn holds(&self, count: usize) -> bool {
        self.len() == count && self.whole()
    }
}

/// A caller-owned object.
pub(crate) struct Node<B: Balance> {
    key: Cell<u64>,
    at: u32,
    link: Link<B>,
}

/// The order of objects by key.
pub(crate) struct ByKey;

impl<B: Balance> KeyOrder<Node<B>> for ByKey {
    type Key<'k> = u64;

    #[inline]
    fn key<'k>(&'k self, node: &'k Node<B>) -> u64 {
        node.key.get()
    }

    #[inline]
    fn compare(&self, a: &u64, b: &u64) -> Ordering {
        a.cmp(b)
    }
}

impl<B: Balance> Membership<Node<B>, B> for ByKey {
    #[inline]
    fn link<'t>(&self, node: &'t Node<B>) -> &'t Link<B> {
        &node.link
    }
}

/// Creates `count` nodes that are in no dictionary.
pub(crate) fn nodes<B: Balance>(count: usize) -> Vec<Node<B>> {
    (0..).take(count).map(|at| Node { key: Cell::new(0), at, link: Link::new() }).collect()
}

/// One of our dictionaries, with caller-owned nodes.
pub(crate) struct Hooks<'a, B: Balance> {
    nodes: &'a [Node<B>],
    dictionary: HookDict<'a, ByKey, Node<B>, B>,
}

impl<'a, B: Balance> Hooks<'a, B> {
    pub(crate) fn new(nodes: &'a [Node<B>]) -> Self {
        Self { nodes, dictionary: HookDict::balanced(ByKey) }
    }

    #[inline]
    fn node(&self, at: u32, key: u64) -> &'a Node<B> {
        let node = &self.nodes[at as usize];
        node.key.set(key);
        node
    }
}

impl<B: Balance> Subject for Hooks<'_, B> {
    #[inline]
    fn insert(&mut self, at: u32, key: u64) -> bool {
        self.dictionary.insert(self.node(at, key)).is_ok()
    }

    #[inline]
    fn insert_last(&mut self, at: u32, key: u64, how: How) -> Option<bool> {
        let node = self.node(at, key);
        Some(match how {
            How::Search => self.dictionary.insert(node).is_ok(),
            How::Hint => self.dictionary.insert_near(self.dictionary.last(), node).is_ok(),
            How::Append => self.dictionary.append(node).is_ok(),
        })
    }

    #[inline]
    fn remove(&mut self, at: u32) -> bool {
        self.dictionary.remove(ObjectRef::from(&self.nodes[at as usize])).is_ok()
    }

    #[inline]
    fn find(&self, key: u64) -> Option<u32> {
        self.dictionary.find(&key).map(|node| node.at)
    }

    fn len(&self) -> usize {
        self.dictionary.len()
    }

    fn clear(&mut self) {
        self.dictionary.clear();
    }

    fn whole(&self) -> bool {
        self.dictionary.check().is_ok()
    }
}

/// An object that a dictionary owns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    key: u64,
    at: u32,
}

impl KeyOrder<Item> for ByKey {
    type Key<'k> = u64;

    #[inline]
    fn key<'k>(&'k self, item: &'k Item) -> u64 {
        item.key
    }

    #[inline]
    fn compare(&self, a: &u64, b: &u64) -> Ordering {
        a.cmp(b)
    }
}

impl PlainKey<Item> for ByKey {
    type Plain = u64;

    #[inline]
    fn plain(&self, key: &u64) -> u64 {
        *key
    }
}

/// A dictionary that owns its objects. The registry keeps their entries.
pub(crate) struct Owned<D: Dictionary> {
    entries: Vec<Option<D::Entry>>,
    dictionary: D,
}

impl<D: Dictionary<Object = Item, Value = Item>> Owned<D> {
    pub(crate) fn new(dictionary: D, count: usize) -> Self {
        Self { entries: vec![None; count], dictionary }
    }

    #[inline]
    fn kept(&mut self, at: u32, entry: Option<D::Entry>) -> bool {
        self.entries[at as usize] = entry;
        entry.is_some()
    }
}

/// One of our dictionaries in a slab.
pub(crate) type Slab<B> = Owned<SlabDict<ByKey, Item, B>>;

impl<D> Subject for Owned<D>
where
    D: Dictionary<Object = Item, Value = Item>,
    D::Order: for<'k> KeyOrder<Item, Key<'k> = u64> + 'static,
{
    #[inline]
    fn insert(&mut self, at: u32, key: u64) -> bool {
        let entry = self.dictionary.insert(Item { key, at });
        self.kept(at, entry.ok())
    }

    #[inline]
    fn insert_last(&mut self, at: u32, key: u64, how: How) -> Option<bool> {
        let item = Item { key, at };
        let entry = match how {
            How::Search => self.dictionary.insert(item),
            How::Hint => self.dictionary.insert_near(self.dictionary.last(), item),
            How::Append => self.dictionary.append(item),
        };
        Some(self.kept(at, entry.ok()))
    }

    #[inline]
    fn remove(&mut self, at: u32) -> bool {
        let entry = self.entries[at as usize].take();
        entry.is_some_and(|entry| self.dictionary.remove(entry).is_ok())
    }

    #[inline]
    fn find(&self, key: u64) -> Option<u32> {
        let entry = self.dictionary.find(&key)?;
        self.dictionary.get(entry).ok().map(|item| item.at)
    }

    fn len(&self) -> usize {
        self.dictionary.len()
    }

    fn clear(&mut self) {
        self.dictionary.clear();
        self.entries.fill(None);
    }

    fn whole(&self) -> bool {
        self.dictionary.check().is_ok()
    }
}

/// A map of the standard library, and the keys of its objects.
pub(crate) struct Mapped<M> {
    keys: Vec<u64>,
    map: M,
}

impl<M: Default> Mapped<M> {
    pub(crate) fn new(count: usize) -> Self {
        Self { keys: vec![0; count], map: M::default() }
    }
}

macro_rules! mapped {
    ($map:ty) => {
        impl Subject for Mapped<$map> {
            #[inline]
            fn insert(&mut self, at: u32, key: u64) -> bool {
                self.keys[at as usize] = key;
                self.map.insert(key, at).is_none()
            }

            #[inline]
            fn remove(&mut self, at: u32) -> bool {
                self.map.remove(&self.keys[at as usize]).is_some()
            }

            #[inline]
            fn find(&self, key: u64) -> Option<u32> {
                self.map.get(&key).copied()
            }

            fn len(&self) -> usize {
                self.map.len()
            }

            fn clear(&mut self) {
                self.map.clear();
            }

            fn whole(&self) -> bool {
                true
            }
        }
    };
}
mapped!(BTreeMap<u64, u32>);
mapped!(HashMap<u64, u32>);

/// intrusive-collections' tree, which has no insert by hint.
pub(crate) struct Intrusive<'a> {
    nodes: Tree<'a>,
    /// The number of entries is counted here, because the tree does not count them.
    len: usize,
}

impl<'a> Intrusive<'a> {
    pub(crate) fn new(nodes: &'a [intrusive::Node]) -> Self {
        Self { nodes: Tree::new(nodes), len: 0 }
    }
}

impl Subject for Intrusive<'_> {
    #[inline]
    fn insert(&mut self, at: u32, key: u64) -> bool {
        self.nodes.insert(at, key);
        self.len += 1;
        true
    }

    #[inline]
    fn remove(&mut self, at: u32) -> bool {
        let was_in = self.nodes.remove(at);
        self.len -= usize::from(was_in);
        was_in
    }

    /// Finds the first object with the key, as our dictionaries do.
    #[inline]
    fn find(&self, key: u64) -> Option<u32> {
        let found = self.nodes.tree.lower_bound(Bound::Included(&key));
        found.get().filter(|node| node.key.get() == key).map(|node| node.id)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn clear(&mut self) {
        self.nodes.tree.clear();
        self.len = 0;
    }

    fn whole(&self) -> bool {
        self.nodes.tree.iter().map(|node| node.key.get()).is_sorted()
    }
}
