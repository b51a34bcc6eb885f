//! `DaryHeap`, `BoundedHeap` and `LentHeap`: the same heap in an array that grows, in the queue
//! itself, or in memory that the caller lends.

mod buffer;
mod check;
#[cfg(all(test, feature = "alloc"))]
mod mutants;
mod siblings;
mod sift;
#[cfg(all(test, feature = "alloc"))]
mod tests;

use crate::contract::{Exact, HeadChange, Order, Reject, Tick, Violation};
use crate::explain::{Explanation, Whereabouts};
use crate::layout::Apart;
use crate::queue::hook::{HookPtr, HookQueue};
use crate::structure::{Discipline, Due, Family, Handle, Nodes, Record, Shape};

// Only this crate implements `Buffer`, because the `unsafe impl` below relies on what buffers do.
#[cfg(feature = "alloc")]
pub(super) use buffer::Growing;
pub use buffer::{Arity, Degree, Group, MOST, groups_for};
pub(super) use buffer::{Buffer, Entry, key};
use buffer::{Inline, Lent};
use siblings::{earliest, pick};

/// The `D`-ary heap in an array that grows, as the type argument of a queue. `D` is 2 or 4.
///
/// A heap with `D` = 2 or 4 children per entry, in an array that grows, has a fixed size, or is
/// lent by the caller. Timers of equal expiry leave in the order of their arrival.
///
/// The array holds the expiries, so that finding the earliest of `D` siblings reads one cache line
/// and no node. A node holds only its position. An entry holds its expiry, and an arrival number
/// from a counter of 32 bits. A comparison treats expiry and arrival number as one number, without
/// a branch. When the counter is used up, all entries are sorted in place and numbered again.
/// Renumbering takes O(n log n) once every 2^32 inserts and reschedules, and allocates nothing.
///
/// With four children per entry, a pop leaves a hole at the root, and the next insert fills the
/// hole with one sift. Without the hole, pop and insert would take two sifts: one to fill the root
/// from the end of the array, and one to raise the new entry from there. While the root is a hole,
/// the head is the earliest child of the root. The next pop then fills the cell of that child from
/// the end of the array, so draining the queue visits the same groups as without a hole. With two
/// children per entry the structure is the textbook heap: a pop fills the root at once.
///
/// # Choose when
/// - deadlines are random or unknown, and most timers expire;
/// - memory is scarce, and the array is reserved in advance or bounded: in a slab a timer takes 28
///   bytes (in a tree 32), and over hooks 32 to 40 bytes (in a tree 48);
/// - the number of timers must have a strict bound: a queue in a static refuses timers when it is
///   full ([`BoundedHeap`], [`LentHeap`]).
///
/// # Avoid when
/// - a single slow call is not acceptable: an insert that grows the array copies it (unless you
///   reserve or use a bounded heap), and every 2^32nd insert or reschedule sorts it (every 72
///   minutes at a million calls per second);
/// - the heap must not access the nodes of other timers: each move of an entry writes the entry's
///   node;
/// - the program iterates over timers in the order of delivery: the array is not in that order.
///
/// # Layout
/// ```text
///   D = 4    group 0             group 1             group 2             group 3
///   cell     0    1    2    3    4    5    6    7    8    9    10   11   12   13   14   15
///          [ --   --   --   10 | 12   40   12   97 | 30   31   --   -- | ..
///                           |    |    |    |    |
///                         root   |    `----|----|--> children in group 3
///   children of c: group c - 2   |         `--> group 4   `--> group 5
///   parent of c:   c / 4 + 2     `--> children in group 2
///
///   entry    expiry: 8 bytes | arrival: 4 | node: 4 (slab) or a pointer (hook);
///            both numbers as their distance from the last
/// ```
/// With slab handles an entry takes 16 bytes. A group of four entries is one aligned cache line; a
/// group of two entries is half a line. For `D` = 2 the children of `c` are group `c`, and the
/// parent of `c` is `c / 2`. The children of four siblings are four adjacent groups. On x86-64, a
/// big growing heap prefetches these groups before the comparison selects a sibling.
///
/// # Costs
/// | operation | worst | usual | cache lines |
/// |---|---|---|---|
/// | insert | O(log n) | O(1) for random deadlines | a parent and a node per level it rises |
/// | insert into a hole | O(D log n) | O(D log n) | a group and a node per level it sinks |
/// | remove | O(D log n) | O(D), since most entries are leaves | a group and a node per level |
/// | reschedule | O(D log n) | O(1) to slightly later, O(D log n) for the head | as remove |
/// | peek, next_expiry, next_wake | O(D) | O(1), O(D) between a pop and the next insert | 1 |
/// | second | O(D) | O(D) | 2 |
/// | pop, `D` = 2 | O(D log n) | O(D log n) | a group and a node per level, log_2 n |
/// | pop, `D` = 4 | O(D log n) | O(1) if the root is filled, else O(D log n) | the same, log_4 n |
/// | pop_and_reinsert | O(D log n) | O(D log n), one sift | a group and a node per level |
/// | advance, k expired | O(k D log n) | the same | as k pops |
///
/// The last column counts the cache lines of the array and of the records; the storage also reads a
/// slot (slab) or an owner word (hooks). A timer takes 16 + 4 bytes plus its slot (8 for a `u32`)
/// in a slab; a test asserts the 28 bytes. A vector that doubles leaves up to half of the array
/// unused; `with_capacity` leaves nothing unused. Over hooks a timer takes 8 bytes in the node,
/// plus an entry in the array. On 64-bit targets the entry takes 32 bytes in the growing array (24
/// bytes and padding to whole lines), and also 32 bytes in the lent array. In the bounded array the
/// entry takes 24 bytes (slab: 16), and each queue takes the space of about two additional groups.
/// On 32-bit targets an entry takes 16 bytes in every kind of array, and groups are not aligned to
/// lines. On such a target, a queue with a bounded heap of 20 timers takes 488 bytes. Insert,
/// remove and pop never allocate after `reserve`; bounded heaps never allocate at all. `clear` is
/// O(1), or O(n) in a bounded heap. An insert is O(n) when the array grows.
///
/// # Invariants
/// 1. The array has one entry for each pending timer, and each entry names a node. The groups in
///    use are exactly those that hold entries ([`Violation::Count`]).
/// 2. No entry is earlier than its parent in the order of (expiry, arrival)
///    ([`Violation::HeapOrder`]). Only the root can be a hole, and only with four children per
///    entry and while a timer is pending ([`Violation::Head`]).
/// 3. An entry's node names the entry's cell ([`Violation::Position`]).
/// 4. Arrivals are unique and below the counter ([`Violation::Sequence`]). `check` verifies that
///    each number is below the counter, and that a child's number differs from its parent's. To
///    compare all pairs, `check` would have to sort the entries, and a sort needs memory or a
///    writable heap.
/// 5. Every other cell is empty. An empty cell is all zeros, which stands for the latest expiry,
///    the last sequence number and no node ([`Violation::UnusedCell`]). No entry ever has that
///    sequence number, so an empty cell never precedes an entry, and a search can read whole groups
///    without a bound.
///
/// # References
/// Williams, "Algorithm 232: Heapsort", CACM 1964; Johnson, "Priority queues with update and
/// finding minimum spanning trees", IPL 1975 (`D` children); Knuth, TAOCP 3, 5.2.3. A known variant
/// saves comparisons: its hole sinks to a leaf, and the last entry then rises from this leaf. This
/// heap does not use that variant, because most last entries belong near a leaf, so stopping early
/// costs little. Two bug reports about other heaps shaped the tests. A removal from the middle must
/// sift up as well as down. Xenomai's heap (until 2007) and Asterisk's heap (until 2010) only
/// sifted down, so timers ran late or never. A full heap must report that it is full, but Xenomai's
/// heap lost the timer.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
pub struct DaryHeap<const D: usize>;

