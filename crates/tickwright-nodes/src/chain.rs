//! Chains of nodes: the buckets of wheels, first-in-first-out, and the thread through a dictionary.
//!
//! A chain keeps its ends; the links are in the nodes. It holds that `prev` of a node's `next` is
//! the node, and that `prev` of the head and `next` of the tail are none.

use crate::{Handle, Nodes, Violation};

/// What a node remembers of its neighbors.
#[derive(Clone, Copy, Debug)]
pub struct Links<P> {
    /// The node behind it.
    pub next: Option<P>,
    /// The node in front of it.
    pub prev: Option<P>,
}

impl<P> Links<P> {
    /// No neighbors.
    pub const NONE: Self = Self { next: None, prev: None };
}

/// A record with links in it.
pub trait Chained<P> {
    /// The links, to read.
    fn links(&self) -> &Links<P>;
    /// The links, to write.
    fn links_mut(&mut self) -> &mut Links<P>;
}

/// The ends of a chain; both or none.
#[derive(Clone, Copy, Debug)]
pub struct Chain<P> {
    /// The first node.
    pub head: Option<P>,
    /// The last node.
    pub tail: Option<P>,
}

impl<P: Handle> Chain<P> {
    /// No nodes.
    pub const EMPTY: Self = Self { head: None, tail: None };

    /// Whether it has no nodes.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// The only node, where there is one alone.
    #[inline]
    #[must_use]
    pub fn single(&self) -> Option<P> {
        self.head.filter(|_| self.head == self.tail)
    }

    /// Makes `p` the tail. Returns the links that the caller then writes into its record. The rest
    /// of the record is the caller's too, and so the record is written once.
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

    /// Makes `p` the head, otherwise as [`push_back`](Self::push_back).
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

    /// Puts `p` behind `before`, a node of this chain, otherwise as [`push_back`](Self::push_back).
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

    /// Puts `p` in front of `after`, a node of this chain, otherwise as
    /// [`push_back`](Self::push_back).
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

    /// Takes out a node of this chain with these links. Its own links stay as they were.
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

    /// Puts all of `other` behind what is here.
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

    /// Its nodes from the head on. On a chain with a cycle the iterator does not end. Take at most
    /// as many nodes as there can be.
    pub fn iter<'n, R: Chained<P> + 'n, N: Nodes<P, R>>(
        &self,
        nodes: &'n N,
    ) -> impl Iterator<Item = P> + use<'n, P, R, N> {
        core::iter::successors(self.head, move |&p| nodes.record(p).links().next)
    }

    /// Verifies the links and lets `visit` verify each record. Every node takes one from `left`;
    /// more nodes than that are too many, so it ends also on a cycle.
    ///
    /// # Errors
    /// The first violation found, or what `visit` returns.
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
