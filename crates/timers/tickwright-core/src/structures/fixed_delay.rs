//! `FixedDelay`: a list for each common delay, and a heap of the first timers of the lists.

mod check;
mod lists;
mod record;
#[cfg(test)]
mod tests;

use lists::{DelayList, Lists};
use record::FixedDelayRecord;
use record::Place;

use super::dary_heap::{Growing, MOST, TimerHeap, key};
use crate::contract::{Exact, HeadChange, Order, Reject, Tick, Violation};
use crate::explain::{Explanation, Whereabouts};
use crate::layout::Together;
use crate::structure::{Discipline, Due, Family, Handle, Shape, View};

/// One list per delay and a heap of the first timers of the lists, as the type argument of a queue.
///
/// ```
/// use tickwright_core::{FixedDelay, SlabQueue};
///
/// let mut queue: SlabQueue<FixedDelay, &str> = SlabQueue::new();
/// let answered = queue.insert(500, "request 1")?;
/// queue.insert(500, "request 2")?;
/// queue.insert(30, "retry")?;
/// queue.remove(answered)?;
/// assert!(queue.expired(500).map(|timer| timer.value).eq(["retry", "request 2"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A list for each delay, and a 4-ary heap of the first timers of the lists. A timer whose delay
/// has no list has an entry in the heap.
///
/// The delay of a timer is its expiry minus `now` at its insert or reschedule, in ticks. A past
/// deadline has delay 0. `now` never decreases, so timers with the same delay arrive in the order
/// of their expiries, and an insert only appends the timer to its list. When the head of a list
/// leaves, the next timer of the list takes over the head's cell in the heap.
///
/// A hash of the delay selects one of 256 lists, which is the only list that the delay can use. The
/// delay takes that list if the list is empty, or if a single timer of another delay has been in
/// the list since it was last empty. In the second case the single timer stays in the heap without
/// a list, so delays that occur once do not block delays that occur often. If the selected list
/// belongs to another delay, the timer goes into the heap: the queue does not search for a second
/// list.
///
/// # Choose when
/// - most timers have one of a few delays, such as request time-outs, keep-alives and retries;
/// - most of these timers are cancelled or moved before they are due: for a timer that is not the
///   first of its list, neither operation accesses the heap;
/// - timers of equal expiry must leave in the order of arrival, even if they are in different
///   lists.
///
/// # Avoid when
/// - deadlines are random: [`DaryHeap`](crate::DaryHeap) does the same work, and takes 12 bytes
///   less per timer;
/// - the caller computes deadlines from a clock that is ahead of the queue's `now`. Example: ticks
///   are nanoseconds, a deadline is 500 after the time 1,203, and the queue was last advanced to
///   1,000. The queue then computes a delay of 703 for this timer, and another delay for the next
///   timer. If the caller passes the time to [`insert_at`](crate::TimerQueue::insert_at), the delay
///   is 500.
///
/// # Layout
/// ```text
///   heap                      lists, by hash of the delay
///          10                  7: delay 500, tail 510
///        /    \               31: delay  20, tail  25
///      12      97 alone
///
///      [10] <-> [40] <-> [40] <-> [510]      the list of delay 500
///      [12] <-> [25]                         the list of delay  20
///
///   record   expiry: 8 bytes | next: 4 | prev: 4 | place: 4 | mark: 4
///              no prev:  place is the cell of the heap, mark is the list's number plus 1; 0: none
///              a prev:   place is the list's number, mark is the arrival number
/// ```
/// An entry of the heap takes 16 bytes in a slab, as in [`DaryHeap`](crate::DaryHeap). The table
/// has 256 lists: it takes 4 KiB in a slab, and 6 KiB over hooks on 64-bit targets. The first
/// insert allocates the table. If there is no memory for the table, all timers go into the heap.
///
/// # Costs
/// `h` is the number of entries in the heap: one entry for each non-empty list, and one entry for
/// each timer without a list.
///
/// | operation | worst | usual | cache lines |
/// |---|---|---|---|
/// | insert | as a heap of `h` | O(1): an append | 3: the list, its tail, the record |
/// | remove | O(log h) | O(1): inside a list | 3; at the head as pop |
/// | reschedule | as a heap of `h`; O(n) without memory | O(1): an append | remove + insert |
/// | peek, second, next_expiry, next_wake | O(1) | O(1) | 1 to 3 |
/// | pop | O(log h) | O(log h) | this and the next record, a group and a record per level |
/// | advance, k expired | O(k log h) | the same | as k pops |
///
/// When timers of two delays are pending, `h` is 2, and a pop compares the two heads. When no two
/// timers have the same delay, `h` is `n`. Every 2^32nd insert or reschedule renumbers the timers,
/// which takes O(n log h) and allocates nothing.
///
/// A timer takes 24 bytes plus its slot (8 for a `u32`) in a slab, and 40 bytes over hooks (32 on
/// 32-bit targets). In addition, each entry of the heap takes 16 bytes in a slab, and 24 bytes over
/// hooks (16 on 32-bit targets). `with_capacity` and `reserve` make room for one entry per timer.
/// Without these calls, each insert makes room only for the heap entries that exist, so a
/// reschedule that moves a timer from a list into the heap might allocate. If that reschedule gets
/// no memory, it inserts the timer into its old list in order, by a scan from the tail, which takes
/// O(n). After a reservation no operation allocates. `clear` takes O(1), plus a pass over the
/// table.
///
/// # Invariants
/// 1. Each pending node has an entry in the heap, or follows another node in a list. The number of
///    nodes that can be reached in this way is the number of pending timers ([`Violation::Count`]).
///    The invariants of [`DaryHeap`](crate::DaryHeap) hold for the heap, and each entry has the
///    expiry of its node ([`Violation::Position`]).
/// 2. If a node has a `next`, the `prev` of that next node is the node itself. A node with an entry
///    has no `prev` ([`Violation::BackLink`]). Nodes inside a list name that list
///    ([`Violation::Bucket`]).
/// 3. Expiries never decrease along `next` ([`Violation::Order`]). Among nodes of equal expiry
///    arrival numbers increase, and all of them are below the counter ([`Violation::Sequence`]).
/// 4. The table holds the last node of each list that has two or more nodes. Each `tail` of the
///    table is the last node of a chain that starts at the list's head ([`Violation::Head`]).
/// 5. The delay of a list hashes to the list's number ([`Violation::Bucket`]). A list of two or
///    more nodes is marked as shared; an empty list is not marked ([`Violation::Occupied`]).
/// 6. `quiet` is not later than any expiry ([`Violation::Minimum`]).
///
/// # References
/// libevent, `event_base_init_common_timeout`: one queue per duration, whose first timer is in the
/// min-heap (event.c, since 2.0). Varghese & Lauck, SOSP 1987: timers with the same interval arrive
/// in the order of expiry. Node.js, lib/internal/timers.js: one list per duration in a map, and a
/// priority queue of these lists. Knuth, TAOCP 3, 6.4: multiplicative hashing by the golden ratio.
#[derive(Clone, Copy, Debug)]
pub struct FixedDelay;

