//! The run: the earliest timers, sorted by tick and arrival, in two arrays.
//!
//! ```text
//!   offsets  0 0 .. 0 | 3 7 | 7 12 30 .. 95 | MAX MAX .. MAX      tick = base + offset
//!   slots             | - - | 4  9  1 ..  8 |
//!                       out   head           end
//! ```
//! An insert processes blocks of four or eight cells, from the end to the head. Each cell gets the
//! value of the cell before it, gets the new timer, or stays the same, and no branch depends on the
//! place of the new timer. The new timer's offset is at least as great as the cells before the
//! head, and less than the cells after the end.

use crate::contract::Tick;

/// The number of cells in a block.
const BLOCK: usize = if cfg!(target_feature = "avx2") { 8 } else { 4 };

/// The number of cells that can hold timers.
const CELLS: usize = 256;

/// The number of cells in each array: the cells that can hold timers, one block before them, and
/// one block after them.
const ALL: usize = CELLS + 2 * BLOCK;

/// The first cell that can hold a timer.
const FIRST: u8 = BLOCK as u8;

/// The offset of a cell after the end.
pub(super) const UNUSED: i32 = i32::MAX;

/// The greatest offset.
pub(super) const WINDOW: Tick = UNUSED as Tick - 1;

/// The greatest number of timers that are sorted into a run.
pub(super) const SORTED: usize = 64;

/// Offsets below this limit are sorted by rank.
const RANKED: u32 = 1 << 24;

/// The number of keys with which one step of the sort compares a key.
const LANES: usize = if cfg!(target_feature = "avx2") { 32 } else { 16 };

#[derive(Debug)]
pub(super) struct Run {
    /// The tick of offset 0.
    pub(super) base: Tick,
    /// `head` and `end` are of type `u8`, and every `u8` is the index of a cell, so no access with
    /// them is out of range.
    head: u8,
    end: u8,
    pub(super) offsets: [i32; ALL],
    pub(super) slots: [i32; ALL],
}

/// The timers that are to be sorted, in the order of their arrival.
#[derive(Debug)]
pub(super) struct Batch {
    /// The offset and the index of each timer, if the timers are sorted by rank. The keys after the
    /// last timer are unused.
    keys: [i32; SORTED + LANES],
    offsets: [u32; SORTED],
    slots: [i32; SORTED],
    len: usize,
}

/// The number of bits of an index in a key.
const INDEX_BITS: u32 = 7;

impl Batch {
    pub(super) const NEW: Self =
        Self { keys: [UNUSED; SORTED + LANES], offsets: [0; SORTED], slots: [0; SORTED], len: 0 };

    #[inline]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds a timer to a batch of fewer than `SORTED` timers.
    #[inline]
    pub(super) fn push(&mut self, offset: u32, slot: u32) {
        debug_assert!(self.len < SORTED);
        let at = self.len % SORTED;
        // The index makes the keys unique, and gives timers of equal offset the order of their
        // indices.
        self.keys[at] = (offset << INDEX_BITS) as i32 | at as i32;
        self.offsets[at] = offset;
        self.slots[at] = slot as i32;
        self.len += 1;
    }
}

impl Run {
    pub(super) const NEW: Self = Self {
        base: 0,
        head: FIRST,
        end: FIRST,
        offsets: {
            let mut offsets = [UNUSED; ALL];
            let mut at = 0;
            while at < BLOCK {
                offsets[at] = 0;
                at += 1;
            }
            offsets
        },
        slots: [0; ALL],
    };

    #[inline]
    pub(super) const fn len(&self) -> usize {
        (self.end - self.head) as usize
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.end == self.head
    }

    #[inline]
    const fn tick(&self, offset: i32) -> Tick {
        self.base.wrapping_add(offset as Tick)
    }

    /// Returns the tick and the slot of the first timer.
    #[inline]
    pub(super) fn first(&self) -> Option<(Tick, u32)> {
        if self.is_empty() { None } else { Some(self.at(self.head)) }
    }

    /// Returns the tick of the first timer.
    #[inline]
    pub(super) fn first_tick(&self) -> Option<Tick> {
        self.first().map(|(tick, _)| tick)
    }

