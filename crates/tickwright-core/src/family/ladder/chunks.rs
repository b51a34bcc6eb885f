//! Memory for entries: lists of chunks from one pool.
//!
//! ```text
//!   List { head, tail, fill }                       an entry: tick (low 32 bits) | slot (32 bits)
//!            |     |
//!            v     v                                chunk: 4 cache lines
//!          [31] -> [7 ]   fill = 7                  { next, len, 31 entries }
//! ```
//! The `len` of a chunk is its number of entries; only for the tail it is the list's `fill`. So an
//! append writes only the entry and the list. A chunk that has been read returns to the pool at
//! once.

use alloc::vec::Vec;

use tickwright_nodes::hint::prefetch;

use crate::contract::Reject;

/// The entries of a chunk: with its header it takes 4 cache lines.
pub(super) const PER_CHUNK: usize = 31;

/// The entries of a cache line.
const PER_LINE: usize = 8;

/// No chunk.
const NONE: u32 = u32::MAX;

/// The low half of a tick, and the number of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Entry(u64);

impl Entry {
    const EMPTY: Self = Self(0);

    #[inline]
    pub(super) const fn new(low: u32, slot: u32) -> Self {
        Self((low as u64) << 32 | slot as u64)
    }

    /// The low half of the tick; while entries are sorted, the arrival number.
    #[inline]
    pub(super) const fn low(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) const fn slot(self) -> u32 {
        self.0 as u32
    }
}

#[derive(Debug)]
struct Chunk {
    next: u32,
    /// The number of entries, unless the chunk is the tail of a list.
    len: u32,
    entries: [Entry; PER_CHUNK],
}

const _: () = assert!(size_of::<Chunk>() == 256);

/// A list of entries in the order of their appends.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
    /// The number of entries of the tail.
    fill: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE, fill: 0 };

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

/// The unread rest of a list that is read from its head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    list: List,
    /// The index of the next entry in the head.
    at: u32,
}

impl Rest {
    pub(super) const EMPTY: Self = Self { list: List::EMPTY, at: 0 };

    #[inline]
    pub(super) const fn of(list: List) -> Self {
        Self { list, at: 0 }
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A range of entries of one chunk that are being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    chunk: u32,
    from: u32,
    to: u32,
}

impl Span {
    #[inline]
    pub(super) const fn len(self) -> usize {
        (self.to - self.from) as usize
    }
}

/// All chunks.
#[derive(Debug)]
pub(super) struct Pool {
    chunks: Vec<Chunk>,
    /// The first chunk of the free list, which runs through `next`.
    free: u32,
    /// The number of chunks in lists.
    used: usize,
}

impl Pool {
    pub(super) const NEW: Self = Self { chunks: Vec::new(), free: NONE, used: 0 };

    /// Makes room for `chunks` in total.
    pub(super) fn reserve(&mut self, chunks: usize) -> Result<(), Reject> {
        if chunks >= NONE as usize {
            return Err(Reject::Full);
        }
        let missing = chunks.saturating_sub(self.chunks.len());
        if self.chunks.capacity() - self.chunks.len() < missing {
            self.chunks.try_reserve(missing).map_err(|_| Reject::Full)?;
        }
        Ok(())
    }

    /// Empties all lists; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.chunks.clear();
        self.free = NONE;
        self.used = 0;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
    }

    #[inline]
    fn take(&mut self) -> u32 {
        self.used += 1;
        let at = self.free;
        if let Some(chunk) = self.chunks.get(at as usize) {
            self.free = chunk.next;
            return at;
        }
        // The capacity suffices: the ladder has reserved it.
        debug_assert!(self.chunks.len() < self.chunks.capacity(), "more chunks than were reserved");
        self.chunks.push(Chunk { next: NONE, len: 0, entries: [Entry::EMPTY; PER_CHUNK] });
        (self.chunks.len() - 1) as u32
    }

    #[inline]
    fn give_back(&mut self, at: u32) {
        self.used -= 1;
        self.chunks[at as usize].next = self.free;
        self.free = at;
    }

