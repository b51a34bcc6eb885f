//! Red-black tree of `intrusive-collections`. The caller owns the nodes, the head is not cached,
//! and a timer is inserted after all timers of equal deadline (FIFO). The safe interface has no
//! removal by node, so removal needs one unsafe call.
#![allow(unsafe_code, reason = "removal by node is an unsafe function of the crate that is measured")]

use core::cell::Cell;

use intrusive_collections::{KeyAdapter, RBTree, RBTreeLink, intrusive_adapter};

use crate::structures::candidate::{BenchQueue, Candidate, Timed};

/// The candidate.
#[derive(Debug)]
pub(crate) struct IntrusiveRbTree;

/// A caller-owned node.
pub(crate) struct Node {
    link: RBTreeLink,
    pub(crate) key: Cell<u64>,
    pub(crate) id: u32,
}

intrusive_adapter!(pub(crate) ByKey<'a> = &'a Node: Node { link => RBTreeLink });

impl<'a> KeyAdapter<'a> for ByKey<'_> {
    type Key = u64;

    #[inline]
    fn get_key(&self, node: &'a Node) -> u64 {
        node.key.get()
    }
}

/// Creates `count` nodes that are in no tree.
pub(crate) fn nodes(count: usize) -> Vec<Node> {
    (0u32..).take(count).map(|id| Node { link: RBTreeLink::new(), key: Cell::new(0), id }).collect()
}

/// A tree over the nodes of an arena. An arena serves only one tree.
pub(crate) struct Tree<'a> {
    pub(crate) tree: RBTree<ByKey<'a>>,
    nodes: &'a [Node],
}

impl<'a> Tree<'a> {
    pub(crate) fn new(nodes: &'a [Node]) -> Self {
        Self { tree: RBTree::new(ByKey::new()), nodes }
    }

    #[inline]
    pub(crate) fn insert(&mut self, id: u32, key: u64) {
        let node = &self.nodes[id as usize];
        node.key.set(key);
        self.tree.insert(node);
    }

    /// Removes a node. Returns whether the node was in the tree.
    #[inline]
    pub(crate) fn remove(&mut self, id: u32) -> bool {
        self.unlink(&self.nodes[id as usize])
    }

    #[inline]
    fn unlink(&mut self, node: &'a Node) -> bool {
        // SAFETY: 1. the node is linked (checked first); 2. only this tree links nodes of its
        // arena, so the tree is this one.
        node.link.is_linked() && unsafe { self.tree.cursor_mut_from_ptr(node) }.remove().is_some()
    }
}

/// The tree, and the node that `look_at_head` found.
pub(crate) struct Queue<'a> {
    tree: Tree<'a>,
    seen: Option<&'a Node>,
}

impl Candidate for IntrusiveRbTree {
    type Arena = Vec<Node>;
    type Queue<'a> = Queue<'a>;

    const INLINE: usize = size_of::<RBTree<ByKey<'static>>>();

    fn arena(capacity: usize) -> Vec<Node> {
        nodes(capacity)
    }

    fn queue(arena: &Vec<Node>, _capacity: usize) -> Queue<'_> {
        Queue { tree: Tree::new(arena), seen: None }
    }
}

impl Timed for Queue<'_> {}

impl BenchQueue for Queue<'_> {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        self.tree.insert(id, deadline);
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        self.tree.remove(id);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.tree.tree.front().get().map(|node| node.key.get())
    }

    #[inline]
    fn second(&mut self) -> Option<u64> {
        let mut cursor = self.tree.tree.front();
        cursor.move_next();
        cursor.get().map(|node| node.key.get())
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        let mut front = self.tree.tree.front_mut();
        front.get().filter(|node| node.key.get() <= now)?;
        front.remove().map(|node| (node.id, node.key.get()))
    }

    /// Takes the leftmost node in one walk.
    #[inline]
    fn pop(&mut self) -> Option<(u32, u64)> {
        self.tree.tree.front_mut().remove().map(|node| (node.id, node.key.get()))
    }

    #[inline]
    fn look_at_head(&mut self) -> Option<u64> {
        self.seen = self.tree.tree.front().clone_pointer();
        self.seen.map(|node| node.key.get())
    }

    #[inline]
    fn take_head(&mut self, now: u64) -> Option<(u32, u64)> {
        let node = self.seen.take().filter(|node| node.key.get() <= now)?;
        self.tree.unlink(node);
        Some((node.id, node.key.get()))
    }
}
