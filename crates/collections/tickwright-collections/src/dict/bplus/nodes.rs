//! The tree of keys, whose nodes come from a pool. The tree does not access objects. The tree
//! stores only the indices of the objects' cells. The tree tells a [`Home`] which leaf contains the
//! entry of each cell.
//!
//! A node is a sorted array of keys. Each key has a child or, in a leaf, the cell of an object. A
//! search never reads the first key of an inner node, because every key less than the second key
//! belongs to the first child. Leaves and inner nodes can therefore split, borrow and merge in the
//! same way. Before the first key of an inner node moves to another node or index, it is set to the
//! fence before the node.
//!
//! ```text
//!                [ ? | 30 ]                 each key is a fence: nothing left of it is greater,
//!               /     |                      nothing below it is less
//!      [ ? | 12 ]   [ ? | 30 | 41 ]         `?`: the first key of an inner node
//!      /    |        /    |     |
//!   [5 9]->[12]->[20 30]->[30]->[41 50]     leaves, and the nodes of every other level, are linked
//!                                            in order both ways
//! ```

#![forbid(unsafe_code)]

use alloc::vec::Vec;

use tickwright_nodes::Violation;
use tickwright_nodes::arena::{Idx, MOST};

/// The greatest number of keys in a node. With 64-bit keys a node takes six cache lines, and a
/// search reads three to five of them. With half the width, a search would read fewer lines per
/// node, but the tree would have more levels. With a million entries and half the width, we counted
/// more instructions and more misses of the last-level cache. In the tests of this crate the nodes
/// are narrow, so that a few entries make many levels. The conformance suite runs with wide nodes.
pub(super) const WIDTH: usize = if cfg!(test) { 4 } else { 30 };

/// The least number of keys in a node that is not the root.
pub(super) const LEAST: usize = WIDTH / 2;

/// The step widths of a search in a node. Their sum is at least the width of the node.
const STEPS: [usize; 5] = [16, 8, 4, 2, 1];

const _: () = assert!(WIDTH < 32);

/// The owner of the cells, which records the leaf of each cell's entry.
pub(super) trait Home {
    /// Returns the leaf of a cell.
    fn leaf(&self, cell: Idx) -> Option<Idx>;

    /// Sets the leaf of a cell.
    fn set_leaf(&mut self, cell: Idx, leaf: Idx);
}

/// A node of the tree. With 64-bit keys, the keys take four cache lines, and the other fields take
/// two.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Node<K> {
    len: u16,
    /// The level, which is 0 for leaves.
    level: u16,
    up: Option<Idx>,
    /// The child or the cell below each key.
    down: [Option<Idx>; WIDTH],
    keys: [K; WIDTH],
    /// The next node of the same level. In a free node, the next free node.
    next: Option<Idx>,
    prev: Option<Idx>,
}

#[cfg(not(test))]
const _: () = assert!(size_of::<Node<u64>>() == 6 * 64);

impl<K: Copy + Ord> Node<K> {
    #[inline]
    fn len(&self) -> usize {
        usize::from(self.len)
    }

    #[inline]
    fn keys(&self) -> &[K] {
        self.keys.get(..self.len()).unwrap_or(&[])
    }

    /// Returns how many keys of the node are before the place for `key`. The first key of an inner
    /// node is always counted.
    #[inline]
    fn rank(&self, key: &K, behind: bool) -> usize {
        let first = usize::from(self.level.min(1));
        let mut rank = first;
        // Invariant: the first `rank` keys are to the left of the place. A search takes the same
        // number of steps for every length of the node, without a branch that could be
        // mispredicted.
        for step in STEPS {
            let last = rank + step - 1;
            let in_node = last < self.len();
            let at = if in_node { last } else { first };
            let probe = &self.keys[at.min(WIDTH - 1)];
            let left = if behind { probe <= key } else { probe < key };
            rank += if in_node & left { step } else { 0 };
        }
        rank - first
    }

