//! The interface between an algorithm and its memory.
//!
//! A **family** (sorted list, heap, tree, wheel, ...) is written once, as a [`Discipline`] over
//! handles of type `P` and over records, which it reads and writes through [`Nodes`]. A
//! [`Queue`](crate::Queue) combines a family with a [`Store`](crate::storage::Store), which has the
//! memory. Two other crates combine a family with their own memory: `tickwright` for threads, and
//! `tickwright-mcu` for tasks.
//!
//! ```text
//!   SlabQueue<F, T>                        HookQueue<'a, F, T>
//!   nodes: [record|record|record|...]      caller's struct { .. Timer { hook, payload } .. }
//!   slots: [gen,T |gen,T |free  |...]        hook: { record, owner }    ^
//!   P = Idx (u32, never 0)                   P = HookPtr ---------------/  (without T)
//! ```
//!
//! Algorithms never access payloads. A family is therefore compiled once for all hook queues, and
//! once for all slab queues unless its [layout](crate::storage::Layout) stores payloads next to
//! records.

pub use tickwright_nodes::{Handle, Nodes, Record};

#[cfg(feature = "alloc")]
use alloc::{collections::TryReserveError, vec::Vec};
use core::iter;

use crate::contract::{HeadChange, Order, Reject, Tick, Violation};
use crate::explain::{Explanation, Whereabouts};

/// Returns all `len` linked nodes in the order in which they leave. Changes nothing. The call takes
/// O(n) if the structure visits its nodes in order, otherwise O(n log n), and allocates 24 bytes
/// per node.
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

/// The nodes as the structure `D` accesses them. The trait is a short name for
/// [`Nodes<P, D::Record>`](Nodes): every type that implements `Nodes` in this form also implements
/// `View`.
pub trait View<P: Handle, D: Discipline<P>>: Nodes<P, D::Record> {}

impl<P: Handle, D: Discipline<P>, N: Nodes<P, D::Record>> View<P, D> for N {}

/// A timer-queue algorithm over records that it does not own.
///
/// A queue stores `now`, `len` and the payloads, and a discipline stores the order of the nodes.
/// The methods that need `now` receive it as an argument, which is the greatest `now` ever passed
/// to the queue.
///
/// # Safety
/// A wrong discipline over a slab only panics. Over hooks, which are reached by pointers, a wrong
/// discipline leads to dangling pointers. An implementation promises:
/// 1. each handle that it passes to `Nodes` or returns was passed to `insert` and has not been
///    removed since. If handles are [numbers](Handle::NUMBERED), it is also allowed to pass a
///    removed handle to `Nodes`, because a storage with numbered handles retains all records;
/// 2. after [`remove`](Self::remove) or [`pop`](Self::pop) has unlinked `p`, and after
///    [`clear`](Self::clear), neither `self` nor the record of a node that is still linked holds
///    `p`;
/// 3. between the first and the last link write of an operation, only its own code and the
///    accessors of `Nodes` and `Record` run, and none of this code panics unless the structure's
///    invariants are already violated;
/// 4. everything that the implementation and its records hold, except handles, is `Send` and
///    `Sync`, so they hold no `Cell` and no other pointer.
pub unsafe trait Discipline<P: Handle>: Sized {
    /// The record that the discipline has for each node.
    type Record: Record<P>;

    /// The discipline without nodes. This value is a constant, so that queues can be statics.
    const NEW: Self;

    /// What the discipline promises about the order and the lateness of deliveries.
    const ORDER: Order;

    /// Whether [`due`](Self::due) and [`pop`](Self::pop) ever move nodes inside the structure,
    /// where each move uses one unit of the budget. If `MOVES` is false, an advance always returns
    /// `moved: 0`.
    const MOVES: bool = false;

