//! Handles the loop of a C program that sleeps until the next timer while other threads arm timers.
//!
//! Such a loop does not notice when another thread arms an earlier timer. In Rust
//! [`timeout`](Scheduler::timeout) takes the scheduler exclusively, so no other thread can arm a
//! timer between that call and the next one. C's types cannot express this, so the C function that
//! returns the time-out also records the end of its caller's sleep. The thread that called it last
//! counts as the loop.
//!
//! | the loop sleeps for 2 s, and then | with a function that wakes it | without one |
//! |---|---|---|
//! | another thread arms a timer of 5 ms | the function is called | the arm is refused |
//! | the loop's thread arms such a timer | the function is called | the loop counts as awake |
//! | another thread runs the queue | nothing changes | nothing changes |
//! | the loop's thread runs the queue | nothing changes | the loop counts as awake |
//! | 2 s are over | the loop counts as awake | the loop counts as awake |
//!
//! In C the coroutines of one kernel thread cannot be distinguished. Therefore, if there is a wake
//! function, every arm of an earlier timer calls it, whichever thread arms. It is called at most
//! once per sleep, and an unnecessary call costs only one turn of the loop. Without a wake
//! function, the loop must be distinguished from other threads, because its own arms are never
//! refused.
//!
//! A timer that is started while its callback runs is armed when the callback ends, and this arm
//! cannot be refused. Therefore a check at the end of a pass calls the wake function if a loop
//! would sleep too long. Without a wake function, a thread that requests the time-out during the
//! pass of another thread sleeps for at most [`DURING_A_PASS`].
//!
//! An arm becomes only about ten instructions longer, because it must check the [gate](Gate) for a
//! shutdown anyway.

use core::time::Duration;

use super::gate::{Gate, Wake};
use super::lock::Access;
use super::results::Refusal;
use super::scheduler::{Core, Held, Scheduler};
use super::timing::Timing;

/// The longest sleep of a loop that falls asleep during another thread's pass and that nothing can
/// wake. It equals the granularity of `poll`.
const DURING_A_PASS: Duration = Duration::from_millis(1);

impl<C, L: Access> Scheduler<C, L> {
    /// For the C interface: like [`timeout`](Self::timeout), but for a scheduler that several
    /// threads use. The caller becomes the loop, and counts as asleep, unless the scheduler has an
    /// alarm or the caller is one of its callbacks. The module's table says what ends the sleep,
    /// and which arms call the function of [`set_wake`](Self::set_wake) or are refused.
    #[doc(hidden)]
    #[must_use]
    pub fn timeout_of_loop(&self) -> Option<Duration> {
        let mut core = self.lock();
        let (me, now) = (L::here(), core.timers.now());
        let mut until = core.timers.sleep_end(now);
        if core.pass != Some(me) && core.timers.alarm().is_none() && core.gate != Gate::Shut {
            core.gate = if core.pass.is_some() && core.wake.is_none() {
                let soon = now + DURING_A_PASS;
                until = Some(until.map_or(soon, |until| until.min(soon)));
                Gate::Open
            } else {
                Gate::Asleep { thread: me, until }
            };
        }
        until.map(|until| until.duration_since(now))
    }

    /// For the C interface: sets the function that wakes a loop that sleeps for
    /// [`timeout_of_loop`](Self::timeout_of_loop). The scheduler calls the function without its
    /// lock, on the thread that armed the earlier timer. When `set_wake` returns, the previous
    /// function can still be running.
    #[doc(hidden)]
    pub fn set_wake(&self, wake: Option<Wake>) {
        let before = core::mem::replace(&mut self.lock().wake, wake);
        drop(before);
    }

    /// Releases the lock after an arm. Wakes the loop that sleeps, unless the arm was refused.
    #[cold]
    pub(super) fn end_sleep(&self, mut core: Held<'_, C, L>, armed: bool) {
        if !armed {
            return;
        }
        core.gate.end_sleep();
        // Read under the same lock as the arm, so that a `set_wake` happens either before both or
        // after both.
        let wake = core.wake.clone();
        drop(core);
        if let Some(wake) = wake {
            wake();
        }
    }

    /// Releases the lock after a pass. Wakes the sleeping loop if a timer is due before the end of
    /// the sleep. Such a timer was armed at the end of a callback that was running when the sleep
    /// began.
    #[cold]
    pub(super) fn end_sleep_after_pass(&self, mut core: Held<'_, C, L>) {
        let Gate::Asleep { until, .. } = core.gate else { return };
        if core.wake.is_none() || core.timers.alarm().is_some() {
            return;
        }
        let now = core.timers.now();
        let next = core.timers.sleep_end(now);
        let is_earlier = next.is_some_and(|next| until.is_none_or(|until| next < until));
        self.end_sleep(core, is_earlier);
    }
}

impl<C, L: Access> Core<C, L> {
    /// Notes that `thread` wants to run the queue.
    #[cold]
    pub(super) fn note_run(&mut self, thread: L::Thread) {
        if self.is_loop(thread) {
            self.gate.end_sleep();
        }
    }

    /// Returns whether `thread` is the sleeping loop and there is no wake function. Only then does
    /// a call of this thread show that the loop is awake.
    fn is_loop(&self, thread: L::Thread) -> bool {
        let sleeper = if let Gate::Asleep { thread, .. } = self.gate { Some(thread) } else { None };
        self.wake.is_none() && sleeper == Some(thread)
    }

    /// Returns whether an arm with this timing must wake a loop. Called if the gate is not open.
    ///
    /// # Errors
    /// [`Refusal::Shutdown`] after a shutdown. [`Refusal::LoopSleeps`] if nothing can wake the
    /// loop.
    #[cold]
    pub(super) fn passes(&mut self, timing: Option<Timing>) -> Result<bool, Refusal> {
        let until = match self.gate {
            Gate::Open => return Ok(false),
            Gate::Shut => return Err(Refusal::Shutdown),
            Gate::Asleep { until, .. } => until,
        };
        let now = self.timers.now();
        let is_over = until.is_some_and(|until| until <= now);
        if is_over || self.timers.alarm().is_some() || self.is_loop(L::here()) {
            // The loop is awake, or the alarm wakes it.
            self.gate.end_sleep();
            return Ok(false);
        }
        let Some(due) = timing.and_then(|timing| self.timers.due_by(&timing)) else { return Ok(false) };
        if until.is_some_and(|until| due >= until) {
            return Ok(false);
        }
        if self.wake.is_some() { Ok(true) } else { Err(Refusal::LoopSleeps) }
    }
}