    #[inline]
    fn below(&self, at: usize) -> Option<Idx> {
        self.down.get(at).copied().flatten()
    }

    fn find(&self, child: Idx) -> Option<usize> {
        self.down.get(..self.len())?.iter().position(|&below| below == Some(child))
    }
}

/// A place in a leaf: either the entry at index `at`, or the gap before that entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) leaf: Idx,
    pub(super) at: usize,
}

/// The tree, and the pool of its nodes. The indices of nodes count from 1.
pub(super) struct Tree<K> {
    nodes: Vec<Node<K>>,
    free: Option<Idx>,
    /// The number of free nodes.
    spare: usize,
    /// The greatest number of nodes.
    limit: usize,
    root: Option<Idx>,
    /// The first and the last leaf.
    first: Option<Idx>,
    last: Option<Idx>,
}

impl<K> Tree<K> {
    pub(super) const fn new() -> Self {
        Self { nodes: Vec::new(), free: None, spare: 0, limit: MOST, root: None, first: None, last: None }
    }

    /// Allocates `nodes` nodes and limits the pool to them, so that it never grows again. Returns
    /// whether there was enough memory.
    pub(super) fn bound(&mut self, nodes: usize) -> bool {
        let missing = nodes.saturating_sub(self.nodes.len());
        let bounded = nodes <= MOST && self.nodes.try_reserve_exact(missing).is_ok();
        if bounded {
            self.limit = nodes;
        }
        bounded
    }

    /// Makes room for `nodes` nodes in total. Returns whether there was enough memory.
    pub(super) fn reserve(&mut self, nodes: usize) -> bool {
        let missing = nodes.saturating_sub(self.nodes.len());
        nodes <= self.limit && self.nodes.try_reserve(missing).is_ok()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node<K>>()
    }

    /// Drops all nodes.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        *self = Self { nodes: core::mem::take(&mut self.nodes), limit: self.limit, ..Self::new() };
    }
}

impl<K: Copy + Ord> Tree<K> {
    #[inline]
    fn node(&self, p: Idx) -> &Node<K> {
        &self.nodes[p.at() - 1]
    }

    #[inline]
    fn node_mut(&mut self, p: Idx) -> &mut Node<K> {
        &mut self.nodes[p.at() - 1]
    }

    /// Returns the spot where `key` belongs: after all equal keys if `behind` is true, otherwise
    /// before all equal keys. Returns `None` in an empty tree.
    #[inline]
    pub(super) fn spot(&self, key: &K, behind: bool) -> Option<Spot> {
        let mut p = self.root?;
        loop {
            let node = self.node(p);
            if node.level == 0 {
                return Some(Spot { leaf: p, at: node.rank(key, behind) });
            }
            p = node.below(node.rank(key, behind))?;
        }
    }

    /// Returns the spot before all entries if `first` is true, otherwise the spot after all
    /// entries.
    pub(super) fn end(&self, first: bool) -> Option<Spot> {
        match first {
            true => self.first.map(|leaf| Spot { leaf, at: 0 }),
            false => self.last.map(|leaf| Spot { leaf, at: self.node(leaf).len() }),
        }
    }

    /// Returns the spot of a cell's entry.
    #[inline]
    pub(super) fn spot_of(&self, leaf: Idx, cell: Idx) -> Option<Spot> {
        let at = self.nodes.get(leaf.at() - 1)?.find(cell)?;
        Some(Spot { leaf, at })
    }

    /// Returns the key and the cell of the entry after a spot.
    #[inline]
    pub(super) fn after(&self, spot: Spot) -> Option<(K, Idx)> {
        let node = self.node(spot.leaf);
        match node.keys().get(spot.at) {
            Some(&key) => Some((key, node.below(spot.at)?)),
            None => {
                let next = self.node(node.next?);
                Some((*next.keys().first()?, next.below(0)?))
            }
        }
    }

