//! The loop of a C program that sleeps for a time-out, and arms by other threads meanwhile.
//!
//! Such a loop does not notice an earlier timer of another thread. In Rust
//! [`timeout`](Scheduler::timeout) takes the scheduler exclusively, so no other thread can arm a
//! timer between that call and the next one. C has no such types. So the function for C notes
//! until when its caller sleeps. An earlier arm by another thread wakes that loop, or is refused.
//! A usual arm pays nothing for this: the look at the [gate](Gate) also finds a shutdown.

use core::time::Duration;

use super::base::{Core, Held, Scheduler};
use super::gate::{Gate, Wake};
use crate::service::{Refusal, Refused, TimerId, Timing};
use crate::sync::{Arc, this_thread};

impl<C> Scheduler<C> {
    /// For the C interface: like [`timeout`](Self::timeout), for a scheduler that threads share.
    /// Until the calling thread arms a timer, or a thread runs the queue, the caller counts as
    /// asleep. Then an arm by another thread for an earlier time calls the function of
    /// [`set_wake`](Self::set_wake) once. Without such a function it is refused. If the scheduler
    /// has an alarm, the arm sets the alarm instead.
    #[doc(hidden)]
    #[must_use]
    pub fn timeout_of_loop(&self) -> Option<Duration> {
        let mut core = self.lock();
        let wait = core.service.timeout();
        if core.service.alarm().is_none() && core.gate != Gate::Shut {
            let until = wait.map(|wait| core.service.now() + wait);
            core.gate = Gate::Asleep { thread: this_thread(), until };
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

    /// [`admit`](Self::admit) while the gate is not open.
    #[cold]
    pub(super) fn admit_late<R>(
        &self,
        mut core: Held<'_, C>,
        timing: Option<&Timing>,
        callback: C,
        act: impl FnOnce(&mut Core<C>, C) -> Result<R, Refused<C>>,
    ) -> Result<R, Refused<C>> {
        match core.sleeper_of(timing) {
            Err(reason) => Err(Refused { reason, payload: callback }),
            Ok(wake) => {
                let done = act(&mut core, callback);
                Self::end_sleep(core, wake.filter(|_| done.is_ok()));
                done
            }
        }
    }

    /// [`start`](Self::start) while the gate is not open.
    #[cold]
    pub(super) fn start_late(
        &self,
        mut core: Held<'_, C>,
        id: TimerId,
        timing: Timing,
    ) -> Result<(), Refusal> {
        let wake = core.sleeper_of(Some(&timing))?;
        let done = core.service.start(id, timing);
        Self::end_sleep(core, wake.filter(|_| done.is_ok()));
        done
    }

    /// Wakes the loop, if there is a `wake`. The lock is released before.
    fn end_sleep(mut core: Held<'_, C>, wake: Option<Wake>) {
        if let Some(wake) = wake {
            core.gate.end_sleep();
            drop(core);
            wake();
        }
    }
}

impl<C> Core<C> {
    /// The function that wakes the loop that would sleep through a timer with this timing; `None`
    /// if no loop would.
    fn sleeper_of(&mut self, timing: Option<&Timing>) -> Result<Option<Wake>, Refusal> {
        let (thread, until) = match self.gate {
            Gate::Open => return Ok(None),
            Gate::Shut => return Err(Refusal::Shutdown),
            Gate::Asleep { thread, until } => (thread, until),
        };
        if thread == this_thread() || self.service.alarm().is_some() {
            // The loop is awake, or is woken by the alarm.
            self.gate.end_sleep();
            return Ok(None);
        }
        let Some(due) = timing.and_then(|timing| self.service.due_by(timing)) else { return Ok(None) };
        let due = due.max(self.service.now());
        if until.is_some_and(|until| due >= until) {
            return Ok(None);
        }
        self.wake.clone().map(Some).ok_or(Refusal::LoopSleeps)
    }
}
