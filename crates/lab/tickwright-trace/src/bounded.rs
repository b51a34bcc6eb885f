//! Sources with a limit for the bytes of one piece, so that reading a piece takes bounded memory.

use core::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// How many bytes can still be read before the next piece begins.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    most: usize,
    left: Rc<Cell<usize>>,
}

impl Limit {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, left: Rc::new(Cell::new(most)) }
    }

    /// Begins another piece.
    pub(crate) fn renew(&self) {
        self.left.set(self.most);
    }

    /// Returns whether a piece was longer than the limit.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.left.get() == 0
    }
}

/// A source that fails if a piece is longer than the limit.
#[derive(Debug)]
pub(crate) struct Bounded<R> {
    pub(crate) from: R,
    pub(crate) limit: Limit,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = self.limit.left.get();
        if left == 0 {
            return Err(io::Error::other("a piece is longer than its limit"));
        }
        let most = to.len().min(left);
        let had = self.from.read(&mut to[..most])?;
        self.limit.left.set(left - had);
        Ok(had)
    }
}
