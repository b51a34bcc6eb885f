//! The word: the only part of a timer that an unlocked re-arm reads or writes.
//!
//! ```text
//!   63                                            6 5      2 1     0
//!  | deadline (58 bits)                            | level  | state |
//! ```

use core::fmt;

use tickwright_core::Tick;

/// The level in a parked word. A parked word does not determine the timer's bucket, because the
/// timer's deadline is beyond the last level or does not fit into 58 bits. The wheel's record has
/// the true deadline, and the unlocked path refuses a parked word.
pub(crate) const PARKED: u8 = 15;

/// The first deadline that does not fit into the word.
pub(crate) const DEADLINES: Tick = (1 << 58) - 1;

/// The states in the word. If a running callback has re-armed its timer, the timer is both pending
/// and running. The shard knows which callback runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The timer is not pending. All other bits of the word are 0.
    Idle = 0,
    /// The timer is in a wheel.
    Pending = 1,
    /// The timer was taken out of the wheel because it was due, and was not armed since then.
    Firing = 2,
    /// The timer is shut down permanently.
    Dead = 3,
}

/// A value of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    pub(crate) const IDLE: Self = Self(State::Idle as u64);
    pub(crate) const FIRING: Self = Self(State::Firing as u64);
    pub(crate) const DEAD: Self = Self(State::Dead as u64);
    /// All bits of the level. Setting them in a pending word parks the word.
    pub(crate) const PARK: u64 = (PARKED as u64) << 2;

    /// Returns the word of a timer that is pending at a level. The word is parked if it cannot hold
    /// the deadline.
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

    /// Returns the level of the timer's bucket, or [`PARKED`].
    #[inline]
    pub(crate) const fn level(self) -> u8 {
        (self.0 >> 2) as u8 & PARKED
    }

    /// Returns the deadline, which is meaningful only if the word is pending and not parked.
    #[inline]
    pub(crate) const fn deadline(self) -> Tick {
        self.0 >> 6
    }

    /// Returns the deadline and the level if the word alone determines the timer's bucket.
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