    /// Returns the tick and the slot of the timer at `index`, counted from the first timer.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<(Tick, u32)> {
        if index < self.len() { Some(self.at(self.head + index as u8)) } else { None }
    }

    #[inline]
    const fn at(&self, cell: u8) -> (Tick, u32) {
        (self.tick(self.offsets[cell as usize]), self.slots[cell as usize] as u32)
    }

    /// Returns the tick of the last timer.
    #[inline]
    pub(super) fn last(&self) -> Option<Tick> {
        if self.is_empty() { None } else { Some(self.at(self.end - 1).0) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Tick, u32)> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Removes the first timer of a run that is not empty.
    #[inline]
    pub(super) fn drop_first(&mut self) {
        self.head += 1;
    }

    /// Empties the run, and makes `base` its first possible tick.
    #[inline]
    pub(super) fn restart(&mut self, base: Tick) {
        self.base = base;
        self.head = FIRST;
        self.end = FIRST;
        self.pad();
    }

    /// Marks the block after the end as unused.
    #[inline]
    fn pad(&mut self) {
        if let Some(behind) = self.offsets[self.end.into()..].first_chunk_mut::<BLOCK>() {
            *behind = [UNUSED; BLOCK];
        }
    }

    /// Moves the timers to the first cells, and changes the base to `base`, which must not be later
    /// than any timer.
    pub(super) fn rebase(&mut self, base: Tick) {
        let by = self.base.wrapping_sub(base) as i32;
        let (head, len) = (usize::from(self.head), self.len());
        for index in 0..len {
            self.offsets[BLOCK + index] = self.offsets[head + index].wrapping_add(by);
            self.slots[BLOCK + index] = self.slots[head + index];
        }
        self.base = base;
        self.head = FIRST;
        self.end = FIRST + len as u8;
        self.pad();
    }

    /// Returns whether a timer for `tick` fits into the run: there is a free cell, and `tick` has
    /// an offset.
    #[inline]
    pub(super) fn fits(&self, tick: Tick) -> bool {
        self.end < u8::MAX && tick >= self.base && tick - self.base <= WINDOW
    }

    /// Inserts a timer, which must fit, after the timers of the same tick.
    #[inline]
    pub(super) fn insert(&mut self, tick: Tick, slot: u32) {
        let offset = tick.wrapping_sub(self.base) as i32;
        let first = usize::from(self.head) / BLOCK;
        let mut block = usize::from(self.end) / BLOCK;
        loop {
            // The remainder shows the compiler that no index is out of range.
            let at = (block - 1) % (CELLS / BLOCK) * BLOCK;
            shift_block(&mut self.offsets, &mut self.slots, at, offset, slot as i32);
            if block <= first {
                break;
            }
            block -= 1;
        }
        self.offsets[usize::from(self.end) + BLOCK] = UNUSED;
        self.end += 1;
    }

    /// Removes the timer of `slot`. Returns the index that the timer had.
    pub(super) fn remove(&mut self, slot: u32) -> Option<usize> {
        let (head, end) = (usize::from(self.head), usize::from(self.end));
        let index = self.slots.get(head..end)?.iter().position(|&other| other == slot as i32)?;
        if index == 0 {
            self.offsets[head] = 0;
            self.head += 1;
        } else {
            let at = head + index;
            self.offsets.copy_within(at + 1..end, at);
            self.slots.copy_within(at + 1..end, at);
            self.end -= 1;
            self.offsets[end - 1] = UNUSED;
        }
        Some(index)
    }

    /// Removes and returns the slot of the last timer.
    pub(super) fn pop_last(&mut self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        self.end -= 1;
        let (_, slot) = self.at(self.end);
        self.offsets[usize::from(self.end)] = UNUSED;
        Some(slot)
    }

    /// Returns the number of timers before `tick`.
    pub(super) fn before(&self, tick: Tick) -> usize {
        self.iter().take_while(|&(other, _)| other < tick).count()
    }

    /// Fills the run, which must be empty, with a batch. The offsets in the batch count from
    /// `base`, and are at most `width`.
    #[inline]
    pub(super) fn fill(&mut self, base: Tick, width: Tick, batch: &mut Batch) {
        let len = batch.len.min(SORTED);
        self.base = base;
        self.head = FIRST;
        self.end = FIRST + len as u8;
        if width == 0 {
            self.offsets[BLOCK..BLOCK + len].fill(0);
            self.slots[BLOCK..BLOCK + len].copy_from_slice(&batch.slots[..len]);
        } else if width < RANKED.into() {
            self.fill_by_rank(batch, len);
        } else {
            let mut keys = [0; SORTED];
            for (key, (at, &offset)) in keys.iter_mut().zip((0..).zip(&batch.offsets[..len])) {
                *key = u64::from(offset) << 32 | at;
            }
            keys[..len].sort_unstable();
            for (at, &key) in keys[..len].iter().enumerate() {
                self.offsets[BLOCK + at] = (key >> 32) as i32;
                self.slots[BLOCK + at] = batch.slots[key as usize % SORTED];
            }
        }
        self.pad();
    }

    /// Sorts without a branch that depends on an offset: the rank of a timer is the number of
    /// smaller keys.
    fn fill_by_rank(&mut self, batch: &mut Batch, len: usize) {
        if let Some(behind) = batch.keys[len..].first_chunk_mut::<LANES>() {
            *behind = [UNUSED; LANES];
        }
        for from in 0..len.div_ceil(LANES) {
            let from = from * LANES % SORTED;
            let Some(lanes) = batch.keys[from..].first_chunk::<LANES>() else { break };
            let mut ranks = [0; LANES];
            // The first unused key ends the loop. If the loop ended after `len` keys, the compiler
            // would compare several keys with each lane at once, for which the registers do not
            // suffice.
            for &other in &batch.keys {
                if other == UNUSED {
                    break;
                }
                for (rank, &key) in ranks.iter_mut().zip(lanes) {
                    *rank -= is_less(other, key);
                }
            }
            let timers = batch.slots[from..len].iter().zip(lanes);
            for ((&slot, key), rank) in timers.zip(ranks) {
                let at = BLOCK + rank as usize % SORTED;
                self.offsets[at] = key >> INDEX_BITS;
                self.slots[at] = slot;
            }
        }
    }

    /// Sorts the timers of each tick by arrival.
    pub(super) fn sort_equals(&mut self, arrival: impl Fn(u32) -> u64) {
        let head = usize::from(self.head);
        for at in head + 1..self.end.into() {
            let (offset, slot) = (self.offsets[at], self.slots[at]);
            if self.offsets[at - 1] != offset {
                continue;
            }
            let this = arrival(slot as u32);
            let mut free = at;
            // Invariant: the timers after the free cell arrived later than the timer that is being
            // moved.
            while free > head
                && self.offsets[free - 1] == offset
                && arrival(self.slots[free - 1] as u32) > this
            {
                self.slots[free] = self.slots[free - 1];
                free -= 1;
            }
            self.slots[free] = slot;
        }
    }

    /// Returns whether the cells before and after the timers have the values that an insert relies
    /// on.
    pub(super) fn is_padded(&self) -> bool {
        let (head, end) = (usize::from(self.head), usize::from(self.end));
        let (before, from) = self.offsets.split_at(head);
        let first = from.first().copied().unwrap_or(0);
        let behind = self.offsets.get(end..end + BLOCK).unwrap_or(&[]);
        self.head <= self.end
            && behind.len() == BLOCK
            && behind.iter().all(|&offset| offset == UNUSED)
            && before[head / BLOCK * BLOCK - 1..].iter().all(|&offset| offset <= first)
    }
}

