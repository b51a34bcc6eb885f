//! Specimens: a small shard whose way of re-arming is a type parameter. The ways are slow or wrong
//! on purpose. The lab compares them with the library's shard (`reproduce linux`), and the tests
//! show how the wrong ones fail. The shard has only the operations that this needs: arm, advance,
//! and count. All four ways are memory-safe, but two of them give wrong results.
//!
//! ```text
//!   Timer ──> node { word: deadline 63 | pending 1, posted { deadline, index } }
//!     └─────> base { published clock, lock { clock, wheel, records, nodes, statistics }, stripes }
//! ```
//!
//! The wheel is the library's coarse wheel with Linux's geometry. The wheel's records are in one
//! array under the lock, so that this file needs no `unsafe`. There is one shard, one wheel and no
//! alarm. Apart from the way of re-arming, a re-arm therefore does less work than in the library,
//! so a comparison of costs does not favor the library.
//!
//! Each way is a type, and the shard is compiled separately for it, so that no measurement includes
//! a branch between ways. The atomics and locks come from `super::sync`, because the loom models
//! replace them.

use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use tickwright_core::structure::{Discipline, Handle, Nodes, Record};
use tickwright_core::structures::{Coarse, CoarseRecord, Geometry};
use tickwright_core::{Tick, Violation};

use super::sync::{AtomicU32, AtomicU64, Mutex, MutexGuard};

type Linux = Geometry<64, 3, 9>;
type Wheel = Coarse<Index, 64, 3, 9>;
type Callback = dyn Fn(Tick, Tick) + Send + Sync;

/// The condition under which a re-arm leaves a pending timer in its bucket. Every way also leaves
/// the timer there if the deadline does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stays {
    /// Only if the deadline does not change.
    Never,
    /// If the new bucket has the same end. This is checked under the lock.
    SameBucket,
    /// If the new bucket has the same index. This is checked under the lock. Gives wrong results.
    SameIndex,
    /// If the new bucket has the same index. This is checked without the lock. Gives wrong results.
    SameIndexUnlocked,
}

/// A way to re-arm.
pub(crate) trait Rearm: Send + Sync + 'static {
    const STAYS: Stays;
}

/// The way of Linux before the patch of 2016: every re-arm removes and inserts the timer under the
/// lock.
#[derive(Debug)]
pub(crate) enum AlwaysRequeue {}

/// The way of Linux since late 2016, except that it compares the bucket's end instead of its index.
/// A re-arm to a deadline of the same bucket leaves the timer in the bucket. This is checked under
/// the lock.
#[derive(Debug)]
pub(crate) enum UnderLock {}

/// The patch of 2016 as it was posted. **It gives wrong results**, because the timer can fire after
/// it was checked and before its new deadline is written.
///
/// The index of the new bucket is computed from the clock, which is read without the lock, and is
/// compared with the timer's bucket index. The deadline and the index are two separate atomics. If
/// the clock has advanced when the lock is taken, the index is computed again, which the field
/// `recalculated` counts.
#[derive(Debug)]
pub(crate) enum AsPosted {}

/// An exact copy of the repair of late 2016, which compares indices under the lock. **It gives
/// wrong results**: a timer that is due but not yet taken has the same index as the bucket one turn
/// of the wheel later. If it is re-armed for that bucket, it stays in its own bucket and fires one
/// turn early.
#[derive(Debug)]
pub(crate) enum IndexUnderLock {}

impl Rearm for AlwaysRequeue {
    const STAYS: Stays = Stays::Never;
}

impl Rearm for UnderLock {
    const STAYS: Stays = Stays::SameBucket;
}

impl Rearm for AsPosted {
    const STAYS: Stays = Stays::SameIndexUnlocked;
}

impl Rearm for IndexUnderLock {
    const STAYS: Stays = Stays::SameIndex;
}

/// Counts of arming calls, as in the library's shard, and of recalculated indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// The timer was pending and stayed in its bucket, with the new deadline.
    pub(crate) matched: u64,
    /// The timer was pending, and was removed and inserted again.
    pub(crate) requeued: u64,
    /// The timer was idle and is now pending.
    pub(crate) started: u64,
    /// How many bucket indices were computed twice, because the clock had advanced before the lock
    /// was taken.
    pub(crate) recalculated: u64,
    /// How often the lock was taken.
    pub(crate) locks: u64,
    /// How many unlocked re-arms lost their compare-exchange and took the lock.
    pub(crate) lost_races: u64,
}

