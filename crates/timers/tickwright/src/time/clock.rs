//! What a clock is, and who watches one.

use core::time::Duration;
use std::sync::Weak;

use super::Instant;
use crate::sync::Arc;

/// A source of time.
///
/// A scheduler calls the clock under its own lock, so the clock must not call the scheduler, and
/// must not panic.
///
/// Costs: every operation with a relative time calls `now`, which should take tens of nanoseconds.
pub trait Clock: Send + Sync {
    /// Returns the present instant. It is never earlier than an instant that any thread read
    /// before.
    fn now(&self) -> Instant;

    /// Returns the offset that makes [`now`](Self::now) the time since 1970-01-01 UTC, in
    /// nanoseconds, at this moment. `None` if the clock has no such meaning.
    fn wall_offset(&self) -> Option<i64> {
        None
    }

    /// Returns the longest time for which a thread that waits by this clock may sleep before it
    /// looks again. The thread sleeps by a system clock, which may stand still while this clock
    /// advances. A step of this clock may wake no thread. `None`: the thread may sleep without a
    /// limit.
    fn longest_sleep(&self) -> Option<Duration> {
        None
    }

    /// Returns whether this clock stands still between commands, as a
    /// [`VirtualClock`](super::VirtualClock) does. Then its [watchers](Self::watch) alone wake a
    /// thread that sleeps by the clock; no time-out does.
    fn stands_still(&self) -> bool {
        false
    }

    /// Remembers the watcher, to notify it after each command. A clock that always advances by
    /// itself notifies no watcher.
    fn watch(&self, _watcher: &Weak<dyn Watcher>) {}

    /// A watcher calls this when it has nothing to do until a later time, and holds no lock. See
    /// [`VirtualHost::move_by_itself`](super::VirtualHost::move_by_itself).
    fn idle(&self) {}

    /// Returns the timeline of the machine that [`now`](Self::now) reads, if it reads one as it is.
    /// A [shard](crate::shard) then reads it without its lock. A wrong timeline makes timers late.
    fn timeline(&self) -> Option<Timeline> {
        None
    }
}

/// A timeline of the machine. It has no state in this process, so any thread can read it at any
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timeline {
    /// That of [`SystemClock::Monotonic`](super::SystemClock::Monotonic).
    Monotonic,
    /// That of [`SystemClock::BootTime`](super::SystemClock::BootTime).
    BootTime,
}

/// A sleeper that a clock notifies after each move.
pub trait Watcher: Send + Sync {
    /// The clock calls this after the clock, its offset, or both have moved, or after it was paused
    /// or resumed. The thread that gave the command makes the call, and holds no lock.
    fn clock_moved(&self);

    /// Returns the instant for which the sleeper waits; [`Instant::MAX`] if for none. `None`: it
    /// works, so the clock must not move by itself.
    fn awaited(&self) -> Option<Instant> {
        Some(Instant::MAX)
    }
}

/// A pointer to a clock is a clock, too: it passes each call to that clock.
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
