//! A simulated machine whose clocks are moved by calls, for tests and simulations.

use core::time::Duration;
use std::sync::Weak;

use super::{Clock, Instant, SystemClock, Watcher, nanos};
use crate::fork::{ForkLock, Order};
use crate::sync::{Arc, lock, no_memory};

/// A simulated machine with the three clocks of [`SystemClock`]. A clone is another handle to the
/// same machine.
///
/// The clocks stand still until a call moves them. After [`move_by_itself`](Self::move_by_itself)
/// they jump to the next time for which a thread waits, and after [`resume`](Self::resume) they run
/// with the real machine's clock.
///
/// All times saturate. The steady clocks stop at [`Instant::MAX`], and the wall's offset stays in
/// the range of `i64`. Any thread can read and move the clocks, but no steady clock ever runs
/// backwards. A call that moves a clock notifies the threads that wait for a time of this clock
/// before it returns.
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
    /// The watchers, each with the clock that it watches.
    watchers: ForkLock<Vec<(SystemClock, Weak<dyn Watcher>)>>,
}

/// The state from which the times of the clocks are computed.
#[derive(Clone, Copy, Debug)]
struct Shown {
    /// The time of the monotonic clock. While the clocks run, this is the time that it showed when
    /// they were resumed.
    running: Instant,
    /// The time of the real machine's clock when the clocks were resumed, or `None` if they stand
    /// still.
    resumed: Option<Instant>,
    /// The total length of all suspends, by which boot time is ahead of the monotonic clock.
    suspended: Duration,
    /// The wall time minus the monotonic time, in ns.
    offset: i64,
    /// How many guards let the clocks move by themselves. The next field counts the guards that
    /// prevent this.
    moves: usize,
    holds: usize,
    /// Whether a thread is moving the clocks in `idle`. The next field is whether a watcher has
    /// become idle since that thread's last check.
    moving: bool,
    asked: bool,
}

impl Shown {
    fn now(&self) -> Instant {
        let since = |at| SystemClock::Monotonic.now().duration_since(at);
        self.running + self.resumed.map_or(Duration::ZERO, since)
    }

    fn may_move(&self) -> bool {
        self.moves > 0 && self.holds == 0 && self.resumed.is_none()
    }
}

