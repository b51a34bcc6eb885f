//! The cells of a sorted array, which are in a growing vector or in an array in the queue.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::hint::select_unpredictable;

use crate::contract::{Reject, Tick};

/// A timer in the array.
#[derive(Clone, Copy, Debug)]
pub struct Cell<P> {
    pub(super) expiry: Tick,
    pub(super) node: P,
}

impl<P: Copy> Cell<P> {
    /// Copies the fields one by one. A copy of the whole cell would wait for the stores of its
    /// fields.
    #[inline(always)]
    fn copy_from(&mut self, other: &Self) {
        self.expiry = other.expiry;
        self.node = other.node;
    }
}

/// Memory for cells.
pub trait Cells<P>: Sized {
    const NEW: Self;
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject>;
    fn len(&self) -> usize;
    fn get(&self, at: usize) -> Option<Cell<P>>;
    /// Returns the index of the cell of `node`, which is due at `expiry`.
    fn find(&self, expiry: Tick, node: P) -> usize;
    /// Inserts a cell before all cells with the same or an earlier expiry. The caller must have
    /// made room. Returns the cell's index.
    fn insert_sorted(&mut self, cell: Cell<P>) -> usize;
    fn remove(&mut self, at: usize);
    /// Removes the cell at `at` and inserts `cell`, as [`insert_sorted`](Self::insert_sorted) does.
    /// Returns the new cell's index. If there are more than eight cells, only the cells between the
    /// old and the new index move.
    fn replace(&mut self, at: usize, cell: Cell<P>) -> usize;
    /// Replaces the last cell, as [`replace`](Self::replace) does.
    fn replace_last(&mut self, cell: Cell<P>);
    fn clear(&mut self);
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// With up to this many cells, an insert walks from the end and moves cells one by one, until it
/// finds the new cell's place.
const WALKED: usize = 64;

/// With up to this many cells, an insert executes no branch that depends on the new cell's place.
const TINY: usize = 8;

/// Returns the number of cells that are later than `expiry`.
#[inline]
fn later<P>(cells: &[Cell<P>], expiry: Tick) -> usize {
    cells.partition_point(|cell| cell.expiry > expiry)
}

/// Returns the index of the cell of `node`, which is due at `expiry`, or the number of cells if no
/// cell names `node`.
#[inline(always)]
fn find<P: PartialEq>(cells: &[Cell<P>], expiry: Tick, node: P) -> usize {
    if cells.len() <= TINY {
        let all = cells.iter().enumerate();
        return all.fold(cells.len(), |at, (i, cell)| select_unpredictable(cell.node == node, i, at));
    }
    let first = later(cells, expiry);
    first + cells.iter().skip(first).take_while(|cell| cell.node != node).count()
}

/// Writes `new` before all cells with the same or an earlier expiry. The last cell must be free.
/// Returns the new cell's index.
#[inline(always)]
fn insert_among_few<P: Copy>(cells: &mut [Cell<P>], new: Cell<P>) -> usize {
    let Some((mut free, mut others)) = cells.split_last_mut() else { return 0 };
    if others.len() < TINY {
        // All cells are read and written, since no branch predictor can guess the place of `new`.
        // Invariant: `next` belongs after all cells that the loop has passed.
        let (mut next, mut at) = (new, 0);
        for cell in others {
            let stays = cell.expiry > next.expiry;
            at += usize::from(stays);
            let this = *cell;
            cell.expiry = select_unpredictable(stays, this.expiry, next.expiry);
            cell.node = select_unpredictable(stays, this.node, next.node);
            next.expiry = select_unpredictable(stays, next.expiry, this.expiry);
            next.node = select_unpredictable(stays, next.node, this.node);
        }
        free.copy_from(&next);
        return at;
    }
    // Invariant: all cells after the free cell belong after the new cell.
    while let Some((cell, before)) = others.split_last_mut() {
        if cell.expiry > new.expiry {
            free.copy_from(&new);
            return before.len() + 1;
        }
        free.copy_from(cell);
        (free, others) = (cell, before);
    }
    free.copy_from(&new);
    0
}

/// Does the same as [`insert_among_few`], for an array of any length.
#[inline(always)]
fn insert_among_any<P: Copy>(cells: &mut [Cell<P>], new: Cell<P>) -> usize {
    if cells.len() > WALKED {
        return replace_among_many(cells, cells.len() - 1, new);
    }
    insert_among_few(cells, new)
}

/// Replaces the cell at `at` by `new`, and moves the cells between `at` and the place of `new`. The
/// resulting order is the same as after [`insert_among_few`].
#[inline(always)]
fn replace<P: Copy>(cells: &mut [Cell<P>], mut at: usize, new: Cell<P>) -> usize {
    if cells.len() > WALKED {
        return replace_among_many(cells, at, new);
    }
    if cells.len() <= TINY {
        for i in 1..cells.len() {
            let (this, next) = (cells[i - 1], cells[i]);
            cells[i - 1].expiry = select_unpredictable(i <= at, this.expiry, next.expiry);
            cells[i - 1].node = select_unpredictable(i <= at, this.node, next.node);
        }
        return insert_among_few(cells, new);
    }
    // Invariant: cell `at` is free, and all cells before it belong before `new`.
    while at + 1 < cells.len() && cells[at + 1].expiry > new.expiry {
        cells[at] = cells[at + 1];
        at += 1;
    }
    insert_among_few(&mut cells[..=at], new)
}

/// Does the same as [`replace`], but finds the place of `new` by a binary search and moves a block
/// of cells.
#[inline(never)]
fn replace_among_many<P: Copy>(cells: &mut [Cell<P>], at: usize, new: Cell<P>) -> usize {
    let mut place = later(cells, new.expiry);
    if place > at {
        place -= 1;
        cells.copy_within(at + 1..=place, at);
    } else {
        cells.copy_within(place..at, place + 1);
    }
    cells[place] = new;
    place
}

/// Cells in a vector.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct Growing<P>(pub(super) Vec<Cell<P>>);

#[cfg(feature = "alloc")]
impl<P> Growing<P> {
    #[cold]
    fn grow(&mut self, total: usize) -> Result<(), Reject> {
        self.0.try_reserve(total - self.0.len()).map_err(|_| Reject::Full)
    }
}

#[cfg(feature = "alloc")]
impl<P: Copy + PartialEq> Cells<P> for Growing<P> {
    const NEW: Self = Self(Vec::new());

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        let total = len.checked_add(additional).ok_or(Reject::Full)?;
        if total <= self.0.capacity() { Ok(()) } else { self.grow(total) }
    }