#[cfg(feature = "alloc")]
impl<const D: usize> Exact for DaryHeap<D> where Degree<D>: Arity {}

#[cfg(feature = "alloc")]
impl<const D: usize> Family for DaryHeap<D>
where
    Degree<D>: Arity,
{
    type Of<P: Handle> = TimerHeap<P, Growing<P, D>, D>;
    type Layout = Apart;
    const ID: &'static str = Degree::<D>::ID;
    const SHAPE: Shape = Shape::Heap;
}

/// The `D`-ary heap of at most `CAP` timers, in the queue itself. The heap never allocates, and a
/// constant expression can create it. `D` is 2 or 4.
///
/// A queue that [`HookQueue::new`] creates is all zeros, so a static queue lies in `.bss` and takes
/// no flash. With 20 timers it takes 488 bytes of RAM on 32-bit targets.
///
/// ```
/// use tickwright_core::{BoundedHeap, HookQueue, Reject, Timer};
///
/// static TIMERS: [Timer<BoundedHeap<4, 2>, u8>; 3] =
///     [Timer::new(0), Timer::new(1), Timer::new(2)];
///
/// let mut queue: HookQueue<'static, BoundedHeap<4, 2>, u8> = const { HookQueue::new() };
/// queue.insert(10, &TIMERS[0])?;
/// queue.insert(5, &TIMERS[1])?;
/// assert_eq!(queue.insert(1, &TIMERS[2]).unwrap_err().reason, Reject::Full);
/// assert_eq!(queue.pop_expired(10).map(|t| t.value.payload), Some(1));
/// # Ok::<(), tickwright_core::Rejected<&'static Timer<BoundedHeap<4, 2>, u8>>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BoundedHeap<const D: usize, const CAP: usize>;

