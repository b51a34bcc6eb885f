//! The alarm of a thread: the thread sleeps until the alarm goes off. Setting it earlier wakes the
//! thread. The thread sleeps at a condition variable, except on Windows while an alarm is set: that
//! sleep is in `exact.rs`, because a condition variable would end it up to 15.6 ms too late.

use core::cell::Cell;
use core::fmt;
use core::time::Duration;
use std::sync::Weak;

use super::{Alarm, Clock, Instant, Watcher};
use crate::fork::{ForkLock, Order};
use crate::sync::{Arc, Condvar, MutexGuard, lock, no_memory, wait};

/// The reason why [`Parker::wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Woken {
    /// The alarm went off, and is no longer set.
    Due,
    /// The wall clock was set, so timers that follow it can be due earlier or later than the
    /// alarm's time. The alarm is not changed.
    Stepped,
    /// [`stop`](Parker::stop) was called. Every later wait also returns this.
    Stopped,
}

/// An [`Alarm`] at which a thread sleeps. The alarm's time is a time of the clock `K`.
///
/// No wake-up is lost between the moment when a thread reads the alarm and the moment when it falls
/// asleep, because a single lock guards the alarm, the notifications of the clock and the start of
/// the sleep. The sleeper wakes if the alarm is set to an earlier time, but not if it is set to a
/// later time. While no alarm is set, the thread sleeps without a limit. If the clock is moved by
/// calls, the thread sleeps until a call moves the clock to the alarm's time.
///
/// ```
/// use core::time::Duration;
/// use tickwright::time::{Alarm, Instant, Parker, VirtualHost, Woken};
///
/// let host = VirtualHost::new();
/// let parker = Parker::new(host.monotonic());
/// let second = Duration::from_secs(1);
/// parker.set(Some(Instant::ZERO + second));
/// let sleeper = std::thread::spawn({
///     let parker = parker.clone();
///     move || parker.wait()
/// });
/// host.advance(second);
/// assert_eq!(sleeper.join().unwrap(), Woken::Due, "whichever thread came first");
/// ```
pub struct Parker<K: Clock> {
    clock: K,
    state: ForkLock<State>,
    /// Notified when the alarm is set to a time before `until`.
    called: Condvar,
    /// The threads that sleep with a time-out. They are notified together with `called`.
    #[cfg(all(windows, not(loom)))]
    sleepers: super::exact::Sleepers,
    /// Notified when the sleeper has gone to sleep, and when the parker is stopped.
    resting: Condvar,
}

thread_local! {
    /// Identifies the driver thread that the calling thread is: the address of the state that it
    /// shares with its driver, or 0 if the caller is not a driver thread. `thread::current` is not
    /// used, because it allocates on a thread that the standard library has not started.
    pub(super) static DRIVER: Cell<usize> = const { Cell::new(0) };
}

#[derive(Default)]
struct State {
    alarm: Option<Instant>,
    /// The offset of the wall clock that the waiting thread has read last.
    offset: Option<i64>,
    stopped: bool,
    asleep: u32,
    /// The instant until which the thread that fell asleep last sleeps, or `None` if it sleeps
    /// without a limit. Every thread that sleeps until a later instant has already been notified.
    until: Option<Instant>,
    /// Whether the thread that fell asleep last sleeps with a time-out, because its clock did not
    /// stand still.
    timed: bool,
    /// Whether the sleeper was notified and has not woken yet.
    called: bool,
    /// How many threads wait for the sleeper to go to sleep.
    settling: u32,
    wakeups: u64,
    /// The [`DRIVER`] of the driver thread that waits at this parker, or 0 if there is none.
    driver: usize,
    /// Whether this is a forked child in which the driver thread does not exist.
    orphaned: bool,
}

impl State {
    /// Removes the state of waiting threads in a forked child, where those threads do not exist.
    fn forget_threads(&mut self) {
        (self.asleep, self.called, self.settling) = (0, false, 0);
        if self.driver != 0 && self.driver != DRIVER.get() {
            (self.driver, self.orphaned) = (0, true);
        }
    }
}

