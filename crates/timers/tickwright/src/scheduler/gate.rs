//! The gate: an arm goes through it. It is open unless the scheduler is shut down or a loop of a C
//! program sleeps.

use crate::sync::Arc;
use crate::time::Instant;

/// Wakes a loop that sleeps for the scheduler's time-out.
pub(super) type Wake = Arc<dyn Fn() + Send + Sync>;

/// Whether an arm may go on.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Gate<T> {
    /// It may.
    Open,
    /// A loop sleeps until then, and no alarm wakes it; `None` is without a limit.
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
