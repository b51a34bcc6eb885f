//! The timer queue of Embassy's time drivers, over [`tickwright_core`].
//!
//! Every time driver of Embassy's hardware crates keeps its timers in the `Queue` of the crate
//! `embassy-time-queue-utils`. The package in the folder `patch` has that name and re-exports this
//! module, because Cargo replaces a package only by one of the same name. So one line in the
//! `Cargo.toml` of a program replaces the queue of all of them:
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
//! Finding the next alarm is O(1) in both. In the integrated queue a wake is O(1) and an insert
//! O(n). In the generic queue a wake is O(log N) and an insert O(N).
//!
//! [`Queue`] is the integrated one; with a feature `generic-queue-N` it is the generic one.
//!
//! # What differs from `embassy-time-queue-utils` 0.3.2
//! - The list is sorted: an alarm looks at the timers that are due, not at all of them.
//! - Timers of one tick are woken in the order in which they were armed. A deadline that has passed
//!   is due at once.
//! - [`Queue::schedule_wake`] returns `true` only if the next alarm may have changed, so a driver
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
//! # Fewer wake-ups
//! With the feature `slack`, [`set_slack`] lets each timer of [`Queue`] be late by so many ticks.
//! The chip then wakes for the last tick that the first timer allows, and wakes all tasks whose
//! deadlines have passed until then:
//!
//! ```text
//!   deadlines          100   104     130             100   104     130
//!   slack 0     alarm   ^     ^       ^     slack 10        ^ 110   ^ 140
//! ```
//!
//! # Size
//! An item takes 8 words of each task, while `embassy-time-queue-utils` takes 6. The crate sets the
//! feature `timer-item-size-8-words` of `embassy-executor-timer-queue`.
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

/// What [`set_slack`] set.
#[cfg(feature = "slack")]
static SLACK: AtomicU32 = AtomicU32::new(0);

/// Lets each timer of [`Queue`] be late by at most `ticks` ticks of the time driver; 0 at first.
/// None is early. A later alarm wakes more tasks at once, so that the chip wakes less often.
///
/// The program calls it, as the queue belongs to the time driver. It takes effect when the driver
/// sets its next alarm. The alarm of the driver and the interrupts that are masked add their own
/// lateness.
#[cfg(feature = "slack")]
pub fn set_slack(ticks: u32) {
    SLACK.store(ticks, Ordering::Relaxed);
}

/// The last tick for an alarm that must come at most `slack` ticks after `next`.
#[cfg(feature = "slack")]
fn within(next: u64, slack: u32) -> u64 {
    // `u64::MAX` means that no timer is pending, so no deadline may become it.
    if next == u64::MAX { next } else { next.saturating_add(slack.into()).min(u64::MAX - 1) }
}

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
    /// the next alarm, `u64::MAX` when nothing is pending. With [`set_slack`] the alarm is later
    /// than the next deadline, at most by the slack.
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