impl Exact for FixedDelay {}

impl Family for FixedDelay {
    type Of<P: Handle> = Delays<P>;
    type Layout = Together;
    const ID: &'static str = "fixed-delay";
    const SHAPE: Shape = Shape::Heap;
}

/// The lists and the heap, over handles `P`.
#[derive(Debug)]
pub struct Delays<P: Handle> {
    /// The first timers of the lists, and the timers without a list.
    heap: TimerHeap<P, Growing<P, 4>, 4, FixedDelayRecord<P>>,
    lists: Lists<P>,
    /// No timer is due before this tick, so a poll before this tick reads no entry.
    quiet: Tick,
    /// The number of entries for which the heap has memory.
    room: usize,
}

/// Where a node was before it was unlinked.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// Whether the node was the head of the queue.
    led: bool,
    /// The cell of the node's entry, unless the next node of the list took over the cell.
    cell: Option<usize>,
    /// The number of the node's list, even if that list is now empty.
    list: Option<usize>,
}

impl<P: Handle> Delays<P> {
    /// Allocates memory for the lists and for entries of the heap.
    #[inline(never)]
    fn make_room(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        if self.lists.0.is_empty() {
            self.lists.allocate();
        }
        if len.checked_add(additional).is_none_or(|total| total > MOST) {
            return Err(Reject::Full);
        }
        let entries = if additional == 1 { self.heap.len } else { len };
        self.heap.reserve_entries(entries, additional)?;
        self.room = self.room.max(entries + additional);
        Ok(())
    }