impl<const D: usize, const CAP: usize> Exact for BoundedHeap<D, CAP> where Degree<D>: Arity {}

impl<const D: usize, const CAP: usize> Family for BoundedHeap<D, CAP>
where
    Degree<D>: Arity,
{
    type Of<P: Handle> = TimerHeap<P, Inline<P, D, CAP>, D>;
    type Layout = Apart;
    const ID: &'static str = Degree::<D>::BOUNDED_ID;
    const SHAPE: Shape = Shape::Heap;
}

/// The `D`-ary heap in memory that the caller lends, for a bound that is known only at run time.
/// `D` is 2 or 4. A queue that was created without memory refuses every timer; [`HookQueue::lent`]
/// creates a queue with memory.
///
/// [`Group::EMPTY`] is all zeros, so static groups lie in `.bss` and take no flash.
///
/// ```
/// use tickwright_core::structures::{Group, groups_for};
/// use tickwright_core::{HookQueue, LentHeap, Reject, Timer};
///
/// static TIMERS: [Timer<LentHeap<4>, u8>; 3] = [Timer::new(0), Timer::new(1), Timer::new(2)];
///
/// let memory = Box::leak(vec![Group::EMPTY; groups_for::<4>(2)].into_boxed_slice());
/// let mut queue = HookQueue::lent(2, memory)?;
/// queue.insert(10, &TIMERS[0])?;
/// queue.insert(5, &TIMERS[1])?;
/// assert_eq!(queue.insert(1, &TIMERS[2]).unwrap_err().reason, Reject::Full);
/// assert_eq!(queue.pop_expired(10).map(|t| t.value.payload), Some(1));
/// # Ok::<(), Reject>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LentHeap<const D: usize>;

impl<const D: usize> Exact for LentHeap<D> where Degree<D>: Arity {}

impl<const D: usize> Family for LentHeap<D>
where
    Degree<D>: Arity,
{
    type Of<P: Handle> = TimerHeap<P, Lent<P, D>, D>;
    type Layout = Apart;
    const ID: &'static str = Degree::<D>::LENT_ID;
    const SHAPE: Shape = Shape::Heap;
}

impl<const D: usize, T> HookQueue<'_, LentHeap<D>, T>
where
    Degree<D>: Arity,
{
    /// Creates an empty queue of at most `capacity` timers, whose heap lies in `groups`. `groups`
    /// must have at least the length that [`groups_for`] returns for the capacity.
    ///
    /// # Errors
    /// [`Reject::Full`] when there are too few groups, or when `capacity` exceeds 2^32 - 5.
    pub fn lent(
        capacity: usize,
        groups: &'static mut [Group<HookPtr<LentHeap<D>>, D>],
    ) -> Result<Self, Reject> {
        let mut queue = Self::new();
        queue.store.order.buffer = Lent::new(capacity, groups)?;
        Ok(queue)
    }
}

/// The record of a node in a heap: its cell while it is linked. The first cell in use is `D - 1`,
/// so the value 0 means that the node has no cell.
#[derive(Debug)]
pub struct HeapRecord {
    cell: u32,
}

const _: () = assert!(size_of::<HeapRecord>() == 4);

