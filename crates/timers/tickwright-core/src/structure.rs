//! The interface between an algorithm and its memory.
//!
//! A **family** (sorted list, heap, tree, wheel, ...) is written once, as a [`Discipline`] over
//! handles `P` and over records that [`Nodes`] looks up. A [`Queue`](crate::Queue) combines it with
//! a [`Store`](crate::storage::Store), which has the memory. Crates with other needs combine a
//! family with memory of their own: `tickwright` for threads, `tickwright-mcu` for tasks.
//!
//! ```text
//!   SlabQueue<F, T>                        HookQueue<'a, F, T>
//!   nodes: [record|record|record|...]      caller's struct { .. Timer { hook, payload } .. }
//!   slots: [gen,T |gen,T |free  |...]        hook: { record, owner }    ^
//!   P = Idx (u32, never 0)                   P = HookPtr ---------------/  (without T)
//! ```
//!
//! Algorithms never see payloads, so a family is compiled once for hooks, and once for slabs unless
//! its [layout](crate::storage::Layout) puts payloads beside records.

pub use tickwright_nodes::{Handle, Nodes, Record};

#[cfg(feature = "alloc")]
use alloc::{collections::TryReserveError, vec::Vec};
use core::iter;

use crate::contract::{HeadChange, Order, Reject, Tick, Violation};
use crate::explain::{Explanation, Whereabouts};

/// Returns all `len` linked nodes in the order in which they leave. Changes nothing. O(n) where the
/// structure's visits are in order, otherwise O(n log n). It allocates 24 bytes per node.
#[cfg(feature = "alloc")]
pub(crate) fn sorted<P: Handle, D: Discipline<P>, N: Nodes<P, D::Record>>(
    discipline: &D,
    nodes: &N,
    len: usize,
) -> Result<impl Iterator<Item = P> + use<P, D, N>, TryReserveError> {
    let mut all = Vec::new();
    all.try_reserve_exact(len)?;
    let mut visited = 0;
    discipline.for_each(nodes, |p| {
        all.push((discipline.expiry(nodes, p), discipline.rank(nodes, p, visited), p));
        visited += 1;
    });
    if !D::VISITS_IN_ORDER {
        all.sort_unstable_by_key(|&(expiry, rank, _)| (expiry, rank));
    }
    Ok(all.into_iter().map(|(_, _, p)| p))
}

/// The nodes as the structure `D` sees them: a short name for [`Nodes<P, D::Record>`](Nodes). Every
/// type with that trait has this trait.
pub trait View<P: Handle, D: Discipline<P>>: Nodes<P, D::Record> {}

impl<P: Handle, D: Discipline<P>, N: Nodes<P, D::Record>> View<P, D> for N {}

/// A timer-queue algorithm over records that it does not own.
///
/// A queue keeps `now`, `len` and the payloads; a discipline keeps the order. Only the methods
/// that need `now` receive it. Its value is the greatest `now` that the queue has seen.
///
/// # Safety
/// A wrong discipline panics over a slab, but over hooks, which are reached by pointers, it leads
/// to dangling pointers. An implementation promises:
/// 1. each handle that it passes to `Nodes` or returns was passed to `insert` and has not been
///    taken out since. If handles are [numbers](Handle::NUMBERED), it may also ask for the record
///    of a handle that was taken out, because such a storage keeps all records;
/// 2. after [`remove`](Self::remove) or [`pop`](Self::pop) returned `p`, and after
///    [`clear`](Self::clear), neither `self` nor the record of a node that is still linked holds
///    `p`;
/// 3. between its first and its last link write, only its own code and the accessors of `Nodes` and
///    `Record` run, and none of this code panics while the structure is whole;
/// 4. everything that it and its records hold, except handles, is `Send` and `Sync`: no `Cell`, no
///    pointer of its own.
pub unsafe trait Discipline<P: Handle>: Sized {
    /// The record that the discipline keeps for each node.
    type Record: Record<P>;

    /// An empty queue. It is a constant, so that queues can be statics.
    const NEW: Self;

    /// What the discipline promises about order and lateness.
    const ORDER: Order;