    /// Does what [`due`](Discipline::due) does when `now` is not before `quiet`.
    #[inline]
    fn due_after_quiet(&mut self, now: Tick, budget: usize) -> Option<Due<P>> {
        if budget == 0 {
            return None;
        }
        let entry = self.heap.first()?.1;
        let expiry = entry.expiry();
        if expiry > now {
            self.quiet = expiry;
            return None;
        }
        Some(Due { handle: entry.node?, deadline: expiry, expiry })
    }

    /// Does what [`pop`](Discipline::pop) does when `now` is not before `quiet`.
    #[inline]
    fn pop_after_quiet(
        &mut self,
        nodes: &mut impl View<P, Self>,
        now: Tick,
        budget: usize,
    ) -> Option<Due<P>> {
        let due = self.due_after_quiet(now, budget)?;
        let _ = self.remove_anywhere(nodes, due.handle);
        Some(due)
    }

    /// Takes the number for the next arrival, which is greater than all arrival numbers in the
    /// queue.
    #[inline]
    fn take_arrival(&mut self, nodes: &mut impl View<P, Self>) -> u32 {
        if self.heap.next_sequence == u32::MAX {
            self.renumber(nodes);
        }
        let arrival = self.heap.next_sequence;
        self.heap.next_sequence += 1;
        arrival
    }

    /// Appends `p` to the list of its delay, or writes the record for a node that belongs in the
    /// heap. If the heap must insert an entry, it returns the entry's key.
    #[inline]
    fn append(
        &mut self,
        nodes: &mut impl View<P, Self>,
        p: P,
        expiry: Tick,
        now: Tick,
        arrival: u32,
    ) -> Option<u128> {
        let delay = expiry - now;
        let number = Lists::<P>::number_of(delay);
        let mut taken = None;
        if let Some(list) = self.lists.0.get_mut(number) {
            if let Some(tail) = list.tail
                && list.delay == delay
                // The tail can be later than `expiry`, if it is a timer that stayed in the list
                // because there was no memory for a heap entry.
                && nodes.record(tail).expiry <= expiry
            {
                list.link(nodes, tail, p, expiry, number, arrival);
                return None;
            }
            if !list.shared {
                *list = DelayList { delay, tail: Some(p), shared: false };
                taken = Some(number);
            }
        }
        *nodes.record_mut(p) = FixedDelayRecord::in_heap(expiry, None, taken);
        Some(key(expiry, arrival))
    }

    /// Unlinks `p` from its list. If `p` is the first node of the list, the next node takes over
    /// the cell of `p`.
    #[inline(always)]
    fn leave(&mut self, nodes: &mut impl View<P, Self>, p: P) -> Left {
        let record = nodes.record(p);
        let next = record.next;
        match record.place() {
            Place::Inside { prev, list } => {
                nodes.record_mut(prev).next = next;
                match next {
                    Some(next) => nodes.record_mut(next).prev = Some(prev),
                    None => self.lists.end_at(list, prev),
                }
                Left { led: false, cell: None, list: Some(list) }
            }
            Place::InHeap { cell, list } => {
                let led = self.heap.is_head(cell);
                match next {
                    Some(next) => self.succeed(nodes, cell, list, next),
                    None => self.lists.leave(list, p),
                }
                Left { led, cell: if next.is_none() { Some(cell) } else { None }, list }
            }
        }
    }

    /// Removes `p`, wherever it is.
    #[inline]
    fn remove_anywhere(&mut self, nodes: &mut impl View<P, Self>, p: P) -> HeadChange {
        let left = self.leave(nodes, p);
        if let Some(cell) = left.cell {
            self.heap.vacate(nodes, cell);
        }
        HeadChange::when(left.led)
    }