impl<P: Handle> Record<P> for HeapRecord {
    const IDLE: Self = Self { cell: 0 };

    #[inline]
    fn vacant(next: Option<P>) -> Self {
        Self { cell: next.map_or(0, Handle::number) }
    }

    #[inline]
    fn next_vacant(&self) -> Option<P> {
        P::from_number(self.cell)
    }
}

/// A record that stores the cell of its node's entry. A structure that contains this heap
/// implements the trait for its own record type.
pub trait InCell {
    /// Returns the cell that [`set_cell`](Self::set_cell) stored last. The node must have an entry.
    fn cell(&self) -> usize;

    /// Stores a cell.
    fn set_cell(&mut self, cell: u32);
}

impl InCell for HeapRecord {
    #[inline]
    fn cell(&self) -> usize {
        self.cell as usize
    }

    #[inline]
    fn set_cell(&mut self, cell: u32) {
        self.cell = cell;
    }
}

/// The `D`-ary heap over handles `P` and records `R` in the buffer `B`.
#[derive(Debug)]
pub struct TimerHeap<P, B, const D: usize, R = HeapRecord> {
    buffer: B,
    /// The number of entries.
    pub(super) len: usize,
    /// The arrival number that the next insert takes.
    pub(super) next_sequence: u32,
    /// Whether the root's cell is empty, because the head was removed and nothing has been inserted
    /// since.
    hole: bool,
    _handles: core::marker::PhantomData<fn() -> (P, R)>,
}

impl<P: Handle, B: Buffer<P, D>, const D: usize, R: InCell> TimerHeap<P, B, D, R> {
    /// A heap without entries, which has allocated nothing.
    pub(super) const EMPTY: Self =
        Self { buffer: B::NEW, len: 0, next_sequence: 0, hole: false, _handles: core::marker::PhantomData };

    /// Returns the number of cells in use, counted from the root's cell.
    #[inline]
    fn cells(&self) -> usize {
        self.len + usize::from(self.hole)
    }

    /// Returns the cell and the entry of the head: the root, or the earliest of its children if the
    /// root is a hole.
    #[inline]
    pub(super) fn first(&self) -> Option<(usize, &Entry<P>)> {
        if self.hole {
            let below = Self::children(Self::ROOT);
            let siblings = self.buffer.group(below)?;
            let at = earliest(siblings);
            Some((below * D + at, &siblings[at]))
        } else {
            Some((Self::ROOT, &self.buffer.group(0)?[Self::ROOT]))
        }
    }

    /// Returns whether the entry in `cell` is the head.
    #[inline]
    pub(super) fn is_head(&self, cell: usize) -> bool {
        if self.hole {
            cell / D == Self::children(Self::ROOT) && self.first().is_some_and(|(first, _)| first == cell)
        } else {
            cell == Self::ROOT
        }
    }

