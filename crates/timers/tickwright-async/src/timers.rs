//! The handle to a set of timers.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use tickwright::time::Lateness;

use crate::coop;
use crate::node::Core;
use crate::node::State;
use crate::report::Report;
use crate::sync::{Arc, Ordering, lock};
use crate::time::instant;

/// A handle to timers, from which sleeps, time-outs and slots are made. Clones are handles to the
/// same timers.
///
/// Timers made by [`new`](Self::new) fire on a thread of their own, which sleeps until a timer is
/// due. Timers made by [`Settings::driven`](crate::Settings::driven) fire when the caller's loop
/// calls [`run`](Self::run).
///
/// After the last handle is dropped, pending timers still fire. The thread ends after the last
/// timer.
///
/// ```
/// use core::time::Duration;
/// use tickwright_async::{TestClock, Timers};
///
/// let clock = TestClock::new();
/// let timers = clock.timers();
/// let started = timers.now();
/// clock.block_on(async {
///     timers.sleep(Duration::from_secs(60)).await;
/// });
/// assert_eq!(timers.now() - started, Duration::from_secs(60), "and it took no time");
/// ```
pub struct Timers {
    pub(crate) core: Arc<Core>,
}

impl Timers {
    /// The time by the clock of these timers, as an instant of the standard library. With the clock
    /// of the machine it is [`Instant::now`], to 100 ns.
    #[must_use]
    pub fn now(&self) -> Instant {
        instant(self.core.time.now())
    }

    /// Fires the due timers, on this thread. Returns how many timers fired. Only
    /// [`driven`](crate::Settings::driven) timers need this call.
    ///
    /// # Panics
    /// Resumes the first panic of a waker, after all wakers were called.
    pub fn run(&self) -> usize {
        coop::begin_turn();
        self.core.pass().0.end()
    }

    /// How long the caller's loop may sleep before it calls [`run`](Self::run); zero if something
    /// is due, `None` if nothing is pending. Timers that were dropped may make this time shorter
    /// than necessary.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let next = self.core.next();
        let left = || self.core.time.start(next).saturating_sub(self.core.time.now());
        (next < u64::MAX).then(|| Duration::from_nanos(left()))
    }

    /// When the loop has to call [`run`](Self::run) next; `None` if nothing is pending.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let next = self.core.next();
        (next < u64::MAX).then(|| instant(self.core.time.start(next)))
    }

    /// The longest time that a timer may be late by rounding.
    #[must_use]
    pub fn resolution(&self) -> Duration {
        self.core.time.resolution()
    }

    /// Counts timers and looks at how late they fired. O(timers), with one shard locked at a time.
    #[must_use]
    pub fn report(&self) -> Report {
        let (mut live, mut vacant, mut locks, mut lateness) = (0, 0, 0, Lateness::new());
        for shard in &self.core.shards {
            let state = lock(&shard.state);
            for (_, node) in state.queue.iter_unordered() {
                match node.state(Ordering::Relaxed) {
                    State::Vacant => vacant += 1,
                    _ => live += 1,
                }
            }
            locks += state.locked;
            lateness.add(&state.lateness);
        }
        let (wakeups, panics) = self.core.driver.counts();
        Report { live, vacant, locks, lateness, wakeups, panics }
    }

    /// Returns the places where the live timers were made, with their counts, the greatest count
    /// first. O(timers), with one shard locked at a time.
    #[cfg(feature = "sites")]
    #[must_use]
    pub fn sites(&self) -> Vec<(&'static core::panic::Location<'static>, usize)> {
        let mut counts = std::collections::HashMap::new();
        for shard in &self.core.shards {
            for (_, node) in lock(&shard.state).queue.iter_unordered() {
                let is_live = node.state(Ordering::Relaxed) != State::Vacant;
                if let (true, Some(site)) = (is_live, *lock(&node.site)) {
                    *counts.entry(site).or_insert(0) += 1;
                }
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
        counts
    }

    /// Whether both handles are to the same timers.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }
}

impl Clone for Timers {
    fn clone(&self) -> Self {
        self.core.handles.fetch_add(1, Ordering::Relaxed);
        Self { core: Arc::clone(&self.core) }
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        // Release and Acquire: a driver that reads 0 sees each timer that was armed through a
        // handle.
        if self.core.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            // The driver removes the vacant timers. Without a driver, the pools of threads remove
            // them.
            self.core.call_driver_to_end();
        }
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timers").field("resolution", &self.resolution()).finish_non_exhaustive()
    }
}
