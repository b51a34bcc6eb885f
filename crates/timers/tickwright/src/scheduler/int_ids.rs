//! Ids for C programs that store a timer's id in an `int`. Each id is positive. It is not issued
//! again before about 2^31 other ids were issued.
//!
//! Each new id is one greater than the last. A ring of cells, whose length is a power of two, maps
//! an id to its timer. The id's lower bits are the index of the cell:
//!
//! ```text
//!   id 1000 1010 ──> cell 1010 [ id, slot ]      a cell is right only if it holds the whole id
//! ```
//!
//! If the cell of the next id still holds an older timer, the next id is skipped. At most half of
//! the cells are in use; if there are more timers, the ring is doubled. Two ids in different cells
//! of the old ring have different lower bits, so they are in different cells of the new ring.

#[derive(Clone, Copy, Default)]
struct Cell {
    /// 0 if the cell is empty.
    id: i32,
    slot: u32,
}

#[derive(Default)]
pub(super) struct IntIds {
    ring: Vec<Cell>,
    last: i32,
    live: usize,
}

const LEAST: usize = 64;

impl IntIds {
    /// Creates an empty ring, whose first id comes after `last`.
    #[cfg(test)]
    pub(super) fn after(last: i32) -> Self {
        Self { last, ..Self::default() }
    }

    #[inline]
    fn cell(&self, id: i32) -> usize {
        // The ring's length is a power of two, or 0. If it is 0, there are no cells and `get` finds
        // nothing.
        id as usize & self.ring.len().wrapping_sub(1)
    }

    /// Reserves room for `additional` more timers. Returns `None` if there is no memory, or if
    /// there would be more than 2^30 timers.
    #[must_use]
    pub(super) fn reserve(&mut self, additional: usize) -> Option<()> {
        let live = self.live.saturating_add(additional);
        let cells = live.saturating_mul(2).max(LEAST).checked_next_power_of_two()?;
        if cells > 1 << 31 {
            return None;
        }
        if cells > self.ring.len() {
            let mut ring = Vec::new();
            ring.try_reserve_exact(cells).ok()?;
            ring.resize(cells, Cell::default());
            let old = core::mem::replace(&mut self.ring, ring);
            for cell in old.into_iter().filter(|cell| cell.id != 0) {
                let at = self.cell(cell.id);
                self.ring[at] = cell;
            }
        }
        Some(())
    }

    /// Returns the next id, for a timer that the caller then passes to [`put`](Self::put). Returns
    /// `None` if there is no memory, or there are 2^30 timers.
    #[inline]
    pub(super) fn next(&mut self) -> Option<i32> {
        if self.live >= self.ring.len() / 2 {
            self.reserve(1)?;
        }
        // At least half of the cells are empty, so the loop finds an empty cell.
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            if self.ring[self.cell(self.last)].id == 0 {
                return Some(self.last);
            }
        }
    }

    /// Assigns `id` to the timer in `slot`. [`next`](Self::next) has returned this id.
    #[inline]
    pub(super) fn put(&mut self, id: i32, slot: u32) {
        let at = self.cell(id);
        self.ring[at] = Cell { id, slot };
        self.live += 1;
    }

    pub(super) fn find(&self, id: i32) -> Option<u32> {
        let cell = self.ring.get(self.cell(id))?;
        (id > 0 && cell.id == id).then_some(cell.slot)
    }

    /// Releases an id that [`put`](Self::put) assigned, because its timer was removed.
    #[inline]
    pub(super) fn release(&mut self, id: i32) {
        let at = self.cell(id);
        self.ring[at] = Cell::default();
        self.live -= 1;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.ring.capacity() * size_of::<Cell>()
    }
}
