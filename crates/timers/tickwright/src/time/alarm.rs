//! Alarms. A scheduler or a shard sets its alarm to the time at which it must run next.

use super::Instant;
use crate::sync::Arc;

/// An alarm that goes off once, at the time to which it was last set.
///
/// A scheduler sets its alarm under its own lock whenever its next wake-up becomes earlier, and
/// after each run. The alarm is therefore never later than the scheduler's next timer, so no thread
/// needs to poll, and no wake-up is lost. The alarm can be too early, in which case the run finds
/// no due timer.
pub trait Alarm: Send + Sync {
    /// Sets the alarm to go off when the scheduler's clock shows `at`, or at once if `at` has
    /// passed. If `at` is `None`, the alarm does not go off. Each call replaces the previous
    /// setting. An implementation must not wait, panic or call the scheduler.
    fn set(&self, at: Option<Instant>);

    /// Returns whether this process is a forked child in which the alarm's thread does not exist.
    /// In this case another alarm can replace this alarm. An alarm without a thread returns
    /// `false`.
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
