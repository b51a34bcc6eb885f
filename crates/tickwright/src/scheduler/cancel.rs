//! The ways to cancel one timer, several, or all.

use super::base::{Core, Held, Running, Scheduler};
use super::callback::Callback;
use crate::service::{Removal, Service, TimerId};
use crate::sync::{this_thread, wait_as_caller};

/// What a cancel found. The table is in the [module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled<C> {
    /// It is gone, and here is its callback.
    Removed(C),
    /// It was pending; it is kept, and idle.
    Disarmed,
    /// It is kept, and was idle already.
    Idle,
    /// Its callback runs.
    Running {
        /// On the calling thread: the caller is that callback.
        here: bool,
    },
    /// Its callback ran on another thread, and has ended.
    Finished {
        /// It had asked to run again, and is not let. The caller is the one that is told.
        suppressed: bool,
    },
    /// The id names no timer.
    NotFound,
}

/// To wait would be to wait for oneself: a callback asked for its own end, or for that of its
/// scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WouldDeadlock;

error_texts! { WouldDeadlock:
    Self => "a callback cannot wait for its own end: cancel without waiting, or answer that it is done",
}

impl<C: Callback> Scheduler<C> {
    /// Cancels a timer that does not run.
    pub fn try_cancel(&self, id: TimerId) -> Cancelled<C> {
        let mut core = self.lock();
        match core.running {
            Some(running) if running.id == id && core.service.find(id).is_some() => {
                Cancelled::Running { here: running.thread == this_thread() }
            }
            _ => core.remove(id, Service::cancel),
        }
    }

    /// Cancels a timer, and never waits: one that runs will not run again.
    /// [`cancel_sync`](Self::cancel_sync) waits for its end.
    #[inline]
    pub fn cancel(&self, id: TimerId) -> Cancelled<C> {
        self.lock().remove(id, Service::cancel)
    }

    /// Cancels a timer. When this returns, the timer's callback does not run and will not run
    /// again. The callback of a kept timer may run again after the timer is started. If the
    /// callback ran on another thread, this waited for it. The [table](super) has every case.
    ///
    /// # Errors
    /// [`WouldDeadlock`] from inside its own callback; nothing is changed then.
    pub fn cancel_sync(&self, id: TimerId) -> Result<Cancelled<C>, WouldDeadlock> {
        self.stop(id, Service::cancel)
    }

    /// Like [`cancel`](Self::cancel), and the id is stale afterwards also if the timer is kept:
    /// nothing can arm it again.
    pub fn shutdown_timer(&self, id: TimerId) -> Cancelled<C> {
        self.lock().remove(id, Service::shutdown)
    }

    /// Like [`shutdown_timer`](Self::shutdown_timer), and waits as
    /// [`cancel_sync`](Self::cancel_sync) does.
    ///
    /// # Errors
    /// As `cancel_sync`.
    pub fn shutdown_timer_sync(&self, id: TimerId) -> Result<Cancelled<C>, WouldDeadlock> {
        self.stop(id, Service::shutdown)
    }

    fn stop(&self, id: TimerId, stop: Remove<C>) -> Result<Cancelled<C>, WouldDeadlock> {
        let mut core = self.lock();
        let Some(Running { thread, serial, .. }) = core.running.filter(|running| running.id == id) else {
            return Ok(core.remove(id, stop));
        };
        if thread == this_thread() {
            // If it has ended, its callback is being dropped: here, by the caller of this.
            let has_ended = core.service.find(id).is_none();
            return if has_ended { Ok(Cancelled::NotFound) } else { Err(WouldDeadlock) };
        }
        let _ = stop(&mut core.service, id);
        // The first thread that waits is told.
        let first =
            core.running.as_mut().is_some_and(|running| !core::mem::replace(&mut running.awaited, true));
        while core.running.is_some_and(|running| running.serial == serial) {
            core = wait_as_caller(&self.ended, &self.core, core);
        }
        let outcome = core.outcomes.iter().position(|(of, _)| first && *of == serial);
        let suppressed = outcome.is_some_and(|at| core.outcomes.swap_remove(at).1);
        Ok(Cancelled::Finished { suppressed })
    }