    /// The fast path of a re-arm: moves `p` from inside a list to the tail of the same list.
    /// Returns false without a change in four cases: `p` is not inside a list, `p` is the tail of
    /// its list, `p` must move to another list, or the arrival numbers are used up.
    #[inline(always)]
    fn move_to_tail(&mut self, nodes: &mut impl View<P, Self>, p: P, expiry: Tick, now: Tick) -> bool {
        let arrival = self.heap.next_sequence;
        let delay = expiry - now;
        // The list's number is computed from the delay, so the processor can load the list and its
        // tail before the record of `p` arrives from memory.
        let number = Lists::<P>::number_of(delay);
        let Some(list) = self.lists.0.get_mut(number) else { return false };
        let Some(tail) = list.tail else { return false };
        if list.delay != delay || nodes.record(tail).expiry > expiry || arrival == u32::MAX {
            return false;
        }
        let record = nodes.record(p);
        let (Some(next), Some(prev)) = (record.next, record.prev) else { return false };
        if record.place as usize != number {
            return false;
        }
        nodes.record_mut(prev).next = Some(next);
        nodes.record_mut(next).prev = Some(prev);
        nodes.record_mut(tail).next = Some(p);
        *nodes.record_mut(p) = FixedDelayRecord::inside(expiry, tail, None, number, arrival);
        list.tail = Some(p);
        self.heap.next_sequence = arrival + 1;
        true
    }

    /// Re-arms `p`, wherever it is.
    #[inline(never)]
    fn move_anywhere(&mut self, nodes: &mut impl View<P, Self>, p: P, expiry: Tick, now: Tick) -> HeadChange {
        // The number is taken first, since taking it can renumber the timers, which moves the node.
        let arrival = self.take_arrival(nodes);
        let left = self.leave(nodes, p);
        self.quiet = self.quiet.min(expiry);
        let leads = match (self.append(nodes, p, expiry, now, arrival), left.cell) {
            (None, None) => false,
            (None, Some(cell)) => {
                self.heap.vacate(nodes, cell);
                false
            }
            (Some(key), Some(cell)) => {
                let cell = self.heap.settle(nodes, cell, key, p);
                self.heap.is_head(cell)
            }
            (Some(key), None) => {
                if self.heap.reserve_entries(self.heap.len, 1).is_ok() {
                    self.heap.push(nodes, key, p)
                } else {
                    // The node's old list is shared, so `append` has not given that list to another
                    // delay.
                    self.lists.leave(Some(Lists::<P>::number_of(expiry - now)), p);
                    left.list.is_some_and(|list| self.insert_sorted(nodes, p, expiry, arrival, list))
                }
            }
        };
        HeadChange::when(left.led || leads)
    }

    /// Makes `p`, the second node of its list, the first node: `p` takes over the entry in `cell`.
    /// `p` is not earlier than the old first node, so the entry can only sink. The function is
    /// never inlined, so that callers save registers only if they call it.
    #[inline(never)]
    fn succeed(&mut self, nodes: &mut impl View<P, Self>, cell: usize, list: Option<usize>, p: P) {
        let record = nodes.record_mut(p);
        let &mut FixedDelayRecord { expiry, next, mark: arrival, .. } = record;
        *record = FixedDelayRecord::in_heap(expiry, next, list);
        nodes.prefetch(next);
        self.heap.sink(nodes, cell, key(expiry, arrival), p);
    }