    /// Returns the key and the cell of the entry before a spot.
    #[inline]
    pub(super) fn before(&self, spot: Spot) -> Option<(K, Idx)> {
        let mut node = self.node(spot.leaf);
        let at = match spot.at.checked_sub(1) {
            Some(at) => at,
            None => {
                node = self.node(node.prev?);
                node.len().checked_sub(1)?
            }
        };
        Some((*node.keys().get(at)?, node.below(at)?))
    }

    /// Ensures that the pool has the nodes that an insert at `spot` needs. Returns whether it has
    /// them.
    pub(super) fn make_room(&mut self, spot: Option<Spot>) -> bool {
        let mut needed = 0;
        let mut at = spot.map(|spot| spot.leaf);
        // The insert splits the leaf if it is full, and then each full parent up to the first node
        // that is not full. If the root splits, or if there is no root, the insert also needs a new
        // root.
        while let Some(node) = at.map(|p| self.node(p)) {
            if node.len() < WIDTH {
                return self.have(needed);
            }
            needed += 1;
            at = node.up;
        }
        self.have(needed + 1)
    }

    fn have(&mut self, needed: usize) -> bool {
        let more = needed.saturating_sub(self.spare);
        more == 0
            || more <= self.limit.saturating_sub(self.nodes.len()) && self.nodes.try_reserve(more).is_ok()
    }

    /// Takes a node from the pool. The pool must not be empty.
    fn draw(&mut self, filler: K, level: u16) -> Idx {
        let node = Node {
            keys: [filler; WIDTH],
            down: [None; WIDTH],
            up: None,
            next: None,
            prev: None,
            len: 0,
            level,
        };
        if let Some(p) = self.free {
            self.free = self.node(p).next;
            self.spare -= 1;
            *self.node_mut(p) = node;
            return p;
        }
        self.nodes.push(node);
        Idx::of(self.nodes.len()).unwrap_or_else(|| unreachable!("the pool's limit is below"))
    }

    /// Unlinks an empty node from its level and returns it to the pool.
    fn discard(&mut self, p: Idx) {
        let (next, prev) = (self.node(p).next, self.node(p).prev);
        let leaf = self.node(p).level == 0;
        match prev {
            Some(prev) => self.node_mut(prev).next = next,
            None if leaf => self.first = next,
            None => {}
        }
        match next {
            Some(next) => self.node_mut(next).prev = prev,
            None if leaf => self.last = prev,
            None => {}
        }
        let free = self.free;
        let node = self.node_mut(p);
        (node.next, node.prev, node.up, node.len) = (free, None, None, 0);
        self.free = Some(p);
        self.spare += 1;
    }

    /// Records that the node `p` of this level is now the parent of the child `below`, or the leaf
    /// of the cell `below`.
    #[inline]
    fn adopt(&mut self, home: &mut impl Home, level: u16, below: Option<Idx>, p: Idx) {
        match below {
            Some(cell) if level == 0 => home.set_leaf(cell, p),
            Some(child) => self.node_mut(child).up = Some(p),
            None => {}
        }
    }

    /// Inserts a key and its child or cell into a node that is not full.
    fn put(&mut self, home: &mut impl Home, p: Idx, at: usize, key: K, below: Idx) {
        let node = self.node_mut(p);
        let len = node.len();
        node.keys.copy_within(at..len, at + 1);
        node.down.copy_within(at..len, at + 1);
        node.keys[at] = key;
        node.down[at] = Some(below);
        node.len += 1;
        let level = node.level;
        self.adopt(home, level, Some(below), p);
    }

    /// Removes the key at index `at`, and its child or cell, from a node.
    fn take(&mut self, p: Idx, at: usize) -> (K, Option<Idx>) {
        let node = self.node_mut(p);
        let len = node.len();
        let taken = (node.keys[at], node.below(at));
        node.keys.copy_within(at + 1..len, at);
        node.down.copy_within(at + 1..len, at);
        node.down[len - 1] = None;
        node.len -= 1;
        taken
    }

