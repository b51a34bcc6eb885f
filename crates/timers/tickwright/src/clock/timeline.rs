//! The timelines of the machine.

/// A timeline of the machine. It has no state in this process, so any thread can read it at any
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timeline {
    /// That of [`SystemClock::Monotonic`](super::SystemClock::Monotonic).
    Monotonic,
    /// That of [`SystemClock::BootTime`](super::SystemClock::BootTime).
    BootTime,
}