    #[inline]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn get(&self, at: usize) -> Option<Cell<P>> {
        self.0.get(at).copied()
    }

    #[inline]
    fn find(&self, expiry: Tick, node: P) -> usize {
        find(&self.0, expiry, node)
    }

    #[inline(always)]
    fn insert_sorted(&mut self, cell: Cell<P>) -> usize {
        self.0.push(cell);
        insert_among_any(&mut self.0, cell)
    }

    #[inline]
    fn remove(&mut self, at: usize) {
        self.0.remove(at);
    }

    #[inline]
    fn replace(&mut self, at: usize, cell: Cell<P>) -> usize {
        replace(&mut self.0, at, cell)
    }

    #[inline]
    fn replace_last(&mut self, cell: Cell<P>) {
        insert_among_any(&mut self.0, cell);
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Cell<P>>()
    }
}

/// `CAP` cells, which are part of the queue. Unused cells hold no timer and are all zeros.
#[derive(Debug)]
pub struct Inline<P, const CAP: usize> {
    pub(super) cells: [Cell<Option<P>>; CAP],
    len: usize,
}

impl<P: Copy, const CAP: usize> Inline<P, CAP> {
    const UNUSED: Cell<Option<P>> = Cell { expiry: 0, node: None };

    #[inline]
    fn used(&self) -> &[Cell<Option<P>>] {
        self.cells.get(..self.len).unwrap_or_default()
    }

    #[inline]
    fn used_mut(&mut self) -> &mut [Cell<Option<P>>] {
        self.cells.get_mut(..self.len).unwrap_or_default()
    }
}

impl<P: Copy + PartialEq, const CAP: usize> Cells<P> for Inline<P, CAP> {
    const NEW: Self = Self { cells: [Self::UNUSED; CAP], len: 0 };

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        let fits = len.checked_add(additional).is_some_and(|total| total <= CAP);
        if fits { Ok(()) } else { Err(Reject::Full) }
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn get(&self, at: usize) -> Option<Cell<P>> {
        let &Cell { expiry, node } = self.used().get(at)?;
        Some(Cell { expiry, node: node? })
    }

    #[inline]
    fn find(&self, expiry: Tick, node: P) -> usize {
        find(self.used(), expiry, Some(node))
    }

    #[inline]
    fn insert_sorted(&mut self, Cell { expiry, node }: Cell<P>) -> usize {
        self.len += 1;
        insert_among_any(self.used_mut(), Cell { expiry, node: Some(node) })
    }

    #[inline]
    fn remove(&mut self, at: usize) {
        self.cells.copy_within(at + 1..self.len, at);
        self.len -= 1;
        self.cells[self.len] = Self::UNUSED;
    }

    #[inline]
    fn replace(&mut self, at: usize, Cell { expiry, node }: Cell<P>) -> usize {
        replace(self.used_mut(), at, Cell { expiry, node: Some(node) })
    }

    #[inline]
    fn replace_last(&mut self, Cell { expiry, node }: Cell<P>) {
        insert_among_any(self.used_mut(), Cell { expiry, node: Some(node) });
    }

    fn clear(&mut self) {
        self.cells = [Self::UNUSED; CAP];
        self.len = 0;
    }
}
