//! The counts of an import of strace's lines.

use crate::import::Imported;

/// What was found in strace's lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strace {
    /// Lines and events.
    pub count: Imported,
    /// Timers that were armed.
    pub arms: u64,
    /// Timers that were armed while they were pending.
    pub rearms: u64,
    /// Timers that were cancelled.
    pub cancels: u64,
    /// Of the cancelled timers: waits that ended before their time was over.
    pub early: u64,
    /// Timers that expired.
    pub fires: u64,
    /// Of the expiries: those that no line shows. Each is placed at its deadline.
    pub inferred: u64,
    /// Expiries that a program read late, together with another expiry of the same timer.
    pub missed: u64,
    /// Deadlines on a clock whose offset is only a guess.
    pub guessed: u64,
    /// Calls that may wait, but had no time-out, or a time-out of 0. Such calls are no timers.
    pub untimed: u64,
}
