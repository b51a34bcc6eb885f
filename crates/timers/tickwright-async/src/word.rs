//! The word of a timer: its state.
//!
//! ```text
//!              file (lock)                       due (lock)            the waker is out
//!   ┌──────┐ ─────────────> ┌───────┐ ────────────────────> ┌────────┐ ───────> ┌───────┐
//!   │ idle │                │ armed │ <─┐ 1: shorten         │ firing │          │ fired │
//!   └──────┘ <──┐           └───────┘ ──┘                    └────────┘          └───────┘
//!      ^        │ due (lock)   │  ^ 3: arm                                           │
//!      │        │    2: disarm v  │                                                  │
//!      │        └────────── ┌────────┐                                               │
//!      │                    │ vacant │                 the owner takes it back       │
//!      │                    └────────┘                                               │
//!      └─────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A timer that its shard cannot keep, for lack of memory or of a driver, is fired for no deadline.
//! The woken task sees that its deadline has not passed, and files its timer again.
//!
//! *Armed* and *vacant* timers are in a queue, *idle* and *fired* ones are not. The transitions 1,
//! 2 and 3 are one compare-exchange each, by the owner, without a lock. A later deadline is no
//! transition: the owner stores it.

/// The greatest deadline in ticks. It is never reached.
pub(crate) const NEVER: u64 = u64::MAX >> 3;

/// The state of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// In no queue.
    Idle,
    /// In a queue, though no task waits for it.
    Vacant,
    /// In a queue, with a waker.
    Armed,
    /// Out of the queue. The driver takes its waker.
    Firing,
    /// Out of the queue, and its waker is taken. `filed` is the deadline that the timer fired for.
    Fired,
}

impl State {
    #[inline]
    pub(crate) const fn of(word: u32) -> Self {
        match word {
            0 => Self::Idle,
            1 => Self::Vacant,
            2 => Self::Armed,
            3 => Self::Firing,
            _ => Self::Fired,
        }
    }
}