    /// Appends an entry.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, entry: Entry) {
        if list.tail == NONE || list.fill as usize == PER_CHUNK {
            self.extend(list);
        }
        self.chunks[list.tail as usize].entries[list.fill as usize] = entry;
        list.fill += 1;
    }

    /// Appends an entry to a list that is being read.
    #[inline]
    pub(super) fn push_behind(&mut self, rest: &mut Rest, entry: Entry) {
        self.push(&mut rest.list, entry);
    }

    /// Appends an empty chunk to a list.
    #[cold]
    fn extend(&mut self, list: &mut List) {
        let at = self.take();
        match self.chunks.get_mut(list.tail as usize) {
            Some(last) => {
                last.next = at;
                last.len = list.fill;
            }
            None => list.head = at,
        }
        self.chunks[at as usize].next = NONE;
        list.tail = at;
        list.fill = 0;
    }

    /// Returns the chunks of a list to the pool.
    pub(super) fn free(&mut self, list: List) {
        let mut rest = Rest::of(list);
        while !rest.is_empty() {
            self.next_chunk(&mut rest);
        }
    }

    /// Appends all entries of `behind` to `list`.
    pub(super) fn append(&mut self, list: &mut List, behind: List) {
        if list.is_empty() {
            *list = behind;
        } else if !behind.is_empty() {
            let last = &mut self.chunks[list.tail as usize];
            last.next = behind.head;
            last.len = list.fill;
            list.tail = behind.tail;
            list.fill = behind.fill;
        }
    }

    /// Makes a list of the unread entries.
    pub(super) fn unread(&mut self, rest: Rest) -> List {
        let mut list = rest.list;
        if rest.at > 0 && !list.is_empty() {
            // The entries of the head move to the start of the chunk.
            let len = self.len_of(&list, list.head);
            let chunk = &mut self.chunks[list.head as usize];
            chunk.entries.copy_within(rest.at as usize..len, 0);
            let left = (len - rest.at as usize) as u32;
            chunk.len = left;
            if list.head == list.tail {
                list.fill = left;
            }
        }
        list
    }

    #[inline]
    fn len_of(&self, list: &List, at: u32) -> usize {
        let len = if at == list.tail { list.fill } else { self.chunks[at as usize].len };
        (len as usize).min(PER_CHUNK)
    }

    /// The unread entries of the head.
    #[inline]
    pub(super) fn head(&self, rest: &Rest) -> &[Entry] {
        match self.chunks.get(rest.list.head as usize) {
            Some(chunk) => {
                chunk.entries.get(rest.at as usize..self.len_of(&rest.list, rest.list.head)).unwrap_or(&[])
            }
            None => &[],
        }
    }

    /// The next entry to read.
    #[inline]
    pub(super) fn peek(&self, rest: &Rest) -> Option<Entry> {
        self.head(rest).first().copied()
    }

    /// The next entries to read, up to `most` of one chunk. [`done`](Self::done) ends it. Appends
    /// do not change the span meanwhile.
    #[inline]
    pub(super) fn span(&self, rest: &Rest, most: usize) -> Span {
        let len = self.head(rest).len().min(most) as u32;
        Span { chunk: rest.list.head, from: rest.at, to: rest.at + len }
    }

    /// The entry at a place of a span.
    #[inline]
    pub(super) fn entry(&self, span: Span, at: usize) -> Entry {
        self.chunks[span.chunk as usize].entries[span.from as usize + at]
    }

    /// The entries of a span.
    #[inline]
    pub(super) fn entries(&self, span: Span) -> &[Entry] {
        &self.chunks[span.chunk as usize].entries[span.from as usize..span.to as usize]
    }

    /// Marks the span as read.
    #[inline]
    pub(super) fn done(&mut self, rest: &mut Rest, span: Span) {
        if span.to as usize >= self.len_of(&rest.list, rest.list.head) {
            self.next_chunk(rest);
        } else {
            rest.at = span.to;
        }
    }

    fn next_chunk(&mut self, rest: &mut Rest) {
        let head = rest.list.head;
        rest.at = 0;
        if head == rest.list.tail {
            rest.list = List::EMPTY;
        } else {
            rest.list.head = self.chunks[head as usize].next;
        }
        self.give_back(head);
    }

    /// Prefetches the chunk after the head, for a caller that reads the list to its end.
    #[inline]
    pub(super) fn prefetch_next(&self, rest: &Rest) {
        let next = self.chunks.get(rest.list.head as usize).map(|head| head.next);
        if let Some(chunk) = next.and_then(|next| self.chunks.get(next as usize)) {
            for line in chunk.entries.chunks(PER_LINE) {
                prefetch(line.as_ptr());
            }
        }
    }

    /// The number of entries; `None` if it exceeds `most`.
    #[inline]
    pub(super) fn count(&self, list: &List, most: usize) -> Option<usize> {
        let (mut at, mut count) = (list.head, 0);
        // Invariant: `count` entries are in the chunks before `at`.
        while at != NONE {
            count += self.len_of(list, at);
            if count > most {
                return None;
            }
            at = if at == list.tail { NONE } else { self.chunks[at as usize].next };
        }
        Some(count)
    }

    /// The entry of a list of one entry; `None` for every other list.
    #[inline]
    pub(super) fn single(&self, list: &List) -> Option<Entry> {
        (list.head == list.tail && list.fill == 1)
            .then(|| self.chunks.get(list.head as usize))
            .flatten()
            .map(|chunk| chunk.entries[0])
    }

    /// All unread entries, in order.
    pub(super) fn iter(&self, rest: Rest) -> impl Iterator<Item = Entry> + '_ {
        let list = rest.list;
        let chunks = core::iter::successors(Some(list.head).filter(|&at| at != NONE), move |&at| {
            (at != list.tail).then(|| self.chunks.get(at as usize)).flatten().map(|chunk| chunk.next)
        });
        // A chain that does not end is damaged; `take` limits the walk to one visit of each chunk.
        chunks
            .take(self.used)
            .flat_map(move |at| {
                let from = if at == list.head { rest.at as usize } else { 0 };
                let len = self.len_of(&list, at);
                self.chunks.get(at as usize).and_then(|chunk| chunk.entries.get(from..len)).unwrap_or(&[])
            })
            .copied()
    }
}