    /// Moves all keys of `p` from index `at` on to the end of `q`, which must be a node of the same
    /// level with enough room.
    fn shift(&mut self, home: &mut impl Home, p: Idx, at: usize, q: Idx) {
        let node = self.node_mut(p);
        let (keys, down, len, level) = (node.keys, node.down, node.len(), node.level);
        node.down[at..len].fill(None);
        node.len -= u16::try_from(len - at).unwrap_or(0);
        for (&key, &below) in keys[at..len].iter().zip(&down[at..len]) {
            let target = self.node_mut(q);
            let end = target.len();
            target.keys[end] = key;
            target.down[end] = below;
            target.len += 1;
            self.adopt(home, level, below, q);
        }
    }

    /// Moves the upper half of a full node to a new node after it.
    fn split(&mut self, home: &mut impl Home, p: Idx) -> Idx {
        let node = self.node(p);
        let (filler, level, next) = (node.keys[0], node.level, node.next);
        let q = self.draw(filler, level);
        self.shift(home, p, LEAST, q);
        let node = self.node_mut(q);
        (node.next, node.prev) = (next, Some(p));
        self.node_mut(p).next = Some(q);
        match next {
            Some(next) => self.node_mut(next).prev = Some(q),
            None if level == 0 => self.last = Some(q),
            None => {}
        }
        q
    }

    /// Inserts an entry for `cell` at a spot, or into the empty tree. The pool must have the nodes
    /// that this needs.
    pub(super) fn insert(&mut self, home: &mut impl Home, spot: Option<Spot>, key: K, cell: Idx) {
        let Some(Spot { leaf, at }) = spot else {
            let root = self.draw(key, 0);
            (self.root, self.first, self.last) = (Some(root), Some(root), Some(root));
            return self.put(home, root, 0, key, cell);
        };
        let (mut p, mut at, mut key, mut below) = (leaf, at, key, cell);
        // Invariant: `below` must still be inserted into `p` at index `at`, and all levels below
        // `p` are valid.
        while self.node(p).len() == WIDTH {
            let q = self.split(home, p);
            match at.checked_sub(LEAST) {
                Some(behind) if behind > 0 => self.put(home, q, behind, key, below),
                _ => self.put(home, p, at, key, below),
            }
            let fence = self.node(q).keys[0];
            let Some(up) = self.node(p).up else {
                let (first, level) = (self.node(p).keys[0], self.node(p).level);
                let root = self.draw(first, level + 1);
                self.put(home, root, 0, first, p);
                self.put(home, root, 1, fence, q);
                self.root = Some(root);
                return;
            };
            at = self.node(up).find(p).map_or(0, |at| at + 1);
            (p, key, below) = (up, fence, q);
        }
        self.put(home, p, at, key, below);
    }

    /// Removes the entry at a spot. Returns the spot at which the entry could be inserted again,
    /// which is between the same neighbors, in a leaf that is not full. Returns `None` when the
    /// tree is empty.
    pub(super) fn remove(&mut self, home: &mut impl Home, spot: Spot) -> Option<Spot> {
        let mut p = spot.leaf;
        let mut again = spot;
        self.take(p, spot.at);
        // Invariant: `p` has at least `LEAST - 1` keys, and all levels below `p` are valid.
        loop {
            let node = self.node(p);
            let Some(up) = node.up else {
                self.lower_root(p);
                return self.root.map(|_| again);
            };
            if node.len() >= LEAST {
                return Some(again);
            }
            let leaf = node.level == 0;
            let Some(at) = self.node(up).find(p) else { return Some(again) };
            let left = at.checked_sub(1).and_then(|at| self.node(up).below(at));
            let right = self.node(up).below(at + 1);
            match (left, right) {
                (Some(left), _) if self.node(left).len() > LEAST => {
                    self.borrow(home, up, at, left, p, true);
                    again.at += usize::from(leaf);
                    return Some(again);
                }
                (_, Some(right)) if self.node(right).len() > LEAST => {
                    self.borrow(home, up, at + 1, p, right, false);
                    return Some(again);
                }
                (Some(left), _) => {
                    if leaf {
                        again = Spot { leaf: left, at: self.node(left).len() + spot.at };
                    }
                    self.merge(home, up, at, left, p);
                }
                (_, Some(right)) => self.merge(home, up, at + 1, p, right),
                (None, None) => return Some(again),
            }
            p = up;
        }
    }

