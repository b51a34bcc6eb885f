//! The scheduler, the data under its lock, and the operations that run no callback.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;

use super::gate::{Gate, Wake};
use super::results::{Refusal, Refused};
use super::settings::Settings;
use super::table::TimerId;
use super::timer_set::TimerSet;
use super::timing::Timing;
use crate::fork::{self, ForkLock, Order};
use crate::sync::{Arc, Condvar, MutexGuard, ThreadId, Waiters, lock, no_memory, try_lock};
use crate::time::{Alarm, Clock, Instant};

/// Timers that call back. See the [module](super).
pub struct Scheduler<C> {
    pub(super) core: ForkLock<Core<C>>,
    /// Notified when a callback or a pass has ended.
    pub(super) ended: Condvar,
    /// How many threads wait for the lock, and how many took it after a wait. A pass makes room by
    /// these hints. The protocol's correctness does not depend on them.
    pub(super) queued: AtomicUsize,
    pub(super) served: AtomicUsize,
}

/// The lock while a thread holds it.
pub(super) type Held<'a, C> = MutexGuard<'a, Core<C>>;

/// What the lock guards.
pub(super) struct Core<C> {
    pub(super) timers: TimerSet<C>,
    pub(super) running: Option<Running>,
    /// How many runs have begun.
    pub(super) runs: u64,
    /// The thread whose pass is under way.
    pub(super) pass: Option<ThreadId>,
    /// The threads that wait for `ended`.
    pub(super) waiters: Waiters,
    /// Runs whose first canceller waits to learn whether it suppressed anything.
    pub(super) outcomes: Vec<(u64, bool)>,
    /// What an arm must look at before it goes on.
    pub(super) gate: Gate,
    pub(super) wake: Option<Wake>,
}

impl<C> AsMut<Waiters> for Core<C> {
    fn as_mut(&mut self) -> &mut Waiters {
        &mut self.waiters
    }
}

/// The callback that is running.
#[derive(Clone, Copy)]
pub(super) struct Running {
    pub(super) id: TimerId,
    pub(super) thread: ThreadId,
    /// The number of this run among all runs.
    pub(super) serial: u64,
    /// A thread waits to learn whether its cancel kept the timer from running again.
    pub(super) awaited: bool,
    /// The token of the callback.
    pub(super) token: usize,
}

