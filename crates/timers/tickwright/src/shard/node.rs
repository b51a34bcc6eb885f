//! The types of shards and timers. The types refer to one another: a timer refers to the set of its
//! shards, and the wheels of a shard refer to its timers.
//!
//! All unsafe code of shards is here. `node/locked.rs` has the operations under the lock of a
//! shard, and `timer.rs` has the queries of a timer.

mod locked;

use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use tickwright_core::Tick;
use tickwright_core::structure::{Discipline, Handle, Nodes};

pub(super) use locked::{Held, Taken, lock_both};

use super::clock_word::ClockWord;
use super::geometry::{self, Linux, WheelGeometry};
use super::ghost::Ghost;
use super::statistics::{ShardStatistics, Stripes};
use crate::fork::Slot;
use crate::sync::{Arc, AtomicU32, AtomicU64, Cell, Condvar, ThreadId, Waiters};
use crate::time::{Alarm, Clock, Instant, Ticks};

/// The shards between which timers move.
pub(super) struct Set<G: WheelGeometry> {
    pub(super) bases: Box<[Base<G>]>,
    pub(super) stripes: Stripes,
}

/// One shard.
///
/// Each shard has at least two cache lines of its own, so that its lock does not slow the published
/// clock of another shard.
#[repr(align(128))]
pub(super) struct Base<G: WheelGeometry> {
    /// The shard's time at its last advance or its last arm under the lock, for readers without the
    /// lock. It is allowed to be stale, because only the lateness of timers depends on it.
    pub(super) clock: AtomicU64,
    /// The shard's clock, for readers without the lock.
    pub(super) clock_word: ClockWord,
    pub(super) state: Slot<Locked<G>>,
    /// Notified when a callback has ended.
    pub(super) ended: Condvar,
}

/// The data that the lock of a shard protects.
pub(super) struct Locked<G: WheelGeometry> {
    pub(super) now: Tick,
    /// Two wheels: timers that wake a driver, and timers that do not.
    wheels: Box<[G::Wheel<Link<G>>; 2]>,
    len: [usize; 2],
    records: Records<G>,
    /// Whether a pass is in progress. There is only one pass at a time, so only one callback of
    /// this shard runs at a time.
    pub(super) expiring: bool,
    /// The timer whose callback runs, and the thread that runs it.
    running: Option<(Link<G>, ThreadId)>,
    /// The threads that wait for a callback to end.
    waiters: Waiters,
    /// Whether the owner has dropped the shards.
    pub(super) closed: bool,
    /// Its field `locks` counts only the second lock that a call takes, because the counts by
    /// outcome already contain each call that took a lock. Its field `pending` stays 0, because
    /// `len` has that number.
    pub(super) statistics: ShardStatistics,
    pub(super) outside: Outside,
}

impl<G: WheelGeometry> AsMut<Waiters> for Locked<G> {
    fn as_mut(&mut self) -> &mut Waiters {
        &mut self.waiters
    }
}

/// The clock that a shard reads, the alarm that it sets, and the length of its tick.
pub(super) struct Outside {
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) alarm: Option<Arc<dyn Alarm>>,
    pub(super) ticks: Ticks,
    /// The tick to which the alarm was last set. It is not later than the next expiry, unless a
    /// pass is in progress.
    at: Option<Tick>,
}

impl Outside {
    /// No clock and no alarm. A tick is 1 ns.
    pub(super) const NONE: Self = Self { clock: None, alarm: None, ticks: Ticks::NANOSECOND, at: None };

    /// Returns the instant at which a tick begins. Returns `None` if that instant is beyond the
    /// clock's range, so that an alarm for it would never go off.
    fn start(&self, tick: Tick) -> Option<Instant> {
        let at = self.ticks.start(tick);
        (self.ticks.now(at) == tick).then_some(at)
    }
}

/// The function that a timer calls when it fires.
///
/// It runs on the thread that advances the shard, with no lock held. The function of one timer
/// never runs twice at the same time. The callback can do anything with any timer, including its
/// own timer, except wait for its own end.
pub(super) type Callback<G> = dyn Fn(&SharedFiring<'_, G>) + Send + Sync;

/// The argument of a callback: the timer, and the times of this firing in ticks of its shard.
#[derive(Debug)]
pub struct SharedFiring<'a, G: WheelGeometry = Linux> {
    pub(super) timer: &'a SharedTimer<G>,
    pub(super) deadline: Tick,
    pub(super) expiry: Tick,
    pub(super) now: Tick,
    pub(super) shard: usize,
}

/// A handle to a timer that threads share. Clones are handles to the same timer.
///
/// [`Shard::timer`](super::Shard::timer) creates it. While the timer is pending, the shard also
/// holds it, so a timer whose last handle is dropped still fires. Two handles are equal if they
/// refer to the same timer.
pub struct SharedTimer<G: WheelGeometry = Linux> {
    pub(super) node: Arc<Node<G>>,
}

/// The data of a timer, to which handles point: the word, the fields that only the holder of the
/// shard's lock can access, and the callback.
pub(super) struct Node<G: WheelGeometry, C: ?Sized = Callback<G>> {
    /// See [`Word`](super::word::Word).
    pub(super) word: AtomicU64,
    /// The number of the timer's shard. A thread writes it under two locks: the lock of the shard
    /// that the timer leaves, and the lock of the shard that the timer enters.
    pub(super) shard: AtomicU32,
    pub(super) deferrable: bool,
    /// A shadow of the timer for the loom models. Without `cfg(loom)` it has no size and no code.
    pub(super) ghost: Ghost,
    pub(super) set: Arc<Set<G>>,
    /// The wheel's record. A thread accesses it only while it holds the lock of the shard whose
    /// wheel contains the node.
    pub(super) record: Cell<RecordOf<G>>,
    pub(super) callback: C,
}

