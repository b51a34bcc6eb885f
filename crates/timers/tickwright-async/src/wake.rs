//! How a driver learns that a deadline is earlier than the tick that it waits for.

use core::fmt;
use core::time::Duration;

use crate::sync::{Condvar, Mutex, lock};

/// How to reach the driver when a timer is filed for a tick before its next look.
pub(crate) enum Wake {
    /// Wakes a thread of our own.
    Thread(Sleeper),
    /// Calls a hook of the caller, whose loop or other code runs the timers.
    Hook(Box<dyn Fn() + Send + Sync>),
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread(sleeper) => sleeper.fmt(f),
            Self::Hook(_) => f.write_str("Hook"),
        }
    }
}

/// The state that a driver thread sleeps on.
///
/// The thread reads the requested tick and starts to sleep under one lock, so no earlier deadline
/// is lost in between.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Debug)]
struct State {
    /// The earliest tick that the thread has to look at.
    until: u64,
    asleep: bool,
    /// There is no thread, so the next caller starts one.
    gone: bool,
    wakeups: u64,
    panics: u64,
}

impl Default for State {
    fn default() -> Self {
        Self { until: u64::MAX, asleep: false, gone: true, wakeups: 0, panics: 0 }
    }
}

impl Sleeper {
    /// Asks the driver thread to look at `tick` at the latest. Returns whether the caller has to
    /// start a thread, which then counts as started.
    pub(crate) fn call(&self, tick: u64) -> bool {
        let mut state = lock(&self.state);
        self.look_by(&mut state, tick);
        core::mem::replace(&mut state.gone, false)
    }

    /// Asks the thread for a look at once, if there is one.
    pub(crate) fn call_now(&self) {
        self.look_by(&mut lock(&self.state), 0);
    }

    fn look_by(&self, state: &mut State, tick: u64) {
        if tick < state.until {
            state.until = tick;
            if core::mem::replace(&mut state.asleep, false) {
                self.called.notify_one();
            }
        }
    }

    /// The driver calls this before a look at all shards. From now on, requests for earlier looks
    /// count.
    pub(crate) fn begin(&self) {
        lock(&self.state).until = u64::MAX;
    }

    /// Sleeps until `tick`, or until a tick that was asked for since [`begin`](Self::begin). `left`
    /// returns the time until a tick, or `None` if the tick has passed.
    pub(crate) fn sleep(&self, tick: u64, left: impl Fn(u64) -> Option<Duration>) {
        let mut state = lock(&self.state);
        state.until = state.until.min(tick);
        loop {
            let until = state.until;
            let left = if until == u64::MAX { Some(Duration::MAX) } else { left(until) };
            let Some(left) = left else { return };
            state.asleep = true;
            state = self.wait(state, left);
            state.asleep = false;
            state.wakeups += 1;
        }
    }

    fn wait<'a>(
        &self,
        state: crate::sync::MutexGuard<'a, State>,
        most: Duration,
    ) -> crate::sync::MutexGuard<'a, State> {
        use std::sync::PoisonError;
        if most == Duration::MAX {
            self.called.wait(state).unwrap_or_else(PoisonError::into_inner)
        } else {
            self.called.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
        }
    }

    /// Ends the thread, unless `is_idle` finds that a timer was filed meanwhile.
    pub(crate) fn end(&self, is_idle: impl FnOnce() -> bool) -> bool {
        lock(&self.state).gone = true;
        // This runs outside of our lock: a thread that files a timer takes the lock of a shard
        // before ours.
        if is_idle() {
            return true;
        }
        // A thread has filed a timer. Either that thread has started another driver, or this driver
        // goes on.
        !core::mem::replace(&mut lock(&self.state).gone, false)
    }

    /// Notes that no thread could be started.
    pub(crate) fn give_up(&self) {
        lock(&self.state).gone = true;
    }

    pub(crate) fn note_panic(&self) {
        lock(&self.state).panics += 1;
    }

    /// How often the thread woke up, and how many wakers panicked there.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let state = lock(&self.state);
        (state.wakeups, state.panics)
    }
}

#[cfg(all(test, loom))]
mod models;