    /// Makes room for `additional` more nodes beyond `len`, so that the next `additional` inserts
    /// cannot fail.
    ///
    /// # Errors
    /// [`Reject::Full`] when the discipline is bounded and full, or when there is no memory. When
    /// this error is returned, nothing has changed.
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        let _ = (len, additional);
        Ok(())
    }

    /// Links `p` with expiry `max(deadline, now)`, after all nodes of equal expiry. `p` must not be
    /// in a queue, and the caller must have reserved room. If `next_wake` of a family is exact, the
    /// family reports a change if and only if another timer becomes the first timer or the first
    /// timer's expiry changes. The same rule holds for `remove` and `reschedule`.
    fn insert(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange;

    /// Unlinks `p`, which must be linked.
    fn remove(&mut self, nodes: &mut impl View<P, Self>, p: P) -> HeadChange;

    /// Changes the expiry of the linked node `p` to `max(deadline, now)`, and moves `p` after all
    /// nodes of equal expiry.
    fn reschedule(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let removed = self.remove(nodes, p);
        let inserted = self.insert(nodes, p, deadline, now);
        HeadChange::when(removed.is_changed() || inserted.is_changed())
    }

    /// Returns the node that leaves first.
    fn head(&self, nodes: &impl View<P, Self>) -> Option<P>;

    /// Returns the node that leaves after the head.
    fn second(&self, nodes: &impl View<P, Self>) -> Option<P>;

    /// Returns any linked node, if there is one. Structures return the node that is cheapest to
    /// find.
    fn any(&self, nodes: &impl View<P, Self>) -> Option<P> {
        self.head(nodes)
    }

    /// Unlinks and returns the node that [`any`](Self::any) returns. A queue calls this function to
    /// remove all nodes one by one.
    fn take_any(&mut self, nodes: &mut impl View<P, Self>) -> Option<P> {
        let p = self.any(nodes)?;
        let _ = self.remove(nodes, p);
        Some(p)
    }

    /// Returns a linked node that leaves about `k` nodes after the head, so that the caller can
    /// prefetch memory that belongs to the node. Returns `None` if there is no such node, or if the
    /// structure would have to search for it. The result is a hint: the node might leave much
    /// earlier or later. O(1); it reads no record.
    #[inline]
    fn upcoming(&self, k: usize) -> Option<P> {
        let _ = k;
        None
    }

    /// Returns the tick at which the linked node `p` is due in this structure.
    fn expiry(&self, nodes: &impl View<P, Self>, p: P) -> Tick;

    /// Returns `max(deadline, now)` of the last insert or reschedule of the linked node `p`.
    fn deadline(&self, nodes: &impl View<P, Self>, p: P) -> Tick {
        self.expiry(nodes, p)
    }

    /// Returns the exact expiry of the head.
    fn next_expiry(&self, nodes: &impl View<P, Self>) -> Option<Tick> {
        self.head(nodes).map(|p| self.expiry(nodes, p))
    }

    /// Returns a lower bound of [`next_expiry`](Self::next_expiry). After a complete advance it is
    /// later than `now`.
    fn next_wake(&self, nodes: &impl View<P, Self>) -> Option<Tick> {
        self.next_expiry(nodes)
    }

    /// Returns the head if it is due at `now`; the head stays linked. To find the head, the call
    /// might have to move nodes inside the structure; each move uses one unit of `budget`. When
    /// `budget` is used up, the call stops moving nodes and returns `None`. If the call returns
    /// `None` although `budget` is not used up, nothing is due, and [`next_wake`](Self::next_wake)
    /// is later than `now`.
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

    /// Does what [`reschedule`](Self::reschedule) does for a node `p` that [`due`](Self::due) has
    /// just returned for the same `now`. The caller must not have changed anything since that call.
    fn rearm_due(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) {
        let _ = self.reschedule(nodes, p, deadline, now);
    }

    /// Returns `true` if [`pop`](Self::pop) at `now` would certainly return `None` and move
    /// nothing. Returns `false` if a few instructions are not enough to know this.
    #[inline]
    fn is_quiet(&self, nodes: &impl View<P, Self>, now: Tick) -> bool {
        let _ = (nodes, now);
        false
    }

    /// Unlinks and returns the head if it is due at `now`, with its deadline and expiry. As in
    /// [`due`](Self::due), each move uses one unit of `budget`, and when `budget` is used up it
    /// returns `None`. Returning a node uses no budget.
    fn pop(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        let due = self.due(nodes, now, budget)?;
        let _ = self.remove(nodes, due.handle);
        Some(due)
    }

    /// Returns where the linked node `p` is and when it moves next, for human readers. Changes
    /// nothing; O(1).
    fn explain(&self, nodes: &impl View<P, Self>, p: P) -> Explanation {
        Explanation::new(self.deadline(nodes, p), self.expiry(nodes, p), Whereabouts::InOrder)
    }

    /// Whether [`for_each`](Self::for_each) visits the nodes in the order in which they leave.
    const VISITS_IN_ORDER: bool = false;

    /// Calls `visit` for each linked node. The order of the visits is free, but
    /// [`rank`](Self::rank) must match it.
    fn for_each(&self, nodes: &impl View<P, Self>, visit: impl FnMut(P));

    /// Returns the rank of the linked node `p` among the nodes with the same expiry: the node with
    /// the lowest rank leaves first. `visited` is the number of nodes that
    /// [`for_each`](Self::for_each) has visited before `p`. The default rank is `visited`, which is
    /// right if `for_each` visits nodes of equal expiry in the order of their arrival. O(1).
    fn rank(&self, nodes: &impl View<P, Self>, p: P, visited: u64) -> u64 {
        let _ = (nodes, p);
        visited
    }

    /// For tests of renumbering: sets the arrival number of the next node. The structure must be
    /// empty. Families that do not number arrivals do nothing.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    fn start_sequence_at(&mut self, next: u32) {
        let _ = next;
    }

    /// Removes every node without visiting any node, and frees no memory.
    fn clear(&mut self);

    /// Returns the number of bytes that the discipline itself has allocated.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Verifies every invariant over the `len` nodes that the queue counts as linked. The function
    /// also terminates if the structure's links form a cycle.
    ///
    /// # Errors
    /// The first violation found.
    fn check(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation>;
}

