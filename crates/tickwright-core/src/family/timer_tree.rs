//! A search tree in order of expiry, with any [`Balance`], and with or without a cached head.
//!
//! [`red_black`](super::red_black) and [`avl`](super::avl) document the two structures that are
//! built from it.

use core::marker::PhantomData;

use tickwright_nodes::tree::{self as bst, Balance, Left, Linked, Links, Side};

use crate::contract::{HeadChange, Order, Tick, Violation};
use crate::storage::{Discipline, Due, Handle, Nodes, Ordered, Record};

/// The record of a node in a timer tree. The fields have this order because a search reads the
/// expiry and a child: side by side they are seldom on two cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct TreeRecord<P, B: Balance> {
    pub(super) expiry: Tick,
    pub(super) links: Links<P, B::Mark>,
}

impl<P: Handle, B: Balance> Record<P> for TreeRecord<P, B> {
    const IDLE: Self = Self { expiry: 0, links: Links::leaf(None, B::LEAF) };

    fn vacant(next: Option<P>) -> Self {
        Self { expiry: 0, links: Links::leaf(next, B::LEAF) }
    }

    fn next_vacant(&self) -> Option<P> {
        self.links.up
    }
}

impl<P: Handle, B: Balance> Linked<P> for TreeRecord<P, B> {
    type Mark = B::Mark;

    #[inline]
    fn links(&self) -> &Links<P, B::Mark> {
        &self.links
    }

    #[inline]
    fn links_mut(&mut self) -> &mut Links<P, B::Mark> {
        &mut self.links
    }
}

/// The tree over handles `P`.
#[derive(Debug)]
pub struct TimerTree<P, B, const CACHED: bool> {
    pub(super) root: Option<P>,
    /// The earliest node if `CACHED`; otherwise none.
    pub(super) head: Option<P>,
    balance: PhantomData<fn() -> B>,
}

/// Where to insert a node with this expiry: the parent and the side. Also returns whether the place
/// is before all nodes.
#[inline]
fn place<P: Handle, B: Balance>(
    nodes: &impl Nodes<P, TreeRecord<P, B>>,
    root: P,
    expiry: Tick,
) -> (P, Side, bool) {
    let mut at = root;
    let mut first = true;
    // Invariant: the place is below `at`. Some nodes are not below `at`. Those of them before the
    // place expire at `expiry` or earlier, and those behind it expire later.
    loop {
        let record = nodes.record(at);
        // An index replaces a branch, because the direction cannot be predicted.
        let side = Side::right_when(expiry >= record.expiry);
        first &= side == Left;
        match record.links.at(side) {
            Some(child) => at = child,
            None => return (at, side, first),
        }
    }
}

impl<P: Handle, B: Balance, const CACHED: bool> TimerTree<P, B, CACHED> {
    /// Unlinks `p`, which is the head.
    #[inline]
    fn unlink_head(&mut self, nodes: &mut impl Nodes<P, TreeRecord<P, B>>, p: P) {
        let gap = bst::unlink_first(&mut self.root, nodes, p);
        if CACHED {
            // Where a left child is missing, the balance allows at most a single node on the right:
            // that right child is the next node. If it is missing too, the parent is the next node.
            self.head = gap.child.or(gap.parent);
        }
        B::unlinked(&mut self.root, nodes, gap);
    }
}

// SAFETY: the promises of `Discipline`:
// 1. handles come from `insert` and from links of nodes that are linked;
// 2. `bst::unlink` and `unlink_first` remove the node from the links of its parent, its children
//    and the root. If the node was the head, the head moves on; `clear` forgets root and head;
// 3. no user code is called at all, and a `Balance` is this crate's;
// 4. the tree holds handles, ticks and marks only.
unsafe impl<P: Handle, B: Balance, const CACHED: bool> Discipline<P> for TimerTree<P, B, CACHED> {
    type Record = TreeRecord<P, B>;
    const NEW: Self = Self { root: None, head: None, balance: PhantomData };
    const ORDER: Order = Order::Exact;
    const VISITS_IN_ORDER: bool = true;

