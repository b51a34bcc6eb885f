//! `FlatQueue` and `BoundedFlat`: a sorted array that grows, or that has a fixed size and is part
//! of the queue.

mod cells;
#[cfg(all(test, feature = "alloc"))]
mod tests;

#[cfg(feature = "alloc")]
pub(super) use cells::Growing;
use cells::{Cell, Cells, Inline};

use crate::contract::{Exact, HeadChange, Order, Reject, Tick, Violation};
use crate::layout::Together;
use crate::structure::{Discipline, Due, Family, Handle, Ordered, Record, Shape, View};

/// The growing sorted array, as the type argument of a queue.
///
/// A sorted array: the expiries of all timers are adjacent in memory, and the earliest expiry is at
/// the end.
///
/// # Choose when
/// - at most about sixty timers are pending: with so few timers, no other structure of this crate
///   is as fast;
/// - the worst case of peek, second and pop must be constant.
///
/// # Avoid when
/// - hundreds of timers can be pending: an insert moves half of their cells on average.
///
/// # Layout
/// ```text
///   cells  [ 97 | 40 | 12 | 12 | 10 ]    insert(30): behind 40, the cells after it move by one
///                                 ^
///                                 head: taken off the end
/// ```
/// No cell points to another cell: a search reads one cache line per four timers, and a pop reads
/// one cache line.
///
/// # Costs
/// | operation | worst | usual | cache lines |
/// |---|---|---|---|
/// | insert | O(n) | moves half of the cells | n / 4 read and written in sequence, the record |
/// | remove | O(n) | as insert | as insert |
/// | reschedule | O(n) | moves the cells in between | as insert |
/// | peek, second, next_expiry, next_wake | O(1) | O(1) | 1 |
/// | pop | O(1) | O(1) | 1 |
/// | pop_and_reinsert | O(n) | as insert | as insert |
/// | advance, k expired | O(k) | O(k) | 1 per four timers |
///
/// With up to eight timers, an insert or a move reads and writes all cells, without a branch. With
/// up to 64 timers it walks from the head to the new cell. With more than 64 timers it searches in
/// O(log n) and moves a block. With up to eight timers, a removal reads all cells. With more timers
/// it searches for the tick, and then scans the timers of that tick. A timer takes 24 bytes plus
/// its slot (8 for a `u32`) in a slab, and 40 bytes over hooks (32 on 32-bit targets), counting
/// both its node and its cell. [`FlatQueue`] grows; [`BoundedFlat`] has a fixed number of cells and
/// needs no allocator.
///
/// # Invariants
/// 1. Each pending node is in exactly one cell, and the number of cells in use is the number of
///    pending timers ([`Violation::Count`]).
/// 2. Expiries never increase from cell to cell ([`Violation::Order`]). Timers of equal expiry are
///    in the reverse order of their arrival, because an insert writes the new cell before the cells
///    with the same expiry.
/// 3. A cell and the record of its node hold the same expiry ([`Violation::Position`]).
///
/// # References
/// Knuth, TAOCP 3, 5.2.1 (insertion into a sorted table) and 6.2.1 (binary search); Bentley,
/// "Programming Pearls", CACM 1985 (short arrays versus short lists).
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
pub struct FlatQueue;

#[cfg(feature = "alloc")]
impl Exact for FlatQueue {}

#[cfg(feature = "alloc")]
impl Family for FlatQueue {
    type Of<P: Handle> = Flat<Growing<P>>;
    type Layout = Together;
    const ID: &'static str = "flat";
    const SHAPE: Shape = Shape::List;
}

