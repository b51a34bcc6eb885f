//! Memory for entries: lists of chunks from one pool.
//!
//! ```text
//!   List { head, end, len }                         an entry: tick (low 32 bits) | version | slot
//!            |     |
//!            v     v                                chunk: 16 entries, 2 cache lines
//!          [16] -> [7 ]   len = 23                  all chunks but the last are full
//! ```
//! A list is appended to at its end, and read chunk by chunk from its head. A chunk that has been
//! read returns to the pool at once.

use alloc::vec::Vec;

use super::record::Entry;
use crate::contract::Reject;

/// The entries of a chunk.
pub(super) const CHUNK: usize = 16;

/// The mask of an index in a chunk, and the number of its bits.
const INDEX: u32 = CHUNK as u32 - 1;
const BITS: u32 = CHUNK.trailing_zeros();

/// No chunk.
const NONE: u32 = u32::MAX;

/// A list of entries in the order of their appends.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    /// The cell for the next entry. At the start of a chunk: a new chunk is needed.
    end: u32,
    pub(super) len: u32,
    /// Timers of one tick may not be in the order of their arrival.
    pub(super) mixed: bool,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, end: 0, len: 0, mixed: false };
}

/// All chunks.
#[derive(Debug)]
pub(super) struct Pool {
    chunks: Vec<[Entry; CHUNK]>,
    /// The next chunk of the same list, or of the free list.
    next: Vec<u32>,
    free: u32,
}

impl Pool {
    pub(super) const NEW: Self = Self { chunks: Vec::new(), next: Vec::new(), free: NONE };

    /// Makes room for `chunks` in total.
    pub(super) fn reserve(&mut self, chunks: usize) -> Result<(), Reject> {
        let missing = chunks.saturating_sub(self.next.len());
        self.chunks.try_reserve_exact(missing).map_err(|_| Reject::Full)?;
        self.next.try_reserve_exact(missing).map_err(|_| Reject::Full)
    }

    /// Empties all lists; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.chunks.clear();
        self.next.clear();
        self.free = NONE;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<[Entry; CHUNK]>() + self.next.capacity() * size_of::<u32>()
    }

    /// Appends an entry.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, entry: Entry) {
        if list.end & INDEX == 0 {
            self.extend(list);
        }
        self.chunks[(list.end >> BITS) as usize][(list.end & INDEX) as usize] = entry;
        list.end += 1;
        list.len += 1;
    }

    /// Appends an empty chunk to a list.
    #[inline(never)]
    fn extend(&mut self, list: &mut List) {
        let at = self.free;
        let at = if let Some(&next) = self.next.get(at as usize) {
            self.free = next;
            at
        } else {
            // The capacity suffices: the ladder has reserved it.
            debug_assert!(self.next.len() < self.next.capacity(), "more chunks than were reserved");
            self.next.push(NONE);
            self.chunks.push([Entry::EMPTY; CHUNK]);
            (self.next.len() - 1) as u32
        };
        if list.len == 0 {
            list.head = at;
        } else {
            self.next[((list.end >> BITS) - 1) as usize] = at;
        }
        list.end = at << BITS;
    }

    /// The number of entries that [`take_chunk`](Self::take_chunk) will take.
    #[inline]
    pub(super) fn in_chunk(list: &List) -> usize {
        (list.len as usize).min(CHUNK)
    }

    /// Takes the first chunk off a list that is not empty. Returns the chunk and its number of
    /// entries.
    #[inline]
    pub(super) fn take_chunk(&mut self, list: &mut List) -> ([Entry; CHUNK], usize) {
        let len = Self::in_chunk(list);
        let at = list.head;
        let entries = self.chunks[at as usize];
        let next = &mut self.next[at as usize];
        list.head = *next;
        *next = self.free;
        self.free = at;
        list.len -= len as u32;
        if list.len == 0 {
            list.end = 0;
        }
        (entries, len)
    }

    /// The first chunk of a list, for a prefetch.
    #[inline]
    pub(super) fn first_chunk(&self, list: &List) -> &[Entry] {
        let chunk = if list.len == 0 { None } else { self.chunks.get(list.head as usize) };
        chunk.map_or(&[], |chunk| &chunk[..Self::in_chunk(list)])
    }

    /// All entries, in order.
    pub(super) fn iter(&self, list: &List) -> impl Iterator<Item = Entry> + '_ {
        let chunks = (list.len as usize).div_ceil(CHUNK);
        core::iter::successors(Some(list.head), |&at| self.next.get(at as usize).copied())
            .take(chunks)
            .filter_map(|at| self.chunks.get(at as usize))
            .flatten()
            .copied()
            .take(list.len as usize)
    }
}
