//! The ways to cancel one timer, several timers, or all timers.

use super::callback::Callback;
use super::gate::Gate;
use super::lock::Access;
use super::results::Cancelled;
use super::scheduler::{Core, Held, Running, Scheduler};
use super::table::TimerId;
use crate::would_deadlock::WouldDeadlock;

impl<C: Callback<L>, L: Access> Scheduler<C, L> {
    /// Cancels a timer unless it is running.
    pub fn try_cancel(&self, id: TimerId) -> Cancelled<C> {
        let mut core = self.lock();
        match core.running {
            Some(running) if running.id == id && core.timers.find(id).is_some() => {
                Cancelled::Running { here: running.thread == L::here() }
            }
            _ => core.remove(id, true),
        }
    }

    /// Cancels a timer without waiting. A running timer will not run again.
    /// [`cancel_sync`](Self::cancel_sync) also waits for the end of the current run.
    #[inline]
    pub fn cancel(&self, id: TimerId) -> Cancelled<C> {
        self.lock().remove(id, true)
    }

    /// Cancels a timer and, if its callback is running on another thread, waits until the callback
    /// has ended. When this returns, the callback is not running and will not run again, unless the
    /// timer is kept and is started again. The [tables](super) list every case.
    ///
    /// # Errors
    /// [`WouldDeadlock`] if the timer's own callback makes the call. In this case nothing is
    /// changed.
    pub fn cancel_sync(&self, id: TimerId) -> Result<Cancelled<C>, WouldDeadlock> {
        self.stop(id, true)
    }

    /// Like [`cancel`](Self::cancel), but also removes a kept timer. Its id is stale afterwards, so
    /// the timer cannot be armed again.
    pub fn shutdown_timer(&self, id: TimerId) -> Cancelled<C> {
        self.lock().remove(id, false)
    }

    /// Like [`shutdown_timer`](Self::shutdown_timer), but waits as
    /// [`cancel_sync`](Self::cancel_sync) does.
    ///
    /// # Errors
    /// The same as for `cancel_sync`.
    pub fn shutdown_timer_sync(&self, id: TimerId) -> Result<Cancelled<C>, WouldDeadlock> {
        self.stop(id, false)
    }

    fn stop(&self, id: TimerId, allowed: bool) -> Result<Cancelled<C>, WouldDeadlock> {
        let mut core = self.lock();
        let Some(Running { thread, serial, .. }) = core.running.filter(|running| running.id == id) else {
            return Ok(core.remove(id, allowed));
        };
        if thread == L::here() {
            // If the timer no longer exists, its run has ended. In this case this thread is
            // dropping the callback, and the drop made this call.
            let has_ended = core.timers.find(id).is_none();
            return if has_ended { Ok(Cancelled::NotFound) } else { Err(WouldDeadlock) };
        }
        let _ = core.remove(id, allowed);
        // Only the first waiting thread learns whether the cancel suppressed a run.
        let first =
            core.running.as_mut().is_some_and(|running| !core::mem::replace(&mut running.awaited, true));
        while core.running.is_some_and(|running| running.serial == serial) {
            core = L::wait(&self.core, core);
        }
        let outcome = core.outcomes.iter().position(|(of, _)| first && *of == serial);
        let suppressed = outcome.is_some_and(|at| core.outcomes.swap_remove(at).1);
        Ok(Cancelled::Finished { suppressed })
    }

    /// Cancels every timer whose callback has this [token](Callback::token), including kept timers.
    /// Passes each callback to `each`, one by one and without the lock. A running timer will not
    /// run again. Returns how many timers were removed, and the id of the running timer if there is
    /// one. To wait for the end of the running timer, call
    /// [`shutdown_timer_sync`](Self::shutdown_timer_sync).
    ///
    /// The call can miss timers that fire or are added during the call. It visits every other timer
    /// once. It allocates nothing, and takes O(timers).
    pub fn cancel_matching(&self, token: usize, mut each: impl FnMut(C)) -> (usize, Option<TimerId>) {
        let (mut removed, mut running, mut from) = (0, None, 0);
        while let Some((id, removal)) = self.remove_next(&mut from, |core, id| core.token(id) == Some(token))
        {
            match removal {
                Cancelled::Removed(callback) => {
                    removed += 1;
                    each(callback);
                }
                Cancelled::Running { .. } => running = Some(id),
                _ => {}
            }
        }
        (removed, running)
    }

    /// Shuts down the next timer that has the token.
    fn remove_next(
        &self,
        from: &mut usize,
        wanted: impl Fn(&Core<C, L>, TimerId) -> bool,
    ) -> Option<(TimerId, Cancelled<C>)> {
        let mut core = self.lock();
        loop {
            let timer = core.timers.next_from(from)?;
            if wanted(&core, timer.id) {
                return Some((timer.id, core.timers.shutdown(timer.id)));
            }
        }
    }

    /// Returns whether the caller is one of the scheduler's callbacks, or code that runs while such
    /// a callback is dropped after its run.
    #[must_use]
    #[doc(hidden)]
    pub fn within_callback(&self) -> bool {
        self.lock().pass == Some(L::here())
    }

    /// Shuts the scheduler down. Waits for a callback that runs on another thread, returns all
    /// other callbacks, and refuses every later arm. A second call does nothing.
    ///
    /// # Errors
    /// [`WouldDeadlock`] if one of the scheduler's own callbacks makes the call. In this case
    /// nothing is changed.
    pub fn shutdown(&self) -> Result<Vec<C>, WouldDeadlock> {
        let mut core = self.refuse_more()?;
        let callbacks = core.timers.clear();
        self.await_pass(core);
        Ok(callbacks)
    }

    /// Like [`shutdown`](Self::shutdown), but passes each callback to `each` instead of returning
    /// it. It does not hold the lock during `each`. Allocates nothing.
    ///
    /// # Errors
    /// The same as for `shutdown`.
    pub fn shutdown_each(&self, mut each: impl FnMut(C)) -> Result<(), WouldDeadlock> {
        drop(self.refuse_more()?);
        let mut from = 0;
        while let Some((_, removal)) = self.remove_next(&mut from, |_, _| true) {
            if let Cancelled::Removed(callback) = removal {
                each(callback);
            }
        }
        self.await_pass(self.lock());
        Ok(())
    }

    /// Begins a shutdown: from now on the scheduler refuses every arm.
    fn refuse_more(&self) -> Result<Held<'_, C, L>, WouldDeadlock> {
        let mut core = self.lock();
        if core.pass == Some(L::here()) {
            return Err(WouldDeadlock);
        }
        core.gate = Gate::Shut;
        Ok(core)
    }

    fn await_pass<'s>(&'s self, mut core: Held<'s, C, L>) {
        while core.pass.is_some() {
            core = L::wait(&self.core, core);
        }
    }
}

impl<C, L: Access> Core<C, L> {
    /// Cancels a timer. If `allowed` is set, a kept timer becomes idle and is not removed.
    #[inline]
    pub(super) fn remove(&mut self, id: TimerId, allowed: bool) -> Cancelled<C> {
        let running = &self.running;
        self.timers.remove(id, allowed, || running.is_some_and(|running| running.thread == L::here()))
    }
}
