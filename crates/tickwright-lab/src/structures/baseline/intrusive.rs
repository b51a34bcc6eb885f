//! `intrusive-collections` red-black tree: nodes that the caller owns, no cached head, equals go to
//! the right (FIFO). What its safe interface cannot say (a removal by node) needs one unsafe call.
#![allow(unsafe_code, reason = "removal by node is an unsafe function of the crate that is measured")]

use core::cell::Cell;
use std::fmt;

use intrusive_collections::{KeyAdapter, RBTree, RBTreeLink, intrusive_adapter};

use crate::structures::candidate::{BenchQueue, Candidate};

/// The candidate.
#[derive(Debug)]
pub(crate) struct IntrusiveRbTree;

/// A caller-owned node.
pub(crate) struct Node {
    link: RBTreeLink,
    deadline: Cell<u64>,
    id: u32,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("id", &self.id).field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

intrusive_adapter!(ByDeadline<'a> = &'a Node: Node { link => RBTreeLink });

impl<'a> KeyAdapter<'a> for ByDeadline<'_> {
    type Key = u64;

    #[inline]
    fn get_key(&self, node: &'a Node) -> u64 {
        node.deadline.get()
    }
}

/// The tree over an arena of nodes.
pub(crate) struct Queue<'a> {
    tree: RBTree<ByDeadline<'a>>,
    nodes: &'a [Node],
    seen: Option<&'a Node>,
}

impl fmt::Debug for Queue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl Candidate for IntrusiveRbTree {
    type Arena = Vec<Node>;
    type Queue<'a> = Queue<'a>;

    const INLINE: usize = size_of::<RBTree<ByDeadline<'static>>>();

    fn arena(capacity: usize) -> Vec<Node> {
        let node = |id| Node { link: RBTreeLink::new(), deadline: Cell::new(0), id };
        (0u32..).take(capacity).map(node).collect()
    }

    fn queue(arena: &Vec<Node>, _capacity: usize) -> Queue<'_> {
        Queue { tree: RBTree::new(ByDeadline::new()), nodes: arena, seen: None }
    }
}

impl<'a> Queue<'a> {
    /// Takes a node of the arena out of the tree, if it is in it.
    #[inline]
    fn unlink(&mut self, node: &'a Node) {
        if node.link.is_linked() {
            // SAFETY: 1. the node is linked (checked above); 2. only this queue links nodes of its
            // arena, so the tree is this one.
            unsafe { self.tree.cursor_mut_from_ptr(node) }.remove();
        }
    }
}

impl BenchQueue for Queue<'_> {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        let node = &self.nodes[id as usize];
        node.deadline.set(deadline);
        self.tree.insert(node);
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        self.unlink(&self.nodes[id as usize]);
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.remove(id);
        self.insert(id, deadline);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.tree.front().get().map(|node| node.deadline.get())
    }

    #[inline]
    fn second(&mut self) -> Option<u64> {
        let mut cursor = self.tree.front();
        cursor.move_next();
        cursor.get().map(|node| node.deadline.get())
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        let mut front = self.tree.front_mut();
        front.get().filter(|node| node.deadline.get() <= now)?;
        front.remove().map(|node| (node.id, node.deadline.get()))
    }

    /// One walk to the leftmost.
    #[inline]
    fn pop(&mut self) -> Option<(u32, u64)> {
        self.tree.front_mut().remove().map(|node| (node.id, node.deadline.get()))
    }

    #[inline]
    fn look_at_head(&mut self) -> Option<u64> {
        self.seen = self.tree.front().clone_pointer();
        self.seen.map(|node| node.deadline.get())
    }

    #[inline]
    fn take_head(&mut self, now: u64) -> Option<(u32, u64)> {
        let node = self.seen.take().filter(|node| node.deadline.get() <= now)?;
        self.unlink(node);
        Some((node.id, node.deadline.get()))
    }
}
