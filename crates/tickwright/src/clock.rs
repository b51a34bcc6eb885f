//! Clocks: what a timer service reads the time from.
//!
//! A clock has a **steady** timeline that never steps and never runs back; timers stand on it, and
//! its points are [`Instant`]s. A clock that people set (the wall clock) is a steady clock plus an
//! offset that may change. When the offset changes, timers by the wall clock are inserted again.
//! Other timers are not touched.
//!
//! [`SystemClock`] has the three of the machine, [`VirtualHost`] the same three of a machine that a
//! test moves by command.
//!
//! # What happens to timers when time does something odd
//!
//! *Relative*: due so long after it was armed. *Periodic*: on a grid from there. *Wall*: due when
//! the wall shows a date, or on a grid from there; only [`SystemClock::RealTime`] has those.
//!
//! | event | [`Monotonic`](SystemClock::Monotonic) | [`BootTime`](SystemClock::BootTime) | [`RealTime`](SystemClock::RealTime) |
//! |---|---|---|---|
//! | the wall is set back 1 h | nothing | nothing | relative, periodic: nothing. Wall: each fires 1 h later, when the wall shows its date again; what has fired does not fire again. A grid that has begun goes on within a period |
//! | the wall is set forward 1 d | nothing | nothing | relative, periodic: nothing. Wall: what was due within the day fires now, once; the missed points of a grid are overruns |
//! | suspended for 8 h | all stand still, and are 8 h late by the world's time; no overruns | what came due fires at the resume; periodic ones count the periods slept through as overruns, and their policy says what of them is made up for | relative, periodic: as monotonic. Wall: what came due fires at the resume |
//! | the virtual machine is paused, its clocks with it | nothing: the world went on without them | nothing | nothing; the wall is behind the world, until somebody sets it: then as set forward |
//! | the same, and the clocks jump when it goes on | what came due fires at once, periodic ones with overruns | the same | the same |
//!
//! At "the resume" and "now" mean: when the driver looks. A thread that sleeps by a steady clock
//! hears of no step and of no suspend. So a parked thread looks at least every
//! [`longest_sleep`](Clock::longest_sleep), one second. The kernel notifies a
//! [timerfd](crate::driver). Time that is slewed (NTP) moves the steady timeline and the wall
//! alike, and is none of these.

mod instant;
mod source;
mod system;
mod ticks;
mod virtual_host;

use core::time::Duration;
use std::sync::Weak;

pub use instant::Instant;
pub(crate) use instant::nanos;
pub(crate) use source::Source;
pub use system::SystemClock;
pub use ticks::Ticks;
pub use virtual_host::{VirtualClock, VirtualHost};

use crate::sync::Arc;

/// A source of time.
///
/// A service asks it under its lock: it must not call the service back, and is not to panic.
///
/// Costs: `now` is on the path of every operation with a relative time, and is meant to take tens
/// of nanoseconds.
pub trait Clock: Send + Sync {
    /// The time. Never earlier than before, on whatever thread.
    fn now(&self) -> Instant;

    /// What to add to [`now`](Self::now) for the time since 1970-01-01 UTC, at this moment, in
    /// nanoseconds; `None` for a clock that has no such meaning.
    fn wall_offset(&self) -> Option<i64> {
        None
    }

    /// The longest time that a thread which waits for this clock may sleep before it looks again.
    /// The clock that it sleeps by may stand still while this clock advances, and may not notify it
    /// of a step. `None`: as long as it likes.
    fn longest_sleep(&self) -> Option<Duration> {
        None
    }

    /// Whether this clock goes on by command alone, as a [`VirtualClock`]. Then it remembers the
    /// watcher, and tells it after each move. That wakes a thread that sleeps by the clock; no
    /// time-out does. Clocks that advance by themselves return `false`, and tell no watcher.
    fn watch(&self, _watcher: &Weak<dyn Watcher>) -> bool {
        false
    }
}

/// A sleeper, which is told when a clock was moved.
pub trait Watcher: Send + Sync {
    /// The clock, its offset, or both, have been moved. Called with no lock held, on the thread
    /// that moved it.
    fn clock_moved(&self);
}

/// A pointer to a clock is that clock.
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

            fn watch(&self, watcher: &Weak<dyn Watcher>) -> bool {
                (**self).watch(watcher)
            }
        }
    };
}

clock_behind!(&K);
clock_behind!(Arc<K>);