    /// Cancels every timer whose callback has this [token](Callback::token), kept ones too. Hands
    /// each callback to `each`, one by one and without the lock. A timer that runs will not run
    /// again. Returns how many were removed, and the one that runs: wait for its end with
    /// [`shutdown_timer_sync`](Self::shutdown_timer_sync).
    ///
    /// Timers that fire or are added meanwhile may be missed; every other one is met once.
    /// Allocates nothing. O(timers).
    pub fn cancel_matching(&self, token: usize, mut each: impl FnMut(C)) -> (usize, Option<TimerId>) {
        let (mut removed, mut running, mut from) = (0, None, 0);
        while let Some((id, removal)) = self.remove_next(&mut from, |core, id| core.token(id) == Some(token))
        {
            match removal {
                Removal::Removed(callback) => {
                    removed += 1;
                    each(callback);
                }
                Removal::Running => running = Some(id),
                Removal::Disarmed | Removal::Idle | Removal::NotFound => {}
            }
        }
        (removed, running)
    }

    /// Shuts down the next timer that is wanted.
    fn remove_next(
        &self,
        from: &mut usize,
        wanted: impl Fn(&Core<C>, TimerId) -> bool,
    ) -> Option<(TimerId, Removal<C>)> {
        let mut core = self.lock();
        loop {
            let timer = core.service.next_from(from)?;
            if wanted(&core, timer.id) {
                return Some((timer.id, core.service.shutdown(timer.id)));
            }
        }
    }

    /// Whether the caller is one of its callbacks, or the drop of one that has run.
    #[must_use]
    #[doc(hidden)]
    pub fn within_callback(&self) -> bool {
        self.lock().pass == Some(this_thread())
    }

    /// Ends the scheduler: waits for the callback that runs on another thread, hands all others
    /// out, and refuses whatever is armed afterwards. A second time it does nothing.
    ///
    /// # Errors
    /// [`WouldDeadlock`] from inside a callback of its own; nothing is changed then.
    pub fn shutdown(&self) -> Result<Vec<C>, WouldDeadlock> {
        let mut core = self.refuse_more()?;
        let callbacks = core.service.clear();
        self.await_pass(core);
        Ok(callbacks)
    }

    /// Like [`shutdown`](Self::shutdown), and hands each callback to `each`, without the lock.
    /// Allocates nothing.
    ///
    /// # Errors
    /// As `shutdown`.
    pub fn shutdown_each(&self, mut each: impl FnMut(C)) -> Result<(), WouldDeadlock> {
        drop(self.refuse_more()?);
        let mut from = 0;
        while let Some((_, removal)) = self.remove_next(&mut from, |_, _| true) {
            if let Removal::Removed(callback) = removal {
                each(callback);
            }
        }
        self.await_pass(self.lock());
        Ok(())
    }

    /// Begins a shutdown: nothing can be armed from now on.
    fn refuse_more(&self) -> Result<Held<'_, C>, WouldDeadlock> {
        let mut core = self.lock();
        if core.pass == Some(this_thread()) {
            return Err(WouldDeadlock);
        }
        core.shut = true;
        Ok(core)
    }

    fn await_pass<'s>(&'s self, mut core: Held<'s, C>) {
        while core.pass.is_some() {
            core = wait_as_caller(&self.ended, &self.core, core);
        }
    }
}

/// [`Service::cancel`] or [`Service::shutdown`].
type Remove<C> = fn(&mut Service<C>, TimerId) -> Removal<C>;

impl<C> Core<C> {
    #[inline]
    pub(super) fn remove(&mut self, id: TimerId, remove: Remove<C>) -> Cancelled<C> {
        match remove(&mut self.service, id) {
            Removal::Removed(callback) => Cancelled::Removed(callback),
            Removal::Disarmed => Cancelled::Disarmed,
            Removal::Idle => Cancelled::Idle,
            Removal::Running => {
                let me = this_thread();
                Cancelled::Running { here: self.running.is_some_and(|running| running.thread == me) }
            }
            Removal::NotFound => Cancelled::NotFound,
        }
    }
}