    /// Removes the root if it has only one child or is empty.
    fn lower_root(&mut self, root: Idx) {
        let node = self.node(root);
        match (node.level, node.len()) {
            (0, 0) => self.root = None,
            (1.., 1) => {
                self.root = node.below(0);
                if let Some(child) = self.root {
                    self.node_mut(child).up = None;
                }
            }
            _ => return,
        }
        self.discard(root);
    }

    /// If `q` is an inner node, sets its first key to the fence before `q`, which has index `fence`
    /// in `up`. The caller must do this before the first key of `q` moves.
    fn mend_first(&mut self, up: Idx, fence: usize, q: Idx) {
        let key = self.node(up).keys[fence];
        let node = self.node_mut(q);
        if node.level > 0 {
            node.keys[0] = key;
        }
    }

    /// Moves one key across the fence between the neighbors `p` and `q`: from `p` to `q` if
    /// `rightwards` is true, otherwise from `q` to `p`.
    fn borrow(&mut self, home: &mut impl Home, up: Idx, fence: usize, p: Idx, q: Idx, rightwards: bool) {
        self.mend_first(up, fence, q);
        let (from, at, to, end) = match rightwards {
            true => (p, self.node(p).len() - 1, q, 0),
            false => (q, 0, p, self.node(p).len()),
        };
        if let (key, Some(below)) = self.take(from, at) {
            self.put(home, to, end, key, below);
        }
        self.node_mut(up).keys[fence] = self.node(q).keys[0];
    }

    /// Moves all keys of `q` to the end of `p`, its left neighbor, and discards `q`.
    fn merge(&mut self, home: &mut impl Home, up: Idx, fence: usize, p: Idx, q: Idx) {
        self.mend_first(up, fence, q);
        self.shift(home, q, 0, p);
        self.take(up, fence);
        self.discard(q);
    }

    /// Sets the key at a spot. The caller must ensure that the keys stay in order.
    pub(super) fn set_key(&mut self, spot: Spot, key: K) {
        self.node_mut(spot.leaf).keys[spot.at] = key;
        self.mend_fences(spot.leaf);
    }

    /// Sets the fence before a leaf to the leaf's first key, and the fence after it to the first
    /// key of the next leaf. This is necessary after an insert into a leaf that was not found by a
    /// descent with the key.
    pub(super) fn mend_fences(&mut self, leaf: Idx) {
        for leaf in [Some(leaf), self.node(leaf).next].into_iter().flatten() {
            let Some(&key) = self.node(leaf).keys().first() else { continue };
            let mut p = leaf;
            // Invariant: `leaf` is the first leaf below `p`.
            while let Some(up) = self.node(p).up {
                match self.node(up).find(p) {
                    Some(0) | None => p = up,
                    Some(at) => {
                        self.node_mut(up).keys[at] = key;
                        break;
                    }
                }
            }
        }
    }

