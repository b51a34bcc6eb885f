//! Cancels and shuts down timers, and waits for the end of a callback.

use super::geometry::WheelGeometry;
use super::node::{Held, Link, SharedTimer};
use super::results::Was;
use super::word::{State, Word};
use crate::sync::{Ordering, this_thread, wait_as_caller};
use crate::would_deadlock::WouldDeadlock;

/// What [`SharedTimer::try_cancel`] found.
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

/// What a step of a withdrawal did.
pub(crate) struct Step {
    /// Whether the step withdrew a pending timer.
    pub(crate) was: Was,
    /// Whether the timer's callback was running. If so, the caller waits for its end, and takes one
    /// more step.
    pub(crate) runs: bool,
}

impl<G: WheelGeometry> SharedTimer<G> {
    /// Makes the timer idle. Returns whether the timer was pending.
    ///
    /// If the timer was pending, it will not fire, and the caller sees everything that was written
    /// before the timer's re-arms. The call does not wait for a running callback:
    /// [`cancel_sync`](Self::cancel_sync) waits. Costs one lock.
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

    /// Makes the timer idle, and waits until its callback is not running. Returns whether it was
    /// pending at the end.
    ///
    /// When it returns, the timer is neither pending nor running, unless another thread armed it
    /// again. Do not hold a lock that the callback takes. Two kinds of wait have no bound:
    ///
    /// - a wait for a callback that always re-arms its timer, on a shard that is advanced without a
    ///   pause ([`shutdown_sync`](Self::shutdown_sync) ends after one callback);
    /// - the waits of two callbacks, on two shards, for each other's timers, which the library does
    ///   not detect.
    ///
    /// # Errors
    /// [`WouldDeadlock`] from the timer's own callback; nothing has changed then.
    pub fn cancel_sync(&self) -> Result<Was, WouldDeadlock> {
        self.withdraw_sync(Word::IDLE)
    }

    /// Makes the timer idle forever. Returns whether the timer was pending.
    ///
    /// From now on every call that arms the timer returns
    /// [`ArmError::ShutDown`](super::ArmError::ShutDown). The call does not wait for a running
    /// callback. Costs one lock.
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
    /// [`WouldDeadlock`] from the timer's own callback; nothing has changed then.
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

    /// Returns a step of [`cancel_sync`](Self::cancel_sync), which waits for no callback.
    #[cfg(feature = "record")]
    pub(crate) fn cancel_step(&self) -> Result<Step, WouldDeadlock> {
        self.withdraw_step(Word::IDLE)
    }

    /// Returns a step of [`shutdown_sync`](Self::shutdown_sync), which waits for no callback.
    #[cfg(feature = "record")]
    pub(crate) fn shutdown_step(&self) -> Result<Step, WouldDeadlock> {
        self.withdraw_step(Word::DEAD)
    }

    /// Makes the timer dead, or makes it idle if its callback is not running. A timer that becomes
    /// dead is dead before the wait, so its callback cannot arm it.
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

    /// Waits until a callback of the timer's shard has ended, if the timer's own callback runs.
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
        }
        let dead = next == Word::DEAD;
        // For a running timer, the end of the callback makes the timer idle, unless the word has
        // changed.
        if pending || dead {
            // Acquire: the caller sees everything that was written before the re-arms.
            node.word.swap(next.0, Ordering::Acquire);
        }
        node.ghost.withdrawn(pending, dead);
        if pending { Was::Pending } else { Was::Idle }
    }
}
