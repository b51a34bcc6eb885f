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
    fn clear(&mut self);
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// An insert or a removal moves up to this many cells one by one.
#[cfg(feature = "alloc")]
const FEW: usize = 24;

/// Cells in a vector.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct Growing<P>(pub(super) Vec<Cell<P>>);

#[cfg(feature = "alloc")]
impl<P: Copy> Cells<P> for Growing<P> {
    const NEW: Self = Self(Vec::new());

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        let total = len.checked_add(additional).ok_or(Reject::Full)?;
        if total > self.0.capacity() {
            self.0.try_reserve(total - self.0.len()).map_err(|_| Reject::Full)?;
        }
        Ok(())
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

    #[inline]
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

    fn clear(&mut self) {
        self.0.clear();
    }

    fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Cell<P>>()
    }
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
