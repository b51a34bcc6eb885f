//! The driver, which fires the timers. It is a dedicated thread or the caller's loop.

use core::fmt;
use std::io;

use tickwright::time::{DriverThread, SystemClock};

use crate::sync::{Mutex, lock};

/// The driver of a core. It is called when a timer is filed for a tick before the driver's next
/// check.
pub(crate) enum Driver {
    #[cfg_attr(
        all(feature = "web", target_family = "wasm", target_os = "unknown"),
        expect(dead_code, reason = "a page has no thread")
    )]
    /// A thread that fires the timers. It ends when no handle and no timer is left.
    Thread(Place<DriverThread<SystemClock>>),
    /// A hook that the caller has passed. The caller's loop or other code fires the timers.
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

/// Holds the driver thread, if there is one. The thread is started when there is work, and ends
/// when there is none.
pub(crate) struct Place<D>(Mutex<Option<D>>);

impl<D> Place<D> {
    #[cfg_attr(
        all(feature = "web", target_family = "wasm", target_os = "unknown"),
        expect(dead_code, reason = "a page has no thread")
    )]
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Notifies the thread with `call`. If there is no thread, starts one first.
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

    /// Notifies the thread with `call`, if there is a thread.
    pub(crate) fn call_if_any(&self, call: impl FnOnce(&D)) {
        if let Some(thread) = &*lock(&self.0) {
            call(thread);
        }
    }

    /// The driver thread calls this when no handle is left. Returns whether the calling thread must
    /// end. It first leaves its place, and then checks whether it is idle. If it is idle, it must
    /// end. Otherwise a timer was filed in the meantime. If the thread that filed this timer has
    /// started another driver thread, the calling thread must end, too. If not, it takes its place
    /// again and continues.
    pub(crate) fn leave(&self, is_idle: impl Fn() -> bool) -> bool {
        loop {
            let mine = lock(&self.0).take();
            // `is_idle` is called without this lock, because it takes locks of shards, and a thread
            // that files a timer takes the lock of a shard before this lock.
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
