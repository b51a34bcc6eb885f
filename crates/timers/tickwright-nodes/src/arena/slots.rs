//! `Arena`: occupies and vacates slots.

use core::fmt;
use core::mem;
use core::num::NonZeroU32;

use super::{Columns, Full, GENERATIONS, Idx, MOST, SlotId, SlotState, slots_for};
use crate::{Handle, Record, Violation};

/// When fewer slots than this are live, a long free list is dropped. Later searches for a free slot
/// by index then skip at most this many live slots, plus the retired slots.
const FEW: usize = 64;

/// A free list with fewer slots than this is not dropped, because so few slots are in the cache.
/// Retired slots are not counted.
const LONG: u32 = 1024;

/// Slots with generations, in either layout. The [module](super) states the invariants.
pub struct Arena<C> {
    /// Records and slots.
    pub columns: C,
    #[doc(hidden)]
    pub free: Option<Idx>,
    /// The free slots up to this index are on the free list; the free slots after it are not.
    #[doc(hidden)]
    pub seen: u32,
    #[doc(hidden)]
    pub retired: u32,
    #[doc(hidden)]
    pub idle: u32,
    #[doc(hidden)]
    pub first_generation: u32,
    /// The greatest allowed number of live slots, at most [`MOST`]. If the number of slots is
    /// fixed, `limit` is 0 and has no meaning, so that an empty arena is all zeros and a static
    /// arena takes no flash.
    limit: u32,
    #[doc(hidden)]
    pub len: usize,
}

/// The bit of a slot's generation that is set while the slot is idle.
const IDLE: u32 = !GENERATIONS;

impl<C: Columns> Arena<C> {
    /// The greatest index of a slot.
    const SLOTS: usize = if C::Record::SLOTS < MOST { C::Record::SLOTS } else { MOST };

    /// Creates an arena over columns that must be empty. The first occupation of each slot has
    /// generation `last + 1`.
    #[must_use]
    pub const fn starting_after(last: u32, columns: C) -> Self {
        // The conversion of an index to `usize` must not lose bits, because a forged id could
        // otherwise name the slot of a real id.
        const { assert!(usize::BITS >= u32::BITS, "an arena needs a 32-bit target: use hooks") };
        let (free, limit) = (None, if C::FIXED { 0 } else { MOST as u32 });
        Self { columns, free, seen: 0, retired: 0, idle: 0, first_generation: last, limit, len: 0 }
    }

    /// Returns the number of live slots, including idle slots.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no slot is live.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the arena has reached its bound or the last index.
    #[inline]
    #[must_use]
    pub const fn is_full(&self) -> bool {
        !C::FIXED && self.len >= self.limit as usize
    }

    /// Limits the arena to `limit` live slots. After this call it allocates only in
    /// [`reserve`](Self::reserve).
    pub fn bound(&mut self, limit: usize) {
        self.limit = limit.min(MOST) as u32;
    }

    /// Returns the number of slots that must be appended before `additional` more slots can be
    /// occupied.
    ///
    /// # Errors
    /// [`Full`] when the bound does not allow this many, or when there are too few indices.
    pub fn missing(&self, additional: usize) -> Result<usize, Full> {
        let total = self
            .len
            .checked_add(additional)
            .filter(|&total| C::FIXED || total <= self.limit as usize)
            .ok_or(Full)?;
        if additional == 0 {
            return Ok(0);
        }
        // Free slots are occupied before new slots are appended. Retired slots and slot 0 are never
        // occupied.
        let slots = slots_for(total, self.retired as usize).filter(|&slots| slots - 1 <= Self::SLOTS);
        let slots = slots.ok_or(Full)?;
        Ok(slots.saturating_sub(self.columns.len()))
    }

    /// Makes room for `additional` more occupations.
    ///
    /// # Errors
    /// [`Full`] when there is no memory, and in the cases of [`missing`](Self::missing).
    pub fn reserve(&mut self, additional: usize) -> Result<(), Full> {
        self.columns.reserve(self.missing(additional)?, true)
    }

    /// Moves a value into a free slot, or into a new slot.
    ///
    /// # Errors
    /// Returns the value when the arena is full or there is no memory. When this error is returned,
    /// nothing has changed.
    // Inlined, because a call would return its result in memory, and the caller would wait for the
    // store of the result.
    #[inline(always)]
    pub fn occupy(&mut self, value: C::Value) -> Result<SlotId, C::Value> {
        if self.is_full() {
            return Err(refuse(value));
        }
        let index = match self.free {
            Some(index) => {
                self.free = self.columns.next_vacant(index);
                index
            }
            None => match self.take_fresh() {
                Some(index) => index,
                None => return Err(refuse(value)),
            },
        };
        let Some(slot) = self.columns.slot_mut(index.at()) else { return Err(refuse(value)) };
        // A free slot that is not retired has at least one generation left.
        let last = match slot {
            SlotState::Free { last } => *last,
            SlotState::Live { generation, .. } => generation.get(),
        };
        let generation = NonZeroU32::MIN.saturating_add(last);
        *slot = SlotState::Live { generation, value };
        self.len += 1;
        Ok(SlotId { index, generation })
    }