impl<C> Scheduler<C> {
    /// Makes an empty scheduler, as [`TimerSet::new`] does.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self::with(TimerSet::new(settings)).unwrap_or_else(|| no_memory::<Core<C>>())
    }

    /// Makes an empty scheduler with [`Settings::capacity`].
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for the capacity.
    pub fn try_new(settings: Settings) -> Result<Self, Refusal> {
        Self::with(TimerSet::try_new(settings)?).ok_or(Refusal::Full)
    }

    /// Returns `None` if there is no memory.
    fn with(timers: TimerSet<C>) -> Option<Self> {
        let core = Core {
            timers,
            running: None,
            runs: 0,
            pass: None,
            waiters: Waiters::default(),
            outcomes: Vec::new(),
            gate: Gate::Open,
            wake: None,
        };
        let core = ForkLock::try_new(Order::Timers, core, Core::forget_threads)?;
        Some(Self { core, ended: Condvar::new(), queued: AtomicUsize::new(0), served: AtomicUsize::new(0) })
    }

    #[inline]
    pub(super) fn lock(&self) -> Held<'_, C> {
        match try_lock(&self.core) {
            Some(core) => core,
            None => self.lock_behind_others(),
        }
    }

    #[cold]
    fn lock_behind_others(&self) -> Held<'_, C> {
        self.queued.fetch_add(1, Ordering::Relaxed);
        let core = lock(&self.core);
        self.queued.fetch_sub(1, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed);
        core
    }

    /// Runs `callback` after `delay`. [`timer`](Self::timer) gives it a period, a name and more.
    ///
    /// # Errors
    /// [`Refused`], with the callback, if there is no memory or the scheduler is shut down.
    #[track_caller]
    pub fn add(&self, delay: Duration, callback: C) -> Result<TimerId, Refused<C>> {
        self.timer(Timing::after(delay)).add(callback)
    }

    /// Runs `act` on the callback under the lock, unless the [gate](Gate) refuses the callback.
    /// `timing` is that of the timer, or `None` if `act` arms none.
    #[inline(always)]
    pub(super) fn admit<R>(
        &self,
        timing: Option<Timing>,
        callback: C,
        act: impl FnOnce(&mut Core<C>, C) -> Result<R, Refused<C>>,
    ) -> Result<R, Refused<C>> {
        let mut core = self.lock();
        let wakes = match core.gate {
            Gate::Open => false,
            _ => match core.passes(timing) {
                Ok(wakes) => wakes,
                Err(reason) => return Err(Refused { reason, payload: callback }),
            },
        };
        let done = act(&mut core, callback);
        if wakes {
            self.end_sleep(core, done.is_ok());
        }
        done
    }

    /// Arms an idle timer, or gives a pending timer another time; its id stays. If the timer is
    /// running, it is armed when its callback has ended, whatever the callback returns.
    ///
    /// # Errors
    /// [`Refusal`] says why; the timer is then as it was.
    #[doc(alias = "reschedule")]
    #[doc(alias = "modify")]
    pub fn start(&self, id: TimerId, timing: Timing) -> Result<(), Refusal> {
        let mut core = self.lock();
        let wakes = !matches!(core.gate, Gate::Open) && core.passes(Some(timing))?;
        let done = core.timers.start(id, timing);
        if wakes {
            self.end_sleep(core, done.is_ok());
        }
        done
    }

    /// The clock's time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.lock().timers.now()
    }

    /// Makes room for n more timers.
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for them.
    pub fn reserve(&self, additional: usize) -> Result<(), Refusal> {
        self.lock().timers.reserve(additional)
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.lock().timers.shared_clock()
    }

    /// From now on, sets `alarm` to the time at which the queue must run, whichever thread arms a
    /// timer. An event loop passes a [`TimerFd`](crate::time), or an alarm of its own that sends
    /// the time to the loop: the [module](super) has one.
    pub fn set_alarm(&self, alarm: Option<Arc<dyn Alarm>>) {
        self.lock().timers.set_alarm(alarm);
    }

    /// Sets an alarm if the scheduler has none so far, or only that of a thread in the parent.
    /// Returns whether it did.
    pub(super) fn set_first_alarm(&self, alarm: Arc<dyn Alarm>) -> bool {
        let mut core = self.lock();
        let first = core.timers.alarm().is_none_or(|alarm| alarm.is_orphaned());
        if first {
            core.timers.set_alarm(Some(alarm));
        }
        first
    }

    /// Removes `alarm` if it is the scheduler's alarm.
    pub(super) fn leave_alarm(&self, alarm: &Arc<dyn Alarm>) {
        let mut core = self.lock();
        if core.timers.alarm().is_some_and(|set| Arc::ptr_eq(set, alarm)) {
            core.timers.set_alarm(None);
        }
    }
}

impl<C> Core<C> {
    /// Called in a forked child, which has no other threads: no thread waits, no loop sleeps, and
    /// another thread's pass is over. The timer that such a pass ran is gone, since its callback is
    /// on that thread's stack.
    fn forget_threads(&mut self) {
        self.waiters.forget();
        self.outcomes.clear();
        self.gate.end_sleep();
        let (forker, here) = fork::forker();
        if self.pass == Some(forker) {
            self.pass = Some(here);
            if let Some(running) = &mut self.running {
                running.thread = here;
            }
        } else if self.pass.take().is_some()
            && let Some(running) = self.running.take()
        {
            self.timers.abandon(running.id);
        }
    }
}

impl<C> fmt::Debug for Scheduler<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock().timers.fmt(f)
    }
}
