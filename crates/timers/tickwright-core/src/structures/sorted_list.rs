//! `SortedList`: a doubly linked list in order of expiry.

use crate::contract::{Exact, HeadChange, Order, Tick, Violation};
use crate::layout::Apart;
use crate::structure::{Discipline, Family, Handle, Ordered, Record, Shape, View};

/// The sorted list, as the type argument of a queue.
///
/// A doubly linked list in order of expiry; an insert scans from the tail.
///
/// # Choose when
/// - at most about ten timers are pending, or nearly all timers have the same delay, so that new
///   timers belong at the tail;
/// - the worst case of peek, second, remove and pop must be constant.
///
/// # Avoid when
/// - many timers with random deadlines are pending: an insert scans half of the list on average;
/// - an adversary can choose the deadlines: if each deadline is earlier than the previous deadline,
///   every insert scans the whole list.
///
/// # Layout
/// ```text
///   head                                tail
///    |                                   |
///    v                                   v
///  [10] <-> [12] <-> [12] <-> [40] <-> [97]  insert(30): tail 97 > 30, 40 > 30, 12: link behind it
/// ```
///
/// # Costs
/// | operation | worst | usual | cache lines |
/// |---|---|---|---|
/// | insert | O(n) | O(1) if it is among the latest | one per node scanned, 3 written |
/// | remove | O(1) | O(1) | 3 |
/// | reschedule | O(n) | O(1) if it becomes one of the latest | as remove + insert |
/// | peek, second, next_expiry, next_wake | O(1) | O(1) | 1, 2 |
/// | pop | O(1) | O(1) | 2 |
/// | advance, k expired | O(k) | O(k) | 1 to 2 per timer |
///
/// A timer takes 16 bytes plus its slot (8 for a `u32`) in a slab, and 32 bytes over hooks (24 on
/// 32-bit targets). The links alone store the order of the nodes, so the list never allocates.
///
/// # Invariants
/// 1. A walk along `next` from `head` visits every pending node exactly once ([`Violation::Count`])
///    and ends at `tail` ([`Violation::Head`]).
/// 2. If a node has a `next`, the `prev` of that next node is the node itself. The head has no
///    `prev`, and the tail has no `next` ([`Violation::BackLink`]).
/// 3. Expiries never decrease along `next` ([`Violation::Order`]). Nodes of equal expiry are in the
///    order of their arrival, because an insert places the new node after all nodes that are not
///    later than the new node.
///
/// # References
/// Xenomai's `xntlist` (scans from the tail, and is the default for fewer than ten timers), the
/// kernel time-outs of HelenOS, and the delayed task lists of FreeRTOS. Varghese & Lauck, SOSP
/// 1987, scheme 2.
#[derive(Clone, Copy, Debug)]
pub struct SortedList;

impl Exact for SortedList {}

impl Family for SortedList {
    type Of<P: Handle> = List<P>;
    type Layout = Apart;
    const ID: &'static str = "list";
    const SHAPE: Shape = Shape::List;
}

/// The record of a node in the list.
#[derive(Debug)]
pub struct ListRecord<P> {
    expiry: Tick,
    next: Option<P>,
    prev: Option<P>,
}

impl<P: Handle> Record<P> for ListRecord<P> {
    const IDLE: Self = Self { expiry: 0, next: None, prev: None };

    fn vacant(next: Option<P>) -> Self {
        Self { next, ..Self::IDLE }
    }

    fn next_vacant(&self) -> Option<P> {
        self.next
    }
}

/// The sorted list over handles `P`.
#[derive(Debug)]
pub struct List<P> {
    head: Option<P>,
    tail: Option<P>,
}

impl<P: Handle> List<P> {
    /// Makes `left` and `right` neighbors. `None` as `left` makes `right` the head, and `None` as
    /// `right` makes `left` the tail.
    #[inline]
    fn join(&mut self, nodes: &mut impl View<P, Self>, left: Option<P>, right: Option<P>) {
        match left {
            Some(left) => nodes.record_mut(left).next = right,
            None => self.head = right,
        }
        match right {
            Some(right) => nodes.record_mut(right).prev = left,
            None => self.tail = left,
        }
    }
}

// SAFETY: the promises of `Discipline`:
// 1. handles come from `insert` and from links of nodes that are linked;
// 2. `remove` joins the neighbors (or head and tail) over the node; nothing else names the node.
//    `clear` forgets head and tail. 3. No user code is called at all. 4. The list holds handles and
//    ticks only.
unsafe impl<P: Handle> Discipline<P> for List<P> {
    type Record = ListRecord<P>;
    const NEW: Self = Self { head: None, tail: None };
    const ORDER: Order = Order::Exact;
    const VISITS_IN_ORDER: bool = true;

    #[inline]
    fn insert(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let expiry = deadline.max(now);
        let mut left = self.tail;
        let mut right = None;
        // Invariant: every node from `right` on is later than `expiry`.
        while let Some(at) = left {
            let record = nodes.record(at);
            if record.expiry <= expiry {
                break;
            }
            right = left;
            left = record.prev;
        }
        nodes.record_mut(p).expiry = expiry;
        self.join(nodes, left, Some(p));
        self.join(nodes, Some(p), right);
        HeadChange::when(left.is_none())
    }

    #[inline]
    fn remove(&mut self, nodes: &mut impl View<P, Self>, p: P) -> HeadChange {
        let &ListRecord { next, prev, .. } = nodes.record(p);
        self.join(nodes, prev, next);
        HeadChange::when(prev.is_none())
    }

    #[inline]
    fn head(&self, _: &impl View<P, Self>) -> Option<P> {
        self.head
    }

    #[inline]
    fn is_quiet(&self, nodes: &impl View<P, Self>, now: Tick) -> bool {
        self.head.is_none_or(|head| nodes.record(head).expiry > now)
    }

    #[inline]
    fn second(&self, nodes: &impl View<P, Self>) -> Option<P> {
        nodes.record(self.head?).next
    }

    #[inline]
    fn expiry(&self, nodes: &impl View<P, Self>, p: P) -> Tick {
        nodes.record(p).expiry
    }

    fn for_each(&self, nodes: &impl View<P, Self>, mut visit: impl FnMut(P)) {
        let mut next = self.head;
        while let Some(p) = next {
            visit(p);
            next = nodes.record(p).next;
        }
    }

    fn clear(&mut self) {
        *self = Self::NEW;
    }

    fn check(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation> {
        let mut left = None;
        let mut earliest = 0;
        let mut next = self.head;
        // Invariant: `left` is the last node visited so far. The visited nodes are in order, and
        // none of them is later than `earliest`.
        for _ in 0..len {
            let p = next.ok_or(Violation::Count)?;
            let record = nodes.record(p);
            if record.prev != left {
                return Err(Violation::BackLink);
            }
            if record.expiry < earliest {
                return Err(Violation::Order);
            }
            earliest = record.expiry;
            left = next;
            next = record.next;
        }
        if next.is_some() {
            return Err(Violation::Count);
        }
        if self.tail == left { Ok(()) } else { Err(Violation::Head) }
    }
}

impl<P: Handle> Ordered<P> for List<P> {
    fn next(&self, nodes: &impl View<P, Self>, p: P) -> Option<P> {
        nodes.record(p).next
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
