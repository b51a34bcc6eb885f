//! The traits of clocks, and of watchers, which a clock notifies.

use core::time::Duration;
use std::sync::Weak;

use super::Instant;
use crate::sync::Arc;

/// A source of time.
///
/// A scheduler calls the clock under its own lock, so the clock must not call the scheduler, and
/// must not panic.
///
/// Every operation with a relative time calls `now`, which should therefore take at most tens of
/// nanoseconds.
pub trait Clock: Send + Sync {
    /// Returns the present instant. The result is never earlier than an instant that any thread has
    /// read before.
    fn now(&self) -> Instant;

    /// Returns the current offset of the wall clock in nanoseconds: [`now`](Self::now) plus this
    /// offset is the time since 1970-01-01 UTC. Returns `None` if the clock has no wall time.
    fn wall_offset(&self) -> Option<i64> {
        None
    }

    /// Returns the longest time for which a thread that waits for a time of this clock can sleep
    /// before it reads the clock again. Such a limit is necessary because the thread sleeps by a
    /// system clock, which can stand still while this clock advances, and because a step of this
    /// clock might wake no thread. Returns `None` if the thread can sleep without a limit.
    fn longest_sleep(&self) -> Option<Duration> {
        None
    }

    /// Returns whether this clock stands still until a call moves it, as a
    /// [`VirtualClock`](super::VirtualClock) does. In this case only the clock's
    /// [watchers](Self::watch) wake a thread that waits for a time of this clock, because a
    /// time-out cannot.
    fn stands_still(&self) -> bool {
        false
    }

    /// Registers a watcher, which is notified after each call that moves the clock. A clock that
    /// always advances by itself notifies no watcher.
    fn watch(&self, _watcher: &Weak<dyn Watcher>) {}

    /// A watcher calls this when it has nothing to do until a later time. It holds no lock during
    /// the call. See [`VirtualHost::move_by_itself`](super::VirtualHost::move_by_itself).
    fn idle(&self) {}

    /// Returns the timeline of the machine that [`now`](Self::now) returns, or `None` if `now`
    /// returns anything else. A [shard](crate::shard) can read such a timeline without its lock. If
    /// the returned timeline is wrong, timers are late.
    fn timeline(&self) -> Option<Timeline> {
        None
    }
}

/// A timeline of the machine. This process has no state for it, so any thread can read it at any
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timeline {
    /// The timeline of [`SystemClock::Monotonic`](super::SystemClock::Monotonic).
    Monotonic,
    /// The timeline of [`SystemClock::BootTime`](super::SystemClock::BootTime).
    BootTime,
}

/// A sleeper that a clock notifies after each call that moves the clock.
pub trait Watcher: Send + Sync {
    /// The clock calls this after its time or its wall offset was changed, and after it was paused
    /// or resumed. The thread that changed the clock makes the call, and holds no lock.
    fn clock_moved(&self);

    /// Returns the instant for which the sleeper waits, or [`Instant::MAX`] if it waits without a
    /// time. Returns `None` if it is not asleep, in which case the clock must not move by itself.
    fn awaited(&self) -> Option<Instant> {
        Some(Instant::MAX)
    }
}

/// Implements [`Clock`] for a pointer to a clock, which passes each call to that clock.
macro_rules! clock_behind {
    ($pointer:ty) => {
        impl<K: Clock + ?Sized> Clock for $pointer {
            fn now(&self) -> Instant {
                (**self).now()
            }

            fn wall_offset(&self) -> Option<i64> {
                (**self).wall_offset()
            }

            fn longest_sleep(&self) -> Option<Duration> {
                (**self).longest_sleep()
            }

            fn stands_still(&self) -> bool {
                (**self).stands_still()
            }

            fn watch(&self, watcher: &Weak<dyn Watcher>) {
                (**self).watch(watcher);
            }

            fn idle(&self) {
                (**self).idle();
            }

            fn timeline(&self) -> Option<Timeline> {
                (**self).timeline()
            }
        }
    };
}

clock_behind!(&K);
clock_behind!(Arc<K>);
