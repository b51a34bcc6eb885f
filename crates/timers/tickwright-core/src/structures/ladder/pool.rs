//! Memory for entries: lists of chunks from one pool.
//!
//! ```text
//!   List { head, end, len }                         an entry: tick (low 32 bits) | version | slot
//!            |     |
//!            v     v                                chunk: 16 entries, 2 cache lines
//!          [16] -> [7 ]   len = 23                  all chunks are full but
//!                                                   the first and the last
//! ```
//! The pool grows by segments of 8 chunks, so its growth moves no entries. Entries are appended at
//! the end of a list, and are read chunk by chunk from its head. A chunk returns to the pool as
//! soon as it has been read.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use super::record::Entry;
use crate::contract::Reject;

/// The number of entries in a chunk.
pub(super) const CHUNK: usize = 16;

/// The binary logarithm of the number of entries in a segment.
const SEGMENT: u32 = 7;

/// The number of chunks in a segment.
const CHUNKS: usize = 1 << (SEGMENT - BITS);

/// The mask of an index in a chunk. The next constant is the number of its bits.
const INDEX: u32 = CHUNK as u32 - 1;
const BITS: u32 = CHUNK.trailing_zeros();

/// The link that stands for "no chunk".
const NONE: u32 = u32::MAX;

/// A list of entries in the order in which they were appended.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    /// The cell for the next entry. If this cell is at the start of a chunk, the next entry needs a
    /// new chunk.
    end: u32,
    pub(super) len: u32,
    /// The number of entries that have been taken from the first chunk. In an empty list, `taken`
    /// is 0.
    pub(super) taken: u8,
    /// Whether timers of the same tick might be in an order other than that of their arrival.
    pub(super) mixed: bool,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, end: 0, len: 0, taken: 0, mixed: false };

    /// Returns the number of entries in the first chunk.
    #[inline]
    pub(super) fn in_chunk(&self) -> usize {
        (self.len as usize).min(CHUNK - self.taken as usize)
    }
}

/// A segment of chunks, and the links of these chunks.
#[derive(Debug)]
struct Segment {
    entries: [Entry; 1 << SEGMENT],
    /// The next chunk of the same list, or of the free list.
    next: [u32; CHUNKS],
}

/// All chunks.
#[derive(Debug)]
pub(super) struct Pool {
    #[expect(clippy::vec_box, reason = "a segment must not move when the vector grows")]
    segments: Vec<Box<[Segment; 1]>>,
    /// The number of chunks that have ever been in a list.
    used: u32,
    free: u32,
}

/// Returns the segment of a cell, and the index of the cell in that segment.
#[inline]
const fn cell(end: u32) -> (usize, usize) {
    ((end >> SEGMENT) as usize, (end & ((1 << SEGMENT) - 1)) as usize)
}

/// Returns the segment of a chunk, and the index of the chunk in that segment.
#[inline]
const fn place(chunk: u32) -> (usize, usize) {
    (chunk as usize / CHUNKS, chunk as usize % CHUNKS)
}

impl Pool {
    pub(super) const NEW: Self = Self { segments: Vec::new(), used: 0, free: NONE };

    /// Makes room for `chunks` chunks in total.
    pub(super) fn reserve(&mut self, chunks: usize) -> Result<(), Reject> {
        let missing = chunks.div_ceil(CHUNKS).saturating_sub(self.segments.len());
        self.segments.try_reserve(missing).map_err(|_| Reject::Full)?;
        for _ in 0..missing {
            let mut segment = Vec::new();
            segment.try_reserve_exact(1).map_err(|_| Reject::Full)?;
            segment.push(Segment { entries: [Entry::EMPTY; 1 << SEGMENT], next: [NONE; CHUNKS] });
            self.segments.push(segment.into_boxed_slice().try_into().map_err(|_| Reject::Full)?);
        }
        Ok(())
    }

