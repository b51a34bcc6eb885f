//! How long it takes to wake a worker, and so how long a worker looks for work before it sleeps.
//!
//! A look that lasts as long as a sleep and a wake-up costs at most twice as much as the better of
//! the two. On a virtual machine a wake-up may take 30 us, on other machines 3. A shorter look is
//! in vain: two threads that wake each other across workers would both sleep each time. So each
//! wake-up is timed.
//!
//! The figures are hints. A stale one makes one look longer or shorter.

use core::sync::atomic::{AtomicU64, Ordering};

/// No look lasts longer, in ns.
const LONGEST: u64 = 100_000;
/// The cost of a wake-up before the first was timed, in ns.
const FIRST: u64 = 5_000;
/// There is no notification.
const NONE: u64 = 0;

/// How long it took to wake a worker lately.
#[derive(Debug)]
pub(super) struct WakeCost {
    /// When a thread began to wake the sleeping worker, or `NONE`.
    notified_ns: AtomicU64,
    /// The moving average of the cost. Only the worker writes it.
    average_ns: AtomicU64,
}

impl WakeCost {
    pub(super) const fn new() -> Self {
        Self { notified_ns: AtomicU64::new(NONE), average_ns: AtomicU64::new(FIRST) }
    }

    /// The worker is about to sleep.
    pub(super) fn sleep_begins(&self) {
        self.notified_ns.store(NONE, Ordering::Relaxed);
    }

    /// Another thread is about to wake the worker.
    pub(super) fn notified(&self, now_ns: u64) {
        self.notified_ns.store(now_ns.max(NONE + 1), Ordering::Relaxed);
    }

    /// The worker no longer sleeps. `now_ns` reads the clock, if a notification ended the sleep.
    pub(super) fn sleep_ended(&self, now_ns: impl FnOnce() -> u64) {
        let since = self.notified_ns.load(Ordering::Relaxed);
        if since == NONE {
            return;
        }
        let cost = now_ns().saturating_sub(since).min(LONGEST);
        let before = self.average_ns.load(Ordering::Relaxed);
        self.average_ns.store((3 * before + cost) / 4, Ordering::Relaxed);
    }

    /// How long a look for work may last before the worker sleeps, in ns.
    pub(super) fn longest_look_ns(&self) -> u64 {
        (2 * self.average_ns.load(Ordering::Relaxed)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests;
