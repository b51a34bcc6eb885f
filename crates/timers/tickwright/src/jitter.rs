//! Delays that differ from key to key.

use core::time::Duration;

/// A delay from 0 up to `span`, without `span`, that spreads the timers of many keys evenly.
///
/// A herd is many timers that are due together: all clients of a server that has restarted retry
/// after the same second, or every job of a fleet begins at the full minute. Add a jitter to each
/// delay, and the work of one moment is spread over `span`.
///
/// The result follows from `key` and `turn` alone, on each machine and in each version, so that a
/// job has the same place within its period after a restart. For an interval let `turn` be 0. For a
/// retry let it be the number of the attempt, so that two keys that collide once part again.
///
/// It takes no lock, no memory and no source of random numbers, but one multiplication for each
/// byte of `key`. It is no secret: a client that knows the keys knows the delays.
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
    // FNV-1a over the key and the turn. Its upper bits hardly depend on the last bytes, so that the
    // finalizer of SplitMix64 mixes all of them.
    let turn = turn.to_le_bytes();
    let hash = key.as_ref().iter().chain(&turn).fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    let hash = hash ^ hash >> 31;
    // The share of 2^64 that the hash is, of each part of the span: no product is too large.
    let nanos = u128::from(hash) * u128::from(span.subsec_nanos());
    let seconds = u128::from(hash) * u128::from(span.as_secs());
    let rest = (seconds & u128::from(u64::MAX)) * 1_000_000_000 + nanos;
    Duration::from_secs((seconds >> 64) as u64) + Duration::from_nanos((rest >> 64) as u64)
}

#[cfg(test)]
mod tests;
