//! A timer queue whose times are `Instant`s and `Duration`s.

use core::fmt;
use core::time::Duration;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::Instant;

use tickwright_core::{Family, Key, KeyError, LadderQueue, Rejected, SlabQueue, Tick};

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
use crate::time::Instant;
use crate::time::{Instant as Point, Ticks};

/// A timer queue whose times are [`Instant`]s and [`Duration`]s of the standard library, for your
/// own loop.
///
/// The queue never reads a clock. The caller passes the time, so a test can pass any time and needs
/// no sleep. A timer is never early. On `wasm32-unknown-unknown`, where the standard library's
/// `Instant` does not work, the queue's times are [`time::Instant`](Point)s.
///
/// ```
/// use std::time::{Duration, Instant};
/// use tickwright::TimeQueue;
///
/// let start = Instant::now();
/// let mut queue = TimeQueue::new(start);
/// let tea = queue.insert_after(start, Duration::from_secs(180), "tea")?;
/// queue.insert_after(start, Duration::from_secs(240), "egg")?;
/// assert_eq!(queue.timeout(start), Some(Duration::from_secs(180)), "for `poll`");
///
/// let later = start + Duration::from_secs(100);
/// queue.arm_after(tea, later, Duration::from_secs(180))?; // its key stays
/// let fired = queue.pop_expired(later + Duration::from_secs(150)).expect("one is due");
/// assert_eq!((fired.value, fired.deadline), ("egg", start + Duration::from_secs(240)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// For a timer that is armed again and again under the same key, such as the time-out of a
/// connection, use [`insert_idle`](Self::insert_idle) and [`pop_and_keep`](Self::pop_and_keep).
///
/// Each call costs one operation of the structure `F`, which is a [`LadderQueue`] by default, plus
/// O(1) to convert times. A queue distinguishes times up to 584 years after its origin. A later
/// time is treated as the last of these times.
pub struct TimeQueue<T, F: Family = LadderQueue> {
    queue: SlabQueue<F, T>,
    origin: Instant,
    ticks: Ticks,
}

/// A due timer that a [`TimeQueue`] has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired<T> {
    /// The timer's key. It is stale now, unless the call was
    /// [`pop_and_keep`](TimeQueue::pop_and_keep).
    pub key: Key,
    /// The time for which the timer was armed, rounded up to a tick, or the time of the arming call
    /// if the deadline had already passed. A periodic timer that is armed for `deadline + period`
    /// at each firing does not drift if the period is a whole number of ticks and the queue is
    /// popped at least once per period.
    pub deadline: Instant,
    /// The value that the caller inserted.
    pub value: T,
}

impl<T> TimeQueue<T> {
    /// Creates an empty queue with ticks of 1 ns. `origin` is the earliest time that the queue
    /// distinguishes. Pass the current time.
    #[must_use]
    pub const fn new(origin: Instant) -> Self {
        Self::with_ticks(origin, Ticks::NANOSECOND)
    }
}

impl<T, F: Family> TimeQueue<T, F> {
    /// Creates an empty queue over any structure. `ticks` is the resolution, to which deadlines are
    /// rounded up. For a wheel, pass the tick for which its levels are designed, such as
    /// [`Ticks::MILLISECOND`].
    #[must_use]
    pub const fn with_ticks(origin: Instant, ticks: Ticks) -> Self {
        Self { queue: SlabQueue::new(), origin, ticks }
    }

    /// Inserts `value`, which is due `delay` after `now`.
    ///
    /// # Errors
    /// [`Rejected`], with the value, if there is no memory for the timer.
    #[inline]
    pub fn insert_after(&mut self, now: Instant, delay: Duration, value: T) -> Result<Key, Rejected<T>> {
        let now = self.point(now);
        self.queue.insert_at(self.ticks.deadline(now + delay), value, self.ticks.now(now))
    }

    /// Inserts `value`, which is due at `deadline`, or at once if `deadline` has passed.
    ///
    /// # Errors
    /// The same as for [`insert_after`](Self::insert_after).
    #[inline]
    pub fn insert_at(&mut self, now: Instant, deadline: Instant, value: T) -> Result<Key, Rejected<T>> {
        let (now, deadline) = (self.now(now), self.deadline(deadline));
        self.queue.insert_at(deadline, value, now)
    }

    /// Inserts a timer that is not pending yet. [`arm_after`](Self::arm_after) makes it pending.
    ///
    /// # Errors
    /// The same as for [`insert_after`](Self::insert_after).
    pub fn insert_idle(&mut self, value: T) -> Result<Key, Rejected<T>> {
        self.queue.insert_idle(value)
    }

