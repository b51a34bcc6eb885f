//! Clocks: the sources from which a timer service reads the time.
//!
//! A clock has a **steady** timeline, which never steps and never runs back. Its points are
//! [`Instant`]s, and timers stand on it. A clock that people set (the wall clock) is a steady clock
//! plus an offset, and the offset may change. When the offset changes, timers by the wall clock are
//! inserted again. Other timers are not touched.
//!
//! [`SystemClock`] has three clocks of the machine. [`VirtualHost`] has the same three clocks for a
//! machine that a test moves by command.
//!
//! # What happens to timers when time does something odd
//!
//! *Relative*: a timer that is due a given time after it was armed. *Periodic*: a timer that is due
//! on a grid from there. *Wall*: a timer that is due when the wall shows a date, or on a grid from
//! that date; only [`SystemClock::RealTime`] has wall timers.
//!
//! | event | [`Monotonic`](SystemClock::Monotonic) | [`BootTime`](SystemClock::BootTime) | [`RealTime`](SystemClock::RealTime) |
//! |---|---|---|---|
//! | the wall is set back 1 h | nothing | nothing | relative, periodic: nothing. Wall: each fires 1 h later, when the wall shows its date again; what has fired does not fire again. A grid that has begun goes on within a period |
//! | the wall is set forward 1 d | nothing | nothing | relative, periodic: nothing. Wall: what was due within the day fires now, once; the missed points of a grid are overruns |
//! | suspended for 8 h | all stand still, and are 8 h late by the world's time; no overruns | what came due fires at the resume; periodic ones count the periods slept through as overruns, and their policy says what of them is made up for | relative, periodic: as monotonic. Wall: what came due fires at the resume |
//! | the virtual machine is paused, its clocks with it | nothing: the world went on without them | nothing | nothing; the wall is behind the world, until somebody sets it: then as set forward |
//! | the same, and the clocks jump when it goes on | what came due fires at once, periodic ones with overruns | the same | the same |
//!
//! "At the resume" and "now" mean the driver's next look at the clock. No thread that sleeps by a
//! steady clock is notified of a step or of a suspend. So a parked thread looks at the clock at
//! least every [`longest_sleep`](Clock::longest_sleep), one second. The kernel does notify a
//! [timerfd](crate::driver). Slewing (NTP) moves the steady timeline and the wall alike. It is none
//! of these events.

mod instant;
mod source;
mod system;
mod ticks;
mod timeline;
mod virtual_host;

use core::time::Duration;
use std::sync::Weak;

pub use instant::Instant;
pub(crate) use instant::nanos;
pub(crate) use source::Source;
pub use system::SystemClock;
pub use ticks::Ticks;
pub use timeline::Timeline;
pub use virtual_host::{VirtualClock, VirtualHost};

use crate::sync::Arc;

/// A source of time.
///
/// A service calls the clock under the service's own lock. So the clock must not call the service,
/// and must not panic.
///
/// Costs: every operation with a relative time calls `now`, which should take tens of nanoseconds.
pub trait Clock: Send + Sync {
    /// The present instant. It is never earlier than an instant that any thread read before.
    fn now(&self) -> Instant;

    /// The offset that makes [`now`](Self::now) the time since 1970-01-01 UTC, in nanoseconds, at
    /// this moment. `None` if the clock has no such meaning.
    fn wall_offset(&self) -> Option<i64> {
        None
    }

    /// The longest time for which a thread that waits by this clock may sleep before it looks
    /// again. The thread sleeps by a system clock, which may stand still while this clock advances.
    /// A step of this clock may wake no thread. `None`: the thread may sleep without a limit.
    fn longest_sleep(&self) -> Option<Duration> {
        None
    }

    /// Whether this clock advances by command alone, as a [`VirtualClock`] does. Such a clock
    /// remembers the watcher and notifies it after each move. The notification alone wakes a thread
    /// that sleeps by the clock; no time-out does. Clocks that advance by themselves return `false`
    /// and notify no watcher.
    fn watch(&self, _watcher: &Weak<dyn Watcher>) -> bool {
        false
    }

    /// The timeline of the machine that [`now`](Self::now) reads, if it reads one as it is. A
    /// [shard](crate::shard) then reads it without its lock. A wrong timeline makes timers late.
    fn timeline(&self) -> Option<Timeline> {
        None
    }
}

/// A sleeper that a clock notifies after each move.
pub trait Watcher: Send + Sync {
    /// The clock calls this after the clock, its offset, or both have moved. The thread that moved
    /// the clock makes the call, and holds no lock.
    fn clock_moved(&self);
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

            fn watch(&self, watcher: &Weak<dyn Watcher>) -> bool {
                (**self).watch(watcher)
            }

            fn timeline(&self) -> Option<Timeline> {
                (**self).timeline()
            }
        }
    };
}

clock_behind!(&K);
clock_behind!(Arc<K>);
