//! Chooses the structure by the number of timers.

use core::fmt::Debug;

/// The most timers that each structure serves. When the population falls below half of a smaller
/// structure's limit, that structure takes over again.
///
/// The limits are the populations at which the measured costs of two structures are equal. A type
/// with other limits makes another queue: [`AdaptiveQueue<L>`](super::AdaptiveQueue).
pub trait Limits: Copy + Debug + 'static {
    /// The most timers in the sorted array.
    const FLAT: usize;
    /// The most timers in the 4-ary heap: at least `FLAT`.
    const HEAP: usize;
    /// The most timers in the wheel: at least `HEAP`. Beyond this number, a ladder takes over once
    /// most timers expire.
    const WHEEL: usize;
    /// Most timers count as expiring once expiries outnumber moves and removals by this many. If an
    /// eighth of the timers is more, that number decides.
    const EXPIRIES: i32;
}

/// The limits that were measured on x86-64.
#[derive(Clone, Copy, Debug)]
pub struct Measured;

impl Limits for Measured {
    const FLAT: usize = 24;
    const HEAP: usize = 512;
    const WHEEL: usize = 16_384;
    const EXPIRIES: i32 = 4096;
}

/// A structure that can serve the timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Flat,
    Heap,
    Wheel,
    Ladder,
}

impl Kind {
    /// The most timers that this structure serves.
    pub(super) const fn most<L: Limits>(self) -> usize {
        match self {
            Self::Flat => L::FLAT,
            Self::Heap => L::HEAP,
            Self::Wheel => L::WHEEL,
            Self::Ladder => usize::MAX,
        }
    }

    /// With fewer timers than this, a smaller structure serves.
    pub(super) const fn least<L: Limits>(self) -> usize {
        match self {
            Self::Flat => 0,
            Self::Heap => L::FLAT / 2,
            Self::Wheel | Self::Ladder => L::HEAP / 2,
        }
    }

    /// The smallest structure that serves `len` timers.
    pub(super) fn of<L: Limits>(len: usize) -> Self {
        let kinds = [Self::Flat, Self::Heap, Self::Wheel];
        kinds.into_iter().find(|kind| len <= kind.most::<L>()).unwrap_or(Self::Ladder)
    }
}

/// Whether timers mostly expire, or are mostly moved and removed. Only a wheel that may give way to
/// a ladder counts, and its count saturates. When a smaller structure takes over, the count starts
/// again. But once a ladder took over, the answer stays: the next large population goes to a ladder
/// as soon as a wheel may give way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habit {
    count: i32,
    /// The count's limit. It is 0 once a ladder took over: then the count stays at 0, and the
    /// answer with it.
    most: i32,
}

impl Habit {
    /// The initial state: nothing is known, and `judge` has not been called.
    pub(super) const NEW: Self = Self { count: 0, most: i32::MAX / 2 };

    /// Counts from 0 again.
    pub(super) fn forget(&mut self) {
        self.count = 0;
    }

    /// A ladder takes over.
    pub(super) fn settle_on_expiry(&mut self) {
        *self = Self { count: 0, most: 0 };
    }

    #[inline]
    pub(super) fn moved(&mut self) {
        self.count = (self.count + 1).min(self.most);
    }

    #[inline]
    pub(super) fn expired(&mut self) {
        self.count = (self.count - 1).max(-self.most);
    }

    /// Whether they expire.
    #[inline]
    pub(super) fn is_to_expire(self) -> bool {
        self.count <= -self.most
    }

    /// Sets the count's limit to an eighth of `timers`, but at least to `EXPIRIES`.
    pub(super) fn judge<L: Limits>(&mut self, timers: usize) {
        if self.most == 0 {
            return;
        }
        let most = i32::MAX / 2;
        self.most = i32::try_from(timers / 8).unwrap_or(most).clamp(L::EXPIRIES.clamp(1, most), most);
        self.count = self.count.clamp(-self.most, self.most);
    }
}
