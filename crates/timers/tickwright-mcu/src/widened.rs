//! Extends a counter of at most 32 bits, which wraps, to a clock of 64 bits, which does not.

/// A clock of 64 bits, which is read from a counter of `BITS` bits. The value stores the last time
/// that was read.
///
/// ```text
///   counter (16 bits)  .. 65,534  65,535       0       1 ..
///   clock              .. 65,534  65,535  65,536  65,537 ..
/// ```
/// The clock must be read at least once in each turn of the counter; otherwise it loses a turn. An
/// alarm twice per turn ensures these reads (see [`HALF_TURN`](Self::HALF_TURN)). The clock needs
/// no overflow interrupt, so there is no race with such an interrupt.
#[derive(Debug)]
pub struct Widened<const BITS: u32> {
    last: u64,
}

/// Returns a mask of the lower `bits` bits.
pub(crate) const fn mask(bits: u32) -> u64 {
    assert!(bits >= 2 && bits <= 32, "a counter of 2 to 32 bits");
    (1 << bits) - 1
}

/// Returns the first time since `last` at which the counter shows `count`.
#[inline]
pub(crate) const fn widen(last: u64, count: u32, mask: u64) -> u64 {
    last + ((count as u64).wrapping_sub(last) & mask)
}

impl<const BITS: u32> Widened<BITS> {
    const MASK: u64 = mask(BITS);

    /// The number of ticks in half a turn of the counter, which is the longest time until an alarm.
    pub const HALF_TURN: u64 = (Self::MASK >> 1) + 1;

    /// Creates a clock that is 0 when the counter is 0.
    #[must_use]
    pub const fn new() -> Self {
        Self { last: 0 }
    }

    /// Returns the time when the counter shows `count`, of which only the lower `BITS` bits are
    /// used. The time is never less than the time that the previous call returned.
    pub fn read(&mut self, count: u32) -> u64 {
        self.last = widen(self.last, count, Self::MASK);
        self.last
    }
}

impl<const BITS: u32> Default for Widened<BITS> {
    fn default() -> Self {
        Self::new()
    }
}
