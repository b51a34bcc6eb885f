//! The timer queue of Embassy's time drivers, over [`tickwright_core`].
//!
//! Every time driver of Embassy's hardware crates stores its timers in the `Queue` of the crate
//! `embassy-time-queue-utils`. Cargo replaces a package only by a package of the same name. The
//! package in the folder `patch` therefore has that name, and re-exports this module. With one line
//! in its `Cargo.toml`, a program replaces the queue of all time drivers:
//!
//! ```toml
//! [patch.crates-io]
//! embassy-time-queue-utils = { path = "../tickwright/crates/timers/tickwright-mcu/patch" }
//! ```
//!
//! | queue | where the timers are | how many |
//! |---|---|---|
//! | [`queue_integrated::Queue`] | in the tasks, 8 words each | one per task |
//! | [`queue_generic::ConstGenericQueue`] | in the queue, for any executor | `N` |
//!
//! Finding the next alarm takes O(1) in both queues. In the integrated queue waking a task takes
//! O(1), and an insert takes O(n). In the generic queue waking a task takes O(log N), and an insert
//! takes O(N).
//!
//! [`Queue`] is the integrated queue. If one of the features `generic-queue-N` is set, it is the
//! generic queue.
//!
//! # What differs from `embassy-time-queue-utils` 0.3.2
//! - The list of timers is sorted, so an alarm visits only the due timers.
//! - Timers of the same tick are woken in the order in which they were armed. A timer whose
//!   deadline has passed is due at once.
//! - [`Queue::schedule_wake`] returns `true` only if the next alarm might have changed, so a driver
//!   sets its alarm less often. If a driver has lost an alarm, it finds the missed timers when a
//!   timer with an earlier deadline is armed. With Embassy's queue it finds them when any timer is
//!   armed.
//! - A timer with the deadline `u64::MAX` ("never") takes no room, and does not block a later timer
//!   of its task.
//! - If a generic queue has no room for a timer, it wakes the timer's task, so that the task tries
//!   again. The queue drops no other timer and wakes no other task early.
//! - `schedule_wake_queue_item` requires `'static` storage, because the queue stores a pointer to
//!   it.
//! - When a queue is dropped or replaced, it unlinks its tasks, so that their next timers work.
//!
//! Two properties are the same as in `embassy-time-queue-utils`, because the interface leaves no
//! choice. A waker has only one deadline, which is the earliest of the requested deadlines. A
//! dropped timer is not cancelled, so it can wake its task once more.
//!
//! # Fewer wake-ups
//! With the feature `slack`, [`set_slack`] allows each timer of [`Queue`] to be late by a number of
//! ticks. The chip then sleeps until the latest tick that the first timer allows, and wakes all
//! tasks whose deadlines have come by that tick:
//!
//! ```text
//!   deadlines          100   104     130             100   104     130
//!   slack 0     alarm   ^     ^       ^     slack 10        ^ 110   ^ 140
//! ```
//!
//! # Size
//! An item in a task takes 8 words, whereas an item of `embassy-time-queue-utils` takes 6 words.
//! The crate sets the feature `timer-item-size-8-words` of `embassy-executor-timer-queue`.
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

/// The slack, which [`set_slack`] sets.
#[cfg(feature = "slack")]
static SLACK: AtomicU32 = AtomicU32::new(0);

/// Allows each timer of [`Queue`] to be late by at most `ticks` ticks of the time driver. The
/// initial slack is 0. No timer is early. With slack, an alarm is later and wakes more tasks at
/// once, so the chip wakes less often.
///
/// `set_slack` is a free function, because the queue belongs to the time driver. The new slack
/// takes effect when the driver sets its next alarm. A timer can be late by more than the slack if
/// the driver's alarm is late or interrupts are masked.
#[cfg(feature = "slack")]
pub fn set_slack(ticks: u32) {
    SLACK.store(ticks, Ordering::Relaxed);
}

/// Returns the last tick for an alarm that must come at most `slack` ticks after `next`.
#[cfg(feature = "slack")]
fn within(next: u64, slack: u32) -> u64 {
    // `u64::MAX` means that no timer is pending, so the result for a real deadline must be less
    // than `u64::MAX`.
    if next == u64::MAX { next } else { next.saturating_add(slack.into()).min(u64::MAX - 1) }
}

/// The queue that the crate's features select. By default its timers are stored in the tasks. With
/// one of the features `generic-queue-N`, the queue itself stores `N` timers.
#[derive(Debug)]
pub struct Queue(Chosen);

impl Queue {
    /// Creates an empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self(Chosen::new())
    }

    /// Arms a timer that wakes `waker` at the tick `at`, unless an earlier timer of that waker is
    /// pending. Returns whether the next alarm might have changed. If the result is true, call
    /// [`next_expiration`](Self::next_expiration) and set the alarm again.
    pub fn schedule_wake(&mut self, at: u64, waker: &Waker) -> bool {
        self.0.schedule_wake(at, waker)
    }

    /// Wakes the tasks of all timers that are due at `now`, in the order of the deadlines. Returns
    /// the tick of the next alarm, or `u64::MAX` if no timer is pending. With [`set_slack`], the
    /// alarm can be later than the next deadline by up to the slack.
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