    #[inline]
    fn insert(
        &mut self,
        nodes: &mut impl Nodes<P, Self::Record>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        let expiry = deadline.max(now);
        let (parent, side, first) = match (self.root, self.head) {
            (None, _) => (None, Left, true),
            // A new head is the left child of the old head, which had no left child. So the check
            // need not walk from the root.
            (_, Some(head)) if CACHED && expiry < nodes.record(head).expiry => (Some(head), Left, true),
            (Some(root), _) => {
                let (parent, side, first) = place(nodes, root, expiry);
                (Some(parent), side, !CACHED && first)
            }
        };
        *nodes.record_mut(p) = TreeRecord { expiry, links: Links::leaf(parent, B::LEAF) };
        if CACHED && first {
            self.head = Some(p);
        }
        bst::attach::<P, Self::Record, _, B>(&mut self.root, nodes, parent, side, p);
        HeadChange::when(first)
    }

    #[inline]
    fn remove(&mut self, nodes: &mut impl Nodes<P, Self::Record>, p: P) -> HeadChange {
        let first = if CACHED { self.head == Some(p) } else { bst::is_first(nodes, p) };
        if CACHED && first {
            self.head = bst::next(nodes, p);
        }
        bst::detach::<P, Self::Record, _, B>(&mut self.root, nodes, p);
        HeadChange::when(first)
    }

    #[inline]
    fn is_quiet(&self, nodes: &impl Nodes<P, Self::Record>, now: Tick) -> bool {
        CACHED && self.head.is_none_or(|head| nodes.record(head).expiry > now)
    }

    #[inline]
    fn head(&self, nodes: &impl Nodes<P, Self::Record>) -> Option<P> {
        if CACHED { self.head } else { self.root.map(|root| bst::outermost(nodes, root, Left)) }
    }

    #[inline]
    fn second(&self, nodes: &impl Nodes<P, Self::Record>) -> Option<P> {
        bst::next(nodes, self.head(nodes)?)
    }

    #[inline]
    fn expiry(&self, nodes: &impl Nodes<P, Self::Record>, p: P) -> Tick {
        nodes.record(p).expiry
    }

    #[inline]
    fn pop(
        &mut self,
        nodes: &mut impl Nodes<P, Self::Record>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        let due = self.due(nodes, now, budget)?;
        self.unlink_head(nodes, due.handle);
        Some(due)
    }

    #[inline]
    fn rearm_due(&mut self, nodes: &mut impl Nodes<P, Self::Record>, p: P, deadline: Tick, now: Tick) {
        self.unlink_head(nodes, p);
        let _ = self.insert(nodes, p, deadline, now);
    }

    fn for_each(&self, nodes: &impl Nodes<P, Self::Record>, mut visit: impl FnMut(P)) {
        let mut at = self.head(nodes);
        while let Some(p) = at {
            visit(p);
            at = bst::next(nodes, p);
        }
    }

    fn clear(&mut self) {
        *self = Self::NEW;
    }

    fn check(&self, nodes: &impl Nodes<P, Self::Record>, len: usize) -> Result<(), Violation> {
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
        let shape = bst::check::<P, Self::Record, _, B>(self.root, nodes, len, in_order);
        let expected = if CACHED { first } else { None };
        match shape {
            // The head can only be verified once all links are right.
            Ok(()) if self.head != expected => Err(Violation::Head),
            shape => shape,
        }
    }
}

impl<P: Handle, B: Balance, const CACHED: bool> Ordered<P> for TimerTree<P, B, CACHED> {
    #[inline]
    fn next(&self, nodes: &impl Nodes<P, Self::Record>, p: P) -> Option<P> {
        bst::next(nodes, p)
    }
}

#[cfg(all(test, feature = "alloc"))]
pub(super) mod tests;
