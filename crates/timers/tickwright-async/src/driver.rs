//! The driver fires the timers: a dedicated thread, or the caller's loop.

use core::fmt;
use std::io;

use tickwright::time::{DriverThread, SystemClock};

use crate::sync::{Mutex, lock};

/// The driver of a core, which is called when a timer is filed for a tick before its next look.
pub(crate) enum Driver {
    #[cfg_attr(
        all(feature = "web", target_family = "wasm", target_os = "unknown"),
        expect(dead_code, reason = "a page has no thread")
    )]
    /// A thread, which ends when no handle and no timer is left.
    Thread(Place<DriverThread<SystemClock>>),
    /// A hook of the caller. The caller's loop or other code runs the timers.
    Hook(Box<dyn Fn() + Send + Sync>),
}

impl Driver {
    /// Returns how often the thread woke up, and how many wakers panicked there.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let Self::Thread(place) = self else { return (0, 0) };
        let counts =
            |thread: &DriverThread<_>| (thread.wakeups(), thread.panics().map_or(0, |all| all.count));
        lock(&place.0).as_ref().map_or((0, 0), counts)
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread(place) => lock(&place.0).fmt(f),
            Self::Hook(_) => f.write_str("Hook"),
        }
    }
}

/// The place of a thread that is started when there is work, and ends when there is none.
pub(crate) struct Place<D>(Mutex<Option<D>>);

impl<D> Place<D> {
    #[cfg_attr(
        all(feature = "web", target_family = "wasm", target_os = "unknown"),
        expect(dead_code, reason = "a page has no thread")
    )]
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Calls the thread. If there is none, starts one first.
    pub(crate) fn call(
        &self,
        start: impl FnOnce() -> io::Result<D>,
        call: impl FnOnce(&D),
    ) -> io::Result<()> {
        let mut place = lock(&self.0);
        let thread = match place.take() {
            Some(thread) => thread,
            None => start()?,
        };
        call(place.insert(thread));
        Ok(())
    }

    /// Calls the thread if there is one.
    pub(crate) fn call_if_any(&self, call: impl FnOnce(&D)) {
        if let Some(thread) = &*lock(&self.0) {
            call(thread);
        }
    }

    /// The driver thread calls this when no handle is left. Returns whether the calling thread must
    /// end. An idle thread gives up its place and must end. Otherwise a timer was filed meanwhile:
    /// if the thread that filed it has started another driver, this driver ends, else this driver
    /// continues.
    pub(crate) fn leave(&self, is_idle: impl Fn() -> bool) -> bool {
        loop {
            let mine = lock(&self.0).take();
            // `is_idle` runs outside of our lock, because a thread that files a timer takes the
            // lock of a shard before ours.
            if is_idle() {
                return true;
            }
            let mut place = lock(&self.0);
            if place.is_some() {
                return true;
            }
            *place = mine;
            drop(place);
            // A thread that freed the last timer while the place was empty has called no driver.
            if !is_idle() {
                return false;
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models;
