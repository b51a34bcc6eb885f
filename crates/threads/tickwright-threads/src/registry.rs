//! The registry of the existing threads of one worker, in the order of their ids.

use core::fmt;
use core::str::FromStr;

use tickwright_collections::{Avl, By, Dictionary as _, EntryKey, RedBlack, SlabDict};

use crate::error::CreateError;
use crate::id::ThreadId;

/// The dictionary in which a runtime registers its threads. Each worker has its own dictionary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegistryKind {
    /// A red-black tree.
    #[default]
    RedBlack,
    /// An AVL tree.
    Avl,
    /// No dictionary. The threads are only counted, and [`threads`](crate::RuntimeHandle::threads)
    /// returns an empty list.
    None,
}

impl RegistryKind {
    /// All dictionaries, with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("rb", Self::RedBlack), ("avl", Self::Avl), ("none", Self::None)];
}

impl fmt::Display for RegistryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, each)| each == self).map_or("", |(name, _)| name);
        f.pad(name)
    }
}

impl FromStr for RegistryKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(each, _)| *each == name).map(|(_, dictionary)| *dictionary);
        found.ok_or_else(|| format!("no dictionary is called {name:?}: take rb, avl or none"))
    }
}

type Order = By<fn(&ThreadId) -> u64>;

enum Tree {
    RedBlack(SlabDict<Order, ThreadId, RedBlack>),
    Avl(SlabDict<Order, ThreadId, Avl>),
    None,
}

/// A thread's entry in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registered(Option<EntryKey>);

pub(crate) struct Registry {
    tree: Tree,
    len: usize,
}

impl Registry {
    pub(crate) fn new(dictionary: RegistryKind) -> Self {
        let order: Order = By(|id| id.to_bits());
        let tree = match dictionary {
            RegistryKind::RedBlack => Tree::RedBlack(SlabDict::new(order)),
            RegistryKind::Avl => Tree::Avl(SlabDict::balanced(order)),
            RegistryKind::None => Tree::None,
        };
        Self { tree, len: 0 }
    }

    pub(crate) fn insert(&mut self, id: ThreadId) -> Result<Registered, CreateError> {
        let entry = match &mut self.tree {
            Tree::RedBlack(tree) => Some(tree.insert(id).map_err(|_| CreateError::OutOfMemory)?),
            Tree::Avl(tree) => Some(tree.insert(id).map_err(|_| CreateError::OutOfMemory)?),
            Tree::None => None,
        };
        self.len += 1;
        Ok(Registered(entry))
    }

    /// Removes the thread with this entry. Called once for each entry.
    pub(crate) fn remove(&mut self, Registered(entry): Registered) {
        match (&mut self.tree, entry) {
            (Tree::RedBlack(tree), Some(entry)) => drop(tree.remove(entry)),
            (Tree::Avl(tree), Some(entry)) => drop(tree.remove(entry)),
            _ => {}
        }
        self.len -= 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn contains(&self, id: ThreadId) -> bool {
        match &self.tree {
            Tree::RedBlack(tree) => tree.find(&id.to_bits()).is_some(),
            Tree::Avl(tree) => tree.find(&id.to_bits()).is_some(),
            Tree::None => false,
        }
    }

    /// Appends the ids to `into`, in order.
    pub(crate) fn list(&self, into: &mut Vec<ThreadId>) {
        match &self.tree {
            Tree::RedBlack(tree) => into.extend(tree.iter().filter_map(|entry| tree.get(entry).ok())),
            Tree::Avl(tree) => into.extend(tree.iter().filter_map(|entry| tree.get(entry).ok())),
            Tree::None => {}
        }
    }
}
