//! The order in which a fork takes its locks.

/// The order in which a fork takes locks: one that is held while another is taken comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Of a user of schedulers.
    Outer = 0,
    /// Of timers: a scheduler, a shard.
    Timers = 1,
    /// Of an alarm.
    Alarm = 2,
    /// Nothing is taken under it.
    Leaf = 3,
}
