//! `Heap`: the priority queue, a binary heap whose elements record their positions.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use tickwright_nodes::{Violation, error_texts};

use crate::NotInserted;

/// The comparator of a [`Heap`], and the positions that its elements record. A function or closure
/// `Fn(&T, &T) -> Ordering` is a `HeapOrder` that records no positions.
pub trait HeapOrder<T> {
    /// Compares the ranks of two elements. The greatest element is popped first.
    fn compare(&self, a: &T, b: &T) -> Ordering;

    /// Stores the position of an element in the element itself. The position is between 1 (the
    /// head) and the heap's length, or 0 when the element leaves the heap. The call must not panic,
    /// and must not change the element's rank.
    fn placed(&self, element: &mut T, position: usize) {
        let _ = (element, position);
    }

    /// Returns the position that [`placed`](Self::placed) recorded last, or `None` if elements do
    /// not record positions. For an element that was never in a heap, the result can be any number.
    fn position(&self, element: &T) -> Option<usize> {
        let _ = element;
        None
    }

    /// Returns whether `a` and `b` are the same element, and not only equal elements. Compare
    /// addresses, or numbers that identify the elements. The heap calls this function only if
    /// elements record positions.
    fn same(&self, a: &T, b: &T) -> bool;
}

impl<T, F: Fn(&T, &T) -> Ordering> HeapOrder<T> for F {
    fn compare(&self, a: &T, b: &T) -> Ordering {
        self(a, b)
    }

    /// Never called, because no positions are recorded.
    fn same(&self, _: &T, _: &T) -> bool {
        false
    }
}

/// A priority queue: a binary heap with the user's comparator, whose elements record their
/// positions.
///
/// ```
/// use tickwright_collections::Heap;
///
/// let mut heap = Heap::new(|a: &u32, b: &u32| a.cmp(b));
/// for number in [1, 3, 2] {
///     heap.push(number)?;
/// }
/// assert_eq!(heap.peek(), Some(&3));
/// assert_eq!([heap.pop(), heap.pop(), heap.pop(), heap.pop()], [Some(3), Some(2), Some(1), None]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// If elements can be removed by reference or can change their rank, each element needs a cell for
/// its position:
///
/// ```
/// use core::cell::Cell;
/// use core::cmp::Ordering;
/// use std::rc::Rc;
///
/// use tickwright_collections::{Heap, HeapError, HeapOrder};
///
/// struct Job {
///     rank: Cell<u32>,
///     position: Cell<usize>,
/// }
///
/// struct ByRank;
///
/// impl HeapOrder<Rc<Job>> for ByRank {
///     fn compare(&self, a: &Rc<Job>, b: &Rc<Job>) -> Ordering {
///         a.rank.cmp(&b.rank)
///     }
///     fn placed(&self, job: &mut Rc<Job>, position: usize) {
///         job.position.set(position);
///     }
///     fn position(&self, job: &Rc<Job>) -> Option<usize> {
///         Some(job.position.get())
///     }
///     fn same(&self, a: &Rc<Job>, b: &Rc<Job>) -> bool {
///         Rc::ptr_eq(a, b)
///     }
/// }
///
/// let job = |rank| Rc::new(Job { rank: Cell::new(rank), position: Cell::new(0) });
/// let (low, high) = (job(1), job(9));
/// let mut heap = Heap::new(ByRank);
/// heap.push(Rc::clone(&low))?;
/// heap.push(Rc::clone(&high))?;
/// low.rank.set(10);
/// assert_eq!(heap.update(&low), Ok(()));
/// assert!(heap.remove(&low).is_ok());
/// assert_eq!(heap.remove(&low).err(), Some(HeapError::Stale));
/// assert_eq!(heap.len(), 1);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// A `Heap` is not a timer queue: it has no clock and no arrival numbers. Its greatest element is
/// popped first, as in `std`'s `BinaryHeap`. Use a `Heap` for other work that is ordered by rank,
/// such as requests. Equal elements are popped in any order. If their order matters, the comparator
/// must also compare an arrival number.
///
/// # Invariants
/// 1. No element is greater than its parent, but an element and its parent can be equal
///    ([`Violation::HeapOrder`]).
/// 2. The recorded position of an element is its actual position ([`Violation::Position`]). An
///    element that was removed records 0.
///
/// # User code
/// An operation first finds the path along which elements must move, by comparisons only. Then the
/// operation moves the elements, and finally it calls [`HeapOrder::placed`]. The bits of the lower
/// position's number encode the path between two positions, so the path needs no storage. If the
/// comparator panics, the heap has not changed. If the comparator contradicts itself, the heap
/// still contains every element exactly once. If `placed` panics, the heap still contains every
/// element exactly once, but some recorded positions are wrong. [`Heap::verify`] reports an element
/// with a wrong position, and [`Heap::remove`] refuses to remove it.
///
/// # Costs
/// | operation | worst | usual |
/// |---|---|---|
/// | push | O(log n); O(n) when the array grows | O(1) for random ranks |
/// | pop, remove, update | O(log n) | pop O(log n), the others O(1): most elements are leaves |
/// | peek | O(1) | O(1) |
///
/// A pop makes at most 2 log_2 n comparisons. The elements are in one array, and the heap needs no
/// other memory.
///
/// The timer heaps of `tickwright-core` have their own sifts, although the code looks similar.
/// Those sifts compare numbers in the array, which cannot panic, so they can move entries while
/// they compare. This heap has to do all comparisons before the first move, and therefore walks
/// each path twice.
///
/// # References
/// Williams, "Algorithm 232: Heapsort", CACM 1964. The operations are those of the heap that
/// Asterisk introduced in 2009 (`ast_heap_*`). Two faults of that heap became tests of this heap.
/// Until 2010, after a removal from the middle, the entry that filled the place could sink but
/// never rise, so timers ran late. That heap still trusts the recorded index, so removing an
/// element twice removes another element.
pub struct Heap<T, C: HeapOrder<T>> {
    /// The element at position `p` has index `p - 1`.
    elements: Vec<T>,
    order: C,
}

