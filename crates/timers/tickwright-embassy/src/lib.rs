//! The timer queue of Embassy's time drivers, over [`tickwright_core`].
//!
//! Every time driver of Embassy's hardware crates keeps its timers in the `Queue` of the crate
//! `embassy-time-queue-utils`. The package in the folder `patch` has that name and re-exports this
//! crate. So one line in a program's `Cargo.toml` replaces the queue of all of them:
//!
//! ```toml
//! [patch.crates-io]
//! embassy-time-queue-utils = { path = "../tickwright/crates/timers/tickwright-embassy/patch" }
//! ```
//!
//! | queue | where the timers are | how many |
//! |---|---|---|
//! | [`queue_integrated::Queue`] | in the tasks: 8 words each | one a task |
//! | [`queue_generic::ConstGenericQueue`] | in the queue, for any executor | `N` |
//!
//! Finding the next alarm is O(1) in both. In the integrated queue a wake is O(1) and an insert
//! O(n). In the generic queue a wake is O(log N) and an insert O(N).
//!
//! [`Queue`] is the integrated one; with a feature `generic-queue-N` it is the generic one.
//!
//! # What differs from `embassy-time-queue-utils` 0.3.2
//! - The list is sorted: an alarm looks at the timers that are due, not at all of them.
//! - Timers of one tick are woken in the order in which they were armed. A deadline that has passed
//!   is due at once.
//! - [`Queue::schedule_wake`] returns `true` only if the next alarm may have changed. So a driver
//!   sets its alarm less often. A driver that loses an alarm finds the missed timers at the next
//!   timer that is earlier than they are. Over Embassy's queue it finds them at any new timer.
//! - A deadline of `u64::MAX` ("never") takes no room, and cannot block a later timer of its task.
//! - A full generic queue wakes the waker that asked for room, so that it asks again. It drops no
//!   other timer, and wakes none of them early.
//! - `schedule_wake_queue_item` takes storage that is `'static`: a shorter borrow would dangle.
//! - A queue that is dropped or replaced unlinks its tasks: their next timers work.
//!
//! Two things are as in `embassy-time-queue-utils`, because the interface leaves no choice. A waker
//! has one deadline: the earliest of those that it asked for. A timer that was dropped is not
//! cancelled, so it may wake its task once more.
//!
//! # Size
//! An item takes 8 words of each task, while `embassy-time-queue-utils` takes 6. The crate sets the
//! feature `timer-item-size-8-words` of `embassy-executor-timer-queue`.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(test)]
extern crate std;

use core::task::Waker;

pub mod queue_generic;
pub mod queue_integrated;
mod sleeper;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

#[cfg(any(feature = "integrated-timers", not(feature = "_generic-queue")))]
use queue_integrated::Queue as Chosen;

#[cfg(all(not(feature = "integrated-timers"), feature = "_generic-queue"))]
use queue_generic::Queue as Chosen;

/// The queue that the crate's features choose. Its timers are in the tasks; with a feature
/// `generic-queue-N` it holds `N` timers itself.
#[derive(Debug)]
pub struct Queue(Chosen);

impl Queue {
    /// An empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self(Chosen::new())
    }

    /// Arms a timer that wakes `waker` at the tick `at`, unless an earlier one of that waker is
    /// pending. Returns whether the next alarm may have changed: then ask
    /// [`next_expiration`](Self::next_expiration) and set the alarm again.
    pub fn schedule_wake(&mut self, at: u64, waker: &Waker) -> bool {
        self.0.schedule_wake(at, waker)
    }

    /// Wakes all timers that are due at `now`, in the order of their deadlines. Returns the tick of
    /// the next alarm, `u64::MAX` when nothing is pending.
    pub fn next_expiration(&mut self, now: u64) -> u64 {
        self.0.next_expiration(now)
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}