    /// Whether [`due`](Self::due) and [`pop`](Self::pop) ever move nodes inside the structure, at
    /// the cost of the budget. If not, an advance returns `moved: 0`.
    const MOVES: bool = false;

    /// Makes room for `additional` more nodes beyond `len`, so that the next `additional` inserts
    /// cannot fail.
    ///
    /// # Errors
    /// [`Reject::Full`] when the discipline is bounded and full, or gets no memory; nothing has
    /// changed then.
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        let _ = (len, additional);
        Ok(())
    }

    /// Links `p`, which must be in no queue, with expiry `max(deadline, now)`, after its equals.
    /// Room was reserved. A family whose `next_wake` is exact reports a change exactly when another
    /// timer becomes the first or the first timer's expiry changes. The same holds for `remove` and
    /// `reschedule`.
    fn insert(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange;

    /// Unlinks the linked `p`.
    fn remove(&mut self, nodes: &mut impl View<P, Self>, p: P) -> HeadChange;

    /// Moves the linked `p` to expiry `max(deadline, now)`, after its equals.
    fn reschedule(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let removed = self.remove(nodes, p);
        let inserted = self.insert(nodes, p, deadline, now);
        HeadChange::when(removed.is_changed() || inserted.is_changed())
    }

    /// Returns the node that leaves first.
    fn head(&self, nodes: &impl View<P, Self>) -> Option<P>;

    /// Returns the node that leaves after the head.
    fn second(&self, nodes: &impl View<P, Self>) -> Option<P>;

    /// Returns some linked node, if there is one: the node that is the cheapest to find.
    fn any(&self, nodes: &impl View<P, Self>) -> Option<P> {
        self.head(nodes)
    }

    /// Unlinks and returns [`any`](Self::any) node. A queue calls it to remove all nodes one by
    /// one.
    fn take_any(&mut self, nodes: &mut impl View<P, Self>) -> Option<P> {
        let p = self.any(nodes)?;
        let _ = self.remove(nodes, p);
        Some(p)
    }

    /// Returns a linked node that leaves about `k` nodes after the head, so that the caller can
    /// prefetch memory that belongs to the node. Returns `None` if there is no such node, or if
    /// only a search would find it. The result is a hint: the node might leave much earlier or
    /// later. O(1); it reads no record.
    #[inline]
    fn upcoming(&self, k: usize) -> Option<P> {
        let _ = k;
        None
    }

    /// Returns the tick at which the linked `p` is due in this structure.
    fn expiry(&self, nodes: &impl View<P, Self>, p: P) -> Tick;

    /// `max(deadline, now)` of the last insert or reschedule of the linked `p`.
    fn deadline(&self, nodes: &impl View<P, Self>, p: P) -> Tick {
        self.expiry(nodes, p)
    }

    /// Returns the exact expiry of the head.
    fn next_expiry(&self, nodes: &impl View<P, Self>) -> Option<Tick> {
        self.head(nodes).map(|p| self.expiry(nodes, p))
    }

    /// Returns a lower bound of [`next_expiry`](Self::next_expiry), later than `now` after a
    /// complete advance.
    fn next_wake(&self, nodes: &impl View<P, Self>) -> Option<Tick> {
        self.next_expiry(nodes)
    }

    /// Returns the head if it is due at `now`; the head stays linked. Moves the nodes inside the
    /// structure that must move before the head is at the front. Each such node costs one unit of
    /// `budget`. When `budget` is used up, it moves and returns nothing. If it returns nothing and
    /// leaves some budget, nothing is due, and [`next_wake`](Self::next_wake) is later than `now`.
    fn due(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        if *budget == 0 {
            return None;
        }
        let handle = self.head(nodes)?;
        let expiry = self.expiry(nodes, handle);
        if expiry > now {
            return None;
        }
        Some(Due { handle, deadline: self.deadline(nodes, handle), expiry })
    }

    /// Moves `p` to expiry `max(deadline, now)`, after its equals, as
    /// [`reschedule`](Self::reschedule) does. [`due`](Self::due) has just returned `p` for the same
    /// `now`, and nothing has changed since.
    fn rearm_due(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) {
        let _ = self.reschedule(nodes, p, deadline, now);
    }

    /// Returns whether [`pop`](Self::pop) at `now` certainly finds nothing to return or to move.
    /// Returns `false` if a few instructions cannot decide that.
    #[inline]
    fn is_quiet(&self, nodes: &impl View<P, Self>, now: Tick) -> bool {
        let _ = (nodes, now);
        false
    }

    /// Unlinks and returns the head if it is due at `now`, with its deadline and expiry. As in
    /// [`due`](Self::due), moves cost `budget`, and nothing is returned when `budget` is used up.
    /// The returned node itself costs nothing.
    fn pop(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        let due = self.due(nodes, now, budget)?;
        let _ = self.remove(nodes, due.handle);
        Some(due)
    }

    /// Returns where the linked `p` stands and when it moves next, for human readers. Changes
    /// nothing; O(1).
    fn explain(&self, nodes: &impl View<P, Self>, p: P) -> Explanation {
        Explanation::new(self.deadline(nodes, p), self.expiry(nodes, p), Whereabouts::InOrder)
    }

    /// Whether [`for_each`](Self::for_each) visits the nodes in the order in which they leave.
    const VISITS_IN_ORDER: bool = false;

    /// Calls `visit` for each linked node. The order of the visits can be any, but see
    /// [`rank`](Self::rank).
    fn for_each(&self, nodes: &impl View<P, Self>, visit: impl FnMut(P));

    /// Returns a number that orders the linked `p` among the nodes with its expiry: the node with
    /// the lowest rank leaves first. `visited` is the number of nodes that
    /// [`for_each`](Self::for_each) has visited before `p`. The default rank is `visited`, for
    /// structures whose visits are in the order of arrival among equals. O(1).
    fn rank(&self, nodes: &impl View<P, Self>, p: P, visited: u64) -> u64 {
        let _ = (nodes, p);
        visited
    }

    /// For tests of renumbering: an empty family that numbers arrivals gives the next arrival this
    /// number. Other families do nothing.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    fn start_sequence_at(&mut self, next: u32) {
        let _ = next;
    }

    /// Removes every node without visiting one; keeps memory.
    fn clear(&mut self);

    /// Returns the number of bytes that the discipline itself has allocated.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Verifies every invariant over the `len` nodes that the queue counts as linked. It also
    /// terminates on a structure with a cycle.
    ///
    /// # Errors
    /// The first violation found.
    fn check(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation>;
}

