//! The timer queue of Embassy's time drivers, over [`tickwright_core`].
//!
//! Every time driver of Embassy's hardware crates keeps its timers in the `Queue` of the crate
//! `embassy-time-queue-utils`. Cargo replaces a package only by a package of the same name, so the
//! package in the folder `patch` has that name and re-exports this module. One line in the
//! `Cargo.toml` of a program therefore replaces the queue of all time drivers:
//!
//! ```toml
//! [patch.crates-io]
//! embassy-time-queue-utils = { path = "../tickwright/crates/timers/tickwright-mcu/patch" }
//! ```
//!
//! | queue | where the timers are | how many |
//! |---|---|---|
//! | [`queue_integrated::Queue`] | in the tasks: 8 words each | one a task |
//! | [`queue_generic::ConstGenericQueue`] | in the queue, for any executor | `N` |
//!
//! Finding the next alarm takes O(1) in both queues. In the integrated queue a wake takes O(1) and
//! an insert O(n). In the generic queue a wake takes O(log N) and an insert O(N).
//!
//! [`Queue`] is the integrated queue, or the generic queue with a feature `generic-queue-N`.
//!
//! # What differs from `embassy-time-queue-utils` 0.3.2
//! - The list is sorted, so an alarm visits only the due timers.
//! - Timers of the same tick are woken in the order in which they were armed. A deadline that has
//!   passed is due at once.
//! - [`Queue::schedule_wake`] returns `true` only if the next alarm may have changed, so a driver
//!   sets its alarm less often. If a driver loses an alarm, it finds the missed timers when a timer
//!   with an earlier deadline is armed. With Embassy's queue it finds them when any timer is armed.
//! - A deadline of `u64::MAX` ("never") takes no room, and cannot block a later timer of its task.
//! - A full generic queue wakes the task whose timer found no room, so that the task tries again.
//!   It drops no other timer and wakes no other task early.
//! - `schedule_wake_queue_item` takes storage that is `'static`, because the queue keeps a pointer
//!   to it.
//! - A queue that is dropped or replaced unlinks its tasks, so that their next timers work.
//!
//! Two things are as in `embassy-time-queue-utils`, because the interface leaves no choice. A waker
//! has only one deadline, the earliest of the requested ones. A dropped timer is not cancelled, so
//! it can wake its task once more.
//!
//! # Fewer wake-ups
//! With the feature `slack`, [`set_slack`] allows each timer of [`Queue`] to be late by a number of
//! ticks. The chip then sleeps until the last tick that the first timer allows, and wakes all tasks
//! whose deadlines have passed by then:
//!
//! ```text
//!   deadlines          100   104     130             100   104     130
//!   slack 0     alarm   ^     ^       ^     slack 10        ^ 110   ^ 140
//! ```
//!
//! # Size
//! An item takes 8 words in each task, and an item of `embassy-time-queue-utils` takes 6 words. The
//! crate sets the feature `timer-item-size-8-words` of `embassy-executor-timer-queue`.
#[cfg(feature = "slack")]
use core::sync::atomic::{AtomicU32, Ordering};
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

/// The slack, as set by [`set_slack`].
#[cfg(feature = "slack")]
static SLACK: AtomicU32 = AtomicU32::new(0);

/// Allows each timer of [`Queue`] to be late by at most `ticks` ticks of the time driver. The
/// initial slack is 0. No timer is early. A later alarm wakes more tasks at once, so the chip wakes
/// less often.
///
/// This is a free function, because the queue belongs to the time driver. The new slack takes
/// effect when the driver sets its next alarm. The driver's alarm and masked interrupts add their
/// own lateness.
#[cfg(feature = "slack")]
pub fn set_slack(ticks: u32) {
    SLACK.store(ticks, Ordering::Relaxed);
}

/// Returns the last tick for an alarm that must come at most `slack` ticks after `next`.
#[cfg(feature = "slack")]
fn within(next: u64, slack: u32) -> u64 {
    // `u64::MAX` means that no timer is pending, so no deadline must become `u64::MAX`.
    if next == u64::MAX { next } else { next.saturating_add(slack.into()).min(u64::MAX - 1) }
}

/// The queue that the crate's features select. Its timers are stored in the tasks. With a feature
/// `generic-queue-N`, the queue itself stores `N` timers.
#[derive(Debug)]
pub struct Queue(Chosen);

impl Queue {
    /// Creates an empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self(Chosen::new())
    }

    /// Arms a timer that wakes `waker` at the tick `at`, unless an earlier timer of that waker is
    /// pending. Returns whether the next alarm may have changed. If so, call
    /// [`next_expiration`](Self::next_expiration) and set the alarm again.
    pub fn schedule_wake(&mut self, at: u64, waker: &Waker) -> bool {
        self.0.schedule_wake(at, waker)
    }

    /// Wakes all timers that are due at `now`, in the order of their deadlines. Returns the tick of
    /// the next alarm, or `u64::MAX` if no timer is pending. With [`set_slack`], the alarm can be
    /// later than the next deadline by up to the slack.
    pub fn next_expiration(&mut self, now: u64) -> u64 {
        let next = self.0.next_expiration(now);
        #[cfg(feature = "slack")]
        let next = within(next, SLACK.load(Ordering::Relaxed));
        next
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}
