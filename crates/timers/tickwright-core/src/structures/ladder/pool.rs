//! Memory for entries: lists of chunks from one pool.
//!
//! ```text
//!   List { head, end, len }                         an entry: tick (low 32 bits) | version | slot
//!            |     |
//!            v     v                                chunk: 16 entries, 2 cache lines
//!          [16] -> [7 ]   len = 23                  all chunks are full but
//!                                                   the first and the last
//! ```
//! The pool grows by segments of 8 chunks, so its growth moves no entries. A list is appended to at
//! its end, and read chunk by chunk from its head. A chunk that has been read returns to the pool
//! at once.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use super::record::Entry;
use crate::contract::Reject;

/// The entries of a chunk.
pub(super) const CHUNK: usize = 16;

/// The entries of a segment, as a power of two.
const SEGMENT: u32 = 7;

/// The chunks of a segment.
const CHUNKS: usize = 1 << (SEGMENT - BITS);

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
    /// The number of entries that have been taken from the first chunk; 0 for an empty list.
    pub(super) taken: u8,
    /// Timers of one tick may not be in the order of their arrival.
    pub(super) mixed: bool,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, end: 0, len: 0, taken: 0, mixed: false };

    /// The number of entries in the first chunk.
    #[inline]
    pub(super) fn in_chunk(&self) -> usize {
        (self.len as usize).min(CHUNK - self.taken as usize)
    }
}

/// Some chunks.
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

/// The segment of a cell, and the place of the cell there.
#[inline]
const fn cell(end: u32) -> (usize, usize) {
    ((end >> SEGMENT) as usize, (end & ((1 << SEGMENT) - 1)) as usize)
}

/// The segment of a chunk, and the place of the chunk there.
#[inline]
const fn place(chunk: u32) -> (usize, usize) {
    (chunk as usize / CHUNKS, chunk as usize % CHUNKS)
}

impl Pool {
    pub(super) const NEW: Self = Self { segments: Vec::new(), used: 0, free: NONE };

    /// Makes room for `chunks` in total.
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

    /// Empties all lists; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.free = NONE;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.segments.len() * size_of::<Segment>() + self.segments.capacity() * size_of::<Box<[Segment; 1]>>()
    }

    /// The next chunk of a chunk, for writing.
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
            // The room suffices: the ladder has reserved it.
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

    /// Takes up to `most` entries of the first chunk off a list that is not empty. Returns the
    /// chunk and their places.
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

    /// Keeps the entries for which `keep` is true, in a list whose entries are all in one chunk.
    /// Returns the number of the others. No branch depends on `keep`.
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

    /// A chunk.
    #[inline]
    fn chunk(&self, chunk: u32) -> Option<&[Entry; CHUNK]> {
        let (segment, at) = place(chunk);
        self.segments.get(segment)?[0].entries.as_chunks().0.get(at)
    }

    /// The first chunk of a list, for a prefetch.
    #[inline]
    pub(super) fn first_chunk(&self, list: &List) -> &[Entry] {
        let chunk = if list.len == 0 { None } else { self.chunk(list.head) };
        chunk.map_or(&[], |chunk| &chunk[list.taken as usize..][..list.in_chunk()])
    }

    /// The entries of each chunk, in order.
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

    /// All entries, in order.
    pub(super) fn iter(&self, list: &List) -> impl Iterator<Item = Entry> + '_ {
        self.parts(list).flatten().copied()
    }
}
