//! Counts of timers, and of the arming calls by their outcome.

use core::ops::AddAssign;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::time::{DelayCounts, Lateness};

/// Counts of timers, and of the arming calls by their outcome. The arming calls are `add`,
/// `modify`, `modify_pending`, `reduce`, and their variants with a shard or a time as argument.
///
/// Each call on an existing shard is counted in exactly one of the first five fields. If other
/// threads use the shards while the counts are read, the counts are not a consistent snapshot. They
/// are exact if no call is in progress. Then `started` is `pending` + `cancelled` + the number of
/// timers that fired, which is `lateness.count()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardStatistics {
    /// The timer was pending, and stayed in its bucket with the new deadline.
    pub matched: u64,
    /// The timer was pending, and was removed and inserted again.
    pub requeued: u64,
    /// The timer was not pending and is pending now.
    pub started: u64,
    /// The call returned an error: the timer was already pending (`add`) or shut down, or its
    /// shards were dropped.
    pub refused: u64,
    /// The call had nothing to do: `modify_pending` of an idle timer, or `reduce` to a later
    /// deadline.
    pub no_op: u64,
    /// How many locks of shards the arming calls took. If a call locked a shard that the timer had
    /// just left, that lock is not counted.
    pub locks: u64,
    /// How many unlocked re-arms lost their compare-exchange and took the lock.
    pub lost_races: u64,
    /// How long the [`started`](Self::started) and [`requeued`](Self::requeued) timers were armed
    /// for: from the time of the shard that inserted the timer to the deadline. A re-arm in place
    /// is not in it, because its delay belongs to the level of the last insert. Before
    /// [`set_clock`](super::Shard::set_clock) a tick counts as 1 ns.
    pub delays: DelayCounts,
    /// How many timers are pending.
    pub pending: usize,
    /// The greatest number of timers that were pending at one time. With several shards it is the
    /// sum of the shards' greatest numbers, which the timers of all shards together need not have
    /// reached, because the shards can have reached their numbers at different times.
    pub high_water: usize,
    /// How many pending timers were cancelled or shut down.
    pub cancelled: u64,
    /// How many timers fired, and how late: the time from the tick at which a timer was due, which
    /// is the end of its bucket, to the `now` of the pass. A pass takes the `now` that the caller
    /// passed, or the shard's time if that is later. Ticks count as in [`delays`](Self::delays).
    pub lateness: Lateness,
}

impl ShardStatistics {
    /// Returns the number of arming calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.matched + self.requeued + self.started + self.refused + self.no_op
    }
}

impl AddAssign for ShardStatistics {
    fn add_assign(&mut self, other: Self) {
        self.matched += other.matched;
        self.requeued += other.requeued;
        self.started += other.started;
        self.refused += other.refused;
        self.no_op += other.no_op;
        self.locks += other.locks;
        self.lost_races += other.lost_races;
        self.delays.add(&other.delays);
        self.pending += other.pending;
        self.high_water += other.high_water;
        self.cancelled += other.cancelled;
        self.lateness.add(&other.lateness);
    }
}

/// Counters for calls that take no lock. Each thread adds to its own stripe, without an atomic
/// addition. A re-arm in the same bucket avoids contention and atomic additions, so counting it
/// must avoid both, too.
pub(super) struct Stripes(Box<[Stripe]>);

/// The number of stripes. It is the number of bits in a word, because each stripe has one bit in
/// the word of claims.
const STRIPES: usize = 64;
/// The stripe that no thread owns. Threads that find no free stripe share it.
const SHARED: usize = STRIPES - 1;

/// Each stripe has its own pair of cache lines, because some processors fetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Stripe {
    matched: AtomicU64,
    no_op: AtomicU64,
    lost_races: AtomicU64,
}

/// A thread's ownership of one stripe of every set of shards. It lasts until the thread ends.
struct Owned(usize);

static OWNED: Claims<AtomicU64> = Claims(AtomicU64::new(1 << SHARED));

thread_local! {
    static MINE: Owned = Owned(OWNED.claim());
}

impl Drop for Owned {
    fn drop(&mut self) {
        OWNED.release(self.0);
    }
}

/// A bit for each stripe, which is set while a thread owns the stripe.
struct Claims<W>(W);

/// Implements the claims twice: for the atomics of the standard library, and for the atomics of
/// loom.
macro_rules! claims {
    ($word:ty) => {
        impl Claims<$word> {
            /// Returns a stripe that no other thread owns, or the shared stripe if all are owned.
            fn claim(&self) -> usize {
                let free = |owned: u64| Some(owned.trailing_ones() as usize).filter(|&at| at < SHARED);
                let take = |owned| Some(owned | 1 << free(owned)?);
                // Acquire pairs with the Release in `release`: the new owner sees the counts.
                let before = self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, take);
                before.ok().and_then(free).unwrap_or(SHARED)
            }

            fn release(&self, stripe: usize) {
                if stripe != SHARED {
                    self.0.fetch_and(!(1 << stripe), Ordering::Release);
                }
            }

            /// Adds 1 to a counter of `stripe`. The calling thread owns that stripe or shares it.
            #[inline]
            fn add_one(counter: &$word, stripe: usize) {
                if stripe == SHARED {
                    counter.fetch_add(1, Ordering::Relaxed);
                } else {
                    // No other thread writes this counter.
                    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
                }
            }
        }
    };
}

claims!(AtomicU64);

#[cfg(all(test, loom))]
mod models;

impl Stripes {
    pub(super) fn new() -> Self {
        Self((0..STRIPES).map(|_| Stripe::default()).collect())
    }

    #[inline]
    pub(super) fn count_match(&self) {
        self.count(|stripe| &stripe.matched);
    }

    pub(super) fn count_no_op(&self) {
        self.count(|stripe| &stripe.no_op);
    }

    pub(super) fn count_lost_race(&self) {
        self.count(|stripe| &stripe.lost_races);
    }

    #[inline]
    fn count(&self, column: impl FnOnce(&Stripe) -> &AtomicU64) {
        // A thread that is ending has already released its stripe.
        let at = MINE.try_with(|mine| mine.0).unwrap_or(SHARED);
        let Some(counter) = self.0.get(at).map(column) else { return };
        Claims::<AtomicU64>::add_one(counter, at);
    }

    pub(super) fn sum(&self) -> ShardStatistics {
        let mut sum = ShardStatistics::default();
        for stripe in &self.0 {
            sum.matched += stripe.matched.load(Ordering::Relaxed);
            sum.no_op += stripe.no_op.load(Ordering::Relaxed);
            sum.lost_races += stripe.lost_races.load(Ordering::Relaxed);
        }
        sum
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