    /// Takes the next free slot that is not on the free list, or appends a slot. The function is
    /// not inlined, because most new values are stored in a slot of the free list.
    #[inline(never)]
    fn take_fresh(&mut self) -> Option<Idx> {
        while (self.seen as usize) + 1 < self.columns.len() {
            self.seen += 1;
            let at = self.seen as usize;
            // A slot that is not usable is live or retired.
            if self.columns.slot(at).is_some_and(SlotState::is_usable) {
                return Idx::of(at);
            }
        }
        if C::FIXED {
            return None;
        }
        let used = self.columns.len();
        if used == 0 || used == self.columns.capacity() {
            self.grow()?;
        }
        let index = Idx::of(self.columns.len()).filter(|index| index.at() <= Self::SLOTS)?;
        self.columns.push(self.first_generation);
        self.seen = index.number();
        Some(index)
    }

    /// Takes all slots off the free list, so that the next values are stored by increasing index.
    /// If the slots were vacated in random order, a walk along the list would miss the cache at
    /// each slot.
    #[cold]
    fn drop_long_list(&mut self) {
        if self.seen >= LONG && self.seen - LONG >= self.retired {
            self.free = None;
            self.seen = 0;
        }
    }

    /// Allocates memory for one more slot. The first call also allocates memory for slot 0, and
    /// appends slot 0.
    #[cold]
    fn grow(&mut self) -> Option<()> {
        let missing = if self.columns.is_empty() { 2 } else { 1 };
        let slots = self.columns.len() + missing;
        Idx::of(slots - 1).filter(|last| last.at() <= Self::SLOTS)?;
        if (self.limit as usize) < MOST && slots > self.columns.capacity() {
            return None;
        }
        self.columns.reserve(missing, false).ok()?;
        if self.columns.is_empty() {
            self.columns.push(self.first_generation);
        }
        Some(())
    }

    /// Removes the value from a live slot that is not idle, and puts the slot on the free list or
    /// retires it. Returns `None` if the slot is not live.
    #[inline]
    pub fn vacate(&mut self, index: Idx) -> Option<(SlotId, C::Value)> {
        let slot = self.columns.slot_mut(index.at())?;
        debug_assert!(!slot.is_idle());
        let SlotState::Live { generation, .. } = *slot else { return None };
        let is_worn = generation.get() == GENERATIONS;
        let vacated = mem::replace(
            slot,
            SlotState::Free { last: if C::FIXED && is_worn { 0 } else { generation.get() } },
        );
        if C::FIXED || !is_worn {
            if index.number() <= self.seen {
                self.columns.set_vacant(index, self.free);
                self.free = Some(index);
            } else {
                self.columns.set_vacant(index, None);
            }
        } else {
            self.columns.set_idle(index);
            self.retired += 1;
        }
        self.len -= 1;
        if !C::FIXED && self.len == FEW - 1 {
            self.drop_long_list();
        }
        match vacated {
            SlotState::Live { value, .. } => Some((SlotId { index, generation }, value)),
            SlotState::Free { .. } => None,
        }
    }

    /// Vacates every live slot and drops the values. The caller's algorithm must not hold a handle
    /// of any slot. If the drop of a value panics, the other values are dropped during the
    /// unwinding.
    pub fn clear(&mut self) {
        self.vacate_all(false);
    }

    /// Does what [`clear`](Self::clear) does, but does not vacate idle slots.
    pub fn clear_busy(&mut self) {
        self.vacate_all(true);
    }

