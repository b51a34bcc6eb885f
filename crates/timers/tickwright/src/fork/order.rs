//! The order in which a fork takes its locks.

/// The order in which a fork takes locks. If threads take lock B while they hold lock A, the fork
/// takes A before B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Locks of code that uses schedulers.
    Outer = 0,
    /// Locks of a scheduler or a shard.
    Timers = 1,
    /// Locks of an alarm.
    Alarm = 2,
    /// Leaves: a thread takes no lock while it holds one of these.
    Leaf = 3,
}
