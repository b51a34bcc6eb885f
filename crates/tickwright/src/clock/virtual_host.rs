//! A machine whose clocks move by command, for tests and simulations.

use core::fmt;
use std::sync::Weak;

use super::{Clock, SystemClock, Watcher};
use crate::sync::{Arc, AtomicI64, AtomicU64, Mutex, Ordering, lock};

/// A machine with the three clocks of [`SystemClock`], which stand still until told to go on. Clones are the same machine.
///
/// All times saturate: steady ones at `u64::MAX` (after 584 years), the offset of the wall at the ends of `i64`. Safe to move and read from any
/// thread; clocks never run back. Who sleeps by one of the clocks is woken on the thread that moves it, before the call returns.
///
/// ```
/// use tickwright::clock::{Clock, VirtualHost};
///
/// let host = VirtualHost::new();
/// let (monotonic, boot, real) = (host.monotonic(), host.boot_time(), host.real_time());
///
/// host.advance(5);
/// host.suspend(100);
/// assert_eq!((monotonic.now(), boot.now()), (5, 105));
/// assert_eq!((real.now(), real.wall_offset()), (5, Some(100)), "steady, and the time of day went on");
///
/// host.step_wall(-60);
/// assert_eq!((real.now(), real.wall_offset()), (5, Some(40)), "set back; nothing steady has moved");
/// ```
#[derive(Clone, Debug)]
pub struct VirtualHost {
    times: Arc<Times>,
}

struct Times {
    /// The monotonic clock.
    running: AtomicU64,
    /// The sum of all suspends. Boot time is both; either only grows, so their sum does for whoever reads them one by one.
    suspended: AtomicU64,
    /// The wall minus the monotonic clock.
    offset: AtomicI64,
    watchers: Mutex<Vec<Weak<dyn Watcher>>>,
}

impl VirtualHost {
    /// A machine that has just started, at the beginning of 1970.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(0, 0)
    }

    /// A machine that has run for `now` nanoseconds, on which the wall shows `now + offset` nanoseconds since 1970.
    #[must_use]
    pub fn starting_at(now: u64, offset: i64) -> Self {
        let times = Times {
            running: AtomicU64::new(now),
            suspended: AtomicU64::new(0),
            offset: AtomicI64::new(offset),
            watchers: Mutex::new(Vec::new()),
        };
        Self { times: Arc::new(times) }
    }

    /// Its clock of that kind.
    #[must_use]
    pub fn clock(&self, kind: SystemClock) -> VirtualClock {
        VirtualClock { host: self.clone(), kind }
    }

    /// Stands still while the machine is suspended.
    #[must_use]
    pub fn monotonic(&self) -> VirtualClock {
        self.clock(SystemClock::Monotonic)
    }

    /// Goes on while the machine is suspended.
    #[must_use]
    pub fn boot_time(&self) -> VirtualClock {
        self.clock(SystemClock::BootTime)
    }

    /// The monotonic timeline, and the time of day.
    #[must_use]
    pub fn real_time(&self) -> VirtualClock {
        self.clock(SystemClock::RealTime)
    }

    /// All clocks go on by `span` nanoseconds. Time that passes while nobody calls this is a machine that is paused.
    pub fn advance(&self, span: u64) {
        add(&self.times.running, span);
        self.times.moved();
    }

    /// Somebody sets the wall clock: forward, or back.
    pub fn step_wall(&self, by: i64) {
        self.times.shift(|offset| offset.saturating_add(by));
        self.times.moved();
    }

    /// The machine sleeps for `span` nanoseconds: boot time and the wall go on, the monotonic clock does not.
    pub fn suspend(&self, span: u64) {
        add(&self.times.suspended, span);
        self.times.shift(|offset| offset.saturating_add_unsigned(span));
        self.times.moved();
    }
}

// Relaxed throughout: each value is by itself, and who is told of a move is told under a lock of its own.
fn add(time: &AtomicU64, span: u64) {
    let _ = time.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| Some(now.saturating_add(span)));
}

impl Times {
    fn shift(&self, shift: impl Fn(i64) -> i64) {
        let _ = self.offset.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |offset| Some(shift(offset)));
    }

    /// Tells all who watch, with no lock held: they may have moved on, and started to watch anew.
    fn moved(&self) {
        let watchers: Vec<_> = lock(&self.watchers).iter().filter_map(Weak::upgrade).collect();
        for watcher in watchers {
            watcher.clock_moved();
        }
    }
}

impl Default for VirtualHost {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Times")
            .field("running", &self.running)
            .field("suspended", &self.suspended)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

/// A clock of a [`VirtualHost`].
#[derive(Clone, Debug)]
pub struct VirtualClock {
    host: VirtualHost,
    kind: SystemClock,
}

impl Clock for VirtualClock {
    fn now(&self) -> u64 {
        let times = &self.host.times;
        let running = times.running.load(Ordering::Relaxed);
        match self.kind {
            SystemClock::Monotonic | SystemClock::RealTime => running,
            SystemClock::BootTime => running.saturating_add(times.suspended.load(Ordering::Relaxed)),
        }
    }

    fn wall_offset(&self) -> Option<i64> {
        match self.kind {
            SystemClock::Monotonic | SystemClock::BootTime => None,
            SystemClock::RealTime => Some(self.host.times.offset.load(Ordering::Relaxed)),
        }
    }

    fn watch(&self, watcher: &Weak<dyn Watcher>) -> bool {
        let mut watchers = lock(&self.host.times.watchers);
        watchers.retain(|known| known.strong_count() > 0);
        watchers.push(Weak::clone(watcher));
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