/// The sorted array of at most `CAP` timers, in the queue itself. The array never allocates, and a
/// constant expression can create it.
///
/// A queue that [`HookQueue::new`](crate::HookQueue::new) creates is all zeros, so a static queue
/// lies in `.bss` and takes no flash.
///
/// ```
/// use tickwright_core::{BoundedFlat, HookQueue, Reject, Timer};
///
/// static TIMERS: [Timer<BoundedFlat<2>, u8>; 3] = [Timer::new(0), Timer::new(1), Timer::new(2)];
///
/// let mut queue: HookQueue<'static, BoundedFlat<2>, u8> = const { HookQueue::new() };
/// queue.insert(10, &TIMERS[0])?;
/// queue.insert(5, &TIMERS[1])?;
/// assert_eq!(queue.insert(1, &TIMERS[2]).unwrap_err().reason, Reject::Full);
/// assert_eq!(queue.pop_expired(10).map(|t| t.value.payload), Some(1));
/// # Ok::<(), tickwright_core::Rejected<&'static Timer<BoundedFlat<2>, u8>>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BoundedFlat<const CAP: usize>;

impl<const CAP: usize> Exact for BoundedFlat<CAP> {}

impl<const CAP: usize> Family for BoundedFlat<CAP> {
    type Of<P: Handle> = Flat<Inline<P, CAP>>;
    type Layout = Together;
    const ID: &'static str = "flat-bounded";
    const SHAPE: Shape = Shape::List;
}

/// The record of a node in the array.
#[derive(Debug)]
pub struct FlatRecord {
    /// The tick at which the timer is due. In a free slot of a slab, the number of the next free
    /// slot.
    expiry: Tick,
}

impl<P: Handle> Record<P> for FlatRecord {
    const IDLE: Self = Self { expiry: 0 };

    #[inline]
    fn vacant(next: Option<P>) -> Self {
        Self { expiry: next.map_or(0, Handle::number).into() }
    }

    #[inline]
    fn next_vacant(&self) -> Option<P> {
        P::from_number(self.expiry as u32)
    }
}

/// The sorted array in the memory `C`.
#[derive(Debug)]
pub struct Flat<C> {
    cells: C,
}

impl<C> Flat<C> {
    /// Returns the index of the cell of `p`, which must be linked and due at `expiry`.
    #[inline]
    fn find<P: Handle>(&self, expiry: Tick, p: P) -> usize
    where
        C: Cells<P>,
    {
        self.cells.find(expiry, p)
    }

    #[inline]
    fn last<P: Handle>(&self) -> Option<Cell<P>>
    where
        C: Cells<P>,
    {
        self.cells.get(self.cells.len().wrapping_sub(1))
    }

    #[inline(always)]
    fn link<P: Handle>(&mut self, expiry: Tick, p: P) -> bool
    where
        C: Cells<P>,
    {
        let at = self.cells.insert_sorted(Cell { expiry, node: p });
        at + 1 == self.cells.len()
    }

    #[inline]
    fn unlink<P: Handle>(&mut self, expiry: Tick, p: P) -> bool
    where
        C: Cells<P>,
    {
        let at = self.find(expiry, p);
        if at < self.cells.len() {
            self.cells.remove(at);
        }
        at == self.cells.len()
    }
}