    /// Verifies the shape of the tree, the number of keys per node, fences, lists, the number of
    /// entries, and the pool. `visit` receives each key, its cell and its leaf, in order.
    ///
    /// # Errors
    /// The first violation found, or the error of `visit`.
    pub(super) fn check(
        &self,
        len: usize,
        visit: impl FnMut(K, Idx, Idx) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let mut checker = Checker { tree: self, visit, entries: 0, nodes: 0, edges: [None; DEEPEST] };
        match self.root {
            Some(root) => {
                let node = self.nodes.get(root.at() - 1).ok_or(Violation::Storage)?;
                if node.up.is_some() {
                    return Err(Violation::Head);
                }
                if usize::from(node.level) >= DEEPEST {
                    return Err(Violation::Balance);
                }
                checker.below(root, node.level, None, None)?;
                for (level, edge) in checker.edges.iter().enumerate().take(usize::from(node.level) + 1) {
                    if edge.is_none_or(|last| self.node(last).next.is_some()) {
                        return Err(Violation::BackLink);
                    }
                    if level == 0 && self.last != *edge {
                        return Err(Violation::Head);
                    }
                }
            }
            None if self.first.is_some() || self.last.is_some() => return Err(Violation::Head),
            None => {}
        }
        if checker.entries != len {
            return Err(Violation::Count);
        }
        let mut free = 0;
        let mut next = self.free;
        while let Some(p) = next.filter(|_| free <= self.spare) {
            next = self.nodes.get(p.at() - 1).filter(|node| node.len == 0).ok_or(Violation::Storage)?.next;
            free += 1;
        }
        let all = free == self.spare && self.spare + checker.nodes == self.nodes.len();
        if all && self.nodes.len() <= self.limit { Ok(()) } else { Err(Violation::Storage) }
    }
}

/// More levels than a tree of 2^32 nodes can have, because each inner node except the root has at
/// least `LEAST` children.
const DEEPEST: usize = 34;

struct Checker<'t, K, V> {
    tree: &'t Tree<K>,
    visit: V,
    entries: usize,
    nodes: usize,
    /// For each level, the node that was visited last.
    edges: [Option<Idx>; DEEPEST],
}

impl<K: Copy + Ord, V: FnMut(K, Idx, Idx) -> Result<(), Violation>> Checker<'_, K, V> {
    /// Verifies the subtree of `p`, whose keys must be between the two fences `from` and `to`.
    fn below(&mut self, p: Idx, level: u16, from: Option<K>, to: Option<K>) -> Result<(), Violation> {
        let tree = self.tree;
        let node = tree.nodes.get(p.at() - 1).ok_or(Violation::Storage)?;
        self.nodes += 1;
        if self.nodes > tree.nodes.len() {
            return Err(Violation::Count);
        }
        let least = if node.up.is_some() { LEAST } else { 1 + usize::from(level.min(1)) };
        if node.level != level || !(least..=WIDTH).contains(&node.len()) {
            return Err(Violation::Balance);
        }
        let edge = self.edges.get_mut(usize::from(level)).ok_or(Violation::Balance)?;
        let before = edge.replace(p);
        if node.prev != before || before.is_some_and(|before| tree.node(before).next != Some(p)) {
            return Err(Violation::BackLink);
        }
        if before.is_none() && level == 0 && tree.first != Some(p) {
            return Err(Violation::Head);
        }
        // The first key of an inner node is never read, so it is not checked.
        let keys = node.keys().get(usize::from(level.min(1))..).unwrap_or(&[]);
        let fenced = |key: &K| from.is_none_or(|from| from <= *key) && to.is_none_or(|to| *key <= to);
        if !keys.is_sorted() || !keys.iter().all(fenced) {
            return Err(Violation::Order);
        }
        for at in 0..node.len() {
            let below = node.below(at).ok_or(Violation::UnusedCell)?;
            if level == 0 {
                self.entries += 1;
                (self.visit)(node.keys[at], below, p)?;
                continue;
            }
            if tree.nodes.get(below.at() - 1).ok_or(Violation::Storage)?.up != Some(p) {
                return Err(Violation::BackLink);
            }
            let from = if at == 0 { from } else { Some(node.keys[at]) };
            let to = node.keys().get(at + 1).copied().or(to);
            self.below(below, level - 1, from, to)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
