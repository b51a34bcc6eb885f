//! The scheduler, the data under its lock, and the operations that run no callback.

use core::fmt;

use super::gate::{Gate, Wake};
use super::lock::{Access, Guarded, Local, Reach, Shared};
use super::results::Refusal;
use super::settings::Settings;
use super::table::TimerId;
use super::timer_set::TimerSet;
use super::timing::Timing;
use crate::sync::{Arc, Waiters, no_memory};
use crate::time::{Alarm, Clock, Instant};

/// Timers with callbacks. Several threads can share a scheduler, unless it is a [`LocalScheduler`].
/// See the [module](super).
pub struct Scheduler<C, L: Access = Shared> {
    pub(super) core: L::Cell<Core<C, L>>,
}

/// A [`Scheduler`] of one thread, without the cost of a lock. [`Scheduler::local`] creates it.
///
/// If a clock, an origin, a token or an alarm calls its own scheduler, a local scheduler panics,
/// whereas a shared scheduler waits forever. Another thread cannot use a local scheduler:
///
/// ```compile_fail,E0277
/// use tickwright::scheduler::{Boxed, LocalScheduler, Local, Scheduler, Settings};
///
/// let scheduler: LocalScheduler<Boxed<Local>> = Scheduler::local(Settings::new());
/// std::thread::scope(|scope| drop(scope.spawn(|| scheduler.run_queue())));
/// ```
pub type LocalScheduler<C> = Scheduler<C, Local>;

/// The guard of the lock, through which a thread accesses the timers.
pub(super) type Held<'a, C, L> = <L as Reach>::Held<'a, Core<C, L>>;

/// The data that the lock guards.
pub(super) struct Core<C, L: Access> {
    pub(super) timers: TimerSet<C>,
    pub(super) running: Option<Running<L::Thread>>,
    /// How many runs have begun.
    pub(super) runs: u64,
    /// The thread whose pass is in progress.
    pub(super) pass: Option<L::Thread>,
    /// The threads that wait for the end of a callback or pass.
    pub(super) waiters: Waiters,
    /// The outcomes that cancelling threads wait for: the number of a run, and whether the cancel
    /// prevented the timer from running again.
    pub(super) outcomes: Vec<(u64, bool)>,
    /// What an arm must check before it proceeds.
    pub(super) gate: Gate<L::Thread>,
    pub(super) wake: Option<Wake>,
    /// The dedicated thread, if there is one. It ends with the scheduler.
    pub(super) thread: Option<Box<dyn Send>>,
}

impl<C, L: Access> AsMut<Waiters> for Core<C, L> {
    fn as_mut(&mut self) -> &mut Waiters {
        &mut self.waiters
    }
}

/// The callback that is running.
#[derive(Clone, Copy)]
pub(super) struct Running<T> {
    pub(super) id: TimerId,
    pub(super) thread: T,
    /// The number of this run among all runs.
    pub(super) serial: u64,
    /// Whether a cancelling thread waits for this run's outcome: whether its cancel prevented the
    /// timer from running again.
    pub(super) awaited: bool,
    /// The token of the callback.
    pub(super) token: usize,
}

impl<C> Scheduler<C> {
    /// Creates an empty scheduler, as [`TimerSet::new`] does.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self::with(TimerSet::new(settings)).unwrap_or_else(|| no_memory::<Core<C, Shared>>())
    }

    /// Like [`new`](Scheduler::new), but returns an error if there is no memory for
    /// [`Settings::capacity`].
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for the scheduler with this capacity.
    pub fn try_new(settings: Settings) -> Result<Self, Refusal> {
        Self::with(TimerSet::try_new(settings)?).ok_or(Refusal::Full)
    }
}

impl<C> LocalScheduler<C> {
    /// Like [`new`](Scheduler::new), for one thread: adding, cancelling and running timers takes no
    /// lock and uses no atomic. Callbacks need not be `Send`.
    #[must_use]
    pub fn local(settings: Settings) -> Self {
        Self::with(TimerSet::new(settings)).unwrap_or_else(|| no_memory::<Core<C, Local>>())
    }

    /// Like [`try_new`](Scheduler::try_new), for one thread.
    ///
    /// # Errors
    /// The same as for `try_new`.
    pub fn try_local(settings: Settings) -> Result<Self, Refusal> {
        Self::with(TimerSet::try_new(settings)?).ok_or(Refusal::Full)
    }
}

impl<C, L: Access> Scheduler<C, L> {
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
            thread: None,
        };
        Some(Self { core: L::cell(core)? })
    }

    #[inline]
    pub(super) fn lock(&self) -> Held<'_, C, L> {
        L::lock(&self.core)
    }

    /// Arms an idle timer, or changes the time of a pending timer. Its id stays valid. A running
    /// timer is armed when its callback has ended, whatever the callback returns.
    ///
    /// # Errors
    /// The [`Refusal`] is the reason why the timer was not armed. In this case the timer is
    /// unchanged.
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

    /// Returns the clock's time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.lock().timers.now()
    }

    /// Makes room for `additional` more timers.
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for these timers.
    pub fn reserve(&self, additional: usize) -> Result<(), Refusal> {
        self.lock().timers.reserve(additional)
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.lock().timers.shared_clock()
    }

    /// From now on, the scheduler keeps `alarm` set to the time at which the queue must run,
    /// whichever thread arms a timer. An event loop passes a [`TimerFd`](crate::time), or an alarm
    /// of its own type that sends the time to the loop, as in the example of the [module](super).
    pub fn set_alarm(&self, alarm: Option<Arc<dyn Alarm>>) {
        self.lock().timers.set_alarm(alarm);
    }

    /// Sets an alarm if the scheduler has no alarm, or only an alarm that belongs to a thread of
    /// the parent process. Returns whether it set the alarm.
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

impl<C, L: Access> Guarded for Core<C, L> {
    /// In the child no other thread waits, no loop sleeps, and no pass of another thread is in
    /// progress. If such a pass was running a timer at the fork, the timer is removed, because its
    /// callback is on the stack of that thread.
    fn forget_threads(&mut self) {
        self.waiters.forget();
        self.outcomes.clear();
        self.gate.end_sleep();
        let (forker, here) = L::forker();
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

impl<C, L: Access> fmt::Debug for Scheduler<C, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock().timers.fmt(f)
    }
}