// Together with the two counts of its `Arc`, a timer takes 88 bytes, plus its callback.
#[cfg(all(target_pointer_width = "64", not(loom)))]
const _: () = assert!(size_of::<Node<Linux, ()>>() == 72);

/// The record of a node.
pub(super) type RecordOf<G> = geometry::RecordOf<G, Link<G>>;

// SAFETY: 1. All fields but `record` are `Sync` by themselves. 2. `record` is reached through
// `Records` alone, which lives inside a shard's lock, and only for nodes in that shard's wheels. 3.
// A node is in the wheels of one shard at a time (invariant 1 of `proof.rs`), so its record is
// never reached under the locks of two shards at once.
unsafe impl<G: WheelGeometry, C: Send + Sync + ?Sized> Sync for Node<G, C> {}

// SAFETY: 1. a node moves only before it is shared; 2. its record then holds no handle;
// 3. everything else in the node is `Send`.
unsafe impl<G: WheelGeometry, C: Send + Sync + ?Sized> Send for Node<G, C> {}

/// A pointer to a node, which the wheels use as their handle. A link is created from a counted
/// reference, and a shard owns one count for each link in its wheels.
pub(super) struct Link<G: WheelGeometry>(NonNull<Node<G>>);

impl<G: WheelGeometry> Link<G> {
    /// Creates a link to a node, without adding a count.
    pub(super) fn of(node: &Arc<Node<G>>) -> Self {
        // The pointer comes from the counted reference, not from a borrow of the node. The counts
        // lie before the node, and `from_raw` must reach them.
        // SAFETY: 1. a counted reference is never null.
        Self(unsafe { NonNull::new_unchecked(Arc::as_ptr(node).cast_mut()) })
    }

    /// Creates a link to a node, and keeps the node alive until `Locked::release`.
    pub(super) fn retain(node: &Arc<Node<G>>) -> Self {
        core::mem::forget(Arc::clone(node));
        Self::of(node)
    }

    pub(super) fn pointer(self) -> NonNull<Node<G>> {
        self.0
    }
}

impl<G: WheelGeometry> Clone for Link<G> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: WheelGeometry> Copy for Link<G> {}

// Compares only addresses, because pointers to one node can have different vtables.
impl<G: WheelGeometry> PartialEq for Link<G> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        ptr::addr_eq(self.0.as_ptr(), other.0.as_ptr())
    }
}

impl<G: WheelGeometry> Eq for Link<G> {}

impl<G: WheelGeometry> Handle for Link<G> {}

impl<G: WheelGeometry> fmt::Debug for Link<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// SAFETY: 1. A link only names a node. Only the holder of a shard's lock follows a link, and only
// to a node in that shard's wheels, which is `Send` and `Sync`.
unsafe impl<G: WheelGeometry> Send for Link<G> {}

// SAFETY: as for `Send`.
unsafe impl<G: WheelGeometry> Sync for Link<G> {}

/// Access to the records of the nodes in one shard's wheels. Each shard has one such value, under
/// its lock.
struct Records<G: WheelGeometry>(PhantomData<fn() -> G>);

impl<G: WheelGeometry> Records<G> {
    #[inline]
    fn node(&self, p: Link<G>) -> &Node<G> {
        // SAFETY: 1. Every link here, except one, was inserted into a wheel and not taken out
        // since. Promise 1 of `Discipline` ensures this for the links that a wheel passes. `Locked`
        // ensures it for the links that it passes itself. 2. For such a link the shard holds a
        // counted reference (`Link::retain`), so the node lives. 3. The one other link is that of
        // the running callback's timer. Its pass holds a counted reference, and so does the pass of
        // a thread that a fork left behind.
        unsafe { p.pointer().as_ref() }
    }
}

impl<G: WheelGeometry> Nodes<Link<G>, RecordOf<G>> for Records<G> {
    #[inline]
    fn record(&self, p: Link<G>) -> &RecordOf<G> {
        // SAFETY: 1. The node is in a wheel of this shard, and in no other shard's (invariant 1 of
        // `proof.rs`). 2. The shard is locked and `self` is borrowed from it, so no thread
        // writes the record.
        unsafe { &*self.node(p).record.read() }
    }

    #[inline]
    fn record_mut(&mut self, p: Link<G>) -> &mut RecordOf<G> {
        // SAFETY: 1. as in `record`; 2. `self` is borrowed mutably for as long as the result lives,
        // so no other reference to a record of this shard exists.
        unsafe { &mut *self.node(p).record.write() }
    }
}

// SAFETY: 1. Apart from handles, a wheel and its records are `Send` (promise 4 of `Discipline`),
// and so are links. 2. Everything else in `Locked` is `Send` by itself.
unsafe impl<G: WheelGeometry> Send for Locked<G> {}

impl<G: WheelGeometry> Locked<G> {
    fn new(now: Tick) -> Self {
        Self {
            now,
            wheels: Box::new([<G::Wheel<Link<G>> as Discipline<Link<G>>>::NEW; 2]),
            len: [0; 2],
            records: Records(PhantomData),
            expiring: false,
            running: None,
            waiters: Waiters::default(),
            closed: false,
            statistics: ShardStatistics::default(),
            outside: Outside::NONE,
        }
    }

    /// Returns the counted reference that this shard held for a timer. The timer has left the
    /// shard's wheels.
    pub(super) fn release(p: Link<G>) -> SharedTimer<G> {
        // SAFETY: 1. `Link::retain` set the count aside when the node was linked, from a counted
        // reference of this very type. 2. The count is given back once, since the node is in no
        // wheel now.
        SharedTimer { node: unsafe { Arc::from_raw(p.pointer().as_ptr()) } }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