impl<K: Clock + 'static> Parker<K> {
    /// Creates a parker whose alarm is not set.
    #[must_use]
    pub fn new(clock: K) -> Arc<Self> {
        Self::try_new(clock).unwrap_or_else(|| no_memory::<State>())
    }

    /// Like [`new`](Self::new), but returns `None` if there is no memory for its lock. If there is
    /// no memory for the `Arc`, the process ends, as for every allocation of the standard library.
    #[must_use]
    pub fn try_new(clock: K) -> Option<Arc<Self>> {
        let state = State { offset: clock.wall_offset(), ..State::default() };
        let parker = Arc::new(Self {
            clock,
            state: ForkLock::try_new(Order::Alarm, state, State::forget_threads)?,
            called: Condvar::new(),
            #[cfg(all(windows, not(loom)))]
            sleepers: Default::default(),
            resting: Condvar::new(),
        });
        // The parker is registered as a watcher after its `Arc` was made: until then its weak
        // reference would look dropped, and a clock removes dropped watchers.
        let watcher: Weak<dyn Watcher> = Arc::<Self>::downgrade(&parker);
        parker.clock.watch(&watcher);
        Some(parker)
    }
}

impl<K: Clock> Parker<K> {
    /// Returns the clock of the alarm's time.
    pub fn clock(&self) -> &K {
        &self.clock
    }

    /// Sleeps until the alarm goes off. Only one thread at a time should wait, because only one of
    /// several waiting threads gets [`Woken::Due`].
    ///
    /// A clock can jump, and no thread is notified of a step of the wall clock. Therefore, while an
    /// alarm is set, the thread reads the clock after every
    /// [`longest_sleep`](Clock::longest_sleep), and notices a jump or a step at most that much
    /// later.
    pub fn wait(&self) -> Woken {
        let mut state = lock(&self.state);
        loop {
            if let Some(woken) = self.why(&mut state) {
                return woken;
            }
            state.asleep += 1;
            state.until = state.alarm;
            if state.settling > 0 {
                self.resting.notify_all();
            }
            state.timed = !self.clock.stands_still();
            state = if state.timed { self.sleep(state) } else { self.sleep_until_called(state) };
            state.asleep -= 1;
            state.called = false;
            state.wakeups += 1;
        }
    }

    /// Returns the reason why the thread must not sleep now, or `None` if it can sleep.
    fn why(&self, state: &mut State) -> Option<Woken> {
        if state.stopped {
            return Some(Woken::Stopped);
        }
        // The parker stores the offset at this point. A thread that [`Woken::Stepped`] wakes reads
        // the wall clock later, so it sees at least this step.
        let offset = self.clock.wall_offset();
        if core::mem::replace(&mut state.offset, offset) != offset {
            return Some(Woken::Stepped);
        }
        let now = self.clock.now();
        state.alarm.take_if(|at| *at <= now).map(|_| Woken::Due)
    }

