//! Alarms: what a service or a shard sets to the time at which it is to be run next.
//!
//! [`driver`](crate::driver) has the alarms at which a thread or an event loop waits.

use crate::clock::Instant;
use crate::sync::Arc;

/// An alarm that goes off once, at the time it was last set to.
///
/// A service sets it under its own lock whenever its next wake-up becomes earlier, and after each
/// run. So the alarm is never later than the service's next timer, and no thread has to look in
/// between (no lost wake-up). It may be too early: then the run finds nothing due.
pub trait Alarm: Send + Sync {
    /// Sets it to go off when the service's clock shows `at`, at once if that is past; `None` stops
    /// the alarm. Each call replaces the one before. An implementation must not wait, panic or call
    /// the service.
    fn set(&self, at: Option<Instant>);

    /// Whether its thread is the parent's and this is a forked child, so that another alarm may
    /// take its place. An alarm without a thread returns `false`.
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