/// A shard with the way of re-arming `W`.
pub(crate) struct Shard<W> {
    base: Arc<Base>,
    way: PhantomData<W>,
}

/// A timer of a [`Shard`]. The shard keeps the timer's memory until the shard is dropped.
pub(crate) struct Timer<W> {
    node: Arc<Node>,
    base: Arc<Base>,
    way: PhantomData<W>,
}

struct Base {
    /// The time of the last advance, for readers without the lock.
    clock: AtomicU64,
    state: Mutex<Locked>,
    stripes: Stripes,
}

/// The data that the lock protects.
struct Locked {
    now: Tick,
    wheel: Box<Wheel>,
    records: Records,
    nodes: Vec<Arc<Node>>,
    /// The number of timers in the wheel.
    len: usize,
    /// Whether an advance is running.
    expiring: bool,
    statistics: Statistics,
}

struct Node {
    index: Index,
    /// `deadline << 1 | pending`. The patch as posted uses only `pending`.
    word: AtomicU64,
    posted: Posted,
    callback: Box<Callback>,
}

/// The fields of the patch: `expires`, and the bucket index in `flags`.
struct Posted {
    deadline: AtomicU64,
    index: AtomicU32,
}

/// The number of a timer in its shard, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Index(NonZeroU32);

impl Handle for Index {}

impl Index {
    fn at(self) -> usize {
        self.0.get() as usize - 1
    }
}

struct Records(Vec<CoarseRecord<Index>>);

impl Nodes<Index, CoarseRecord<Index>> for Records {
    #[inline]
    fn record(&self, p: Index) -> &CoarseRecord<Index> {
        &self.0[p.at()]
    }

    #[inline]
    fn record_mut(&mut self, p: Index) -> &mut CoarseRecord<Index> {
        &mut self.0[p.at()]
    }
}

/// What a call found out before it took the lock.
#[derive(Clone, Copy, Default)]
struct Before {
    lost_race: bool,
    /// The time with which a bucket index was computed.
    clock: Option<Tick>,
}

impl<W: Rearm> Shard<W> {
    /// Creates a shard whose clock is at 0.
    pub(crate) fn new() -> Self {
        let state = Locked {
            now: 0,
            wheel: Box::new(<Wheel as Discipline<Index>>::NEW),
            records: Records(Vec::new()),
            nodes: Vec::new(),
            len: 0,
            expiring: false,
            statistics: Statistics::default(),
        };
        let (clock, state) = (AtomicU64::new(0), Mutex::new(state));
        Self { base: Arc::new(Base { clock, state, stripes: Stripes::new() }), way: PhantomData }
    }

    /// Creates a timer. The callback receives the deadline and the time. Returns `None` if there
    /// are already `2^32 - 1` timers.
    pub(crate) fn timer(&self, callback: impl Fn(Tick, Tick) + Send + Sync + 'static) -> Option<Timer<W>> {
        let mut state = self.base.lock();
        let index = Index(NonZeroU32::new(u32::try_from(state.nodes.len() + 1).ok()?)?);
        let node = Arc::new(Node {
            index,
            word: AtomicU64::new(0),
            posted: Posted { deadline: AtomicU64::new(0), index: AtomicU32::new(0) },
            callback: Box::new(callback),
        });
        state.nodes.push(Arc::clone(&node));
        state.records.0.push(CoarseRecord::IDLE);
        Some(Timer { node, base: Arc::clone(&self.base), way: PhantomData })
    }

    /// Advances the clock and runs the callbacks of all due timers without the lock. Returns how
    /// many timers fired, or 0 if another advance is running.
    pub(crate) fn advance(&self, now: Tick) -> u64 {
        let mut state = self.base.lock();
        if state.expiring {
            return 0;
        }
        if now > state.now {
            state.now = now;
            self.base.clock.store(now, Ordering::Relaxed);
        }
        let mut fired = 0;
        while let Some((node, deadline)) = state.take::<W>() {
            let now = state.now;
            state.expiring = true;
            drop(state);
            (node.callback)(deadline, now);
            fired += 1;
            state = self.base.lock();
        }
        state.expiring = false;
        fired
    }

    /// Returns the counts of arming calls so far.
    pub(crate) fn statistics(&self) -> Statistics {
        let mut sum = self.base.lock().statistics;
        sum.matched += self.base.stripes.sum();
        sum
    }

