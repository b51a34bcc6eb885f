//! A callback scheduler: delays in, callbacks out, ids to cancel by. To be shared between threads.
//!
//! ```
//! use core::time::Duration;
//! use tickwright::clock::VirtualHost;
//! use tickwright::scheduler::{Boxed, Next, Scheduler};
//! use tickwright::service::Settings;
//!
//! let host = VirtualHost::new();
//! let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
//! let mut left = 3;
//! let id = scheduler.add(Duration::from_secs(2), Boxed::new(move |_| {
//!     left -= 1;
//!     if left > 0 { Next::Again } else { Next::Done }
//! }))?;
//! assert_eq!(scheduler.wait(), Some(Duration::from_secs(2)));
//! host.advance(2_000_000_000);
//! assert_eq!(scheduler.run_queue(), Ok(1));
//! assert_eq!(scheduler.remaining(id), Some(Duration::from_secs(2)), "again");
//! # Ok::<(), tickwright::service::Refused<Boxed>>(())
//! ```
//!
//! # Who runs the callbacks
//!
//! Whoever calls [`run_queue`](Scheduler::run_queue): a poll loop that sleeps for
//! [`wait`](Scheduler::wait), or a thread of its own ([`SchedulerThread`]). Callbacks run without
//! the lock, and one at a time: who calls `run_queue` while another thread does is told
//! [`Busy`](RunError::Busy), and from inside a callback
//! [`WithinCallback`](RunError::WithinCallback). A pass takes what was due when it began and armed
//! before; equal due times run in the order in which they were armed.
//!
//! # Four ways to cancel
//!
//! | the timer is | [`try_cancel`](Scheduler::try_cancel) | [`cancel`](Scheduler::cancel) (async) | [`cancel_sync`](Scheduler::cancel_sync) | [`shutdown_timer`](Scheduler::shutdown_timer) / [`_sync`](Scheduler::shutdown_timer_sync) |
//! |---|---|---|---|---|
//! | pending | `Removed`: the caller gets the callback | `Removed` | `Removed` | `Removed` |
//! | pending and kept | `Disarmed`: idle now | `Disarmed` | `Disarmed` | `Removed` |
//! | idle (kept) | `Idle` | `Idle` | `Idle` | `Removed` |
//! | running, asked from its callback | `Running { here: true }`: nothing is changed | `Running { here: true }`: will not run again | error `WouldDeadlock`: nothing is changed | as async; `_sync`: the error |
//! | running on another thread | `Running { here: false }`: nothing is changed | `Running { here: false }`: will not run again, returns at once | waits; `Finished`, will not run again | as async; `_sync`: waits, `Finished` |
//! | done, cancelled, never was | `NotFound` | `NotFound` | `NotFound` | `NotFound` |
//!
//! - A callback that is handed back is dropped by the caller; that of a timer that ran is dropped
//!   by the thread that ran it, without the lock, before a waiting cancel returns. In every case
//!   once.
//! - `Finished { suppressed: true }` says that the callback had asked to run again and was not let:
//!   one of several who cancel the same run is told so, the first who waits. Who counts references
//!   takes the timer's back then; else the callback has done that when it answered "done".
//! - Two who cancel one running timer both wait and are both right. Two callbacks of two schedulers
//!   that wait for each other wait for ever, and so does one who holds a lock that the callback
//!   wants.
//! - A whole scheduler: [`shutdown`](Scheduler::shutdown). Nothing can be armed afterwards; from a
//!   callback of its own it is refused.
//!
//! # A panic in a callback
//!
//! The timer is gone (a kept one is idle), whoever waits for it goes on, all others are as they
//! were, and the panic goes on to who called `run_queue`. If the drop of the callback panics while
//! that unwinds, the process ends, as everywhere in Rust.

//! # Forks
//!
//! A forked child has a copy that is whole, whatever other threads did with the scheduler at the
//! moment of the fork: its timers are pending for the same times, and nobody runs it. Start a
//! thread there, or run the queue. A timer whose callback ran on another thread is gone in the
//! child, a kept one too; that callback is not dropped. What holds of drivers is
//! [there](crate::driver#forks).

