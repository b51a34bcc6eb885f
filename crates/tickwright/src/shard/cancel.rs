//! Cancelling and shutting down; waiting for a callback to end.

use core::fmt;

use super::base::Held;
use super::timer::SharedTimer;
use super::variant::Variant;
use super::word::{State, Word};
use crate::sync::{Ordering, this_thread, wait_as_caller};

/// What [`SharedTimer::try_cancel`] met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cancelled {
    /// It was pending and will not fire.
    Removed,
    /// It was not pending, and its callback does not run.
    NotPending,
    /// Its callback runs; nothing was done.
    Running,
}

/// A callback would have to wait for its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WouldDeadlock;

impl fmt::Display for WouldDeadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a callback cannot wait for its own end: use cancel or shutdown there")
    }
}

impl core::error::Error for WouldDeadlock {}

/// What a timer is turned into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Into {
    Idle,
    Dead,
}

impl<V: Variant> SharedTimer<V> {
    /// Makes the timer idle; says whether it was pending. If it was, it will not fire, and everything that those wrote who re-armed it
    /// is seen by the caller. Says nothing of a callback that runs: [`cancel_sync`](Self::cancel_sync) waits for it.
    pub fn cancel(&self) -> bool {
        let mut held = self.node.set.lock_timer(&self.node, None);
        self.withdraw(&mut held, Into::Idle)
    }

    /// As [`cancel`](Self::cancel), but does nothing while the timer's callback runs.
    pub fn try_cancel(&self) -> Cancelled {
        let mut held = self.node.set.lock_timer(&self.node, None);
        if held.home.runs(&self.node).is_some() {
            Cancelled::Running
        } else if self.withdraw(&mut held, Into::Idle) {
            Cancelled::Removed
        } else {
            Cancelled::NotPending
        }
    }

    /// Makes the timer idle, and waits until its callback does not run: when it returns the timer is neither pending nor running,
    /// unless somebody else armed it again. Says whether it was pending at the end.
    ///
    /// If the callback always re-arms the timer and the shard is advanced without a pause it may wait for long;
    /// [`shutdown_sync`](Self::shutdown_sync) ends after one callback. Do not hold a lock that the callback takes. Two callbacks, on
    /// two shards, that wait for each other's timers wait for ever: that is not detected.
    ///
    /// # Errors
    /// [`WouldDeadlock`] from the timer's own callback; nothing has changed then.
    pub fn cancel_sync(&self) -> Result<bool, WouldDeadlock> {
        loop {
            let mut held = self.node.set.lock_timer(&self.node, None);
            match held.home.runs(&self.node) {
                Some(thread) if thread == this_thread() => return Err(WouldDeadlock),
                Some(_) => held.wait_for_an_end(),
                None => return Ok(self.withdraw(&mut held, Into::Idle)),
            }
        }
    }

    /// Makes the timer idle for ever: arming it is refused with [`ArmError::ShutDown`](super::ArmError::ShutDown) from now on. Says whether
    /// it was pending. Says nothing of a callback that runs.
    pub fn shutdown(&self) -> bool {
        let mut held = self.node.set.lock_timer(&self.node, None);
        self.withdraw(&mut held, Into::Dead)
    }

    /// The same, and waits until its callback does not run: then it never will again. Says whether it was pending.
    ///
    /// The warnings of [`cancel_sync`](Self::cancel_sync) about locks and about two callbacks apply.
    ///
    /// # Errors
    /// [`WouldDeadlock`] from the timer's own callback; nothing has changed then.
    pub fn shutdown_sync(&self) -> Result<bool, WouldDeadlock> {
        let mut was_pending = false;
        loop {
            let mut held = self.node.set.lock_timer(&self.node, None);
            let runs = held.home.runs(&self.node);
            if runs == Some(this_thread()) {
                return Err(WouldDeadlock);
            }
            was_pending |= self.withdraw(&mut held, Into::Dead);
            if runs.is_none() {
                return Ok(was_pending);
            }
            held.wait_for_an_end();
        }
    }

    /// Whether its callback ran a moment ago: a hint.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.node.set.lock_timer(&self.node, None).home.runs(&self.node).is_some()
    }

    /// Takes the timer out if it is pending; says whether it was.
    fn withdraw(&self, held: &mut Held<'_, V>, into: Into) -> bool {
        let node = &self.node;
        let state = self.word().state();
        let pending = state == State::Pending;
        if pending {
            // The count that the shard held is not the last one: the caller has one too.
            drop(held.home.unlink(node));
        }
        let next = match into {
            Into::Idle => Word::IDLE,
            Into::Dead => Word::DEAD,
        };
        // A callback that runs ends by itself, and makes an idle timer of one that nobody touched.
        if pending || into == Into::Dead {
            // Acquire: what those wrote who re-armed it is the caller's again.
            node.word.swap(next.0, Ordering::Acquire);
        }
        node.ghost.withdrawn(pending, into == Into::Dead);
        pending
    }
}

impl<V: Variant> Held<'_, V> {
    /// Waits, with the lock released, until a callback of this shard has ended.
    fn wait_for_an_end(self) {
        let Self { base, mut home, away: _ } = self;
        home.waiting += 1;
        let mut home = wait_as_caller(&base.ended, &base.state, home);
        home.waiting -= 1;
    }
}