    /// Checks the wheel, and checks that it contains exactly the pending timers.
    ///
    /// # Errors
    /// The first violation that is found.
    pub(crate) fn check(&self) -> Result<(), Violation> {
        let state = self.base.lock();
        state.wheel.check(&state.records, state.len)?;
        let pending = state.nodes.iter().filter(|node| node.is_pending()).count();
        if pending == state.len { Ok(()) } else { Err(Violation::Count) }
    }
}

impl Base {
    fn lock(&self) -> MutexGuard<'_, Locked> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Node {
    fn is_pending(&self) -> bool {
        self.word.load(Ordering::Relaxed) & 1 == 1
    }
}

/// Returns the word of a pending timer with this deadline.
fn pending(deadline: Tick) -> u64 {
    deadline << 1 | 1
}

impl Locked {
    /// Takes the first due timer out of the wheel. Returns the timer and its deadline.
    fn take<W: Rearm>(&mut self) -> Option<(Arc<Node>, Tick)> {
        let Self { wheel, records, nodes, now, len, .. } = self;
        let mut budget = usize::MAX;
        let popped = wheel.pop(records, *now, &mut budget)?;
        *len -= 1;
        let node = Arc::clone(nodes.get(popped.handle.at())?);
        // Acquire: the callback sees what threads wrote before they re-armed the timer.
        let word = node.word.swap(0, Ordering::Acquire);
        let deadline = match W::STAYS {
            Stays::SameIndexUnlocked => node.posted.deadline.load(Ordering::Acquire),
            _ => word >> 1,
        };
        Some((node, deadline))
    }

    /// Inserts a timer that is not in the wheel.
    fn insert(&mut self, node: &Node, deadline: Tick) {
        let Self { wheel, records, now, .. } = self;
        let _ = if self.expiring {
            wheel.insert_behind(records, node.index, deadline, *now)
        } else {
            wheel.insert(records, node.index, deadline, *now)
        };
        self.len += 1;
        node.posted.deadline.store(deadline, Ordering::Release);
        node.posted.index.store(index(deadline, self.now), Ordering::Release);
        // A swap, so that a later Acquire still sees what threads wrote before earlier re-arms.
        node.word.swap(pending(deadline), Ordering::Relaxed);
    }

    fn remove(&mut self, node: &Node) {
        let _ = self.wheel.remove(&mut self.records, node.index);
        self.len -= 1;
    }

    /// Returns whether a pending timer can stay in its bucket.
    fn stays<W: Rearm>(&self, node: &Node, deadline: Tick) -> bool {
        match W::STAYS {
            Stays::Never | Stays::SameIndexUnlocked => false,
            // A due timer has no level, because its bucket has ended.
            Stays::SameBucket => self.wheel.level(&self.records, node.index).is_some_and(|level| {
                let current = node.word.load(Ordering::Relaxed) >> 1;
                Linux::same_bucket(current, deadline, level.into())
                    && deadline.saturating_sub(self.now) >= Linux::start(level.into())
            }),
            Stays::SameIndex => node.posted.index.load(Ordering::Relaxed) == index(deadline, self.now),
        }
    }
}

impl<W: Rearm> Timer<W> {
    /// Arms the timer. Returns whether the timer was pending. Deadlines are below 2^63.
    #[inline]
    pub(crate) fn modify(&self, deadline: Tick) -> bool {
        let mut before = Before::default();
        let stayed = match W::STAYS {
            Stays::SameIndexUnlocked => self.modify_as_posted(deadline, &mut before),
            _ => self.is_armed_for(deadline, &mut before),
        };
        if stayed {
            self.base.stripes.count_match();
            return true;
        }
        self.modify_locked(deadline, before)
    }

    /// Returns whether the timer is pending with this deadline.
    #[inline]
    fn is_armed_for(&self, deadline: Tick, before: &mut Before) -> bool {
        let word = &self.node.word;
        let same = pending(deadline);
        for _ in 0..2 {
            if word.load(Ordering::Relaxed) != same {
                break;
            }
            // The exchange publishes the caller's writes, which a load would not do.
            match word.compare_exchange(same, same, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(_) => before.lost_race = true,
            }
        }
        false
    }

