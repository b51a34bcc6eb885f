//! Runs the callbacks of timers that are due.

use core::mem::needs_drop;

use super::callback::Callback;
use super::gate::Gate;
use super::lock::Access;
use super::results::{Due, Next, RunError};
use super::scheduler::{Held, Running, Scheduler};
use super::table::TimerId;

/// How many timers a pass moves inside the queue before it releases the lock.
const SLICE: usize = 256;
impl<C: Callback<L>, L: Access> Scheduler<C, L> {
    /// Runs every callback that is due now and was armed before the call. Returns how many ran.
    ///
    /// # Errors
    /// [`RunError`] says why no callback ran.
    ///
    /// # Panics
    /// If a callback panics, the panic propagates, and the scheduler stays usable.
    pub fn run_queue(&self) -> Result<usize, RunError> {
        self.run_queue_within(usize::MAX)
    }

    /// Like [`run_queue`](Self::run_queue), but runs at most `budget` callbacks. If due callbacks
    /// are left, they keep their order, and [`timeout`](Self::timeout) returns zero.
    ///
    /// Before a wheel finds the first due timer, it can have to move many timers to lower levels.
    /// The budget does not limit these moves. The call releases the lock after every 256 moves and
    /// between callbacks, so other threads wait only for a bounded time.
    ///
    /// # Errors
    /// The same as for `run_queue`.
    ///
    /// # Panics
    /// The same as for `run_queue`.
    pub fn run_queue_within(&self, budget: usize) -> Result<usize, RunError> {
        let me = L::here();
        let mut core = self.lock();
        if core.gate != Gate::Open {
            core.note_run(me);
        }
        match core.pass {
            Some(thread) if thread == me => return Err(RunError::WithinCallback),
            Some(_) => return Err(RunError::Busy),
            None => {}
        }
        if core.gate == Gate::Shut {
            return Ok(0);
        }
        core.timers.begin_pass();
        core.pass = Some(me);
        let (mut ran, mut moves) = (0, SLICE);
        while ran < budget {
            match core.timers.take_within(&mut moves) {
                Some(due) => {
                    core = self.fire(core, me, due);
                    ran += 1;
                }
                None if moves > 0 => break,
                None => core = L::give_way(&self.core, core),
            }
            moves = SLICE;
            if core.gate == Gate::Shut {
                break;
            }
        }
        self.end_pass(core);
        Ok(ran)
    }

    fn end_pass(&self, mut core: Held<'_, C, L>) {
        core.pass = None;
        core.timers.end_pass();
        L::tell(&self.core, &mut core);
        if core.gate != Gate::Open {
            self.end_sleep_after_pass(core);
        }
    }

    fn fire<'s>(&'s self, core: Held<'s, C, L>, me: L::Thread, due: Due<C>) -> Held<'s, C, L> {
        let Due { id, payload, due, now, overruns } = due;
        let mut run = Run { scheduler: self, id, callback: Some(payload), suppressed: false };
        // Moved into a local variable, which is dropped first if `token` panics, so that the lock
        // is released before the run is ended.
        let mut core = core;
        let token = run.callback.as_ref().map_or(0, <C as Callback<L>>::token);
        core.runs += 1;
        core.running = Some(Running { id, thread: me, serial: core.runs, awaited: false, token });
        drop(core);
        let firing = Due { id, payload: self, due, now, overruns };
        let next = run.callback.as_mut().map_or(Next::Done, |callback| callback.call(&firing));
        run.end(next)
    }
}

/// A run in progress. If the callback or its drop panics, the drop of this value ends the run and
/// the pass.
struct Run<'s, C: Callback<L>, L: Access> {
    scheduler: &'s Scheduler<C, L>,
    id: TimerId,
    callback: Option<C>,
    suppressed: bool,
}

impl<'s, C: Callback<L>, L: Access> Run<'s, C, L> {
    fn end(mut self, next: Next) -> Held<'s, C, L> {
        let scheduler = self.scheduler;
        let mut core = self.finish(next, false);
        // The run has no callback now, so the `Drop` of `Run`, which handles panics, will do
        // nothing.
        debug_assert!(self.callback.is_none());
        core::mem::forget(self);
        L::tell(&scheduler.core, &mut core);
        core
    }

    /// Finishes the timer, and drops the callback if the timer was removed. The drop happens
    /// without the lock, and before any thread is notified of the end. Afterwards no callback is
    /// running.
    fn finish(&mut self, next: Next, panicked: bool) -> Held<'s, C, L> {
        let scheduler = self.scheduler;
        let mut core = scheduler.lock();
        if let Some(callback) = self.callback.take() {
            if panicked {
                core.timers.note_panic(self.id);
            }
            let (callback, suppressed) = core.timers.finish_run(self.id, callback, next);
            self.suppressed = suppressed;
            if needs_drop::<C>() && callback.is_some() {
                drop(core);
                drop(callback);
                core = scheduler.lock();
            }
        }
        if let Some(Running { serial, awaited: true, .. }) = core.running.take()
            // If there is no memory for the outcome, the waiting thread gets `suppressed: false`.
            && core.outcomes.try_reserve(1).is_ok()
        {
            core.outcomes.push((serial, self.suppressed));
        }
        core
    }
}

impl<C: Callback<L>, L: Access> Drop for Run<'_, C, L> {
    fn drop(&mut self) {
        let scheduler = self.scheduler;
        scheduler.end_pass(self.finish(Next::Done, true));
    }
}