    /// Inserts `p` into a non-empty list, after the last node that is not later than `p`. Returns
    /// whether `p` is the head of the queue. The call allocates nothing.
    #[cold]
    fn insert_sorted(
        &mut self,
        nodes: &mut impl View<P, Self>,
        p: P,
        expiry: Tick,
        arrival: u32,
        number: usize,
    ) -> bool {
        let mut right = None;
        let mut at = self.lists.0.get(number).and_then(|list| list.tail);
        // Invariant: every node from `right` on is later than `expiry`.
        while let Some(left) = at {
            let record = nodes.record_mut(left);
            if record.expiry <= expiry {
                record.next = Some(p);
                *nodes.record_mut(p) = FixedDelayRecord::inside(expiry, left, right, number, arrival);
                match right {
                    Some(right) => nodes.record_mut(right).prev = Some(p),
                    None => self.lists.end_at(number, p),
                }
                return false;
            }
            match record.place() {
                Place::Inside { prev, .. } => (right, at) = (at, Some(prev)),
                Place::InHeap { cell, .. } => {
                    let (expiry_of_head, next) = (record.expiry, record.next);
                    let arrival_of_head = self.heap.entry(cell).sequence();
                    *record = FixedDelayRecord::inside(expiry_of_head, p, next, number, arrival_of_head);
                    *nodes.record_mut(p) = FixedDelayRecord::in_heap(expiry, at, Some(number));
                    let cell = self.heap.settle(nodes, cell, key(expiry, arrival), p);
                    return self.heap.is_head(cell);
                }
            }
        }
        debug_assert!(false, "the list of a node that has left it is not empty");
        false
    }

    /// Gives the nodes the arrival numbers 0, 1, ... in their order, when the counter is used up.
    /// The function moves all nodes in order into one chain, and then appends each node to its old
    /// list.
    #[cold]
    fn renumber(&mut self, nodes: &mut impl View<P, Self>) {
        let (mut first, mut last) = (None, None);
        while let Some(p) = self.head(nodes) {
            let record = nodes.record(p);
            let (expiry, next) = (record.expiry, record.next);
            let list = match record.place() {
                Place::InHeap { list, .. } => list,
                Place::Inside { list, .. } => Some(list),
            };
            let listed = list.filter(|&list| next.is_some() || self.lists.ends_at(list, p));
            let _ = self.remove(nodes, p);
            *nodes.record_mut(p) = FixedDelayRecord::in_heap(expiry, None, listed);
            match last {
                Some(last) => nodes.record_mut(last).next = Some(p),
                None => first = Some(p),
            }
            last = Some(p);
        }
        // At this point the heap and all lists are empty, but each list still has its delay.
        let mut arrival = 0;
        while let Some(p) = first {
            let record = nodes.record_mut(p);
            first = record.next.take();
            let expiry = record.expiry;
            let number = match record.place() {
                Place::InHeap { list, .. } => list,
                Place::Inside { .. } => None,
            };
            let list = number.and_then(|number| Some((number, self.lists.0.get_mut(number)?)));
            let linked = list.is_some_and(|(number, list)| match list.tail {
                Some(tail) => {
                    list.link(nodes, tail, p, expiry, number, arrival);
                    true
                }
                None => {
                    list.tail = Some(p);
                    false
                }
            });
            if !linked {
                // The new entry is later than all other entries, because the nodes are visited in
                // order.
                self.heap.push(nodes, key(expiry, arrival), p);
            }
            arrival += 1;
        }
        self.heap.next_sequence = arrival;
    }
}

// SAFETY: the promises of `Discipline`, 1. Handles come from `insert`, and stay in entries, links
// and tails only while they are linked. 2. The successor of a node that leaves overwrites the
// node's cell, or the heap vacates the cell. The sift of `dary_heap` does both for the only cell
// that names the node. The node's neighbors are joined over it, and a tail that names it becomes
// the node before it or none. A record names only neighbors. `clear` forgets entries and tails. 3.
// No user code is called at all.
// 4. The queue holds handles, ticks and numbers only.
unsafe impl<P: Handle> Discipline<P> for Delays<P> {
    type Record = FixedDelayRecord<P>;
    const NEW: Self = Self { heap: TimerHeap::EMPTY, lists: Lists::NONE, quiet: 0, room: 0 };
    const ORDER: Order = Order::Exact;