    fn sleep<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        match state.alarm {
            Some(at) => {
                let span = at.duration_since(self.clock.now());
                let most = self.clock.longest_sleep().unwrap_or(Duration::MAX);
                #[cfg(all(windows, not(loom)))]
                return self.sleepers.wait_for(&self.called, &self.state, state, span.min(most));
                #[cfg(not(all(windows, not(loom))))]
                crate::sync::wait_for(&self.called, state, span.min(most))
            }
            None => wait(&self.called, state),
        }
    }

    /// Sleeps without a time-out, for a clock that stands still. While the thread sleeps, the clock
    /// is allowed to move by itself.
    fn sleep_until_called<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        drop(state);
        self.clock.idle();
        let mut state = lock(&self.state);
        while !state.called && !state.stopped {
            state = wait(&self.called, state);
        }
        state
    }

    /// Ends the current wait and every later wait.
    pub fn stop(&self) {
        lock(&self.state).stopped = true;
        self.notify_sleepers();
        self.resting.notify_all();
        self.clock.idle();
    }

    /// Waits until a thread sleeps at this parker and the alarm is not due. Every due timer has
    /// then been run. Returns `false` if the parker is stopped. This is for tests and simulations
    /// on a clock that is moved by calls. If no thread ever waits at this parker, the call never
    /// returns. In a forked child it also returns `false` if the
    /// [`DriverThread`](super::DriverThread) exists only in the parent.
    pub fn settle(&self) -> bool {
        let mut state = lock(&self.state);
        state.settling += 1;
        while !state.stopped
            && !state.orphaned
            && (state.asleep == 0 || state.called || self.has_news(&state))
        {
            state = wait(&self.resting, state);
        }
        state.settling -= 1;
        !state.stopped && !state.orphaned
    }

    /// Returns whether `driver` is the driver thread that waits at this parker. In a forked child
    /// this is true only if that thread forked.
    pub(super) fn is_of(&self, driver: usize) -> bool {
        lock(&self.state).driver == driver
    }

    /// Notes that a driver thread will wait at this parker. `driver` is the [`DRIVER`] of that
    /// thread.
    pub(super) fn adopt(&self, driver: usize) {
        let mut state = lock(&self.state);
        (state.driver, state.orphaned) = (driver, false);
    }

    fn has_news(&self, state: &State) -> bool {
        let is_due = state.alarm.is_some_and(|at| at <= self.clock.now());
        is_due || self.clock.wall_offset() != state.offset || self.clock.stands_still() == state.timed
    }

    /// Returns how often a thread has woken at this parker. The causes are alarms, regular reads of
    /// a clock that can jump, and spurious wake-ups.
    pub fn wakeups(&self) -> u64 {
        lock(&self.state).wakeups
    }

    /// Returns the instant to which the alarm is set.
    pub fn alarm(&self) -> Option<Instant> {
        lock(&self.state).alarm
    }

    /// Sets the alarm to `at`, unless it is set to an earlier instant. A driver thread calls this
    /// after it has computed its next time, because other threads can have set the alarm in the
    /// meantime. Costs as much as [`set`](Alarm::set).
    pub fn bring_forward(&self, at: Instant) {
        self.change(|alarm| Some(alarm.map_or(at, |alarm| alarm.min(at))));
    }

    fn change(&self, to: impl FnOnce(Option<Instant>) -> Option<Instant>) {
        let mut state = lock(&self.state);
        state.alarm = to(state.alarm);
        let earlier = match (state.alarm, state.until) {
            // A clock that stands still can have been moved beyond `until` without waking a thread,
            // because no alarm was set then.
            (Some(at), Some(until)) => at < until || (!state.timed && at <= self.clock.now()),
            (at, None) => at.is_some(),
            (None, _) => false,
        };
        self.call_if(state, earlier);
    }

    /// Releases the lock. If `needed` is true, notifies the sleeping threads that were not notified
    /// yet.
    fn call_if(&self, mut state: MutexGuard<'_, State>, needed: bool) {
        let call = needed && state.asleep > 0 && !state.called;
        state.called |= call;
        drop(state);
        if call {
            self.notify_sleepers();
        }
    }

    fn notify_sleepers(&self) {
        self.called.notify_all();
        #[cfg(all(windows, not(loom)))]
        self.sleepers.notify_all();
    }
}

impl<K: Clock> Alarm for Parker<K> {
    /// Takes one lock. It notifies the sleeper only if `at` is earlier than the end of the sleep.
    fn set(&self, at: Option<Instant>) {
        self.change(|_| at);
    }

    fn is_orphaned(&self) -> bool {
        lock(&self.state).orphaned
    }
}

impl<K: Clock> Watcher for Parker<K> {
    fn clock_moved(&self) {
        let state = lock(&self.state);
        let news = self.has_news(&state);
        self.call_if(state, news);
    }

    fn awaited(&self) -> Option<Instant> {
        let state = lock(&self.state);
        if state.stopped || state.orphaned {
            return Some(Instant::MAX);
        }
        let sleeps = state.asleep > 0 && !state.called && !self.has_news(&state);
        sleeps.then(|| state.alarm.unwrap_or(Instant::MAX))
    }
}

/// Calls `idle`, because the clock can have stood still only because of this parker, while other
/// parkers wait for the clock to move.
impl<K: Clock> Drop for Parker<K> {
    fn drop(&mut self) {
        self.clock.idle();
    }
}

impl<K: Clock> fmt::Debug for Parker<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        f.debug_struct("Parker")
            .field("alarm", &state.alarm)
            .field("stopped", &state.stopped)
            .field("asleep", &state.asleep)
            .field("wakeups", &state.wakeups)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