    fn vacate_all(&mut self, keeps_idle: bool) {
        struct Clearing<'a, C: Columns> {
            arena: &'a mut Arena<C>,
            next: usize,
            keeps_idle: bool,
        }
        impl<C: Columns> Clearing<'_, C> {
            fn run(&mut self) {
                while self.next < self.arena.columns.len() {
                    let index = Idx::of(self.next);
                    self.next += 1;
                    let is_idle = index
                        .and_then(|index| self.arena.columns.slot(index.at()))
                        .is_some_and(SlotState::is_idle);
                    if is_idle && self.keeps_idle {
                        continue;
                    }
                    drop(index.and_then(|index| {
                        self.arena.mark(index, false);
                        self.arena.vacate(index)
                    }));
                }
            }
        }
        impl<C: Columns> Drop for Clearing<'_, C> {
            fn drop(&mut self) {
                self.run();
            }
        }
        Clearing { arena: self, next: 1, keeps_idle }.run();
    }

    /// Marks a live slot as idle if `is_idle` is true, otherwise as not idle. Changes nothing if
    /// the slot is already marked so.
    #[inline]
    pub fn mark(&mut self, index: Idx, is_idle: bool) {
        if let Some(SlotState::Live { generation, .. }) = self.columns.slot_mut(index.at())
            && (generation.get() & IDLE != 0) != is_idle
        {
            // The result is not 0, because the other bits of a generation are not all 0.
            *generation = NonZeroU32::new(generation.get() ^ IDLE).unwrap_or(*generation);
            self.idle = if is_idle { self.idle + 1 } else { self.idle - 1 };
        }
    }

    /// Returns whether `id` is the id of an idle slot.
    #[inline]
    #[must_use]
    pub fn is_idle(&self, id: SlotId) -> bool {
        let slot = self.columns.slot(id.index.at());
        matches!(slot, Some(SlotState::Live { generation, .. }) if generation.get() == id.generation.get() | IDLE)
    }

    /// Returns the value of an occupation, whether the slot is idle or not. Returns `None` if the
    /// occupation is over.
    #[inline]
    #[must_use]
    pub fn value(&self, id: SlotId) -> Option<&C::Value> {
        match self.columns.slot(id.index.at()) {
            Some(SlotState::Live { generation, value }) if is_of(*generation, id) => Some(value),
            _ => None,
        }
    }

    /// Does what [`value`](Self::value) does, but returns a mutable reference.
    #[inline]
    #[must_use]
    pub fn value_mut(&mut self, id: SlotId) -> Option<&mut C::Value> {
        match self.columns.slot_mut(id.index.at()) {
            Some(SlotState::Live { generation, value }) if is_of(*generation, id) => Some(value),
            _ => None,
        }
    }

    /// Returns the value of an occupation that is not idle. Returns `None` if the occupation is
    /// over.
    #[inline]
    #[must_use]
    pub fn get(&self, id: SlotId) -> Option<&C::Value> {
        match self.columns.slot(id.index.at()) {
            Some(SlotState::Live { generation, value }) if *generation == id.generation => Some(value),
            _ => None,
        }
    }

    /// Does what [`get`](Self::get) does, but returns a mutable reference.
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, id: SlotId) -> Option<&mut C::Value> {
        match self.columns.slot_mut(id.index.at()) {
            Some(SlotState::Live { generation, value }) if *generation == id.generation => Some(value),
            _ => None,
        }
    }

    /// Returns the value of a slot, together with its current id. Returns `None` if the slot is not
    /// live, or is idle.
    #[inline]
    #[must_use]
    pub fn live(&self, index: Idx) -> Option<(SlotId, &C::Value)> {
        match self.columns.slot(index.at()) {
            Some(SlotState::Live { generation, value }) if generation.get() <= GENERATIONS => {
                Some((SlotId { index, generation: *generation }, value))
            }
            _ => None,
        }
    }

    /// Returns the current id of a slot, whether it is idle or not. Returns `None` if the slot is
    /// not live.
    #[must_use]
    pub fn occupant(&self, index: Idx) -> Option<SlotId> {
        match self.columns.slot(index.at()) {
            Some(SlotState::Live { generation, .. }) => {
                NonZeroU32::new(generation.get() & GENERATIONS).map(|generation| SlotId { index, generation })
            }
            _ => None,
        }
    }

    /// Iterates over all live slots that are not idle, in the order of their indices. O(slots).
    pub fn iter(&self) -> impl Iterator<Item = (SlotId, &C::Value)> + '_ {
        (1..self.columns.len()).filter_map(|at| self.live(Idx::of(at)?))
    }

    /// Verifies invariants 3 to 5. O(slots).
    ///
    /// # Errors
    /// [`Violation::Storage`].
    pub fn check(&self) -> Result<(), Violation> {
        let slots = || (1..self.columns.len()).filter_map(|at| self.columns.slot(at));
        let live = slots().filter(|slot| slot.is_live()).count();
        let usable = slots().filter(|slot| slot.is_usable()).count();
        let listed = slots().take(self.seen as usize).filter(|slot| slot.is_usable()).count();
        let idle = slots().filter(|slot| slot.is_idle()).count();
        if !self.columns.is_complete()
            || self.columns.slot(0).is_some_and(SlotState::is_live)
            || live != self.len
            || idle != self.idle as usize
            || live + usable + self.retired as usize != self.columns.len().saturating_sub(1)
        {
            return Err(Violation::Storage);
        }
        let mut found = 0;
        let mut next = self.free;
        // Invariant: the first `found` slots of the free list have been visited, and each of them
        // was usable.
        while let Some(p) = next {
            found += 1;
            let is_listed =
                p.number() <= self.seen && self.columns.slot(p.at()).is_some_and(SlotState::is_usable);
            if found > listed || !is_listed {
                return Err(Violation::Storage);
            }
            next = self.columns.next_vacant(p);
        }
        if found == listed { Ok(()) } else { Err(Violation::Storage) }
    }
}

/// Returns whether a slot, idle or not, has the generation of the id.
#[inline]
const fn is_of(generation: NonZeroU32, id: SlotId) -> bool {
    generation.get() & GENERATIONS == id.generation.get()
}

/// Returns a value that was refused. The function is cold, so that the compiler moves refusals out
/// of the fast path.
#[cold]
fn refuse<T>(value: T) -> T {
    value
}

impl<C> fmt::Debug for Arena<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("len", &self.len)
            .field("retired", &self.retired)
            .finish_non_exhaustive()
    }
}