    /// Takes the number for the next arrival, which is greater than all arrival numbers in the
    /// heap.
    #[inline]
    fn take_sequence(&mut self, nodes: &mut impl Nodes<P, R>) -> u32 {
        if self.next_sequence == u32::MAX {
            self.renumber(nodes);
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Removes the entry from `cell`, which must be in use. A removal from the root's cell leaves a
    /// hole, which the next insert fills.
    #[inline]
    pub(super) fn vacate(&mut self, nodes: &mut impl Nodes<P, R>, cell: usize) {
        if B::LEAVES_HOLE && cell == Self::ROOT && self.len > 1 {
            return self.open_root();
        }
        let (last, key, node) = self.take_last();
        self.len -= 1;
        if self.len == 0 {
            self.hole = false;
            self.buffer.set_groups(0);
        }
        if cell != last
            && let Some(p) = node
        {
            // The last entry might have to sink or to rise, because it can come from another branch
            // and be earlier than the parent of the cell.
            self.settle(nodes, cell, key, p);
        }
    }

    /// Removes the entry from the root's cell, and leaves a hole there. The heap must have other
    /// entries.
    #[inline]
    fn open_root(&mut self) {
        self.buffer.group_mut(0)[Self::ROOT] = Entry::EMPTY;
        self.hole = true;
        self.len -= 1;
    }

    /// Pops the head if it is due, and fills its cell.
    #[inline(never)]
    fn pop_and_fill(&mut self, nodes: &mut impl Nodes<P, R>, now: Tick, budget: usize) -> Option<Due<P>> {
        let (cell, entry) = self.first()?;
        let (expiry, node) = (entry.expiry(), entry.node);
        if budget == 0 || expiry > now {
            return None;
        }
        self.vacate(nodes, cell);
        Some(Due { handle: node?, deadline: expiry, expiry })
    }

    /// Inserts an entry, at the hole if there is one. The caller must have reserved room. Returns
    /// whether the entry is the head.
    #[inline]
    pub(super) fn push(&mut self, nodes: &mut impl Nodes<P, R>, key: u128, p: P) -> bool {
        self.len += 1;
        let at = if self.hole {
            self.hole = false;
            self.sink(nodes, Self::ROOT, key, p)
        } else {
            let last = Self::ROOT + self.len - 1;
            if last / D >= self.buffer.groups() {
                self.buffer.set_groups(last / D + 1);
            }
            self.rise(nodes, last, key, p)
        };
        at == Self::ROOT
    }

    /// Returns the entry that leaves after the head.
    #[inline]
    pub(super) fn second_entry(&self) -> Option<Entry<P>> {
        let (head, _) = self.first()?;
        let below = self.buffer.group(Self::children(head)).map(pick);
        let beside = self.hole.then(|| {
            let mut siblings = *self.buffer.group(head / D)?;
            siblings[head % D] = Entry::EMPTY;
            Some(pick(&siblings))
        });
        let candidates = [below, beside.flatten()];
        candidates.into_iter().flatten().max_by_key(Entry::key)
    }

    /// Returns the node of the entry in the `k`th cell from the root. If the root is a hole, its
    /// cell is not counted.
    #[inline]
    pub(super) fn near_root(&self, k: usize) -> Option<P> {
        let at = k.checked_add(usize::from(self.hole)).filter(|&at| at < self.cells())?;
        self.entry(Self::ROOT + at).node
    }

    /// Iterates over all entries, in the order of the cells.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<P>> + '_ {
        let cells = Self::ROOT..Self::ROOT + self.cells();
        cells.map(|cell| self.entry(cell)).filter(|entry| entry.node.is_some())
    }

    /// Makes room for `additional` entries beyond `len`.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no memory. The heap is then unchanged.
    #[inline]
    pub(super) fn reserve_entries(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        self.buffer.reserve(len, additional)
    }

    /// Describes the position of the entry in `cell`, for [`Explanation`](crate::Explanation).
    pub(super) fn whereabouts(&self, cell: usize) -> Whereabouts {
        let position = cell.saturating_sub(Self::ROOT) + 1;
        Whereabouts::Heap { arity: D, position, positions: self.cells() }
    }

    /// Returns the number of bytes that the heap has allocated.
    pub(super) fn buffer_bytes(&self) -> usize {
        self.buffer.heap_bytes()
    }

    /// Removes all entries without freeing the memory.
    pub(super) fn forget_entries(&mut self) {
        self.buffer.clear();
        self.len = 0;
        self.hole = false;
    }

    /// Takes the last cell out of use. Returns the cell and its former entry.
    #[inline]
    fn take_last(&mut self) -> (usize, u128, Option<P>) {
        let last = Self::ROOT + self.cells() - 1;
        let tail = &mut self.buffer.group_mut(last / D)[last % D];
        let (key, node) = (tail.key(), tail.node);
        *tail = Entry::EMPTY;
        if last.is_multiple_of(D) {
            self.buffer.set_groups(last / D);
        }
        (last, key, node)
    }
}

// SAFETY: the promises of `Discipline`, 1. handles come from `insert` and stay in cells in use only
// while their nodes are linked; 2. `vacate` and `open_root` overwrite the only cell that names the
// node, records hold no handles while linked, and `clear` puts every cell out of use. 3. No user
// code is called at all. 4. The heap holds handles, ticks and numbers only, in a `Buffer`. That
// type is never exported, so nobody else can name it.
unsafe impl<P: Handle, B: Buffer<P, D>, const D: usize, R: InCell + Record<P>> Discipline<P>
    for TimerHeap<P, B, D, R>
{
    type Record = R;
    const NEW: Self = Self::EMPTY;
    const ORDER: Order = Order::Exact;

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        self.reserve_entries(len, additional)
    }