    /// Re-arms the timer as the posted patch does: it checks the timer and then writes the
    /// deadline, even if the timer has changed in between.
    #[inline]
    fn modify_as_posted(&self, deadline: Tick, before: &mut Before) -> bool {
        let posted = &self.node.posted;
        if !self.node.is_pending() {
            return false;
        }
        // Writes the same value back, so that a re-arm to an equal deadline also publishes the
        // caller's writes.
        let same = posted
            .deadline
            .compare_exchange(deadline, deadline, Ordering::Release, Ordering::Relaxed)
            .is_ok();
        if same {
            return true;
        }
        let clock = self.base.clock.load(Ordering::Relaxed);
        before.clock = Some(clock);
        if posted.index.load(Ordering::Relaxed) != index(deadline, clock) {
            return false;
        }
        posted.deadline.store(deadline, Ordering::Release);
        true
    }

    #[cold]
    #[inline(never)]
    fn modify_locked(&self, deadline: Tick, before: Before) -> bool {
        let node = &*self.node;
        let mut state = self.base.lock();
        let now = state.now;
        state.statistics.locks += 1;
        state.statistics.lost_races += u64::from(before.lost_race);
        state.statistics.recalculated += u64::from(before.clock.is_some_and(|clock| clock != now));
        // Only a thread that holds the lock makes the timer pending or idle.
        if !node.is_pending() {
            state.insert(node, deadline);
            state.statistics.started += 1;
            return false;
        }
        if state.stays::<W>(node, deadline) {
            node.word.swap(pending(deadline), Ordering::Relaxed);
            state.statistics.matched += 1;
        } else {
            state.remove(node);
            state.insert(node, deadline);
            state.statistics.requeued += 1;
        }
        true
    }

    /// Makes the timer idle. Returns whether the timer was pending.
    pub(crate) fn cancel(&self) -> bool {
        let mut state = self.base.lock();
        let was_pending = self.node.is_pending();
        if was_pending {
            state.remove(&self.node);
            self.node.word.swap(0, Ordering::Acquire);
        }
        was_pending
    }
}

/// Returns the bucket number of a deadline modulo the number of buckets of a level, which is what
/// Linux compares. For a deadline beyond the last level, the result is a number that no bucket has,
/// so that it never matches. (In Linux such a deadline is clamped, and can match.)
fn index(deadline: Tick, clock: Tick) -> u32 {
    if deadline < clock {
        return bucket(clock, 0);
    }
    match Linux::level(deadline - clock) {
        Some(level) => bucket(deadline / Linux::granule(level) + 1, level),
        None => u32::MAX,
    }
}

fn bucket(granule: Tick, level: usize) -> u32 {
    (granule % 64) as u32 + level as u32 * 64
}

/// Counters of unlocked re-arms that match. Each thread adds to its own stripe without an atomic
/// addition, as in the library, because counting must not cost more than the re-arm. No way of
/// re-arming reads the counters.
struct Stripes(Box<[Stripe]>);

#[derive(Default)]
#[repr(align(128))]
struct Stripe(core::sync::atomic::AtomicU64);

const STRIPES: usize = 64;
/// The stripe of all threads that found no free stripe.
const SHARED: usize = STRIPES - 1;

/// The stripes that no thread owns.
static FREE: std::sync::Mutex<Option<Vec<usize>>> = std::sync::Mutex::new(None);

/// The stripe of a thread. The stripe becomes free when the thread ends.
struct Owned(usize);

thread_local! {
    static MINE: Owned = Owned(free().get_or_insert_with(|| (0..SHARED).collect()).pop().unwrap_or(SHARED));
}

fn free() -> std::sync::MutexGuard<'static, Option<Vec<usize>>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.0 != SHARED
            && let Some(free) = &mut *free()
        {
            free.push(self.0);
        }
    }
}

impl Stripes {
    fn new() -> Self {
        Self((0..STRIPES).map(|_| Stripe::default()).collect())
    }

    #[inline]
    fn count_match(&self) {
        // A thread that is ending has already freed its stripe.
        let at = MINE.try_with(|mine| mine.0).unwrap_or(SHARED);
        let Some(Stripe(counter)) = self.0.get(at) else { return };
        if at == SHARED {
            counter.fetch_add(1, Ordering::Relaxed);
        } else {
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    fn sum(&self) -> u64 {
        self.0.iter().map(|stripe| stripe.0.load(Ordering::Relaxed)).sum()
    }
}
