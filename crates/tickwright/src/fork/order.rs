//! The order in which a fork takes its locks.

/// The order in which a fork takes locks: one that is held while another is taken comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Locks of code that uses schedulers.
    Outer = 0,
    /// Locks of a scheduler or a shard.
    Timers = 1,
    /// Locks of an alarm.
    Alarm = 2,
    /// Nothing is taken under it.
    Leaf = 3,
}
