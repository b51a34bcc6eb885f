//! Delays that are spread by a key.

use core::time::Duration;

/// Returns a delay that is at least 0 and less than `span`, and spreads the timers of many keys
/// evenly.
///
/// Use it if many timers are due at the same time, for example because all clients of a restarted
/// server retry after one second, or because every job of a fleet begins at the full minute. If you
/// add the jitter to each delay, the work is spread over `span`.
///
/// The result depends only on `key`, `turn` and `span`, and is the same on each machine and in each
/// version. After a restart, a job therefore keeps its place within its period. For an interval,
/// pass 0 as `turn`. For a retry, pass the number of the attempt as `turn`. Two keys whose delays
/// are close in one attempt then have different delays in the next attempt.
///
/// The function needs no lock, no memory and no random numbers, and costs one multiplication for
/// each byte of `key`. The delays are not secret, because a client that knows the keys can compute
/// them.
///
/// ```
/// use core::time::Duration;
/// use tickwright::jitter;
///
/// let minute = Duration::from_secs(60);
/// let place = jitter("backup of host 7", 0, minute);
/// assert!(place < minute);
/// assert_eq!(place, jitter("backup of host 7", 0, minute), "also after a restart");
/// assert_ne!(place, jitter("backup of host 8", 0, minute));
/// ```
#[must_use]
pub fn jitter(key: impl AsRef<[u8]>, turn: u64, span: Duration) -> Duration {
    // FNV-1a over the key and the turn. Its upper bits hardly depend on the last bytes, so the
    // finalizer of SplitMix64 mixes all bits.
    let turn = turn.to_le_bytes();
    let hash = key.as_ref().iter().chain(&turn).fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    let hash = hash ^ hash >> 31;
    // Multiplies each part of the span by hash / 2^64 separately, so that no product overflows.
    let nanos = u128::from(hash) * u128::from(span.subsec_nanos());
    let seconds = u128::from(hash) * u128::from(span.as_secs());
    let rest = (seconds & u128::from(u64::MAX)) * 1_000_000_000 + nanos;
    Duration::from_secs((seconds >> 64) as u64) + Duration::from_nanos((rest >> 64) as u64)
}

#[cfg(test)]
mod tests;
