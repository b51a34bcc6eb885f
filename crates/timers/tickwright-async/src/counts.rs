//! Counts of arms and re-arms, with the feature `metrics`. Without the feature these types have no
//! size, and the calls compile to nothing.
//!
//! An owner takes no lock for most of its calls, so each timer has counters of its own. Only the
//! timer's owner writes them, so counting needs no atomic addition. The holder of the shard's lock
//! adds the counts to the shard's totals when the timer enters or leaves the queue, and for a
//! report.

#[cfg(feature = "metrics")]
use crate::sync::{AtomicU32, Ordering};

/// The counters of a timer. They wrap, so at most 2^32 calls are counted between two collections.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    #[cfg(feature = "metrics")]
    armed: AtomicU32,
    #[cfg(feature = "metrics")]
    rearmed: AtomicU32,
    /// The part of `armed` and of `rearmed` that was collected. Written under the lock.
    #[cfg(feature = "metrics")]
    collected: [AtomicU32; 2],
}

impl Counts {
    /// Counts an arm of a timer that was not armed. Only the owner is allowed to call this, before
    /// it arms the timer, so that no fire is collected before its arm.
    #[inline]
    pub(crate) fn arm(&self) {
        #[cfg(feature = "metrics")]
        add_one(&self.armed);
    }

    /// Counts a new deadline of an armed timer. Only the owner is allowed to call this.
    #[inline]
    pub(crate) fn rearm(&self) {
        #[cfg(feature = "metrics")]
        add_one(&self.rearmed);
    }
}

#[cfg(feature = "metrics")]
#[inline]
fn add_one(counter: &AtomicU32) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// What a shard has collected from its timers.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    #[cfg(feature = "metrics")]
    armed: u64,
    #[cfg(feature = "metrics")]
    rearmed: u64,
    #[cfg(feature = "metrics")]
    cancelled: u64,
}

impl Totals {
    /// Adds the calls that a timer has counted since the last collection.
    pub(crate) fn collect(&mut self, counts: &Counts) {
        #[cfg(feature = "metrics")]
        {
            let Counts { armed, rearmed, collected: [of_armed, of_rearmed] } = counts;
            self.armed += u64::from(increase(armed, of_armed));
            self.rearmed += u64::from(increase(rearmed, of_rearmed));
        }
        let _ = counts;
    }

    /// Like [`collect`](Self::collect), for a timer that enters the queue. New deadlines since the
    /// timer left the queue are not re-arms, because it was not armed.
    pub(crate) fn enter(&mut self, counts: &Counts) {
        #[cfg(feature = "metrics")]
        increase(&counts.rearmed, &counts.collected[1]);
        self.collect(counts);
    }

    /// Returns how many times timers were armed, re-armed and cancelled. The caller has collected
    /// the counts of the queue's timers, of which `live` are armed. A number never decreases.
    #[cfg(feature = "metrics")]
    pub(crate) fn numbers(&mut self, live: usize, fired: u64) -> [u64; 3] {
        // A timer that was armed is armed, has fired, or was cancelled. An owner that is just about
        // to arm its timer has counted the arm, so this can be too many by the number of such
        // owners.
        let cancelled = self.armed.saturating_sub(fired + live as u64);
        self.cancelled = self.cancelled.max(cancelled);
        [self.armed + self.rearmed, self.rearmed, self.cancelled]
    }
}

/// Returns how much a counter has increased since it was collected, and notes that it is collected.
#[cfg(feature = "metrics")]
fn increase(counter: &AtomicU32, collected: &AtomicU32) -> u32 {
    let now = counter.load(Ordering::Relaxed);
    let before = collected.load(Ordering::Relaxed);
    collected.store(now, Ordering::Relaxed);
    now.wrapping_sub(before)
}
