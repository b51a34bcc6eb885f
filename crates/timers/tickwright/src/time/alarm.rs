//! Alarms: a scheduler or a shard sets its alarm to the time at which it must run next.

use super::Instant;
use crate::sync::Arc;

/// An alarm that goes off once, at the time to which it was last set.
///
/// A scheduler sets it under its own lock whenever its next wake-up becomes earlier, and after each
/// run. So the alarm is never later than the scheduler's next timer. No thread has to poll in
/// between, and no wake-up is lost. The alarm may be too early: then the run finds nothing due.
pub trait Alarm: Send + Sync {
    /// Sets the alarm to go off when the scheduler's clock shows `at`, or at once if `at` is past.
    /// `None` stops the alarm. Each call replaces the one before. An implementation must not wait,
    /// panic or call the scheduler.
    fn set(&self, at: Option<Instant>);

    /// Returns whether this process is a forked child and the alarm's thread runs in the parent
    /// alone. Then another alarm may replace this one. An alarm without a thread returns `false`.
    fn is_orphaned(&self) -> bool {
        false
    }
}

impl<A: Alarm + ?Sized> Alarm for Arc<A> {
    fn set(&self, at: Option<Instant>) {
        (**self).set(at);
    }

    fn is_orphaned(&self) -> bool {
        (**self).is_orphaned()
    }
}