mod callback;
mod report;
mod run;
#[cfg(all(test, not(loom)))]
mod tests;
mod thread;
mod urgent;

use core::alloc::Layout;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Waker;
use core::time::Duration;
use std::alloc::handle_alloc_error;

use tickwright_core::Violation;

pub use crate::service::{Next, TimerId};
pub use callback::{Boxed, Callback, Firing, Plain};
pub use report::{Dump, Report};
pub use run::RunError;
pub use thread::SchedulerThread;
pub use urgent::Urgent;

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::driver::timeout_ms;
use crate::fork::{self, ForkLock, Order};
use crate::service::{
    Info, Origin, Refusal, Refused, Removal, Service, Settings, Site, State, Statistics, Timing, nanos,
};
use crate::sync::{Arc, Condvar, MutexGuard, Wakers, lock, this_thread, try_lock, wait_as_caller};
use run::Running;

/// What a cancel found. The table is in the [module](self).
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
        /// It had asked to run again, and is not let; the caller is the one who is told.
        suppressed: bool,
    },
    /// The id names no timer.
    NotFound,
}

/// What [`Scheduler::place`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<C> {
    /// The new timer's id.
    pub id: TimerId,
    /// Its `int` id, where those are issued.
    pub int_id: Option<i32>,
    /// What became of the old one.
    pub old: Cancelled<C>,
}

/// To wait would be to wait for oneself: a callback asked for its own end, or for that of its
/// scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WouldDeadlock;

impl fmt::Display for WouldDeadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a callback cannot wait for its own end: cancel without waiting, or answer that it is done",
        )
    }
}

impl core::error::Error for WouldDeadlock {}

/// Timers that call back. See the [module](self).
pub struct Scheduler<C: Callback> {
    core: ForkLock<Core<C>>,
    /// A callback has ended, or a pass.
    ended: Condvar,
    queue: Queue,
}

/// How many wait for the lock, and how many have had it after a wait: hints for a pass, which makes
/// room. No step of the protocol reads them.
#[derive(Default)]
struct Queue {
    waiting: AtomicUsize,
    served: AtomicUsize,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }

    fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }
}

/// What the lock guards.
struct Core<C> {
    service: Service<C>,
    running: Option<Running>,
    /// Runs begun.
    runs: u64,
    /// Whose pass is under way.
    pass: Option<crate::sync::ThreadId>,
    /// How many threads wait for `ended`.
    waiting: usize,
    /// Runs whose first canceller waits to hear whether it suppressed anything.
    outcomes: Vec<(u64, bool)>,
    /// Coroutines that wait for `ended`.
    wakers: Vec<Waker>,
    shut: bool,
}

impl<C> Wakers for Core<C> {
    fn wakers(&mut self) -> &mut Vec<Waker> {
        &mut self.wakers
    }
}

