//! The word: all that an unlocked re-arm may read or write of a timer.
//!
//! ```text
//!   63                                            6 5      2 1     0
//!  | deadline (58 bits)                            | level  | state |
//! ```

use core::fmt;

use tickwright_core::Tick;

/// The level of a pending timer whose deadline and level do not name its bucket. Its deadline is
/// beyond the last level, or does not fit 58 bits. The wheel's record has the true deadline, and
/// the unlocked path refuses such a word.
pub(crate) const PARKED: u8 = 15;

/// The first deadline that the word does not hold.
pub(crate) const DEADLINES: Tick = (1 << 58) - 1;

/// The state that the word holds. A timer whose callback has re-armed it is both pending and
/// running; the shard knows which callback runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not pending. All other bits are 0.
    Idle = 0,
    /// In a wheel.
    Pending = 1,
    /// Taken out because it was due, and not touched since.
    Firing = 2,
    /// Shut down, for ever.
    Dead = 3,
}

/// A value of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    pub(crate) const IDLE: Self = Self(State::Idle as u64);
    pub(crate) const FIRING: Self = Self(State::Firing as u64);
    pub(crate) const DEAD: Self = Self(State::Dead as u64);
    /// The bits of the level, all set: put into a pending word they park it.
    pub(crate) const PARK: u64 = (PARKED as u64) << 2;

    /// Pending at a level, or parked where the word cannot hold the deadline.
    #[inline]
    pub(crate) const fn pending(deadline: Tick, level: u8) -> Self {
        if deadline < DEADLINES {
            Self(deadline << 6 | ((level & PARKED) as u64) << 2 | State::Pending as u64)
        } else {
            Self(DEADLINES << 6 | Self::PARK | State::Pending as u64)
        }
    }

    #[inline]
    pub(crate) const fn state(self) -> State {
        match self.0 & 3 {
            0 => State::Idle,
            1 => State::Pending,
            2 => State::Firing,
            _ => State::Dead,
        }
    }

    /// Where its bucket is counted, or [`PARKED`].
    #[inline]
    pub(crate) const fn level(self) -> u8 {
        (self.0 >> 2) as u8 & PARKED
    }

    /// The deadline; means nothing unless pending and not parked.
    #[inline]
    pub(crate) const fn deadline(self) -> Tick {
        self.0 >> 6
    }

    /// The deadline if the word says it all.
    #[inline]
    pub(crate) const fn whole(self) -> Option<(Tick, u8)> {
        if matches!(self.state(), State::Pending) && self.level() != PARKED {
            Some((self.deadline(), self.level()))
        } else {
            None
        }
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state() {
            State::Pending => write!(f, "Pending({} at level {})", self.deadline(), self.level()),
            state => state.fmt(f),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
