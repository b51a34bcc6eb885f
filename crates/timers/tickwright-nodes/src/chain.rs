//! Doubly linked chains of nodes, used for the buckets of wheels, for first-in-first-out queues,
//! and for the list of a dictionary's entries.
//!
//! A chain stores its two ends, and the nodes store the links. Invariant: if a node has a `next`,
//! the `prev` of that next node is the node itself. The head has no `prev`, and the tail has no
//! `next`.

use crate::{Handle, Nodes, Violation};

/// The neighbors of a node.
#[derive(Clone, Copy, Debug)]
pub struct Links<P> {
    /// The node after this one.
    pub next: Option<P>,
    /// The node before this one.
    pub prev: Option<P>,
}

impl<P> Links<P> {
    /// The links of a node without neighbors.
    pub const NONE: Self = Self { next: None, prev: None };
}

/// A record that contains links.
pub trait Chained<P> {
    /// Returns a shared reference to the links.
    fn links(&self) -> &Links<P>;
    /// Returns a mutable reference to the links.
    fn links_mut(&mut self) -> &mut Links<P>;
}

/// The two ends of a chain. Either both are set, or both are `None`.
#[derive(Clone, Copy, Debug)]
pub struct Chain<P> {
    /// The first node.
    pub head: Option<P>,
    /// The last node.
    pub tail: Option<P>,
}

impl<P: Handle> Chain<P> {
    /// The chain without nodes.
    pub const EMPTY: Self = Self { head: None, tail: None };

    /// Returns whether the chain has no nodes.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// Returns the node of a chain that has exactly one node, or `None` for every other chain.
    #[inline]
    #[must_use]
    pub fn single(&self) -> Option<P> {
        self.head.filter(|_| self.head == self.tail)
    }

    /// Makes `p` the tail. Returns the links that the caller must write into the record of `p`. The
    /// caller writes them together with the other fields, so that the record is written only once.
    #[inline]
    #[must_use]
    pub fn push_back<R: Chained<P>, N: Nodes<P, R>>(&mut self, nodes: &mut N, p: P) -> Links<P> {
        let prev = self.tail.replace(p);
        match prev {
            Some(last) => nodes.record_mut(last).links_mut().next = Some(p),
            None => self.head = Some(p),
        }
        Links { next: None, prev }
    }

    /// Makes `p` the head, and returns links as [`push_back`](Self::push_back) does.
    #[inline]
    #[must_use]
    pub fn push_front<R: Chained<P>, N: Nodes<P, R>>(&mut self, nodes: &mut N, p: P) -> Links<P> {
        let next = self.head.replace(p);
        match next {
            Some(first) => nodes.record_mut(first).links_mut().prev = Some(p),
            None => self.tail = Some(p),
        }
        Links { next, prev: None }
    }

    /// Links `p` directly after `before`, a node of this chain, and returns links as
    /// [`push_back`](Self::push_back) does.
    #[inline]
    #[must_use]
    pub fn push_after<R: Chained<P>, N: Nodes<P, R>>(&mut self, nodes: &mut N, p: P, before: P) -> Links<P> {
        let next = nodes.record_mut(before).links_mut().next.replace(p);
        match next {
            Some(next) => nodes.record_mut(next).links_mut().prev = Some(p),
            None => self.tail = Some(p),
        }
        Links { next, prev: Some(before) }
    }

    /// Links `p` directly before `after`, a node of this chain, and returns links as
    /// [`push_back`](Self::push_back) does.
    #[inline]
    #[must_use]
    pub fn push_before<R: Chained<P>, N: Nodes<P, R>>(&mut self, nodes: &mut N, p: P, after: P) -> Links<P> {
        let prev = nodes.record_mut(after).links_mut().prev.replace(p);
        match prev {
            Some(prev) => nodes.record_mut(prev).links_mut().next = Some(p),
            None => self.head = Some(p),
        }
        Links { next: Some(after), prev }
    }

    /// Unlinks a node of this chain, whose links are `links`. The links in the node's record stay
    /// unchanged.
    #[inline]
    pub fn unlink<R: Chained<P>, N: Nodes<P, R>>(&mut self, nodes: &mut N, links: Links<P>) {
        match links.prev {
            Some(prev) => nodes.record_mut(prev).links_mut().next = links.next,
            None => self.head = links.next,
        }
        match links.next {
            Some(next) => nodes.record_mut(next).links_mut().prev = links.prev,
            None => self.tail = links.prev,
        }
    }

    /// Appends all nodes of `other` to this chain.
    #[inline]
    pub fn append<R: Chained<P>, N: Nodes<P, R>>(&mut self, nodes: &mut N, other: Self) {
        match (self.tail, other.head) {
            (_, None) => {}
            (None, _) => *self = other,
            (Some(last), Some(first)) => {
                nodes.record_mut(last).links_mut().next = Some(first);
                nodes.record_mut(first).links_mut().prev = Some(last);
                self.tail = other.tail;
            }
        }
    }

    /// Iterates over the nodes, beginning with the head. If the links form a cycle, the iterator
    /// does not end. A caller that does not trust the links must therefore limit the number of
    /// steps.
    pub fn iter<'n, R: Chained<P> + 'n, N: Nodes<P, R>>(
        &self,
        nodes: &'n N,
    ) -> impl Iterator<Item = P> + use<'n, P, R, N> {
        core::iter::successors(self.head, move |&p| nodes.record(p).links().next)
    }

    /// Verifies the links, and calls `visit` to verify each record. Subtracts one from `left` for
    /// every node. If the chain has more than `left` nodes, the check fails, so it also ends if the
    /// links form a cycle.
    ///
    /// # Errors
    /// The first violation found, or the error of `visit`.
    pub fn check<R: Chained<P>, N: Nodes<P, R>>(
        &self,
        nodes: &N,
        left: &mut usize,
        mut visit: impl FnMut(&R) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let mut last = None;
        for p in self.iter(nodes) {
            *left = left.checked_sub(1).ok_or(Violation::Count)?;
            let record = nodes.record(p);
            if record.links().prev != last {
                return Err(Violation::BackLink);
            }
            visit(record)?;
            last = Some(p);
        }
        if self.tail == last { Ok(()) } else { Err(Violation::Head) }
    }
}