impl<C: Callback> Scheduler<C> {
    /// An empty scheduler: as [`Service::new`].
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let memory = || handle_alloc_error(Layout::new::<Core<C>>());
        Self::with(Service::new(settings)).unwrap_or_else(memory)
    }

    /// An empty scheduler, with [`Settings::capacity`].
    ///
    /// # Errors
    /// [`Refusal::Full`] when there is no memory for it.
    pub fn try_new(settings: Settings) -> Result<Self, Refusal> {
        Self::with(Service::try_new(settings)?).ok_or(Refusal::Full)
    }

    /// `None`: there is no memory.
    fn with(service: Service<C>) -> Option<Self> {
        let core = Core {
            service,
            running: None,
            runs: 0,
            pass: None,
            waiting: 0,
            outcomes: Vec::new(),
            wakers: Vec::new(),
            shut: false,
        };
        let core = ForkLock::try_new(Order::Timers, core, Core::forget_threads)?;
        Some(Self { core, ended: Condvar::new(), queue: Queue::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Core<C>> {
        match try_lock(&self.core) {
            Some(core) => core,
            None => self.lock_behind_others(),
        }
    }

    #[cold]
    fn lock_behind_others(&self) -> MutexGuard<'_, Core<C>> {
        self.queue.waiting.fetch_add(1, Ordering::Relaxed);
        let core = lock(&self.core);
        self.queue.waiting.fetch_sub(1, Ordering::Relaxed);
        self.queue.served.fetch_add(1, Ordering::Relaxed);
        core
    }

    /// Runs `callback` after `delay`: [`add_timer`](Self::add_timer) without a name and token.
    ///
    /// # Errors
    /// As `add_timer`.
    #[track_caller]
    pub fn add(&self, delay: Duration, callback: C) -> Result<TimerId, Refused<C>> {
        self.add_timer(Timing::after(delay), &Site::here(""), 0, callback)
    }

    /// Runs `callback` by `timing`. `token` is the user's, to [cancel by](Self::cancel_matching);
    /// `origin` is shown in [`dump`](Self::dump) and counted by.
    ///
    /// # Errors
    /// [`Refused`] with the callback: no memory, a wall time on a clock without one, or the
    /// scheduler is shut down.
    pub fn add_timer(
        &self,
        timing: Timing,
        origin: &impl Origin,
        token: usize,
        callback: C,
    ) -> Result<TimerId, Refused<C>> {
        let mut core = self.lock();
        if core.shut {
            return Err(Refused { reason: Refusal::Shutdown, payload: callback });
        }
        core.service.add(timing, origin, token, callback)
    }

    /// Makes a timer that is [started](Self::start) later, any number of times, until it is
    /// [shut down](Self::shutdown_timer).
    ///
    /// # Errors
    /// [`Refused`] with the callback: no memory, or the scheduler is shut down.
    pub fn keep(&self, origin: &impl Origin, token: usize, callback: C) -> Result<TimerId, Refused<C>> {
        let mut core = self.lock();
        if core.shut {
            return Err(Refused { reason: Refusal::Shutdown, payload: callback });
        }
        core.service.keep(origin, token, callback)
    }

    /// Arms a timer that is idle, or gives a pending one another time: its id stays. One that runs
    /// is armed when its callback has ended, whatever that answers.
    ///
    /// # Errors
    /// [`Refusal`]; the timer is then as it was.
    pub fn start(&self, id: TimerId, timing: Timing) -> Result<(), Refusal> {
        let mut core = self.lock();
        if core.shut {
            return Err(Refusal::Shutdown);
        }
        core.service.start(id, timing)
    }

    /// Adds a timer and [cancels](Self::cancel) another in one step: nobody sees both or neither.
    ///
    /// # Errors
    /// As [`add_timer`](Self::add_timer); the other timer is then as it was.
    pub fn replace(
        &self,
        old: TimerId,
        timing: Timing,
        origin: &impl Origin,
        token: usize,
        callback: C,
    ) -> Result<(TimerId, Cancelled<C>), Refused<C>> {
        self.place(Some(old), timing, origin, token, callback).map(|placed| (placed.id, placed.old))
    }

    /// As [`replace`](Self::replace), or without an old one as [`add_timer`](Self::add_timer); and
    /// answers both ids, which the timer need not have any more when this returns: another thread
    /// may have run it.
    ///
    /// # Errors
    /// As `replace`.
    pub fn place(
        &self,
        old: Option<TimerId>,
        timing: Timing,
        origin: &impl Origin,
        token: usize,
        callback: C,
    ) -> Result<Placed<C>, Refused<C>> {
        let mut core = self.lock();
        if core.shut {
            return Err(Refused { reason: Refusal::Shutdown, payload: callback });
        }
        let id = core.service.add(timing, origin, token, callback)?;
        let int_id = core.service.int_id(id);
        let old = match old {
            Some(old) => {
                let removal = core.service.cancel(old);
                core.cancelled(removal)
            }
            None => Cancelled::NotFound,
        };
        Ok(Placed { id, int_id, old })
    }

    /// Cancels a timer that does not run.
    pub fn try_cancel(&self, id: TimerId) -> Cancelled<C> {
        let mut core = self.lock();
        match &core.running {
            Some(running) if running.id == id && core.service.find(id).is_some() => {
                Cancelled::Running { here: running.thread == this_thread() }
            }
            _ => {
                let removal = core.service.cancel(id);
                core.cancelled(removal)
            }
        }
    }

    /// Cancels a timer, and never waits: one that runs will not run again.
    pub fn cancel(&self, id: TimerId) -> Cancelled<C> {
        let mut core = self.lock();
        let removal = core.service.cancel(id);
        core.cancelled(removal)
    }

    /// Cancels a timer, and when this returns its callback does not run: if it ran on another
    /// thread, it was waited for.
    ///
    /// # Errors
    /// [`WouldDeadlock`] from inside its own callback; nothing is changed then.
    pub fn cancel_sync(&self, id: TimerId) -> Result<Cancelled<C>, WouldDeadlock> {
        self.stop(id, Service::cancel)
    }

    /// As [`cancel`](Self::cancel), and the id is stale afterwards also if the timer is kept:
    /// nothing can arm it again.
    pub fn shutdown_timer(&self, id: TimerId) -> Cancelled<C> {
        let mut core = self.lock();
        let removal = core.service.shutdown(id);
        core.cancelled(removal)
    }

    /// As [`shutdown_timer`](Self::shutdown_timer), and waits as [`cancel_sync`](Self::cancel_sync)
    /// does.
    ///
    /// # Errors
    /// As `cancel_sync`.
    pub fn shutdown_timer_sync(&self, id: TimerId) -> Result<Cancelled<C>, WouldDeadlock> {
        self.stop(id, Service::shutdown)
    }

    fn stop(
        &self,
        id: TimerId,
        stop: fn(&mut Service<C>, TimerId) -> Removal<C>,
    ) -> Result<Cancelled<C>, WouldDeadlock> {
        let mut core = self.lock();
        let Some(Running { thread, serial, .. }) = core.running.filter(|running| running.id == id) else {
            let removal = stop(&mut core.service, id);
            return Ok(core.cancelled(removal));
        };
        let here = thread == this_thread();
        if core.service.find(id).is_none() {
            // It has ended, and its callback is being dropped: here, by the caller of this.
            if here {
                return Ok(Cancelled::NotFound);
            }
        } else if here {
            return Err(WouldDeadlock);
        }
        let _ = stop(&mut core.service, id);
        // The first who waits is told.
        let first =
            core.running.as_mut().is_some_and(|running| !core::mem::replace(&mut running.awaited, true));
        core.waiting += 1;
        while core.running.is_some_and(|running| running.serial == serial) {
            core = wait_as_caller(&self.ended, &self.core, core);
        }
        core.waiting -= 1;
        let outcome = core.outcomes.iter().position(|(of, _)| first && *of == serial);
        let suppressed = outcome.is_some_and(|at| core.outcomes.swap_remove(at).1);
        Ok(Cancelled::Finished { suppressed })
    }

    /// Cancels every timer with this token, kept ones too, and hands their callbacks out. One that
    /// runs will not run again; the second answer names it, for who has to
    /// [wait](Self::shutdown_timer_sync) for its end. O(timers).
    pub fn cancel_matching(&self, token: usize) -> (Vec<(TimerId, C)>, Option<TimerId>) {
        let mut core = self.lock();
        let matching = core.service.iter().filter(|timer| timer.token == token);
        let ids: Vec<TimerId> = matching.map(|timer| timer.id).collect();
        let (mut removed, mut running) = (Vec::with_capacity(ids.len()), None);
        for id in ids {
            match core.service.shutdown(id) {
                Removal::Removed(callback) => removed.push((id, callback)),
                Removal::Running => running = Some(id),
                Removal::Disarmed | Removal::Idle | Removal::NotFound => {}
            }
        }
        (removed, running)
    }

    /// As [`cancel_matching`](Self::cancel_matching), one by one, and hands each callback to
    /// `each`, without the lock. Allocates nothing. What fires or is added meanwhile, between one
    /// and the next, may or may not be met; all else is, once. Answers how many were removed, and
    /// who runs.
    pub fn cancel_each_matching(&self, token: usize, mut each: impl FnMut(C)) -> (usize, Option<TimerId>) {
        let (mut removed, mut running, mut from) = (0, None, 0);
        while let Some((id, removal)) = self.remove_next(&mut from, |timer| timer.token == token) {
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

    /// Shuts the next timer down that is wanted.
    fn remove_next(&self, from: &mut usize, wanted: impl Fn(&Info) -> bool) -> Option<(TimerId, Removal<C>)> {
        let mut core = self.lock();
        loop {
            let timer = core.service.next_from(from)?;
            if wanted(&timer) {
                return Some((timer.id, core.service.shutdown(timer.id)));
            }
        }
    }

    /// Whether the caller is one of its callbacks, or the drop of one that has run.
    #[must_use]
    pub fn within_callback(&self) -> bool {
        self.lock().pass == Some(this_thread())
    }

    /// As [`shutdown`](Self::shutdown), and hands each callback to `each`, without the lock.
    /// Allocates nothing.
    ///
    /// # Errors
    /// As `shutdown`.
    pub fn shutdown_each(&self, mut each: impl FnMut(C)) -> Result<(), WouldDeadlock> {
        let mut core = self.lock();
        if core.pass == Some(this_thread()) {
            return Err(WouldDeadlock);
        }
        core.shut = true;
        drop(core);
        let mut from = 0;
        while let Some((_, removal)) = self.remove_next(&mut from, |_| true) {
            if let Removal::Removed(callback) = removal {
                each(callback);
            }
        }
        self.await_pass(self.lock());
        Ok(())
    }

    fn await_pass<'s>(&'s self, mut core: MutexGuard<'s, Core<C>>) {
        core.waiting += 1;
        while core.pass.is_some() {
            core = wait_as_caller(&self.ended, &self.core, core);
        }
        core.waiting -= 1;
    }

    /// Ends the scheduler: waits for the callback that runs on another thread, hands all others
    /// out, and refuses whatever is armed afterwards. A second time it does nothing.
    ///
    /// # Errors
    /// [`WouldDeadlock`] from inside a callback of its own; nothing is changed then.
    pub fn shutdown(&self) -> Result<Vec<C>, WouldDeadlock> {
        let mut core = self.lock();
        if core.pass == Some(this_thread()) {
            return Err(WouldDeadlock);
        }
        core.shut = true;
        let callbacks = core.service.clear();
        self.await_pass(core);
        Ok(callbacks)
    }

    /// How long there is nothing to run: what a poll loop may sleep. This does not block. Zero if something is due,
    /// `None` if nothing is pending. Over a wheel it may be too short, once for each bucket: then
    /// the queue is run for nothing, and the next answer is right. O(levels) at most.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.lock().service.remaining()
    }

    /// The same as a time-out for `poll`: in ms, rounded up, -1 for none, at most [`i32::MAX`].
    #[must_use]
    pub fn timeout_ms(&self) -> i32 {
        timeout_ms(0, self.wait().map(nanos))
    }

    /// When a timer is due, in ns of the clock's steady timeline; `None` unless it is pending.
    #[must_use]
    pub fn when(&self, id: TimerId) -> Option<u64> {
        let info = self.find(id)?;
        (info.state == State::Pending).then_some(info.due)
    }

    /// How long until a timer is due; zero if it is overdue, `None` unless it is pending.
    #[must_use]
    pub fn remaining(&self, id: TimerId) -> Option<Duration> {
        let due = self.when(id)?;
        Some(Duration::from_nanos(due.saturating_sub(self.now())))
    }

    /// What is known of a timer; its token among that.
    #[must_use]
    pub fn find(&self, id: TimerId) -> Option<Info> {
        self.lock().service.find(id)
    }

    /// What is known of a timer, and what `look` finds in its callback, which is not there to be
    /// looked at while it runs. `look` is called under the lock: it must not call back.
    pub fn inspect<R>(&self, id: TimerId, look: impl FnOnce(&C) -> R) -> Option<(Info, Option<R>)> {
        let core = self.lock();
        let info = core.service.find(id)?;
        Some((info, core.service.payload(id).map(look)))
    }

    /// The clock's time, in ns.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.lock().service.now()
    }

    /// The `int` id of a timer, where those are issued.
    #[must_use]
    pub fn int_id(&self, id: TimerId) -> Option<i32> {
        self.lock().service.int_id(id)
    }

    /// The timer of an `int` id.
    #[must_use]
    pub fn from_int(&self, int: i32) -> Option<TimerId> {
        self.lock().service.from_int(int)
    }

    /// Makes room for so many more timers.
    ///
    /// # Errors
    /// [`Refusal::Full`] when there is no memory for it.
    pub fn reserve(&self, additional: usize) -> Result<(), Refusal> {
        self.lock().service.reserve(additional)
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.lock().service.shared_clock()
    }

    /// Tells `alarm` from now on when the queue is to be run: for an event loop, a
    /// [`TimerFd`](crate::driver).
    pub fn set_alarm(&self, alarm: Option<Arc<dyn Alarm>>) {
        self.lock().service.set_alarm(alarm);
    }

    /// The same if it has none so far, or that of a thread which is the parent's; whether that was
    /// so.
    fn set_first_alarm(&self, alarm: Arc<dyn Alarm>) -> bool {
        let mut core = self.lock();
        let first = core.service.alarm().is_none_or(|alarm| alarm.is_orphaned());
        if first {
            core.service.set_alarm(Some(alarm));
        }
        first
    }

    /// Tells `alarm` no more, if that is who is told.
    fn leave_alarm(&self, alarm: &Arc<dyn Alarm>) {
        let mut core = self.lock();
        if core.service.alarm().is_some_and(|set| Arc::ptr_eq(set, alarm)) {
            core.service.set_alarm(None);
        }
    }

    /// Every timer there is, with its origin. O(timers log timers).
    #[must_use]
    pub fn dump(&self) -> Dump {
        self.try_dump().unwrap_or_else(|_| handle_alloc_error(Layout::new::<Dump>()))
    }

    /// The same for who can go on without.
    ///
    /// # Errors
    /// [`Refusal::Full`] when there is no memory for it.
    pub fn try_dump(&self) -> Result<Dump, Refusal> {
        let mut timers = Vec::new();
        let now = {
            let core = self.lock();
            timers.try_reserve_exact(core.service.statistics().timers).map_err(|_| Refusal::Full)?;
            timers.extend(core.service.iter());
            core.service.now()
        };
        Ok(Dump::new(now, timers))
    }

    /// What was counted: timers, runs, lateness, and by origin.
    #[must_use]
    pub fn report(&self) -> Report {
        self.try_report().unwrap_or_else(|_| handle_alloc_error(Layout::new::<Report>()))
    }

    /// The same for who can go on without.
    ///
    /// # Errors
    /// [`Refusal::Full`] when there is no memory for it.
    pub fn try_report(&self) -> Result<Report, Refusal> {
        let core = self.lock();
        Ok(Report { statistics: core.service.statistics(), sites: core.service.try_sites()? })
    }

    /// What was counted, without the origins. Allocates nothing.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.lock().service.statistics()
    }

    /// Bytes on the heap, without what callbacks own themselves.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.lock().service.heap_bytes()
    }

    /// Verifies all invariants. O(timers).
    ///
    /// # Errors
    /// The first violation found: a bug in this library.
    pub fn check(&self) -> Result<(), Violation> {
        self.lock().service.check()
    }
}

impl<C> Core<C> {
    /// In a forked child, where other threads are not: nobody waits, and the pass of another thread
    /// is over. The timer that it ran is gone, since its callback is on the stack of that thread.
    fn forget_threads(&mut self) {
        self.waiting = 0;
        self.outcomes.clear();
        // They are the parent's, and so is what their drops would touch.
        core::mem::forget(core::mem::take(&mut self.wakers));
        let (forker, here) = fork::forker();
        if self.pass == Some(forker) {
            self.pass = Some(here);
            if let Some(running) = &mut self.running {
                running.thread = here;
            }
        } else if self.pass.take().is_some()
            && let Some(running) = self.running.take()
        {
            self.service.abandon(running.id);
        }
    }

    fn cancelled(&self, removal: Removal<C>) -> Cancelled<C> {
        match removal {
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

impl<C: Callback> fmt::Debug for Scheduler<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock().service.fmt(f)
    }
}
