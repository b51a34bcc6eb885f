//! The record of a slot, and the entry that names a slot in a bucket.

use crate::contract::Tick;
use crate::structure::{Handle, Record};

/// The greatest number of slots: an entry has 24 bits for the number of a slot.
pub(super) const SLOTS: usize = (1 << 24) - 1;

/// The low half of a tick, the number of a slot, and the version that the slot had when the entry
/// was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Entry(u64);

impl Entry {
    pub(super) const EMPTY: Self = Self(0);

    #[inline]
    const fn new(low: u32, version: u32, slot: u32) -> Self {
        Self((low as u64) << 32 | (version & VERSION | slot & !VERSION) as u64)
    }

    /// Returns the low half of the tick.
    #[inline]
    pub(super) const fn low(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    const fn version(self) -> u32 {
        self.0 as u32 & VERSION
    }

    #[inline]
    pub(super) const fn slot(self) -> u32 {
        self.0 as u32 & !VERSION
    }
}

/// The mask of the version in an entry and in a record's `marks`.
const VERSION: u32 = 0xff << 24;
/// The lowest bit of a version.
const NEXT_VERSION: u32 = 1 << 24;
/// The mark of a slot in which a timer is pending. A pop from the run does not clear the mark: the
/// mark is read only while the slot's current entry is in a bucket, and a timer in the run has no
/// current entry.
const LIVE: u32 = 1 << 16;
/// The mark of a slot whose current entry is in a bucket. If the slot is vacant, the next timer in
/// the slot can take over the entry.
const WAITS: u32 = 1 << 17;
/// The mark of a slot that has used all versions while older entries of the slot were in buckets. A
/// dead entry can then look like the current entry.
const WRAPPED: u32 = 1 << 18;
/// The mask of the number of the slot's entries. The greatest value also stands for all greater
/// numbers.
const COUNT: u32 = 0xffff;

/// The record of a slot.
#[derive(Debug)]
pub struct LadderRecord {
    /// The tick at which the timer is due. A vacant slot retains this tick while its current entry
    /// is in a bucket.
    pub(super) expiry: Tick,
    /// The arrival number of a pending timer, or, in a vacant slot, the next vacant slot.
    pub(super) sequence: u64,
    /// The low half of the current entry's tick. This tick is less than 2^32 ticks before `expiry`.
    placed: u32,
    /// The version, the marks and the number of entries of the slot.
    marks: u32,
}

const _: () = assert!(size_of::<LadderRecord>() == 24);

impl<P: Handle> Record<P> for LadderRecord {
    const IDLE: Self = Self { expiry: 0, sequence: 0, placed: 0, marks: 0 };

    #[inline]
    fn vacant(next: Option<P>) -> Self {
        Self { expiry: 0, sequence: next.map_or(0, Handle::number).into(), placed: 0, marks: 0 }
    }

    #[inline]
    fn next_vacant(&self) -> Option<P> {
        P::from_number(self.sequence as u32)
    }

    #[inline]
    fn set_vacant(&mut self, next: Option<P>) {
        self.sequence = next.map_or(0, Handle::number).into();
    }

    const SLOTS: usize = SLOTS;
    const REMEMBERS: bool = true;

    fn forget(&mut self) {
        self.marks = 0;
    }
}

impl LadderRecord {
    #[inline]
    pub(super) const fn is_live(&self) -> bool {
        self.marks & LIVE != 0
    }

    /// Returns whether the current entry is in a bucket.
    #[inline]
    pub(super) const fn waits(&self) -> bool {
        self.marks & WAITS != 0
    }

    /// Returns whether a bucket has an entry for the slot, dead or current.
    #[inline]
    pub(super) const fn has_entries(&self) -> bool {
        self.marks & (WAITS | COUNT) != 0
    }

    #[inline]
    pub(super) const fn is_wrapped(&self) -> bool {
        self.marks & WRAPPED != 0
    }

    /// Returns whether the timer was moved, so that it is due after the tick of its entry.
    #[inline]
    pub(super) const fn is_moved(&self) -> bool {
        self.expiry as u32 != self.placed
    }

    /// Returns the tick of the current entry.
    #[inline]
    pub(super) const fn placed(&self) -> Tick {
        self.expiry.wrapping_sub((self.expiry as u32).wrapping_sub(self.placed) as Tick)
    }

    /// Makes the slot hold a timer that is due at `expiry` and has no current entry yet.
    #[inline]
    pub(super) fn arm(&mut self, expiry: Tick, sequence: u64) {
        self.expiry = expiry;
        self.sequence = sequence;
        self.placed = expiry as u32;
        self.marks = self.marks & !WAITS | LIVE;
    }

    /// Changes the expiry of the timer without a change of its current entry. The entry must not be
    /// later than `expiry`.
    #[inline]
    pub(super) fn stretch(&mut self, expiry: Tick, sequence: u64) {
        self.expiry = expiry;
        self.sequence = sequence;
        self.marks |= LIVE;
    }

