//! How re-arms went.

use core::fmt;
use core::ops::AddAssign;
use core::sync::atomic::{AtomicU64, Ordering};

/// What the arming calls (`add`, `modify`, `modify_pending`, `reduce` and those with a shard) have done so far. Each of them that named
/// a shard that exists ended in exactly one of the first five. Read while others arm, it is no snapshot; exact once they are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The timer was pending and stayed where it was, with the new deadline.
    pub matched: u64,
    /// It was pending and was unlinked and linked anew.
    pub requeued: u64,
    /// It was not pending and now is.
    pub started: u64,
    /// It was pending already (`add`), is shut down, or its shards are gone.
    pub refused: u64,
    /// Nothing to do: `modify_pending` of an idle timer, `reduce` to a later deadline.
    pub no_op: u64,
    /// Bucket indices computed a second time, because the clock had moved: by the patch as posted. The others compute
    /// nothing before they have what they need, so that it is 0 there.
    pub recalculated: u64,
    /// Locks of shards taken by arming calls; one that was taken in vain, because the timer had just moved away, is not counted.
    pub locks: u64,
    /// Unlocked re-arms that lost their compare-exchange and took the lock.
    pub lost_races: u64,
}

impl Statistics {
    /// How many arming calls there were.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.matched + self.requeued + self.started + self.refused + self.no_op
    }
}

impl AddAssign for Statistics {
    fn add_assign(&mut self, other: Self) {
        self.matched += other.matched;
        self.requeued += other.requeued;
        self.started += other.started;
        self.refused += other.refused;
        self.no_op += other.no_op;
        self.recalculated += other.recalculated;
        self.locks += other.locks;
        self.lost_races += other.lost_races;
    }
}

/// Counters for what happens without a lock. A thread writes to a stripe of its own, by plain adds: counting a match must not
/// be the contention that the match avoided, nor cost as much as the match.
pub(super) struct Stripes(Box<[Stripe]>);

/// Stripes, and the bits that tell which of them threads own.
const STRIPES: usize = 64;
/// The one that nobody owns, for threads that found none free.
const SHARED: usize = STRIPES - 1;

/// Alone in its cache line, and in the pair of lines that some processors fetch together.
#[derive(Default)]
#[repr(align(128))]
struct Stripe {
    matched: AtomicU64,
    no_op: AtomicU64,
}

/// The right of a thread to one stripe of every set of shards, until it ends.
struct Owned(usize);

static OWNED: AtomicU64 = AtomicU64::new(1 << SHARED);

thread_local! {
    static MINE: Owned = Owned::new();
}

impl Owned {
    fn new() -> Self {
        let mut owned = OWNED.load(Ordering::Relaxed);
        loop {
            let free = owned.trailing_ones() as usize;
            if free >= SHARED {
                return Self(SHARED);
            }
            // Acquire, from the release of the thread that had it: what that one counted is added to.
            match OWNED.compare_exchange(owned, owned | 1 << free, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Self(free),
                Err(now) => owned = now,
            }
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.0 != SHARED {
            OWNED.fetch_and(!(1 << self.0), Ordering::Release);
        }
    }
}

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

    #[inline]
    fn count(&self, column: impl FnOnce(&Stripe) -> &AtomicU64) {
        // A thread that is ending has given its stripe back.
        let at = MINE.try_with(|mine| mine.0).unwrap_or(SHARED);
        let Some(counter) = self.0.get(at).map(column) else { return };
        if at == SHARED {
            counter.fetch_add(1, Ordering::Relaxed);
        } else {
            // Nobody else writes it.
            counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    pub(super) fn sum(&self) -> Statistics {
        let mut sum = Statistics::default();
        for stripe in &self.0 {
            sum.matched += stripe.matched.load(Ordering::Relaxed);
            sum.no_op += stripe.no_op.load(Ordering::Relaxed);
        }
        sum
    }
}

impl fmt::Debug for Stripes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sum().fmt(f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