impl VirtualHost {
    /// Creates a machine that has just started, at the beginning of 1970.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Instant::ZERO, 0)
    }

    /// Like [`new`](Self::new). Returns `None` if there is no memory for the machine's locks. If
    /// there is no memory for the `Arc`, the process ends, as for every allocation of the standard
    /// library.
    #[must_use]
    pub fn try_new() -> Option<Self> {
        Self::try_starting_at(Instant::ZERO, 0)
    }

    /// Creates a machine whose steady clocks show `now`. Its wall clock shows `now + offset`
    /// nanoseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn starting_at(now: Instant, offset: i64) -> Self {
        Self::try_starting_at(now, offset).unwrap_or_else(|| no_memory::<Times>())
    }

    fn try_starting_at(now: Instant, offset: i64) -> Option<Self> {
        let (running, suspended, resumed) = (now, Duration::ZERO, None);
        let shown =
            Shown { running, resumed, suspended, offset, moves: 0, holds: 0, moving: false, asked: false };
        let times = Times {
            shown: ForkLock::try_new(Order::Leaf, shown, |shown| shown.moving = false)?,
            watchers: ForkLock::try_new(Order::Leaf, Vec::new(), |_| {})?,
        };
        Some(Self { times: Arc::new(times) })
    }

    /// Returns the machine's clock of the given kind.
    #[must_use]
    pub fn clock(&self, kind: SystemClock) -> VirtualClock {
        VirtualClock { host: self.clone(), kind }
    }

    /// Returns a clock that stands still while the machine is suspended.
    #[must_use]
    pub fn monotonic(&self) -> VirtualClock {
        self.clock(SystemClock::Monotonic)
    }

    /// Returns a clock that also advances while the machine is suspended.
    #[must_use]
    pub fn boot_time(&self) -> VirtualClock {
        self.clock(SystemClock::BootTime)
    }

    /// Returns a clock with the monotonic timeline and a wall time.
    #[must_use]
    pub fn real_time(&self) -> VirtualClock {
        self.clock(SystemClock::RealTime)
    }

    /// Lets the clocks move by themselves until the guard is dropped. When every thread that waits
    /// for times of this machine is asleep, the clocks jump to the earliest time for which one of
    /// these threads waits. A test that waits for simulated hours therefore ends at once.
    ///
    /// Each [`Parker`](super::Parker) stands for one such thread, even before a thread waits at it.
    /// In this case the parker prevents the clocks from moving. The machine does not know of a
    /// thread that does not wait for its times. If such a thread arms timers, it should
    /// [hold](Self::hold) the clocks while it does so.
    ///
    /// ```
    /// use core::time::Duration;
    /// use tickwright::time::{Alarm, Clock, Instant, Parker, VirtualHost, Woken};
    ///
    /// let host = VirtualHost::new();
    /// let parker = Parker::new(host.monotonic());
    /// let tomorrow = Instant::ZERO + Duration::from_secs(86_400);
    /// parker.set(Some(tomorrow));
    /// let _moves = host.move_by_itself();
    /// assert_eq!(parker.wait(), Woken::Due, "and it took no time");
    /// assert_eq!(host.monotonic().now(), tomorrow);
    /// ```
    pub fn move_by_itself(&self) -> ClockMoves {
        lock(&self.times.shown).moves += 1;
        self.idle();
        ClockMoves { host: self.clone() }
    }

    /// Prevents the clocks from moving by themselves until the guard is dropped.
    pub fn hold(&self) -> ClockHold {
        lock(&self.times.shown).holds += 1;
        ClockHold { host: self.clone() }
    }

    /// Lets the clocks run with the real machine's monotonic clock. If they already run, the call
    /// does nothing.
    pub fn resume(&self) {
        self.change(|shown| shown.resumed = shown.resumed.or(Some(SystemClock::Monotonic.now())));
    }

    /// Stops the clocks. If they already stand still, the call does nothing.
    pub fn pause(&self) {
        self.change(|shown| (shown.running, shown.resumed) = (shown.now(), None));
    }

    /// Returns whether the clocks stand still, as they do at first.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        lock(&self.times.shown).resumed.is_none()
    }

    /// Advances all clocks by `span`.
    pub fn advance(&self, span: Duration) {
        self.change(|shown| shown.running += span);
    }

    /// Moves the wall clock forward by `by` nanoseconds, or back if `by` is negative.
    pub fn step_wall(&self, by: i64) {
        self.change(|shown| shown.offset = shown.offset.saturating_add(by));
    }

    /// Suspends the machine for `span`: boot time and wall time advance, but monotonic time does
    /// not.
    pub fn suspend(&self, span: Duration) {
        self.change(|shown| {
            shown.suspended = shown.suspended.saturating_add(span);
            shown.offset = shown.offset.saturating_add_unsigned(nanos(span));
        });
    }

    /// Changes the clocks, and then notifies all watchers.
    fn change(&self, change: impl FnOnce(&mut Shown)) {
        change(&mut lock(&self.times.shown));
        self.notify();
    }

    fn notify(&self) {
        for (_, watcher) in self.watchers() {
            watcher.clock_moved();
        }
    }

    /// Returns all watchers. The caller holds no lock while it calls the watchers, because a
    /// watcher can move the clocks or register again.
    fn watchers(&self) -> Vec<(SystemClock, Arc<dyn Watcher>)> {
        let watchers = lock(&self.times.watchers);
        watchers.iter().filter_map(|(kind, watcher)| Some((*kind, watcher.upgrade()?))).collect()
    }

    /// Returns the monotonic time at which the earliest time for which a watcher waits is reached.
    /// Returns `None` if a watcher is not asleep.
    fn awaited(&self) -> Option<Instant> {
        let suspended = lock(&self.times.shown).suspended;
        self.watchers().into_iter().try_fold(Instant::MAX, |least, (kind, watcher)| {
            let at = watcher.awaited()?;
            let is_ahead = kind == SystemClock::BootTime && at < Instant::MAX;
            Some(least.min(if is_ahead { at - suspended } else { at }))
        })
    }

    /// Moves the clocks to the next awaited time, as long as this is allowed and all watchers are
    /// asleep. Only one thread at a time does this.
    fn idle(&self) {
        let mut shown = lock(&self.times.shown);
        shown.asked = true;
        if !shown.may_move() || core::mem::replace(&mut shown.moving, true) {
            return;
        }
        // One check of all watchers is not enough. Watcher B can wake watcher A after the check has
        // found A asleep, and then fall asleep before the check reaches B. A second check finds
        // that A is awake. If A is already asleep again, it has called `idle` since the first
        // check, because every watcher calls `idle` before it sleeps.
        while shown.may_move() && core::mem::take(&mut shown.asked) {
            drop(shown);
            let next = self.awaited().and_then(|_| self.awaited()).filter(|&at| at < Instant::MAX);
            shown = lock(&self.times.shown);
            if let Some(at) = next
                && at > shown.running
                && shown.may_move()
                && !shown.asked
            {
                // The clocks are moved under the same lock as the check, so that no thread can hold
                // or resume them in between.
                (shown.running, shown.asked) = (at, true);
                drop(shown);
                self.notify();
                shown = lock(&self.times.shown);
            }
        }
        shown.moving = false;
    }
}

/// A guard: the clocks of its [`VirtualHost`] move by themselves while the guard exists.
#[must_use = "the clocks no longer move by themselves when this is dropped"]
#[derive(Debug)]
pub struct ClockMoves {
    host: VirtualHost,
}

impl Drop for ClockMoves {
    fn drop(&mut self) {
        lock(&self.host.times.shown).moves -= 1;
        // Another such guard can exist, and all watchers can be asleep now.
        self.host.idle();
    }
}

/// A guard: the clocks of its [`VirtualHost`] do not move by themselves while the guard exists.
#[must_use = "the clocks may move again when this is dropped"]
#[derive(Debug)]
pub struct ClockHold {
    host: VirtualHost,
}

impl Drop for ClockHold {
    fn drop(&mut self) {
        // All watchers are notified, and call `idle` when they have nothing to do. If all of them
        // stay asleep, this thread calls `idle` for them.
        self.host.change(|shown| shown.holds -= 1);
        self.host.idle();
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

impl VirtualClock {
    /// Returns the machine of this clock.
    #[must_use]
    pub fn host(&self) -> &VirtualHost {
        &self.host
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        let shown = *lock(&self.host.times.shown);
        match self.kind {
            SystemClock::Monotonic | SystemClock::RealTime => shown.now(),
            SystemClock::BootTime => shown.now() + shown.suspended,
        }
    }

    fn wall_offset(&self) -> Option<i64> {
        (self.kind == SystemClock::RealTime).then(|| lock(&self.host.times.shown).offset)
    }

    fn stands_still(&self) -> bool {
        self.host.is_paused()
    }

    fn watch(&self, watcher: &Weak<dyn Watcher>) {
        let mut watchers = lock(&self.host.times.watchers);
        watchers.retain(|(_, known)| known.strong_count() > 0);
        watchers.push((self.kind, Weak::clone(watcher)));
    }

    fn idle(&self) {
        self.host.idle();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
