//! The key of a value in a queue, and the value after it has left.

use core::fmt;

use crate::time::{Instant, instant};

/// Names a value in a [`DelayQueue`](super::DelayQueue). It is stale for ever once the value has
/// left, also when the memory is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub(super) key: tickwright_core::Key,
    /// How often the queue had released its memory before the insert.
    pub(super) epoch: u32,
}

/// The value is not in this queue: it has expired, was removed, or belongs to another queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NotQueued;

impl fmt::Display for NotQueued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value is not in the queue any more: insert it again, and keep the new key")
    }
}

impl core::error::Error for NotQueued {}

/// A value that has left a [`DelayQueue`](super::DelayQueue).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired<T> {
    pub(super) value: T,
    /// In nanoseconds: few ask for the instant.
    pub(super) deadline: u64,
    pub(super) key: Key,
}

impl<T> Expired<T> {
    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value, by a mutable reference.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value without its key and deadline.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// When it was due.
    pub fn deadline(&self) -> Instant {
        instant(self.deadline)
    }

    /// The key that the value had in the queue. It is stale.
    pub fn key(&self) -> Key {
        self.key
    }
}