/// A node that is due: [`Discipline::due`] leaves it linked, [`Discipline::pop`] unlinks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due<P> {
    /// The node.
    pub handle: P,
    /// The node's [`Discipline::deadline`].
    pub deadline: Tick,
    /// The node's [`Discipline::expiry`].
    pub expiry: Tick,
}

/// A discipline whose links can be walked in delivery order.
pub trait Ordered<P: Handle>: Discipline<P> {
    /// Returns the node that leaves after the linked `p`.
    fn next(&self, nodes: &impl View<P, Self>, p: P) -> Option<P>;

    /// Iterates over the linked nodes in the order in which they leave. O(n) for all of them.
    fn in_order<'q>(&'q self, nodes: &'q impl View<P, Self>) -> impl Iterator<Item = P> + 'q
    where
        P: 'q,
    {
        iter::successors(self.head(nodes), |&p| self.next(nodes, p))
    }
}

/// A structure, independent of the kind of handle: the type argument of all queues.
pub trait Family: 'static {
    /// The structure over handles of type `P`.
    type Of<P: Handle>: Discipline<P>;

    /// How a slab lays out its records and payloads.
    type Layout: crate::layout::Layout;

    /// The structure's name in the lab: `list`, `heap4`, `rb-cached`, ...
    const ID: &'static str;

    /// How the structure keeps its order, which determines how its costs grow.
    const SHAPE: Shape;

    /// The default tick of a service with this structure, in nanoseconds. A wheel has a longer
    /// default tick, for which its levels are made.
    const DEFAULT_TICK_NS: u64 = 1;
}

/// How a structure keeps its order. Other structures of the same shape are the fairest comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A chain in order of expiry. An insert walks the chain, in O(n), so benchmarks use it with
    /// few timers only.
    List,
    /// Parents precede their children, in an array or by links.
    Heap,
    /// A search tree.
    Tree,
    /// Buckets by time.
    Wheel,
}
