//! The time-out of a loop that sleeps in `poll` or a similar call.

use core::time::Duration;

use super::Instant;

/// Returns a time-out in milliseconds for `poll` and similar calls, with which they return when the
/// clock has reached `wake`.
///
/// `now` and `wake` are instants of the same clock. [`Ticks::start`](crate::time::Ticks::start)
/// converts the ticks of a queue.
///
/// The result is rounded up, because a loop that wakes too early finds no due timer and polls again
/// at once. It is 0 if `wake` has passed, and -1 (no time-out) if `wake` is `None`. It is at most
/// [`i32::MAX`] (24 days), so a longer wait takes several calls.
///
/// ```
/// use tickwright::time::{Instant, Ticks, timeout_ms};
///
/// let now = Instant::from_nanos(38_500_000);
/// assert_eq!(timeout_ms(now, Some(Instant::from_nanos(39_500_001))), 2, "1 ms and 1 ns: 2 ms");
/// assert_eq!(timeout_ms(now, Some(now)), 0);
/// assert_eq!(timeout_ms(now, None), -1);
///
/// let next_wake = Some(40); // in ticks of 1 ms
/// assert_eq!(timeout_ms(now, next_wake.map(|tick| Ticks::MILLISECOND.start(tick))), 2);
/// ```
///
/// A loop that sleeps for this time does not notice when another thread arms an earlier timer
/// during the sleep. If other threads arm timers, use an [alarm](crate::time::Alarm) instead.
///
/// The example `examples/poll_loop.rs` of this crate is a complete event loop.
#[must_use]
pub fn timeout_ms(now: Instant, wake: Option<Instant>) -> i32 {
    wake.map_or(-1, |at| {
        let left = at.as_nanos().saturating_sub(now.as_nanos());
        i32::try_from(left.div_ceil(1_000_000)).unwrap_or(i32::MAX)
    })
}

/// Returns the time-out as a duration, for `ppoll`, `kevent` and other calls that take nanoseconds.
///
/// As in [`timeout_ms`], `now` and `wake` are instants of the same clock. The result is not
/// rounded. It is zero if `wake` has passed, and `None` (no time-out) if `wake` is `None`.
#[must_use]
pub fn timeout(now: Instant, wake: Option<Instant>) -> Option<Duration> {
    wake.map(|at| at.duration_since(now))
}

#[cfg(all(test, not(loom)))]
mod tests;
