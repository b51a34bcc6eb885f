//! What an import of strace's lines found.

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
    /// Of these, waits that something else ended before their time was over.
    pub early: u64,
    /// Timers that expired.
    pub fires: u64,
    /// Of these, those that no line shows: they are at their deadlines.
    pub inferred: u64,
    /// Expiries that a program read late, together with another one of the same timer.
    pub missed: u64,
    /// Deadlines on a clock of which only a guess is known.
    pub guessed: u64,
    /// Calls that may wait, but had no time-out, or a time-out of 0. They are no timers.
    pub untimed: u64,
}
