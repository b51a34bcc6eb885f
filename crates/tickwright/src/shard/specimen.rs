//! Two ways to re-arm that are wrong, kept to be measured and to show how they fail. **Do not use them for timers that matter.**
//!
//! They break no memory; they break promises. A timer may fire before its deadline, and a re-arm may be reported that never
//! takes effect. The models in `tests/loom_variants.rs` find both within a few schedules.

use core::fmt::Debug;

use tickwright_core::Tick;
use tickwright_core::storage::Handle;

use super::timer::Link;
use super::variant::{How, Variant, Wheel, variants};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use tickwright_core::family::coarse_wheel::Coarse;

variants! {
    /// The patch as it was posted: the bucket's index is computed from the unlocked clock and compared with the timer's; deadline
    /// and index are atomics of their own. When it must take the lock and the clock has moved since, the index is
    /// computed again: that is what *recalculated* counts.
    ///
    /// **Unsafe to use**, in the sense of wrong answers: between its look at the timer and its write the timer can fire.
    AsPosted, "as-posted", Posted;

    /// The repair of late 2016 to the letter: indices are compared, under the lock. **Unsafe to use**: a timer that is due and not
    /// yet taken has the index of the next rotation's bucket, and then fires a rotation early.
    IndexUnderLock, "index-under-lock", ();
}

/// What a node keeps besides its word; nothing, except for [`AsPosted`].
pub trait Posting: Default + Debug + Send + Sync {
    /// Notes where the timer was filed.
    fn post(&self, _deadline: Tick, _index: u32) {}

    /// The deadline, where it is kept here.
    fn deadline(&self) -> Option<Tick> {
        None
    }

    /// Writes the deadline alone, from any thread, if the timer's index is `index` or its deadline is this one.
    fn overwrite(&self, _deadline: Tick, _index: impl FnOnce() -> u32) -> bool {
        false
    }
}

impl Posting for () {}

/// `expires` of the patch, and the index in `flags`.
#[derive(Debug, Default)]
pub struct Posted {
    deadline: AtomicU64,
    index: AtomicU32,
}

impl Posting for Posted {
    fn post(&self, deadline: Tick, index: u32) {
        self.deadline.store(deadline, Ordering::Release);
        self.index.store(index, Ordering::Release);
    }

    fn deadline(&self) -> Option<Tick> {
        Some(self.deadline.load(Ordering::Acquire))
    }

    fn overwrite(&self, deadline: Tick, index: impl FnOnce() -> u32) -> bool {
        // Writes its own value back, so that the caller's earlier writes are published here too.
        let same =
            self.deadline.compare_exchange(deadline, deadline, Ordering::Release, Ordering::Relaxed).is_ok();
        if !same && self.index.load(Ordering::Relaxed) == index() {
            self.deadline.store(deadline, Ordering::Release);
            return true;
        }
        same
    }
}

/// The number of the bucket for a deadline, counted modulo the buckets of a level: what Linux compares. Beyond the last level it is
/// a number that no bucket has, so that nothing matches there (in Linux the clamped deadline may).
pub(super) fn index<V: Variant>(deadline: Tick, clock: Tick) -> u32 {
    if deadline < clock {
        return bucket::<V>(clock, 0);
    }
    match V::Wheel::<Link<V>>::level_for(deadline - clock) {
        Some(level) => index_at::<V>(deadline, level),
        None => u32::MAX,
    }
}

/// The same for a timer that is filed at a known level.
pub(super) fn index_at<V: Variant>(deadline: Tick, level: u8) -> u32 {
    let granule = deadline / V::Wheel::<Link<V>>::granule(level);
    bucket::<V>(granule.wrapping_add(1), level)
}

fn bucket<V: Variant>(granule: Tick, level: u8) -> u32 {
    let buckets = V::Wheel::<Link<V>>::BUCKETS;
    (granule % u64::from(buckets)) as u32 + u32::from(level) * buckets
}