    /// Empties all lists without freeing the memory.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.free = NONE;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.segments.len() * size_of::<Segment>() + self.segments.capacity() * size_of::<Box<[Segment; 1]>>()
    }

    /// Returns the link from a chunk to the next chunk, as a mutable reference.
    #[inline]
    fn next_mut(&mut self, chunk: u32) -> &mut u32 {
        let (segment, at) = place(chunk);
        &mut self.segments[segment][0].next[at]
    }

    /// Appends an entry.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, entry: Entry) {
        if list.end & INDEX == 0 {
            self.extend(list);
        }
        let (segment, at) = cell(list.end);
        self.segments[segment][0].entries[at] = entry;
        list.end += 1;
        list.len += 1;
    }

    /// Appends an empty chunk to a list.
    #[inline(never)]
    fn extend(&mut self, list: &mut List) {
        let at = if self.free == NONE {
            // There is a free chunk, because the ladder has reserved enough chunks.
            debug_assert!((self.used as usize) < self.segments.len() * CHUNKS, "too few chunks");
            let at = self.used;
            self.used += 1;
            *self.next_mut(at) = NONE;
            at
        } else {
            let at = self.free;
            self.free = *self.next_mut(at);
            at
        };
        if list.len == 0 {
            list.head = at;
        } else {
            *self.next_mut((list.end >> BITS) - 1) = at;
        }
        list.end = at << BITS;
    }

    /// Removes up to `most` entries of the first chunk from a list that is not empty. Returns the
    /// chunk and the range of these entries in it.
    #[inline]
    pub(super) fn take_chunk(&mut self, list: &mut List, most: usize) -> ([Entry; CHUNK], Range<usize>) {
        let from = list.taken as usize;
        let len = list.in_chunk().min(most);
        let at = list.head;
        let (segment, place) = place(at);
        let segment = &mut self.segments[segment][0];
        let entries = segment.entries.as_chunks().0[place];
        list.len -= len as u32;
        list.taken = (from + len) as u8 % CHUNK as u8;
        if list.len == 0 {
            list.end = 0;
            list.taken = 0;
        }
        if list.taken == 0 {
            list.head = core::mem::replace(&mut segment.next[place], self.free);
            self.free = at;
        }
        (entries, from..from + len)
    }

    /// Removes the entries for which `keep` returns false. The list must have all its entries in
    /// one chunk. Returns the number of removed entries. No branch depends on `keep`.
    #[inline]
    pub(super) fn compact(&mut self, list: &mut List, mut keep: impl FnMut(Entry) -> bool) -> usize {
        let (segment, place) = place(list.head);
        let segment = &mut self.segments[segment][0];
        let chunk: &mut [Entry; CHUNK] = &mut segment.entries.as_chunks_mut().0[place];
        let from = list.taken as usize;
        let mut end = from;
        for at in from..(from + list.len as usize).min(CHUNK) {
            let entry = chunk[at];
            chunk[end % CHUNK] = entry;
            end += usize::from(keep(entry));
        }
        let dropped = list.len as usize - (end - from);
        list.len = (end - from) as u32;
        list.end = (list.head << BITS) + end as u32;
        if list.len == 0 {
            segment.next[place] = self.free;
            self.free = list.head;
            *list = List::EMPTY;
        }
        dropped
    }

    /// Returns the entries of a chunk.
    #[inline]
    fn chunk(&self, chunk: u32) -> Option<&[Entry; CHUNK]> {
        let (segment, at) = place(chunk);
        self.segments.get(segment)?[0].entries.as_chunks().0.get(at)
    }

    /// Returns the first chunk of a list, for a prefetch.
    #[inline]
    pub(super) fn first_chunk(&self, list: &List) -> &[Entry] {
        let chunk = if list.len == 0 { None } else { self.chunk(list.head) };
        chunk.map_or(&[], |chunk| &chunk[list.taken as usize..][..list.in_chunk()])
    }

    /// Iterates over the entries of each chunk of a list, in order.
    #[inline]
    pub(super) fn parts(&self, list: &List) -> impl Iterator<Item = &[Entry]> + '_ {
        let (mut from, mut left) = (list.taken as usize, list.len as usize);
        let next = |&chunk: &u32| {
            let (segment, at) = place(chunk);
            self.segments.get(segment)?[0].next.get(at).copied()
        };
        let chunks = core::iter::successors(Some(list.head), next).take((from + left).div_ceil(CHUNK));
        chunks.filter_map(move |at| {
            let part = self.chunk(at)?.get(from..(from + left).min(CHUNK))?;
            left -= part.len();
            from = 0;
            Some(part)
        })
    }

    /// Iterates over all entries of a list, in order.
    pub(super) fn iter(&self, list: &List) -> impl Iterator<Item = Entry> + '_ {
        self.parts(list).flatten().copied()
    }
}
