//! An entry of the run.

use crate::contract::Tick;

/// An entry of the run: tick, arrival and slot in one number, so that these numbers compare as
/// timers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Near(u128);

impl Near {
    #[inline]
    pub(super) const fn new(tick: Tick, sequence: u32, slot: u32) -> Self {
        Self((tick as u128) << 64 | (sequence as u128) << 32 | slot as u128)
    }

    pub(super) const EMPTY: Self = Self(0);

    #[inline]
    pub(super) const fn tick(self) -> Tick {
        (self.0 >> 64) as Tick
    }

    #[inline]
    pub(super) const fn sequence(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) const fn slot(self) -> u32 {
        self.0 as u32
    }
}
