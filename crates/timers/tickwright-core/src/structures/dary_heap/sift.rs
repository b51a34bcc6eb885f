//! Moves entries to their cells: sifts and renumbering. A sift updates the node of each entry that
//! it moves, so at each step all nodes have correct positions, except the node of the entry that is
//! being inserted. `renumber` updates the positions only at its end.
//!
//! The sifts are always inlined, because the arguments of a call would not fit in registers.

use super::buffer::{Buffer, Entry};
use super::siblings::earliest;
use super::{InCell, TimerHeap};
use crate::structure::{Handle, Nodes};

impl<P: Handle, B: Buffer<P, D>, const D: usize, R: InCell> TimerHeap<P, B, D, R> {
    /// The cell of the earliest entry. The root is in the last cell of group 0, so that the
    /// children of each entry are exactly one group.
    pub(crate) const ROOT: usize = D - 1;

    /// Returns the group that holds the children of the entry in `cell`.
    #[inline]
    pub(super) const fn children(cell: usize) -> usize {
        cell - (D - 2)
    }

    /// Returns the parent cell of `cell`, which must not be the root.
    #[inline]
    pub(super) const fn parent(cell: usize) -> usize {
        cell / D + (D - 2)
    }

    /// Returns the entry in a cell, or an empty entry if the cell does not exist.
    #[inline]
    pub(crate) fn entry(&self, cell: usize) -> Entry<P> {
        self.buffer.group(cell / D).map_or(Entry::EMPTY, |group| group[cell % D])
    }

    /// Writes an entry into a cell, and the cell's number into the entry's node.
    #[inline]
    pub(super) fn place(&mut self, nodes: &mut impl Nodes<P, R>, cell: usize, key: u128, p: P) {
        self.buffer.group_mut(cell / D)[cell % D].set(key, p);
        nodes.record_mut(p).set_cell(cell as u32);
    }

    /// Inserts an entry at the hole or above it; parents that are later than the entry move down.
    /// Returns the entry's cell.
    ///
    /// Functions in this file pass an entry as `key` and `p`, which fit in registers. A load of a
    /// whole entry would wait for the stores of its fields.
    #[inline(always)]
    pub(crate) fn rise(&mut self, nodes: &mut impl Nodes<P, R>, mut hole: usize, key: u128, p: P) -> usize {
        while hole > Self::ROOT {
            let above = Self::parent(hole);
            let Some(group) = self.buffer.group(above / D) else { break };
            let parent = &group[above % D];
            let parent_key = parent.key();
            if parent_key > key {
                break;
            }
            let Some(parent) = parent.node else { break };
            self.place(nodes, hole, parent_key, parent);
            hole = above;
        }
        self.place(nodes, hole, key, p);
        hole
    }

    /// Inserts an entry at the hole or below it; children that are earlier than the entry move up.
    /// Returns the entry's cell.
    #[inline(always)]
    pub(crate) fn sink(&mut self, nodes: &mut impl Nodes<P, R>, mut hole: usize, key: u128, p: P) -> usize {
        // The children of the hole are the group at `first + at`.
        let (mut first, mut at) = (Self::children(hole), 0);
        while let Some(siblings) = self.buffer.group_at_sum(first, at) {
            let below = (first + at) * D;
            self.buffer.prefetch(Self::children(below));
            (first, at) = (Self::children(below), earliest(siblings));
            let Some(child) = siblings[at].node else { break };
            let child_key = siblings[at].key();
            if key > child_key {
                break;
            }
            self.place(nodes, hole, child_key, child);
            hole = below + at;
        }
        self.place(nodes, hole, key, p);
        hole
    }

    /// Inserts an entry at the hole, above it or below it. Returns the entry's cell.
    #[inline(always)]
    pub(crate) fn settle(&mut self, nodes: &mut impl Nodes<P, R>, hole: usize, key: u128, p: P) -> usize {
        // The parent might be a hole at the root, and an entry must not rise into that hole.
        let above = if hole > Self::ROOT { self.entry(Self::parent(hole)) } else { Entry::EMPTY };
        if above.node.is_some() && key > above.key() {
            self.rise(nodes, hole, key, p)
        } else {
            self.sink(nodes, hole, key, p)
        }
    }

    /// Renumbers the entries 0, 1, ... in their order, when the counter is used up. The function
    /// sorts the entries in place by heapsort, because renumbering is rare and must not need
    /// memory. A sorted array is a heap.
    #[cold]
    pub(super) fn renumber(&mut self, nodes: &mut impl Nodes<P, R>) {
        if self.hole {
            let (_, key, last) = self.take_last();
            if let Some(p) = last {
                self.place(nodes, Self::ROOT, key, p);
            }
            self.hole = false;
        }
        // Invariant: entries 0..end, counted from the root, are a binary heap whose root is its
        // latest entry. The entries from `end` on are sorted.
        for start in (0..self.len / 2).rev() {
            self.sink_latest(start, self.len);
        }
        for end in (1..self.len).rev() {
            self.swap(0, end);
            self.sink_latest(0, end);
        }
        let mut next = 0;
        for cell in Self::ROOT..Self::ROOT + self.len {
            let entry = Entry { numbers_to_end: !next, ..self.entry(cell) };
            if let Some(p) = entry.node {
                self.place(nodes, cell, entry.key(), p);
            }
            next += 1;
        }
        self.next_sequence = next;
    }

    fn sink_latest(&mut self, mut at: usize, end: usize) {
        loop {
            let mut child = 2 * at + 1;
            if child >= end {
                return;
            }
            let earlier =
                |a: usize, b: usize| self.entry(Self::ROOT + a).precedes(&self.entry(Self::ROOT + b));
            if child + 1 < end && earlier(child, child + 1) {
                child += 1;
            }
            if !earlier(at, child) {
                return;
            }
            self.swap(at, child);
            at = child;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        let (a, b) = (Self::ROOT + a, Self::ROOT + b);
        let (left, right) = (self.entry(a), self.entry(b));
        self.buffer.group_mut(a / D)[a % D] = right;
        self.buffer.group_mut(b / D)[b % D] = left;
    }
}
