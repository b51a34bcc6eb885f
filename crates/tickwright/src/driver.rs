//! Drivers: what wakes a service when its next timer is due.
//!
//! A service owns no thread. It tells an [`Alarm`] when it wants to be run next, each time that changes, and whoever waits at the alarm runs it.

/// An alarm that goes off once, at the time it was last set to.
///
/// A service sets it under its own lock whenever its next wake-up becomes earlier, and after each run; so an alarm is never later than
/// the service's next timer, and nobody has to look in between (no lost wake-up). It may be too early: then the run finds nothing due.
pub trait Alarm: Send + Sync {
    /// Let it go off when the service's clock shows `at` nanoseconds (at once if that is past); `None`: not at all. Replaces what was set
    /// before. It must not wait, nor call the service back.
    fn set(&self, at: Option<u64>);
}
