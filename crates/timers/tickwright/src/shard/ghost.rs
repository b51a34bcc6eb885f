//! A shadow of each timer for the loom models: a second record of the state that the timer should
//! have.
//!
//! The shard calls the shadow at each point where an operation takes effect. The shadow makes the
//! same change, compares its state with the timer's state, and records the first error. The shadow
//! is not in memory that the model tracks, so it does not order the threads and cannot hide a race.
//! Without `cfg(loom)` it has no size and no code.

#[cfg(loom)]
use std::sync::{Mutex, PoisonError};

use tickwright_core::Tick;

/// The state that the timer should have.
#[derive(Default)]
struct Shadow {
    deadline: Option<Tick>,
    dead: bool,
    running: bool,
    complaint: Option<String>,
}

impl Shadow {
    /// Records `complaint` if `right` is false and there was no error before. It does not panic, so
    /// that the schedule ends normally and the model can check for the error afterwards.
    fn require(&mut self, right: bool, complaint: &str) {
        if !right && self.complaint.is_none() {
            self.complaint = Some(complaint.into());
        }
    }
}

#[derive(Default)]
pub(crate) struct Ghost(#[cfg(loom)] Mutex<Shadow>);

impl Ghost {
    /// In a model, calls `step` with the shadow.
    #[cfg(loom)]
    fn follow<R>(&self, step: impl FnOnce(&mut Shadow) -> R) -> R {
        step(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[cfg(not(loom))]
    #[inline(always)]
    fn follow(&self, _step: impl FnOnce(&mut Shadow)) {}

    /// Notes that an arming call has taken effect.
    #[inline]
    pub(crate) fn armed(&self, deadline: Tick, was_pending: bool) {
        self.follow(|shadow| {
            let (dead, pending) = (shadow.dead, shadow.deadline.is_some());
            shadow.require(!dead, "armed after shutdown");
            shadow.require(pending || !was_pending, "LOST: an idle timer is reported re-armed");
            shadow.require(was_pending || !pending, "a pending timer is reported started");
            shadow.deadline = Some(deadline);
        });
    }

    /// Notes that an arming call has found the timer pending, and has not changed it.
    #[inline]
    pub(crate) fn kept(&self) {
        self.follow(|shadow| {
            shadow.require(shadow.deadline.is_some(), "LOST: an idle timer is found pending");
        });
    }

    /// Notes that the shard has taken the timer to fire it.
    #[inline]
    pub(crate) fn fired(&self, deadline: Tick, now: Tick) {
        self.follow(|shadow| {
            shadow.require(deadline <= now, &format!("EARLY: {deadline} at {now}"));
            let last = shadow.deadline.take();
            shadow.require(last.is_some(), "fires without being armed");
            shadow.require(last == Some(deadline), "fires with a deadline that is not its last");
            shadow.require(!shadow.running, "two callbacks of one timer at once");
            shadow.running = true;
        });
    }

    /// Notes that the timer's callback has ended.
    #[inline]
    pub(crate) fn ended(&self) {
        self.follow(|shadow| shadow.running = false);
    }

    /// Notes that a cancel or shutdown has taken effect.
    #[inline]
    pub(crate) fn withdrawn(&self, was_pending: bool, dead: bool) {
        self.follow(|shadow| {
            let pending = shadow.deadline.take().is_some();
            shadow.require(pending == was_pending, "a cancel reports what is not so");
            shadow.dead |= dead;
        });
    }

    /// Returns the deadline for which the timer should be pending, or `None` if it should not be
    /// pending, or the first error.
    #[cfg(loom)]
    pub(crate) fn verdict(&self) -> Result<Option<Tick>, String> {
        self.follow(|shadow| shadow.complaint.clone().map_or(Ok(shadow.deadline), Err))
    }
}
