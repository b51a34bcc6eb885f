//! The loop of a C program that sleeps for a time-out, and arms by other threads meanwhile.
//!
//! Such a loop does not notice an earlier timer of another thread. In Rust
//! [`timeout`](Scheduler::timeout) takes the scheduler exclusively, so no other thread can arm a
//! timer between that call and the next one. C has no such types. So the function for C notes
//! until when its caller sleeps. An earlier arm by another thread wakes that loop, or is refused.
//! A usual arm pays some ten instructions for this, since the look at the [gate](Gate) also finds a
//! shutdown.

use core::time::Duration;

use super::base::{Core, Scheduler};
use super::gate::Gate;
use crate::service::{Refusal, Timing};
use crate::sync::{Arc, this_thread};

impl<C> Scheduler<C> {
    /// For the C interface: like [`timeout`](Self::timeout), for a scheduler that threads share.
    /// Until the calling thread arms a timer, or a thread runs the queue, the caller counts as
    /// asleep. Then an arm by another thread for an earlier time calls the function of
    /// [`set_wake`](Self::set_wake) once. Without such a function it is refused. If the scheduler
    /// has an alarm, the arm sets the alarm instead. A thread that only asks, while another one
    /// runs the queue, is no loop.
    #[doc(hidden)]
    #[must_use]
    pub fn timeout_of_loop(&self) -> Option<Duration> {
        let mut core = self.lock();
        let wait = core.service.timeout();
        let me = this_thread();
        // A callback that asks is part of a pass, and its loop is awake.
        let is_loop = core.pass.is_none() && core.runner.is_none_or(|runner| runner == me);
        if is_loop && core.service.alarm().is_none() && core.gate != Gate::Shut {
            let until = wait.map(|wait| core.service.now() + wait);
            core.gate = Gate::Asleep { thread: me, until };
        }
        wait
    }

    /// For the C interface: sets the function that wakes a loop that sleeps for
    /// [`timeout_of_loop`](Self::timeout_of_loop). It is called without the lock, on the thread
    /// that has armed the earlier timer.
    #[doc(hidden)]
    pub fn set_wake(&self, wake: Option<Arc<dyn Fn() + Send + Sync>>) {
        let before = core::mem::replace(&mut self.lock().wake, wake);
        drop(before);
    }

    /// Wakes the loop that still sleeps, unless the arm was refused. The function of the caller
    /// runs without the lock.
    #[cold]
    pub(super) fn end_sleep(&self, armed: bool) {
        let mut core = self.lock();
        if !armed || !matches!(core.gate, Gate::Asleep { .. }) {
            return;
        }
        core.gate = Gate::Open;
        let wake = core.wake.clone();
        drop(core);
        if let Some(wake) = wake {
            wake();
        }
    }
}

impl<C> Core<C> {
    /// Whether an arm with this timing must wake a loop. Called if the gate is not open.
    ///
    /// # Errors
    /// [`Refusal::Shutdown`]; [`Refusal::LoopSleeps`] if nothing can wake the loop.
    #[cold]
    pub(super) fn passes(&mut self, timing: Option<Timing>) -> Result<bool, Refusal> {
        let (thread, until) = match self.gate {
            Gate::Open => return Ok(false),
            Gate::Shut => return Err(Refusal::Shutdown),
            Gate::Asleep { thread, until } => (thread, until),
        };
        if thread == this_thread() || self.service.alarm().is_some() {
            // The loop is awake, or is woken by the alarm.
            self.gate.end_sleep();
            return Ok(false);
        }
        let Some(due) = timing.and_then(|timing| self.service.due_by(&timing)) else { return Ok(false) };
        let due = due.max(self.service.now());
        if until.is_some_and(|until| due >= until) {
            return Ok(false);
        }
        if self.wake.is_some() { Ok(true) } else { Err(Refusal::LoopSleeps) }
    }
}