impl<T, C: HeapOrder<T>> Heap<T, C> {
    /// Creates an empty heap. The heap allocates nothing before the first push.
    #[must_use]
    pub const fn new(order: C) -> Self {
        Self { elements: Vec::new(), order }
    }

    /// Makes room for `additional` more elements, so that the next `additional` pushes cannot fail
    /// and do not allocate.
    ///
    /// # Errors
    /// [`HeapError::Full`] when there is no memory for these elements.
    pub fn reserve(&mut self, additional: usize) -> Result<(), HeapError> {
        self.elements.try_reserve_exact(additional).map_err(|_| HeapError::Full)
    }

    /// Returns the comparator.
    #[must_use]
    pub const fn order(&self) -> &C {
        &self.order
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns whether the heap is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns the greatest element. O(1).
    #[must_use]
    pub fn peek(&self) -> Option<&T> {
        self.elements.first()
    }

    /// Returns the element at a position, counted from 1 as in [`HeapOrder::placed`]. The greatest
    /// element has position 1. The other elements, up to position `len`, are in no particular
    /// order. O(1).
    #[must_use]
    pub fn at(&self, position: usize) -> Option<&T> {
        self.elements.get(position.checked_sub(1)?)
    }

    /// Inserts an element.
    ///
    /// # Errors
    /// [`HeapError::AlreadyIn`] when the element is in this heap at its recorded position,
    /// [`HeapError::Full`] when there is no memory. The error contains the element.
    pub fn push(&mut self, element: T) -> Result<(), NotInserted<T, HeapError>> {
        if self.find(&element).is_ok() {
            return Err(NotInserted { reason: HeapError::AlreadyIn, value: element });
        }
        if self.elements.try_reserve(1).is_err() {
            return Err(NotInserted { reason: HeapError::Full, value: element });
        }
        let last = self.len() + 1;
        let to = self.risen(last, &element);
        self.elements.push(element);
        self.travel(last, to);
        Ok(())
    }

    /// Removes and returns the greatest element.
    pub fn pop(&mut self) -> Option<T> {
        self.take(1)
    }

    /// Removes and returns the element at the position that `element` records.
    ///
    /// # Errors
    /// [`HeapError::Stale`] when the recorded position is 0, or when elements do not record
    /// positions. [`HeapError::WrongHeap`] when another element is at the recorded position,
    /// because `element` is in another heap or its recorded position was overwritten.
    pub fn remove(&mut self, element: &T) -> Result<T, HeapError> {
        let position = self.find(element)?;
        self.take(position).ok_or(HeapError::Stale)
    }

    /// Moves an element whose rank has changed to its new place. The rank is read from the element
    /// in the heap, not from `element`, which only identifies it. Call this function before any
    /// other operation, and before the rank of another element changes.
    ///
    /// # Errors
    /// As [`remove`](Self::remove).
    pub fn update(&mut self, element: &T) -> Result<(), HeapError> {
        let from = self.find(element)?;
        let to = self.at(from).map(|there| self.settled(from, there, self.len()));
        self.travel(from, to.ok_or(HeapError::Stale)?);
        Ok(())
    }

    /// Removes every element, records position 0 in it, and drops it. The heap's memory is not
    /// freed.
    pub fn clear(&mut self) {
        while let Some(mut element) = self.elements.pop() {
            self.order.placed(&mut element, 0);
        }
    }

    /// Verifies both invariants in O(n).
    ///
    /// # Errors
    /// The first [`Violation`] found. A violation means that the comparator contradicts itself, or
    /// that other code has changed a rank or a position.
    pub fn verify(&self) -> Result<(), Violation> {
        for (position, element) in (1..).zip(&self.elements) {
            let above = self.at(position / 2);
            if above.is_some_and(|above| self.order.compare(element, above) == Ordering::Greater) {
                return Err(Violation::HeapOrder);
            }
            if self.order.position(element).is_some_and(|recorded| recorded != position) {
                return Err(Violation::Position);
            }
        }
        Ok(())
    }

    /// Verifies that an element is at the position that it records, and returns the position.
    fn find(&self, element: &T) -> Result<usize, HeapError> {
        let position =
            self.order.position(element).filter(|&position| position > 0).ok_or(HeapError::Stale)?;
        match self.at(position) {
            Some(there) if self.order.same(there, element) => Ok(position),
            _ => Err(HeapError::WrongHeap),
        }
    }

    /// Removes the element at a position, and fills the position with the last element.
    fn take(&mut self, position: usize) -> Option<T> {
        self.at(position)?;
        let left = self.len() - 1;
        // The new position of the last element is computed before the element moves.
        let to = match self.elements.last() {
            Some(last) if position <= left => Some(self.settled(position, last, left)),
            _ => None,
        };
        let mut taken = self.elements.swap_remove(position - 1);
        if let Some(to) = to {
            self.travel(position, to);
        }
        self.order.placed(&mut taken, 0);
        Some(taken)
    }

    /// Returns the position to which an element at `from` must move, among the first `len`
    /// elements. The element might have to sink or to rise, because the element that fills a
    /// removed element's position can come from another branch and be greater than its new parent.
    fn settled(&self, from: usize, element: &T, len: usize) -> usize {
        match self.risen(from, element) {
            to if to == from => self.sunk(from, element, len),
            to => to,
        }
    }

    /// Returns the position to which an element at `from` rises: `from` itself, or a position above
    /// it in the tree.
    fn risen(&self, from: usize, element: &T) -> usize {
        let mut at = from;
        while let Some(above) = self.at(at / 2)
            && self.order.compare(element, above) == Ordering::Greater
        {
            at /= 2;
        }
        at
    }

    /// Returns the position to which an element at `from` sinks: `from` itself, or a position below
    /// it in the tree that is at most `len`.
    fn sunk(&self, from: usize, element: &T, len: usize) -> usize {
        let mut at = from;
        while at <= len / 2
            && let Some(mut below) = self.at(2 * at)
        {
            let mut child = 2 * at;
            if child < len
                && let Some(sibling) = self.at(child + 1)
                && self.order.compare(sibling, below) == Ordering::Greater
            {
                child += 1;
                below = sibling;
            }
            if self.order.compare(below, element) != Ordering::Greater {
                break;
            }
            at = child;
        }
        at
    }

    /// Moves the element at `from` to `to`, which must be above or below `from`. Each element on
    /// the path between them moves by one position. Finally all moved elements record their new
    /// positions.
    fn travel(&mut self, from: usize, to: usize) {
        let (top, bottom) = (from.min(to), from.max(to));
        let levels = bottom.ilog2() - top.ilog2();
        // The path consists of `bottom`, `bottom >> 1`, ... up to `top`.
        for step in 0..levels {
            let below = if from == bottom { step } else { levels - 1 - step };
            self.elements.swap((bottom >> below) - 1, (bottom >> (below + 1)) - 1);
        }
        for level in 0..=levels {
            let position = bottom >> level;
            self.order.placed(&mut self.elements[position - 1], position);
        }
    }
}

/// Does what [`Heap::clear`] does, so that an element that outlives the heap records position 0.
impl<T, C: HeapOrder<T>> Drop for Heap<T, C> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<T: fmt::Debug, C: HeapOrder<T>> fmt::Debug for Heap<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("elements", &self.elements).finish_non_exhaustive()
    }
}

/// Why a heap refused an operation. The heap is then unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeapError {
    /// There is no memory for another element.
    Full,
    /// The element is already in this heap.
    AlreadyIn,
    /// The element is not in a heap, or does not record its position.
    Stale,
    /// The element is in another heap.
    WrongHeap,
}

error_texts! { HeapError:
    Self::Full => "there is no memory for another element: remove one first",
    Self::AlreadyIn => "the element is already in this heap: if its order changed, call update",
    Self::Stale => "the element is in no heap, or its order tells no position",
    Self::WrongHeap => "the element is in another heap: remove it there first",
}

#[cfg(test)]
mod tests;
