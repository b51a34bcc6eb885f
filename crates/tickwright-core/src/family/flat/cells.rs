//! The cells of a sorted array: in a growing vector or in an array inside the queue.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use crate::contract::{Reject, Tick};

/// A timer in the array.
#[derive(Clone, Copy, Debug)]
pub struct Cell<P> {
    pub(super) expiry: Tick,
    pub(super) node: P,
}

/// Memory for cells.
pub trait Cells<P>: Sized {
    const NEW: Self;
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject>;
    fn len(&self) -> usize;
    fn get(&self, at: usize) -> Option<Cell<P>>;
    /// The number of cells at the front for which `is_before` holds. Once `is_before` is false for
    /// a cell, it is false for all cells behind it.
    fn count(&self, is_before: impl Fn(&Cell<P>) -> bool) -> usize;
    /// Inserts a cell in front of all cells with the same or an earlier expiry. The caller has made
    /// room. Returns the cell's index.
    fn insert_sorted(&mut self, cell: Cell<P>) -> usize;
    fn remove(&mut self, at: usize);
    /// Removes the cell at `at` and inserts another one, as [`insert_sorted`](Self::insert_sorted)
    /// does. Only the cells between the two places move. Returns the new cell's index.
    fn replace(&mut self, at: usize, cell: Cell<P>) -> usize;
    fn clear(&mut self);
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// An insert into an array of up to this many cells moves them one by one.
#[cfg(feature = "alloc")]
const FEW: usize = 64;

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
impl<P: Copy> Cells<P> for Growing<P> {
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
    fn count(&self, is_before: impl Fn(&Cell<P>) -> bool) -> usize {
        self.0.partition_point(is_before)
    }

    #[inline(always)]
    fn insert_sorted(&mut self, cell: Cell<P>) -> usize {
        let mut at = self.0.len();
        if at > FEW {
            at = self.count(|other| other.expiry > cell.expiry);
            self.0.insert(at, cell);
            return at;
        }
        self.0.push(cell);
        // Invariant: cell `at` is free, and all cells behind it are not later than the new cell.
        while at > 0 && self.0[at - 1].expiry <= cell.expiry {
            self.0[at] = self.0[at - 1];
            at -= 1;
        }
        self.0[at] = cell;
        at
    }

    #[inline]
    fn remove(&mut self, at: usize) {
        self.0.remove(at);
    }

    #[inline]
    fn replace(&mut self, at: usize, cell: Cell<P>) -> usize {
        replace(&mut self.0, at, cell, |&cell, other| other.expiry > cell.expiry)
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Cell<P>>()
    }
}

/// Replaces the cell at `at`, and moves the cells between its place and the new one's.
/// `is_before(new, other)` tells whether the other cell belongs in front of the new one.
#[inline(always)]
fn replace<C: Copy>(cells: &mut [C], mut at: usize, new: C, is_before: impl Fn(&C, &C) -> bool) -> usize {
    // Invariant: cell `at` is free. Either all cells in front of it belong there, or all cells
    // behind it do.
    while at + 1 < cells.len() && is_before(&new, &cells[at + 1]) {
        cells[at] = cells[at + 1];
        at += 1;
    }
    while at > 0 && !is_before(&new, &cells[at - 1]) {
        cells[at] = cells[at - 1];
        at -= 1;
    }
    cells[at] = new;
    at
}

/// `CAP` cells in the queue itself.
#[derive(Debug)]
pub struct Inline<P, const CAP: usize> {
    pub(super) cells: [Option<Cell<P>>; CAP],
    len: usize,
}

impl<P: Copy, const CAP: usize> Cells<P> for Inline<P, CAP> {
    const NEW: Self = Self { cells: [None; CAP], len: 0 };

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
        *self.cells.get(..self.len)?.get(at)?
    }

    #[inline]
    fn count(&self, is_before: impl Fn(&Cell<P>) -> bool) -> usize {
        let used = self.cells.get(..self.len).unwrap_or_default();
        used.partition_point(|cell| cell.as_ref().is_some_and(&is_before))
    }

    #[inline]
    fn insert_sorted(&mut self, cell: Cell<P>) -> usize {
        let at = self.count(|other| other.expiry > cell.expiry);
        self.cells.copy_within(at..self.len, at + 1);
        self.cells[at] = Some(cell);
        self.len += 1;
        at
    }

    #[inline]
    fn replace(&mut self, at: usize, cell: Cell<P>) -> usize {
        let used = self.cells.get_mut(..self.len).unwrap_or_default();
        replace(used, at, Some(cell), |cell, other| {
            cell.zip(*other).is_some_and(|(c, o)| o.expiry > c.expiry)
        })
    }

    #[inline]
    fn remove(&mut self, at: usize) {
        self.cells.copy_within(at + 1..self.len, at);
        self.len -= 1;
        self.cells[self.len] = None;
    }

    fn clear(&mut self) {
        self.cells = [None; CAP];
        self.len = 0;
    }
}
