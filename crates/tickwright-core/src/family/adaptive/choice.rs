//! Which structure serves how many timers.

use core::fmt::Debug;

/// Up to how many timers each structure serves. Below half of a smaller one's limit, that one takes
/// over again.
///
/// The populations are those at which the structures were measured to cross. A type with other
/// numbers makes another queue: [`AdaptiveQueue<L>`](super::AdaptiveQueue).
pub trait Limits: Copy + Debug + 'static {
    /// Timers in the sorted array.
    const FLAT: usize;
    /// Timers in the 4-ary heap: at least `FLAT`.
    const HEAP: usize;
    /// Timers in the wheel, at least `HEAP`. Beyond, a ladder takes over once most expire.
    const WHEEL: usize;
    /// This many expiries, beyond the moves and removals meanwhile, say that most timers expire. An
    /// eighth of the timers, if that is more.
    const EXPIRIES: i32;
}

/// The limits that were measured on x86-64.
#[derive(Clone, Copy, Debug)]
pub struct Measured;

impl Limits for Measured {
    const FLAT: usize = 6;
    const HEAP: usize = 512;
    const WHEEL: usize = 1 << 16;
    const EXPIRIES: i32 = 4096;
}

/// One of the structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Flat,
    Heap,
    Wheel,
    Ladder,
}

/// With more slots than this, it is a wheel or a ladder. The records of the other structures lie in
/// arrays with a place for each slot, and most places would be unused.
pub(super) const fn most_slots<L: Limits>() -> usize {
    L::WHEEL.saturating_mul(2)
}

impl Kind {
    /// Up to how many timers it serves.
    pub(super) const fn most<L: Limits>(self) -> usize {
        match self {
            Self::Flat => L::FLAT,
            Self::Heap => L::HEAP,
            Self::Wheel => L::WHEEL,
            Self::Ladder => usize::MAX,
        }
    }

    /// With fewer timers than this, a smaller one serves. A ladder stays one: entries of removed
    /// timers name its slots.
    pub(super) const fn least<L: Limits>(self) -> usize {
        match self {
            Self::Flat | Self::Ladder => 0,
            Self::Heap => L::FLAT / 2,
            Self::Wheel => L::HEAP / 2,
        }
    }

    /// The smallest that serves `len` timers.
    pub(super) fn of<L: Limits>(len: usize) -> Self {
        let kinds = [Self::Flat, Self::Heap, Self::Wheel];
        kinds.into_iter().find(|kind| len <= kind.most::<L>()).unwrap_or(Self::Ladder)
    }
}

/// Whether timers mostly expire, or are mostly moved and removed: the sign of a count that forgets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habit {
    count: i32,
    most: i32,
}

impl Habit {
    /// Nothing is known: not even `judge` was called.
    pub(super) const NEW: Self = Self { count: 0, most: i32::MAX / 2 };

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

    /// From now on an eighth of `timers` decides, and at least `EXPIRIES`.
    pub(super) fn judge<L: Limits>(&mut self, timers: usize) {
        let most = i32::MAX / 2;
        self.most = i32::try_from(timers / 8).unwrap_or(most).clamp(L::EXPIRIES.clamp(1, most), most);
        self.count = self.count.clamp(-self.most, self.most);
    }
}
