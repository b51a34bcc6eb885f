//! A red-black search tree in order of expiry, with or without a cached head.
//! [`red_black`](super::red_black) documents the two structures that use this tree.

use tickwright_nodes::tree::{self as bst, Balance as _, Color, Left, Linked, Links, RedBlack, Side};

use crate::contract::{HeadChange, Order, Tick, Violation};
use crate::structure::{Discipline, Due, Handle, Nodes, Ordered, Record, View};

/// The record of a node in a timer tree. A search reads the expiry and a child, so these fields are
/// adjacent, and are seldom on two different cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct TreeRecord<P> {
    pub(super) expiry: Tick,
    pub(super) links: Links<P, Color>,
}

impl<P: Handle> Record<P> for TreeRecord<P> {
    const IDLE: Self = Self { expiry: 0, links: Links::leaf(None, RedBlack::LEAF) };

    fn vacant(next: Option<P>) -> Self {
        Self { expiry: 0, links: Links::leaf(next, RedBlack::LEAF) }
    }

    fn next_vacant(&self) -> Option<P> {
        self.links.up
    }
}

impl<P: Handle> Linked<P> for TreeRecord<P> {
    type Mark = Color;

    #[inline]
    fn links(&self) -> &Links<P, Color> {
        &self.links
    }

    #[inline]
    fn links_mut(&mut self) -> &mut Links<P, Color> {
        &mut self.links
    }
}

/// The tree over handles `P`.
#[derive(Debug)]
pub struct TimerTree<P, const CACHED: bool> {
    pub(super) root: Option<P>,
    /// The earliest node if `CACHED` is true; otherwise always `None`.
    pub(super) head: Option<P>,
}

/// Returns the parent and the side at which to insert a node with this expiry, and whether the new
/// node will be before all nodes.
#[inline]
fn place<P: Handle>(nodes: &impl Nodes<P, TreeRecord<P>>, root: P, expiry: Tick) -> (P, Side, bool) {
    let mut at = root;
    let mut first = true;
    // Invariant: the new node belongs below `at`. Among the nodes that are not below `at`, nodes to
    // the left of the new node's place expire at or before `expiry`, and nodes to the right expire
    // after `expiry`.
    loop {
        let record = nodes.record(at);
        // An index is used instead of a branch, because the processor cannot predict the direction.
        let side = Side::right_when(expiry >= record.expiry);
        first &= side == Left;
        match record.links.at(side) {
            Some(child) => at = child,
            None => return (at, side, first),
        }
    }
}

impl<P: Handle, const CACHED: bool> TimerTree<P, CACHED> {
    /// Unlinks `p`, which must be the head.
    #[inline]
    fn unlink_head(&mut self, nodes: &mut impl View<P, Self>, p: P) {
        let gap = bst::unlink_first(&mut self.root, nodes, p);
        if CACHED {
            // The head has no left child, so by the rules of balance its right subtree has at most
            // one node. If there is such a node, it is the next node. Otherwise the parent is the
            // next node.
            self.head = gap.child.or(gap.parent);
        }
        RedBlack::unlinked(&mut self.root, nodes, gap);
    }
}

// SAFETY: the promises of `Discipline`:
// 1. handles come from `insert` and from links of nodes that are linked;
// 2. `bst::unlink` and `unlink_first` remove the node from the links of its parent, its children
//    and the root. If the node was the head, the head moves on; `clear` forgets root and head;
// 3. no user code is called at all, and the balance is this project's;
// 4. the tree holds handles, ticks and marks only.
unsafe impl<P: Handle, const CACHED: bool> Discipline<P> for TimerTree<P, CACHED> {
    type Record = TreeRecord<P>;
    const NEW: Self = Self { root: None, head: None };
    const ORDER: Order = Order::Exact;
    const VISITS_IN_ORDER: bool = true;

    #[inline]
    fn insert(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let expiry = deadline.max(now);
        let (parent, side, first) = match (self.root, self.head) {
            (None, _) => (None, Left, true),
            // The old head has no left child, and the new head becomes its left child, so the
            // insert need not walk down from the root.
            (_, Some(head)) if CACHED && expiry < nodes.record(head).expiry => (Some(head), Left, true),
            (Some(root), _) => {
                let (parent, side, first) = place(nodes, root, expiry);
                (Some(parent), side, !CACHED && first)
            }
        };
        *nodes.record_mut(p) = TreeRecord { expiry, links: Links::leaf(parent, RedBlack::LEAF) };
        if CACHED && first {
            self.head = Some(p);
        }
        bst::attach::<P, Self::Record, _, RedBlack>(&mut self.root, nodes, parent, side, p);
        HeadChange::when(first)
    }

    #[inline]
    fn remove(&mut self, nodes: &mut impl View<P, Self>, p: P) -> HeadChange {
        let first = if CACHED { self.head == Some(p) } else { bst::is_first(nodes, p) };
        if CACHED && first {
            self.head = bst::next(nodes, p);
        }
        bst::detach::<P, Self::Record, _, RedBlack>(&mut self.root, nodes, p);
        HeadChange::when(first)
    }

    #[inline]
    fn is_quiet(&self, nodes: &impl View<P, Self>, now: Tick) -> bool {
        CACHED && self.head.is_none_or(|head| nodes.record(head).expiry > now)
    }

    #[inline]
    fn head(&self, nodes: &impl View<P, Self>) -> Option<P> {
        if CACHED { self.head } else { self.root.map(|root| bst::outermost(nodes, root, Left)) }
    }

    #[inline]
    fn second(&self, nodes: &impl View<P, Self>) -> Option<P> {
        bst::next(nodes, self.head(nodes)?)
    }

    #[inline]
    fn expiry(&self, nodes: &impl View<P, Self>, p: P) -> Tick {
        nodes.record(p).expiry
    }

    #[inline]
    fn pop(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        let due = self.due(nodes, now, budget)?;
        self.unlink_head(nodes, due.handle);
        Some(due)
    }

    #[inline]
    fn rearm_due(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) {
        self.unlink_head(nodes, p);
        let _ = self.insert(nodes, p, deadline, now);
    }

    fn for_each(&self, nodes: &impl View<P, Self>, mut visit: impl FnMut(P)) {
        let mut at = self.head(nodes);
        while let Some(p) = at {
            visit(p);
            at = bst::next(nodes, p);
        }
    }

    fn clear(&mut self) {
        *self = Self::NEW;
    }

    fn check(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation> {
        let mut first = None;
        let mut earliest = 0;
        let in_order = |p| {
            let expiry = nodes.record(p).expiry;
            first = first.or(Some(p));
            if expiry < earliest {
                return Err(Violation::Order);
            }
            earliest = expiry;
            Ok(())
        };
        let shape = bst::check::<P, Self::Record, _, RedBlack>(self.root, nodes, len, in_order);
        let expected = if CACHED { first } else { None };
        match shape {
            // The head is verified last, because the walk to the leftmost node relies on correct
            // links.
            Ok(()) if self.head != expected => Err(Violation::Head),
            shape => shape,
        }
    }
}

impl<P: Handle, const CACHED: bool> Ordered<P> for TimerTree<P, CACHED> {
    #[inline]
    fn next(&self, nodes: &impl View<P, Self>, p: P) -> Option<P> {
        bst::next(nodes, p)
    }
}

#[cfg(all(test, feature = "alloc"))]
pub(super) mod tests;