// SAFETY: the promises of `Discipline`, 1. handles come from `insert` and stay in cells in use only
// while they are linked; 2. `unlink` and `pop` remove the only cell that names the node, `replace`
// names it once again, records hold no handles while linked, and `clear` empties all cells. 3. No
// user code is called at all. 4. The array holds handles and ticks only, in `Cells` whose cells
// nobody else can create or read.
unsafe impl<P: Handle, C: Cells<P>> Discipline<P> for Flat<C> {
    type Record = FlatRecord;
    const NEW: Self = Self { cells: C::NEW };
    const ORDER: Order = Order::Exact;
    const VISITS_IN_ORDER: bool = true;

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        self.cells.reserve(len, additional)
    }

    #[inline(always)]
    fn insert(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let expiry = deadline.max(now);
        nodes.record_mut(p).expiry = expiry;
        HeadChange::when(self.link(expiry, p))
    }

    #[inline]
    fn remove(&mut self, nodes: &mut impl View<P, Self>, p: P) -> HeadChange {
        HeadChange::when(self.unlink(nodes.record(p).expiry, p))
    }

    #[inline]
    fn reschedule(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let expiry = deadline.max(now);
        let record = nodes.record_mut(p);
        let from = self.find(record.expiry, p);
        record.expiry = expiry;
        let to = self.cells.replace(from, Cell { expiry, node: p });
        let last = self.cells.len() - 1;
        HeadChange::when(from == last || to == last)
    }

    #[inline]
    fn head(&self, _: &impl View<P, Self>) -> Option<P> {
        self.last().map(|cell| cell.node)
    }

    // A pop takes the head without a search, whereas a removal would search for a node among the
    // timers of its tick.
    fn take_any(&mut self, _: &mut impl View<P, Self>) -> Option<P> {
        let Cell { node, .. } = self.last()?;
        self.cells.remove(self.cells.len() - 1);
        Some(node)
    }

    #[inline]
    fn second(&self, _: &impl View<P, Self>) -> Option<P> {
        self.cells.get(self.cells.len().wrapping_sub(2)).map(|cell| cell.node)
    }

    #[inline]
    fn upcoming(&self, k: usize) -> Option<P> {
        self.cells.get(self.cells.len().checked_sub(k)?.wrapping_sub(1)).map(|cell| cell.node)
    }

    #[inline]
    fn expiry(&self, nodes: &impl View<P, Self>, p: P) -> Tick {
        nodes.record(p).expiry
    }

    #[inline]
    fn next_expiry(&self, _: &impl View<P, Self>) -> Option<Tick> {
        self.last().map(|cell: Cell<P>| cell.expiry)
    }

    #[inline]
    fn is_quiet(&self, nodes: &impl View<P, Self>, now: Tick) -> bool {
        self.next_expiry(nodes).is_none_or(|expiry| expiry > now)
    }

    #[inline]
    fn due(&mut self, _: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        let Cell { expiry, node: handle } = self.last()?;
        if *budget == 0 || expiry > now {
            return None;
        }
        Some(Due { handle, deadline: expiry, expiry })
    }

    #[inline]
    fn rearm_due(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) {
        let expiry = deadline.max(now);
        nodes.record_mut(p).expiry = expiry;
        self.cells.replace_last(Cell { expiry, node: p });
    }

    #[inline]
    fn pop(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        let due = self.due(nodes, now, budget)?;
        self.cells.remove(self.cells.len() - 1);
        Some(due)
    }

    fn for_each(&self, _: &impl View<P, Self>, mut visit: impl FnMut(P)) {
        (0..self.cells.len()).rev().filter_map(|at| self.cells.get(at)).for_each(|cell| visit(cell.node));
    }

    fn clear(&mut self) {
        self.cells.clear();
    }

    fn heap_bytes(&self) -> usize {
        self.cells.heap_bytes()
    }

    fn check(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation> {
        if self.cells.len() != len {
            return Err(Violation::Count);
        }
        let mut before = Tick::MAX;
        for at in 0..len {
            let cell: Cell<P> = self.cells.get(at).ok_or(Violation::Count)?;
            if cell.expiry > before {
                return Err(Violation::Order);
            }
            if nodes.record(cell.node).expiry != cell.expiry {
                return Err(Violation::Position);
            }
            before = cell.expiry;
        }
        Ok(())
    }
}

impl<P: Handle, C: Cells<P>> Ordered<P> for Flat<C> {
    fn next(&self, nodes: &impl View<P, Self>, p: P) -> Option<P> {
        let at = self.find(nodes.record(p).expiry, p);
        self.cells.get(at.wrapping_sub(1)).map(|cell| cell.node)
    }

    // Overridden, because the default calls `next`, which would search for each timer among the
    // timers of the same tick.
    fn in_order<'q>(&'q self, _: &'q impl View<P, Self>) -> impl Iterator<Item = P> + 'q
    where
        P: 'q,
    {
        (0..self.cells.len()).rev().filter_map(|at| self.cells.get(at)).map(|cell| cell.node)
    }
}
