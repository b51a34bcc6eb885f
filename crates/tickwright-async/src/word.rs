//! The word of a timer: its state, and its deadline while it is armed.
//!
//! ```text
//!   63                                      3 2     0
//!  | deadline in ticks (61 bits), if armed   | state |
//! ```
//!
//! ```text
//!              file (lock)                       due (lock)            the waker is out
//!   ┌──────┐ ─────────────> ┌───────┐ ────────────────────> ┌────────┐ ───────> ┌───────┐
//!   │ idle │                │ armed │ <─┐ 1: re-arm          │ firing │          │ fired │
//!   └──────┘ <──┐           └───────┘ ──┘                    └────────┘          └───────┘
//!      ^        │ due (lock)   │  ^ 3: arm                                           │
//!      │        │    2: disarm v  │                                                  │
//!      │        └────────── ┌────────┐                                               │
//!      │                    │ vacant │                 the owner takes it back       │
//!      │                    └────────┘                                               │
//!      └─────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! *Lapsing* is as firing, when a queue has no memory to file a timer again. Idle comes next, and
//! the task that is woken arms its timer again.
//!
//! *Armed* and *vacant* timers are in a queue, *idle* and *fired* ones are not. The transitions 1,
//! 2 and 3 are one compare-exchange each, by the owner, without a lock.

/// The greatest deadline. It is never reached.
pub(crate) const NEVER: u64 = u64::MAX >> 3;

/// The state of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// In no queue.
    Idle,
    /// In a queue, though nobody waits for it.
    Vacant,
    /// In a queue, with a waker.
    Armed,
    /// Out of the queue. The driver takes its waker.
    Firing,
    /// Out of the queue, and its waker is taken.
    Fired,
    /// Out of the queue for lack of memory. The driver takes its waker, and makes it idle.
    Lapsing,
}

/// A value of the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    pub(crate) const IDLE: Self = Self(0);
    pub(crate) const VACANT: Self = Self(1);
    pub(crate) const FIRING: Self = Self(3);
    pub(crate) const FIRED: Self = Self(4);
    pub(crate) const LAPSING: Self = Self(5);

    /// Armed for a deadline, which is at most [`NEVER`].
    #[inline]
    pub(crate) const fn armed(deadline: u64) -> Self {
        Self(deadline << 3 | 2)
    }

    #[inline]
    pub(crate) const fn state(self) -> State {
        match self.0 & 7 {
            0 => State::Idle,
            1 => State::Vacant,
            2 => State::Armed,
            3 => State::Firing,
            4 => State::Fired,
            _ => State::Lapsing,
        }
    }

    /// The deadline. It means nothing unless the timer is armed.
    #[inline]
    pub(crate) const fn deadline(self) -> u64 {
        self.0 >> 3
    }
}
