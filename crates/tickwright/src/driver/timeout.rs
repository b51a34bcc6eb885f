//! How long a loop may sleep that waits by a time-out.

use core::time::Duration;

/// The time-out in milliseconds for `poll` and its like, so that it returns when `wake` has come.
///
/// Both `now` and `wake` are nanoseconds of the same clock. A program whose queue counts ticks of
/// another length converts them with [`Ticks::start`](crate::clock::Ticks::start), which saturates.
///
/// The result rounds up, since a loop that wakes too early finds nothing due and polls again at
/// once. It is 0 if `wake` is past, -1 (wait for ever) if `wake` is `None`, and at most
/// [`i32::MAX`] (24 days): then the loop wakes once in vain, and asks again.
///
/// ```
/// use tickwright::clock::Ticks;
/// use tickwright::driver::timeout_ms;
///
/// assert_eq!(timeout_ms(0, Some(1_000_001)), 2, "1 ms and 1 ns round up to 2 ms");
/// assert_eq!(timeout_ms(7, Some(7)), 0);
/// assert_eq!(timeout_ms(7, None), -1);
///
/// let (now_ns, next_wake) = (38_500_000, Some(40)); // in ticks of 1 ms
/// assert_eq!(timeout_ms(now_ns, next_wake.map(|tick| Ticks::MILLISECOND.start(tick))), 2);
/// ```
///
/// The example `examples/poll_loop.rs` of this crate is a whole event loop.
#[must_use]
pub fn timeout_ms(now: u64, wake: Option<u64>) -> i32 {
    match wake {
        None => -1,
        Some(at) => i32::try_from(at.saturating_sub(now).div_ceil(1_000_000)).unwrap_or(i32::MAX),
    }
}

/// The time-out as a duration, for `ppoll`, `kevent` and others that count nanoseconds.
///
/// As in [`timeout_ms`] both `now` and `wake` are nanoseconds of the same clock. The result is
/// exact, zero if `wake` is past, and `None` (wait for ever) if `wake` is `None`.
#[must_use]
pub fn timeout(now: u64, wake: Option<u64>) -> Option<Duration> {
    wake.map(|at| Duration::from_nanos(at.saturating_sub(now)))
}

#[cfg(all(test, not(loom)))]
mod tests;