/// A node that is due. [`Discipline::due`] returns it still linked, and [`Discipline::pop`] returns
/// it unlinked.
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
    /// Returns the node that leaves after the linked node `p`.
    fn next(&self, nodes: &impl View<P, Self>, p: P) -> Option<P>;

    /// Iterates over the linked nodes in the order in which they leave. A complete iteration takes
    /// O(n).
    fn in_order<'q>(&'q self, nodes: &'q impl View<P, Self>) -> impl Iterator<Item = P> + 'q
    where
        P: 'q,
    {
        iter::successors(self.head(nodes), |&p| self.next(nodes, p))
    }
}

/// A structure, independent of the kind of handle. A family is the type argument of a queue.
pub trait Family: 'static {
    /// The structure over handles of type `P`.
    type Of<P: Handle>: Discipline<P>;

    /// How a slab lays out its records and payloads.
    type Layout: crate::layout::Layout;

    /// The structure's name in the lab: `list`, `heap4`, `rb-cached`, ...
    const ID: &'static str;

    /// How the structure keeps its nodes in order, which determines how its costs grow.
    const SHAPE: Shape;

    /// The default length of a tick, in nanoseconds, in a service that uses this structure. Wheels
    /// have longer default ticks, for which their levels are designed.
    const DEFAULT_TICK_NS: u64 = 1;
}

/// How a structure keeps its nodes in order. The fairest comparison is between structures of the
/// same shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A chain in order of expiry. An insert walks the chain, which takes O(n), so benchmarks use
    /// this shape only with few timers.
    List,
    /// A heap: parents precede their children, in an array or by links.
    Heap,
    /// A search tree.
    Tree,
    /// Buckets that each cover a range of ticks.
    Wheel,
}
