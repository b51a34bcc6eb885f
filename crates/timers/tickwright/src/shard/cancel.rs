//! Cancels and shuts down timers, and waits for the end of a callback.

use super::geometry::WheelGeometry;
use super::node::{Held, Link, SharedTimer};
use super::results::Was;
use super::word::{State, Word};
use crate::sync::{Ordering, this_thread, wait_as_caller};
use crate::would_deadlock::WouldDeadlock;

/// The result of [`SharedTimer::try_cancel`].
#[must_use = "a timer whose callback runs was not cancelled"]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TryCancel {
    /// The timer was pending and will not fire.
    Removed,
    /// The timer was not pending, and its callback was not running.
    NotPending,
    /// The timer's callback was running, so nothing was done.
    Running,
}

/// The result of one step of [`cancel_sync`](SharedTimer::cancel_sync) or
/// [`shutdown_sync`](SharedTimer::shutdown_sync).
pub(crate) struct Step {
    /// Whether the step withdrew a pending timer. A step that withdraws nothing, because the
    /// callback is running, has `Was::Idle` here even if the timer is pending.
    pub(crate) was: Was,
    /// Whether the timer's callback was running. If it was, the caller waits for the end of the
    /// callback, and takes one more step.
    pub(crate) runs: bool,
}

impl<G: WheelGeometry> SharedTimer<G> {
    /// Makes the timer idle. Returns whether the timer was pending.
    ///
    /// If the timer was pending, it will not fire, and the caller sees everything that other
    /// threads wrote before they re-armed the timer. Unlike [`cancel_sync`](Self::cancel_sync), the
    /// call does not wait for a running callback. Takes one lock.
    pub fn cancel(&self) -> Was {
        let mut held = self.node.set.lock_timer(&self.node, None);
        self.withdraw(&mut held, Word::IDLE)
    }

    /// Like [`cancel`](Self::cancel), but does nothing while the timer's callback runs.
    pub fn try_cancel(&self) -> TryCancel {
        let mut held = self.node.set.lock_timer(&self.node, None);
        if held.home.runs(&self.node).is_some() {
            return TryCancel::Running;
        }
        match self.withdraw(&mut held, Word::IDLE) {
            Was::Pending => TryCancel::Removed,
            Was::Idle => TryCancel::NotPending,
        }
    }

    /// Makes the timer idle, and waits until its callback is not running. Returns whether the timer
    /// was pending when the call made it idle, which happens after the wait.
    ///
    /// When the call returns, the timer is neither pending nor running, unless another thread armed
    /// it again. Do not call this while you hold a lock that the callback takes. Two kinds of wait
    /// can last forever:
    ///
    /// - a wait for a callback that always re-arms its timer, on a shard that is advanced without a
    ///   pause (in this case, use [`shutdown_sync`](Self::shutdown_sync), which returns after one
    ///   callback);
    /// - the waits of two callbacks on two shards for each other's timers, because the library does
    ///   not detect this deadlock.
    ///
    /// # Errors
    /// [`WouldDeadlock`] if the timer's own callback makes the call. In this case nothing is
    /// changed.
    pub fn cancel_sync(&self) -> Result<Was, WouldDeadlock> {
        self.withdraw_sync(Word::IDLE)
    }

    /// Makes the timer idle forever. Returns whether the timer was pending.
    ///
    /// From now on every call that arms the timer returns
    /// [`ArmError::ShutDown`](super::ArmError::ShutDown). `shutdown` does not wait for a running
    /// callback. Takes one lock.
    pub fn shutdown(&self) -> Was {
        let mut held = self.node.set.lock_timer(&self.node, None);
        self.withdraw(&mut held, Word::DEAD)
    }

    /// Like [`shutdown`](Self::shutdown), but waits until the callback is not running. Afterwards
    /// the callback never runs again. Returns whether the timer was pending.
    ///
    /// The remarks of [`cancel_sync`](Self::cancel_sync) about locks and about two callbacks apply
    /// here.
    ///
    /// # Errors
    /// [`WouldDeadlock`] if the timer's own callback makes the call. In this case nothing is
    /// changed.
    pub fn shutdown_sync(&self) -> Result<Was, WouldDeadlock> {
        self.withdraw_sync(Word::DEAD)
    }

    /// Returns whether the timer's callback was running a moment ago. This is only a hint.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.node.set.lock_timer(&self.node, None).home.runs(&self.node).is_some()
    }

    /// Waits until the callback is not running, and makes the timer idle or dead.
    fn withdraw_sync(&self, next: Word) -> Result<Was, WouldDeadlock> {
        let mut was = Was::Idle;
        loop {
            let step = self.withdraw_step(next)?;
            if step.was.is_pending() {
                was = Was::Pending;
            }
            if !step.runs {
                return Ok(was);
            }
            self.wait_for_an_end();
        }
    }

    /// Takes one step of [`cancel_sync`](Self::cancel_sync), without waiting for a callback.
    #[cfg(feature = "record")]
    pub(crate) fn cancel_step(&self) -> Result<Step, WouldDeadlock> {
        self.withdraw_step(Word::IDLE)
    }

    /// Takes one step of [`shutdown_sync`](Self::shutdown_sync), without waiting for a callback.
    #[cfg(feature = "record")]
    pub(crate) fn shutdown_step(&self) -> Result<Step, WouldDeadlock> {
        self.withdraw_step(Word::DEAD)
    }

    /// If `next` is dead, makes the timer dead. If `next` is idle, makes the timer idle unless its
    /// callback is running. A shutdown makes the timer dead before it waits, so that the callback
    /// cannot arm the timer.
    fn withdraw_step(&self, next: Word) -> Result<Step, WouldDeadlock> {
        let mut held = self.node.set.lock_timer(&self.node, None);
        let runs = held.home.runs(&self.node);
        if runs == Some(this_thread()) {
            return Err(WouldDeadlock);
        }
        let runs = runs.is_some();
        let withdraws = !runs || next == Word::DEAD;
        let was = if withdraws { self.withdraw(&mut held, next) } else { Was::Idle };
        Ok(Step { was, runs })
    }

    /// If the timer's own callback is running, waits until a callback of the timer's shard has
    /// ended.
    pub(crate) fn wait_for_an_end(&self) {
        let held = self.node.set.lock_timer(&self.node, None);
        if held.home.runs(&self.node).is_some() {
            let Held { base, home, away: _ } = held;
            drop(wait_as_caller(&base.ended, &base.state, home));
        }
    }

    /// Takes the timer out of its wheel if it is pending, and makes it idle or dead. Returns
    /// whether it was pending.
    fn withdraw(&self, held: &mut Held<'_, G>, next: Word) -> Was {
        let node = &self.node;
        let state = self.word().state();
        let pending = state == State::Pending;
        if pending {
            // This drop does not free the node, because the caller also holds a counted reference.
            drop(held.home.take_out(Link::of(node)));
            held.home.statistics.cancelled += 1;
        }
        let dead = next == Word::DEAD;
        // If the timer is running, the end of its callback makes it idle, unless the word has
        // changed by then.
        if pending || dead {
            // Acquire: the caller sees everything that was written before the re-arms.
            node.word.swap(next.0, Ordering::Acquire);
        }
        node.ghost.withdrawn(pending, dead);
        if pending { Was::Pending } else { Was::Idle }
    }
}
