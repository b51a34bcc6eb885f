//! Nodes in rings: the doubly linked list of a kernel. Links are indices as wide as a pointer,
//! since the lab has no unsafe code, and a node is as large as in a kernel.

/// A time-out. Without the callback, which is its number here, a kernel could not fire it.
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
    /// Creates time-outs in no ring, and empty rings.
    pub(super) fn new(n: usize, rings: usize) -> Self {
        let node = |at| Node { next: at, previous: at, callback: at, ticks: 0 };
        Self { nodes: (0..n + rings).map(node).collect() }
    }

    #[inline]
    pub(super) fn node(&mut self, at: usize) -> &mut Node {
        &mut self.nodes[at]
    }

    /// The node after `at`: of a head, the first of its ring. After the last comes the head.
    #[inline]
    pub(super) fn next(&self, at: usize) -> usize {
        self.nodes[at].next
    }

    /// The node before `at`.
    #[inline]
    pub(super) fn previous(&self, at: usize) -> usize {
        self.nodes[at].previous
    }

    /// Puts a node before another one; before a head is at the end of its ring.
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