    /// Records that the timer has left. If the timer has an entry, the entry is now dead.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.marks &= !LIVE;
    }

    /// Creates the new current entry of the timer, for the timer's expiry.
    #[inline]
    pub(super) fn add_entry(&mut self, slot: u32) -> Entry {
        debug_assert!(!self.waits());
        // If older entries are in buckets, the new entry gets another version.
        let step = NEXT_VERSION * u32::from(self.marks & COUNT != 0);
        self.marks = self.marks.wrapping_add(step);
        if self.marks & VERSION < step {
            self.wrap();
        }
        self.placed = self.expiry as u32;
        self.marks = (self.marks | WAITS) + u32::from(self.marks & COUNT != COUNT);
        Entry::new(self.placed, self.marks, slot)
    }

    #[cold]
    fn wrap(&mut self) {
        self.marks |= WRAPPED;
    }

    /// Returns whether the entry is current, or is dead and looks current.
    #[inline]
    pub(super) const fn is_current(&self, entry: Entry) -> bool {
        self.marks & (VERSION | WAITS) == entry.version() | WAITS
    }

    /// Returns whether the entry belongs to a pending timer, or is dead and looks like the entry of
    /// a pending timer.
    #[inline]
    pub(super) const fn is_alive(&self, entry: Entry) -> bool {
        self.marks & (VERSION | WAITS | LIVE) == entry.version() | WAITS | LIVE
    }

    /// Makes the slot hold a timer that is due at `expiry`, and returns the timer's new entry. The
    /// slot must have no entry.
    #[inline]
    pub(super) fn arm_with_entry(&mut self, expiry: Tick, sequence: u64, slot: u32) -> Entry {
        debug_assert!(!self.has_entries());
        self.expiry = expiry;
        self.sequence = sequence;
        self.placed = expiry as u32;
        self.marks = self.marks & VERSION | LIVE | WAITS | 1;
        Entry::new(self.placed, self.marks, slot)
    }

    /// Does what [`take_entry`](Self::take_entry) does, if `entry` is current, is the slot's only
    /// entry, and is for the timer's expiry. Returns whether this is the case.
    #[inline]
    pub(super) fn take_only_entry(&mut self, entry: Entry) -> bool {
        let takes = self.marks == entry.version() | LIVE | WAITS | 1 && !self.is_moved();
        if takes {
            self.marks -= WAITS | 1;
        }
        takes
    }

    /// Records that the current entry has been taken out of its bucket.
    #[inline]
    pub(super) fn take_entry(&mut self) {
        self.marks &= !WAITS;
        self.drop_entry();
    }

    /// Returns whether the tick and the version of the entry match the record of a pending timer.
    /// If the tick or the version does not match, the entry is dead, and the slot no longer counts
    /// the entry; the caller removes the entry from its bucket. The only jump is for wrapped
    /// versions, so that the time does not depend on which entries are dead.
    #[inline]
    pub(super) fn keep_or_drop(&mut self, entry: Entry) -> bool {
        let of_vacant = self.marks & (VERSION | WAITS | LIVE) == entry.version() | WAITS;
        let is_alive = self.is_alive(entry) & (self.placed == entry.low());
        let count = self.marks & COUNT;
        let counts = count.wrapping_sub(1) < COUNT - 1;
        self.marks &= !(WAITS * u32::from(of_vacant));
        self.marks -= u32::from(!is_alive & counts);
        if self.is_wrapped() {
            self.forget_wrap();
        }
        is_alive
    }

    /// Records that a dead entry has been taken out of its bucket.
    pub(super) fn drop_dead(&mut self, entry: Entry) {
        if self.is_current(entry) && !self.is_live() {
            self.marks &= !WAITS;
        }
        self.drop_entry();
    }

    #[inline]
    fn drop_entry(&mut self) {
        let count = self.marks & COUNT;
        // A retired slot no longer counts its entries.
        if count != COUNT && count > 0 {
            self.marks -= 1;
        }
        if self.is_wrapped() {
            self.forget_wrap();
        }
    }

    /// Clears the mark [`WRAPPED`] if the slot has no entry except the current entry, because then
    /// no dead entry can look like the current entry.
    #[cold]
    fn forget_wrap(&mut self) {
        if self.marks & COUNT <= self.marks / WAITS % 2 {
            self.marks &= !WRAPPED;
        }
    }

    /// Returns the number of entries, or `None` if there are more than the record can count.
    pub(super) fn entries(&self) -> Option<u32> {
        Some(self.marks & COUNT).filter(|&count| count != COUNT)
    }

    #[cfg(test)]
    pub(super) fn set_marks(&mut self, change: impl Fn(u32) -> u32) {
        self.marks = change(self.marks);
    }
}