    #[inline]
    fn insert(&mut self, nodes: &mut impl Nodes<P, R>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let sequence = self.take_sequence(nodes);
        let key = key(deadline.max(now), sequence);
        HeadChange::when(self.push(nodes, key, p))
    }

    #[inline]
    fn remove(&mut self, nodes: &mut impl Nodes<P, R>, p: P) -> HeadChange {
        let cell = nodes.record(p).cell();
        let leads = self.is_head(cell);
        self.vacate(nodes, cell);
        HeadChange::when(leads)
    }

    #[inline]
    fn reschedule(&mut self, nodes: &mut impl Nodes<P, R>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        // The number is taken first, since taking it can renumber the entries, which moves the
        // node.
        let sequence = self.take_sequence(nodes);
        let from = nodes.record(p).cell();
        let key = key(deadline.max(now), sequence);
        let led = self.is_head(from);
        let to = self.settle(nodes, from, key, p);
        HeadChange::when(led || self.is_head(to))
    }

    #[inline]
    fn head(&self, _: &impl Nodes<P, R>) -> Option<P> {
        self.first()?.1.node
    }

    #[inline]
    fn second(&self, _: &impl Nodes<P, R>) -> Option<P> {
        self.second_entry()?.node
    }

    #[inline]
    fn upcoming(&self, k: usize) -> Option<P> {
        self.near_root(k)
    }

    #[inline]
    fn expiry(&self, nodes: &impl Nodes<P, R>, p: P) -> Tick {
        self.entry(nodes.record(p).cell()).expiry()
    }

    #[inline]
    fn next_expiry(&self, _: &impl Nodes<P, R>) -> Option<Tick> {
        self.first().map(|(_, entry)| entry.expiry())
    }

    #[inline]
    fn is_quiet(&self, nodes: &impl Nodes<P, R>, now: Tick) -> bool {
        self.next_expiry(nodes).is_none_or(|expiry| expiry > now)
    }

    #[inline]
    fn due(&mut self, _: &mut impl Nodes<P, R>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        let (_, entry) = self.first()?;
        let expiry = entry.expiry();
        if *budget == 0 || expiry > now {
            return None;
        }
        Some(Due { handle: entry.node?, deadline: expiry, expiry })
    }

    #[inline]
    fn rearm_due(&mut self, nodes: &mut impl Nodes<P, R>, p: P, deadline: Tick, now: Tick) {
        let sequence = self.take_sequence(nodes);
        let cell = if self.hole { nodes.record(p).cell() } else { Self::ROOT };
        // The timer never rises, because no other timer was earlier, and the timer is now the last
        // arrival among the timers of its new expiry.
        self.sink(nodes, cell, key(deadline.max(now), sequence), p);
    }

    #[inline(always)]
    fn pop(&mut self, nodes: &mut impl Nodes<P, R>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        if !B::LEAVES_HOLE || self.hole || self.len == 1 {
            return self.pop_and_fill(nodes, now, *budget);
        }
        let root = &self.buffer.group(0)?[Self::ROOT];
        let (expiry, node) = (root.expiry(), root.node);
        if *budget == 0 || expiry > now {
            return None;
        }
        let handle = node?;
        self.open_root();
        Some(Due { handle, deadline: expiry, expiry })
    }

    fn explain(&self, nodes: &impl Nodes<P, R>, p: P) -> Explanation {
        let expiry = self.expiry(nodes, p);
        let whereabouts = self.whereabouts(nodes.record(p).cell());
        Explanation::new(expiry, expiry, whereabouts)
    }

    fn for_each(&self, _: &impl Nodes<P, R>, visit: impl FnMut(P)) {
        self.entries().filter_map(|entry| entry.node).for_each(visit);
    }

    fn rank(&self, nodes: &impl Nodes<P, R>, p: P, _: u64) -> u64 {
        self.entry(nodes.record(p).cell()).sequence().into()
    }

    #[cfg(any(test, feature = "testing"))]
    fn start_sequence_at(&mut self, next: u32) {
        if self.len == 0 {
            self.next_sequence = next;
        }
    }

    fn clear(&mut self) {
        self.forget_entries();
    }

    fn heap_bytes(&self) -> usize {
        self.buffer_bytes()
    }

    fn check(&self, nodes: &impl Nodes<P, R>, len: usize) -> Result<(), Violation> {
        self.check_entries(nodes, len)
    }
}
