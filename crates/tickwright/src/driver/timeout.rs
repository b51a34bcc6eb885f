//! How long a loop may sleep that waits by a time-out.

use core::time::Duration;

/// The time-out for `poll` and its like, in milliseconds: so that it returns when `wake` has come, rounded up, since a loop that
/// wakes too early finds nothing due and turns round at once. 0 if it is past, -1 (for ever) if there is none, at most `i32::MAX`
/// (24 days): then it wakes in vain once, and asks again.
///
/// ```
/// use tickwright::driver::timeout_ms;
///
/// assert_eq!(timeout_ms(0, Some(1_000_001)), 2);
/// assert_eq!(timeout_ms(7, Some(7)), 0);
/// assert_eq!(timeout_ms(7, None), -1);
/// ```
#[must_use]
pub fn timeout_ms(now: u64, wake: Option<u64>) -> i32 {
    match wake {
        None => -1,
        Some(at) => i32::try_from(at.saturating_sub(now).div_ceil(1_000_000)).unwrap_or(i32::MAX),
    }
}

/// The same where nanoseconds count (`ppoll`, `kevent`): exactly so long, zero if it is past; none is for ever.
#[must_use]
pub fn timeout(now: u64, wake: Option<u64>) -> Option<Duration> {
    wake.map(|at| Duration::from_nanos(at.saturating_sub(now)))
}

#[cfg(all(test, not(loom)))]
mod tests;