/// Returns a mask of all bits if `a < b`, otherwise 0. The compiler can compute several masks at
/// once, whereas it would generate a jump for a condition.
#[inline(always)]
fn is_less(a: i32, b: i32) -> i32 {
    -i32::from(a < b)
}

/// Returns `first` if the mask has all bits, or `second` if the mask is 0.
#[inline(always)]
const fn choose(mask: i32, first: i32, second: i32) -> i32 {
    first & mask | second & !mask
}

/// In the block at `at + BLOCK`, moves the cells that are later than the new timer up by one cell.
/// Writes the new timer to its place, if this place is in the block.
#[inline(always)]
fn shift_block(offsets: &mut [i32; ALL], slots: &mut [i32; ALL], at: usize, offset: i32, slot: i32) {
    let mut before = [0; BLOCK];
    let mut cells = [0; BLOCK];
    let mut slots_before = [0; BLOCK];
    let mut slots_here = [0; BLOCK];
    before.copy_from_slice(&offsets[at + BLOCK - 1..at + 2 * BLOCK - 1]);
    cells.copy_from_slice(&offsets[at + BLOCK..at + 2 * BLOCK]);
    slots_before.copy_from_slice(&slots[at + BLOCK - 1..at + 2 * BLOCK - 1]);
    slots_here.copy_from_slice(&slots[at + BLOCK..at + 2 * BLOCK]);
    for i in 0..BLOCK {
        // The cells ascend. The new value of a cell is therefore the cell before it, if that cell
        // is later than the new timer. Otherwise it is the earlier of the cell and the new timer.
        // The masks of the slots use the new value, because masks from `before` and `cells`, which
        // overlap, would be computed lane by lane.
        let new = before[i].max(cells[i].min(offset));
        let (moves, stays) = (is_less(offset, new), !is_less(offset, cells[i]));
        cells[i] = new;
        slots_here[i] = choose(moves, slots_before[i], choose(stays, slots_here[i], slot));
    }
    offsets[at + BLOCK..at + 2 * BLOCK].copy_from_slice(&cells);
    slots[at + BLOCK..at + 2 * BLOCK].copy_from_slice(&slots_here);
}