    /// Arms an idle or pending timer, so that it is due `delay` after `now`. Its key stays valid.
    ///
    /// # Errors
    /// [`KeyError::Stale`] if `key` does not name a timer of this queue.
    #[inline]
    pub fn arm_after(&mut self, key: Key, now: Instant, delay: Duration) -> Result<(), KeyError> {
        let now = self.point(now);
        self.queue.arm_at(key, self.ticks.deadline(now + delay), self.ticks.now(now))
    }

    /// Arms an idle or pending timer, so that it is due at `deadline`. Its key stays valid.
    ///
    /// # Errors
    /// The same as for [`arm_after`](Self::arm_after).
    #[inline]
    pub fn arm_at(&mut self, key: Key, now: Instant, deadline: Instant) -> Result<(), KeyError> {
        let (now, deadline) = (self.now(now), self.deadline(deadline));
        self.queue.arm_at(key, deadline, now)
    }

    /// Makes a pending timer idle. Its key and its value are kept. An idle timer stays idle.
    ///
    /// # Errors
    /// The same as for [`arm_after`](Self::arm_after).
    pub fn disarm(&mut self, key: Key) -> Result<(), KeyError> {
        self.queue.disarm(key)
    }

    /// Removes a pending or idle timer.
    ///
    /// # Errors
    /// The same as for [`arm_after`](Self::arm_after).
    pub fn remove(&mut self, key: Key) -> Result<T, KeyError> {
        self.queue.remove(key)
    }

    /// Removes and returns the earliest timer that is due at `now`, if there is one.
    #[inline]
    pub fn pop_expired(&mut self, now: Instant) -> Option<Fired<T>> {
        let fired = self.queue.pop_expired(self.now(now))?;
        // The deadline is not later than `now`, so it can be represented as an `Instant`.
        let deadline = self.instant(fired.deadline).unwrap_or(now);
        Some(Fired { key: fired.key, deadline, value: fired.value })
    }

    /// Returns the earliest timer that is due at `now`, if there is one, and makes it idle instead
    /// of removing it. Its key and its value are kept.
    #[inline]
    pub fn pop_and_keep(&mut self, now: Instant) -> Option<Fired<&mut T>> {
        let fired = self.queue.pop_and_keep(self.now(now))?;
        let deadline = self.instant(fired.deadline).unwrap_or(now);
        Some(Fired { key: fired.key, deadline, value: self.queue.get_mut(fired.key)? })
    }

    /// Returns how long a loop can sleep from `now` on: zero if a timer is due, and `None` if no
    /// timer is pending. After a cancel or a re-arm the result can be too short, in which case the
    /// loop finds no due timer and sleeps again. For a `poll` in milliseconds, round the result up.
    #[must_use]
    #[inline]
    pub fn timeout(&self, now: Instant) -> Option<Duration> {
        let wake = self.ticks.start(self.queue.next_wake()?);
        Some(wake.duration_since(self.point(now)))
    }

    /// Returns the time until which a loop can sleep, or `None` if no timer is pending or an
    /// `Instant` cannot represent that time.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        self.instant(self.queue.next_wake()?)
    }

    /// Returns the value of a pending or idle timer.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&T> {
        self.queue.get(key)
    }

    /// Returns the value of a pending or idle timer, as a mutable reference.
    #[must_use]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.queue.get_mut(key)
    }

    /// Returns the number of pending timers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns whether no timer is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the underlying queue, whose times are ticks. Through it you can use the other
    /// operations of a [`Queue`](tickwright_core::Queue).
    pub fn in_ticks(&mut self) -> &mut SlabQueue<F, T> {
        &mut self.queue
    }

    /// Returns the time from the origin to `at`. It is zero if `at` is before the origin, and at
    /// most 584 years.
    fn point(&self, at: Instant) -> Point {
        Point::ZERO + at.saturating_duration_since(self.origin)
    }

    fn now(&self, now: Instant) -> Tick {
        self.ticks.now(self.point(now))
    }

    fn deadline(&self, at: Instant) -> Tick {
        self.ticks.deadline(self.point(at))
    }

    /// Converts a tick to an instant. Returns `None` if the instant would be too late for the type
    /// `Instant`.
    fn instant(&self, tick: Tick) -> Option<Instant> {
        self.origin.checked_add(self.ticks.start(tick).duration_since(Point::ZERO))
    }
}

impl<T, F: Family> fmt::Debug for TimeQueue<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeQueue")
            .field("queue", &self.queue)
            .field("ticks", &self.ticks)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
