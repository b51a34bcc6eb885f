//! Measures how long it takes to wake a worker, which determines how long a worker looks for work
//! before it sleeps.
//!
//! A worker can look for work, or sleep until it is woken. If it looks for as long as a sleep and a
//! wake-up take, and then sleeps, it spends at most twice the time of the better choice. If it
//! looked for a shorter time, two threads on different workers that wake each other would sleep
//! every time. A wake-up can take 30 us on a virtual machine and 3 us on other machines, so the
//! cost of each wake-up is measured.
//!
//! The measured times are hints. An outdated time only makes one look longer or shorter.

use core::sync::atomic::{AtomicU64, Ordering};

/// The longest look, in ns.
const LONGEST: u64 = 100_000;
/// The assumed cost of a wake-up before the first measurement, in ns.
const FIRST: u64 = 5_000;
/// The value if there is no notification.
const NONE: u64 = 0;

/// How long recent wake-ups of a worker took.
#[derive(Debug)]
pub(super) struct WakeCost {
    /// The time at which a thread began to wake the sleeping worker, or `NONE`.
    notified_ns: AtomicU64,
    /// The moving average of the cost. Only the worker writes it.
    average_ns: AtomicU64,
}

impl WakeCost {
    pub(super) const fn new() -> Self {
        Self { notified_ns: AtomicU64::new(NONE), average_ns: AtomicU64::new(FIRST) }
    }

    /// Called when the worker is about to sleep.
    pub(super) fn sleep_begins(&self) {
        self.notified_ns.store(NONE, Ordering::Relaxed);
    }

    /// Called when another thread is about to wake the worker.
    pub(super) fn notified(&self, now_ns: u64) {
        self.notified_ns.store(now_ns.max(NONE + 1), Ordering::Relaxed);
    }

    /// Called when the worker no longer sleeps. Only if a notification ended the sleep, calls
    /// `now_ns` to read the clock.
    pub(super) fn sleep_ended(&self, now_ns: impl FnOnce() -> u64) {
        let since = self.notified_ns.load(Ordering::Relaxed);
        if since == NONE {
            return;
        }
        let cost = now_ns().saturating_sub(since).min(LONGEST);
        let before = self.average_ns.load(Ordering::Relaxed);
        self.average_ns.store((3 * before + cost) / 4, Ordering::Relaxed);
    }

    /// Returns the longest time, in ns, for which a worker looks for work before it sleeps.
    pub(super) fn longest_look_ns(&self) -> u64 {
        (2 * self.average_ns.load(Ordering::Relaxed)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests;
