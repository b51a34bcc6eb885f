//! Nodes in rings: the doubly linked list of a kernel. Links are indices that are as wide as a
//! pointer, because the lab has no unsafe code. A node is therefore as large as in a kernel.

/// A time-out. The callback, which is only a number here, is included because a kernel needs it to
/// fire the time-out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    next: usize,
    previous: usize,
    pub(super) callback: usize,
    pub(super) ticks: u64,
}

/// Time-outs `0..n`, then the heads of the rings.
#[derive(Debug)]
pub(super) struct Rings {
    nodes: Vec<Node>,
}

impl Rings {
    /// Creates time-outs that are in no ring, and rings that are empty.
    pub(super) fn new(n: usize, rings: usize) -> Self {
        let node = |at| Node { next: at, previous: at, callback: at, ticks: 0 };
        Self { nodes: (0..n + rings).map(node).collect() }
    }

    #[inline]
    pub(super) fn node(&mut self, at: usize) -> &mut Node {
        &mut self.nodes[at]
    }

    /// Returns the node after `at`. After a head comes the first node of its ring, and after the
    /// last node comes the head.
    #[inline]
    pub(super) fn next(&self, at: usize) -> usize {
        self.nodes[at].next
    }

    /// Returns the node before `at`.
    #[inline]
    pub(super) fn previous(&self, at: usize) -> usize {
        self.nodes[at].previous
    }

    /// Links a node before another node. A node that is linked before a head becomes the last node
    /// of the ring.
    #[inline]
    pub(super) fn link_before(&mut self, at: usize, node: usize) {
        let previous = self.nodes[at].previous;
        self.nodes[node].previous = previous;
        self.nodes[node].next = at;
        self.nodes[previous].next = node;
        self.nodes[at].previous = node;
    }

    #[inline]
    pub(super) fn unlink(&mut self, node: usize) {
        let Node { next, previous, .. } = self.nodes[node];
        self.nodes[previous].next = next;
        self.nodes[next].previous = previous;
    }
}