    /// A reservation makes room for a heap entry per timer, whereas a single insert makes room for
    /// only one more heap entry.
    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        if additional == 1 && self.heap.len < self.room && len < MOST {
            return Ok(());
        }
        self.make_room(len, additional)
    }

    #[inline]
    fn insert(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let arrival = self.take_arrival(nodes);
        let expiry = deadline.max(now);
        match self.append(nodes, p, expiry, now, arrival) {
            None => HeadChange::Same,
            Some(key) => {
                self.quiet = self.quiet.min(expiry);
                HeadChange::when(self.heap.push(nodes, key, p))
            }
        }
    }

    // Inlined, so that the usual case, which is a timer between two others, does not save
    // registers.
    #[inline(always)]
    fn remove(&mut self, nodes: &mut impl View<P, Self>, p: P) -> HeadChange {
        let record = nodes.record(p);
        let (Some(next), Some(prev)) = (record.next, record.prev) else {
            return self.remove_anywhere(nodes, p);
        };
        nodes.record_mut(prev).next = Some(next);
        nodes.record_mut(next).prev = Some(prev);
        HeadChange::Same
    }

    // Inlined, so that the usual case does not save registers.
    #[inline(always)]
    fn reschedule(&mut self, nodes: &mut impl View<P, Self>, p: P, deadline: Tick, now: Tick) -> HeadChange {
        let expiry = deadline.max(now);
        if self.move_to_tail(nodes, p, expiry, now) {
            return HeadChange::Same;
        }
        self.move_anywhere(nodes, p, expiry, now)
    }

    #[inline]
    fn head(&self, _: &impl View<P, Self>) -> Option<P> {
        self.heap.first()?.1.node
    }

    #[inline]
    fn second(&self, nodes: &impl View<P, Self>) -> Option<P> {
        let behind = nodes.record(self.head(nodes)?).next.map(|p| {
            let record = nodes.record(p);
            (key(record.expiry, record.mark), Some(p))
        });
        let beside = self.heap.second_entry().map(|entry| (entry.key(), entry.node));
        [behind, beside].into_iter().flatten().max_by_key(|&(key, _)| key)?.1
    }

    #[inline]
    fn upcoming(&self, k: usize) -> Option<P> {
        self.heap.near_root(k)
    }

    #[inline]
    fn expiry(&self, nodes: &impl View<P, Self>, p: P) -> Tick {
        nodes.record(p).expiry
    }

    #[inline]
    fn next_expiry(&self, _: &impl View<P, Self>) -> Option<Tick> {
        self.heap.first().map(|(_, entry)| entry.expiry())
    }

    #[inline]
    fn due(&mut self, _: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        if now < self.quiet { None } else { self.due_after_quiet(now, *budget) }
    }

    #[inline]
    fn is_quiet(&self, _: &impl View<P, Self>, now: Tick) -> bool {
        now < self.quiet
    }

    // In most polls nothing is due, so the check for this case is inlined.
    #[inline(always)]
    fn pop(&mut self, nodes: &mut impl View<P, Self>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        if now < self.quiet { None } else { self.pop_after_quiet(nodes, now, *budget) }
    }

    fn explain(&self, nodes: &impl View<P, Self>, p: P) -> Explanation {
        let expiry = self.expiry(nodes, p);
        let whereabouts = match nodes.record(p).place() {
            Place::InHeap { cell, .. } => self.heap.whereabouts(cell),
            Place::Inside { list, .. } => {
                let delay = self.lists.0.get(list).map_or(0, |list| list.delay);
                Whereabouts::DelayList { delay }
            }
        };
        Explanation::new(expiry, expiry, whereabouts)
    }

    fn for_each(&self, nodes: &impl View<P, Self>, mut visit: impl FnMut(P)) {
        for entry in self.heap.entries() {
            let mut next = entry.node;
            while let Some(p) = next {
                visit(p);
                next = nodes.record(p).next;
            }
        }
    }

    fn rank(&self, nodes: &impl View<P, Self>, p: P, visited: u64) -> u64 {
        let record = nodes.record(p);
        match record.place() {
            Place::InHeap { .. } => self.heap.rank(nodes, p, visited),
            Place::Inside { .. } => record.mark.into(),
        }
    }

    #[cfg(any(test, feature = "testing"))]
    fn start_sequence_at(&mut self, next: u32) {
        if self.heap.len == 0 {
            self.heap.next_sequence = next;
        }
    }

    fn clear(&mut self) {
        self.heap.forget_entries();
        self.lists.clear();
    }

    fn heap_bytes(&self) -> usize {
        self.heap.buffer_bytes() + self.lists.heap_bytes()
    }

    fn check(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation> {
        self.check_all(nodes, len)
    }
}
