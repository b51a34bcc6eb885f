//! Clocks: what a timer service reads the time from.
//!
//! A clock has a **steady** timeline of nanoseconds that never steps and never runs back; timers stand on it. A clock that people
//! set (the wall clock) is a steady one plus an offset that may change: timers asked for by the wall are filed anew when it does, all
//! others are not touched.

/// A source of time, in nanoseconds.
///
/// Costs: `now` is on the path of every operation with a relative time, and is meant to take tens of nanoseconds.
pub trait Clock: Send + Sync {
    /// Nanoseconds since an origin of its own. Never less than before, on whatever thread.
    fn now(&self) -> u64;

    /// What to add to [`now`](Self::now) for the time since 1970-01-01 UTC, at this moment; `None` for a clock that has no such meaning.
    fn wall_offset(&self) -> Option<i64> {
        None
    }

    /// How long a thread that waits for this clock may sleep at most before it looks again, since what it sleeps by may stand still or not
    /// hear of a step while this clock goes on. `None`: as long as it likes.
    fn longest_sleep(&self) -> Option<u64> {
        None
    }
}

impl<K: Clock + ?Sized> Clock for &K {
    fn now(&self) -> u64 {
        (**self).now()
    }

    fn wall_offset(&self) -> Option<i64> {
        (**self).wall_offset()
    }

    fn longest_sleep(&self) -> Option<u64> {
        (**self).longest_sleep()
    }
}

impl<K: Clock + ?Sized> Clock for std::sync::Arc<K> {
    fn now(&self) -> u64 {
        (**self).now()
    }

    fn wall_offset(&self) -> Option<i64> {
        (**self).wall_offset()
    }

    fn longest_sleep(&self) -> Option<u64> {
        (**self).longest_sleep()
    }
}
