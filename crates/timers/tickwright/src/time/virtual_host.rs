//! A machine whose clocks move by command, for tests and simulations.

use core::time::Duration;
use std::sync::Weak;

use super::{Clock, Instant, SystemClock, Watcher, nanos};
use crate::fork::{ForkLock, Order};
use crate::sync::{Arc, lock, no_memory};

/// A machine with the three clocks of [`SystemClock`], which stand still until a caller moves them.
/// A clone is a handle to the same machine.
///
/// All times saturate. The steady clocks stop at [`Instant::MAX`], and the wall's offset stays in
/// the range of `i64`. Any thread may read and move the clocks; no steady clock ever runs back. A
/// call that moves a clock wakes the threads that sleep by it before the call returns.
///
/// ```
/// use core::time::Duration;
/// use tickwright::time::{Clock, Instant, VirtualHost};
///
/// let host = VirtualHost::new();
/// let (monotonic, boot, real) = (host.monotonic(), host.boot_time(), host.real_time());
///
/// host.advance(Duration::from_nanos(5));
/// host.suspend(Duration::from_nanos(100));
/// let steady = Instant::from_nanos(5);
/// assert_eq!((monotonic.now(), boot.now()), (steady, Instant::from_nanos(105)));
/// assert_eq!((real.now(), real.wall_offset()), (steady, Some(100)), "the time of day went on");
///
/// host.step_wall(-60);
/// assert_eq!((real.now(), real.wall_offset()), (steady, Some(40)), "nothing steady has moved");
/// ```
#[derive(Clone, Debug)]
pub struct VirtualHost {
    times: Arc<Times>,
}

#[derive(Debug)]
struct Times {
    shown: ForkLock<Shown>,
    watchers: ForkLock<Vec<Weak<dyn Watcher>>>,
}

/// The times of the clocks.
#[derive(Clone, Copy, Debug)]
struct Shown {
    /// The monotonic clock.
    running: Instant,
    /// The sum of all suspends: boot time is ahead of the monotonic clock by this much.
    suspended: Duration,
    /// The wall minus the monotonic clock, in ns.
    offset: i64,
}

impl VirtualHost {
    /// A machine that has just started, at the beginning of 1970.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Instant::ZERO, 0)
    }

    /// Like [`new`](Self::new). Returns `None` if there is no memory for its locks. If there
    /// is no memory for the reference count, the process ends, as everywhere in the standard
    /// library.
    #[must_use]
    pub fn try_new() -> Option<Self> {
        Self::try_starting_at(Instant::ZERO, 0)
    }

    /// A machine whose steady clocks show `now`. Its wall clock shows `now + offset` nanoseconds
    /// since 1970-01-01 UTC.
    #[must_use]
    pub fn starting_at(now: Instant, offset: i64) -> Self {
        Self::try_starting_at(now, offset).unwrap_or_else(|| no_memory::<Times>())
    }

    fn try_starting_at(now: Instant, offset: i64) -> Option<Self> {
        let shown = Shown { running: now, suspended: Duration::ZERO, offset };
        let times = Times {
            shown: ForkLock::try_new(Order::Leaf, shown, |_| {})?,
            watchers: ForkLock::try_new(Order::Leaf, Vec::new(), |_| {})?,
        };
        Some(Self { times: Arc::new(times) })
    }

    /// The machine's clock of that kind.
    #[must_use]
    pub fn clock(&self, kind: SystemClock) -> VirtualClock {
        VirtualClock { host: self.clone(), kind }
    }

    /// A clock that stands still while the machine is suspended.
    #[must_use]
    pub fn monotonic(&self) -> VirtualClock {
        self.clock(SystemClock::Monotonic)
    }

    /// A clock that advances while the machine is suspended, too.
    #[must_use]
    pub fn boot_time(&self) -> VirtualClock {
        self.clock(SystemClock::BootTime)
    }

    /// A clock with the monotonic timeline and the time of day.
    #[must_use]
    pub fn real_time(&self) -> VirtualClock {
        self.clock(SystemClock::RealTime)
    }

    /// Advances all clocks by `span`. Without such calls the machine is like one that is paused.
    pub fn advance(&self, span: Duration) {
        self.change(|shown| shown.running += span);
    }

    /// Moves the wall clock forward by `by` nanoseconds, or back if `by` is negative.
    pub fn step_wall(&self, by: i64) {
        self.change(|shown| shown.offset = shown.offset.saturating_add(by));
    }

    /// Suspends the machine for `span`: boot time and the wall advance, the monotonic clock does
    /// not.
    pub fn suspend(&self, span: Duration) {
        self.change(|shown| {
            shown.suspended = shown.suspended.saturating_add(span);
            shown.offset = shown.offset.saturating_add_unsigned(nanos(span));
        });
    }

    /// Moves the clocks, then notifies all watchers. It holds no lock while it notifies them, since
    /// a watcher may move the clocks or start to watch again.
    fn change(&self, change: impl FnOnce(&mut Shown)) {
        change(&mut lock(&self.times.shown));
        let watchers: Vec<_> = lock(&self.times.watchers).iter().filter_map(Weak::upgrade).collect();
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

/// A clock of a [`VirtualHost`].
#[derive(Clone, Debug)]
pub struct VirtualClock {
    host: VirtualHost,
    kind: SystemClock,
}

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        let shown = *lock(&self.host.times.shown);
        match self.kind {
            SystemClock::Monotonic | SystemClock::RealTime => shown.running,
            SystemClock::BootTime => shown.running + shown.suspended,
        }
    }

    fn wall_offset(&self) -> Option<i64> {
        (self.kind == SystemClock::RealTime).then(|| lock(&self.host.times.shown).offset)
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
