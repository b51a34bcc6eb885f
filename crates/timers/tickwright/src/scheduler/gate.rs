//! The gate: a value under the scheduler's lock, which says whether an arm can proceed. The gate is
//! open unless the scheduler is shut down or the loop of a C program sleeps. No thread waits at it:
//! `asleep.rs` refuses an arm or calls the [`Wake`] function, and `time/parker.rs` is where our
//! threads sleep.

use crate::sync::Arc;
use crate::time::Instant;

/// A function that wakes a loop that sleeps for the scheduler's time-out.
pub(super) type Wake = Arc<dyn Fn() + Send + Sync>;

/// Whether an arm can proceed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Gate<T> {
    /// Every arm can proceed.
    Open,
    /// A loop sleeps until `until`, or without a limit if `until` is `None`, and no alarm wakes it.
    Asleep { thread: T, until: Option<Instant> },
    /// The scheduler is shut down.
    Shut,
}

impl<T: PartialEq> Gate<T> {
    /// Notes that no loop sleeps.
    pub(super) fn end_sleep(&mut self) {
        if *self != Self::Shut {
            *self = Self::Open;
        }
    }
}
