//! The types of shards and timers. They refer to one another: a timer to the set of its shards, and
//! the wheels of a shard to its timers.
//!
//! All unsafe code of shards is here. `base/locked.rs` has the operations under the lock of a
//! shard, `timer.rs` the queries of a timer.

mod locked;

use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use tickwright_core::Tick;
use tickwright_core::storage::{Discipline, Handle, Nodes};

pub(super) use locked::{Held, Taken, lock_both};

use super::geometry::{self, Linux, WheelGeometry};
use super::ghost::Ghost;
use super::statistics::{Statistics, Stripes};
use crate::alarm::Alarm;
use crate::clock::{Clock, Instant, Ticks};
use crate::fork::Slot;
use crate::sync::{Arc, AtomicU32, AtomicU64, Cell, Condvar, ThreadId, Waiters};

/// The shards that timers move between.
pub(super) struct Set<G: WheelGeometry> {
    pub(super) bases: Box<[Base<G>]>,
    pub(super) stripes: Stripes,
}

/// One shard.
///
/// At least two cache lines of its own, so that the lock of one shard does not slow the published
/// clock of another.
#[repr(align(128))]
pub(super) struct Base<G: WheelGeometry> {
    /// The time of the last advance, for unlocked readers. It may be stale: only lateness rests on
    /// it.
    pub(super) clock: AtomicU64,
    pub(super) state: Slot<Locked<G>>,
    /// Notified when a callback has ended.
    pub(super) ended: Condvar,
}

/// What the lock of a shard protects.
pub(super) struct Locked<G: WheelGeometry> {
    pub(super) now: Tick,
    /// Two wheels: timers that wake a driver, and timers that do not.
    wheels: Box<[G::Wheel<Link<G>>; 2]>,
    len: [usize; 2],
    records: Records<G>,
    /// A pass is under way. There is one at a time, so that one callback of this shard runs at a
    /// time.
    pub(super) expiring: bool,
    /// The timer whose callback runs, and the thread that runs it.
    running: Option<(Link<G>, ThreadId)>,
    /// The threads that wait for a callback to end.
    waiters: Waiters,
    /// The owner has dropped the shards.
    pub(super) closed: bool,
    pub(super) statistics: Statistics,
    pub(super) outside: Outside,
}

impl<G: WheelGeometry> AsMut<Waiters> for Locked<G> {
    fn as_mut(&mut self) -> &mut Waiters {
        &mut self.waiters
    }
}

/// The clock that a shard reads, the alarm that it sets, and how long its tick is by both.
pub(super) struct Outside {
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) alarm: Option<Arc<dyn Alarm>>,
    pub(super) ticks: Ticks,
    /// What the alarm was last set to: at most the next expiry, unless a pass is under way.
    at: Option<Tick>,
}

impl Outside {
    /// Without a clock or an alarm. A tick is 1 ns.
    pub(super) const NONE: Self = Self { clock: None, alarm: None, ticks: Ticks::NANOSECOND, at: None };

    /// When the tick begins. `None`: after the clock's end, so an alarm for it never goes off.
    fn start(&self, tick: Tick) -> Option<Instant> {
        let at = self.ticks.start(tick);
        (self.ticks.now(at) == tick).then_some(at)
    }
}

/// What a timer does when it fires.
///
/// It runs on the thread that advances the shard, with no lock held, never twice at once for one
/// timer. It may do anything with any timer, its own included, except wait for itself.
pub(super) type Callback<G> = dyn Fn(&Firing<'_, G>) + Send + Sync;

/// What a callback is given: the timer, and the times of this firing in ticks of its shard.
#[derive(Debug)]
pub struct Firing<'a, G: WheelGeometry = Linux> {
    pub(super) timer: &'a SharedTimer<G>,
    pub(super) deadline: Tick,
    pub(super) expiry: Tick,
    pub(super) now: Tick,
    pub(super) shard: usize,
}

/// A handle to a timer that threads share. Clones are handles to the same timer.
///
/// [`Shard::timer`](super::Shard::timer) makes one. While it is pending the shard holds it too: a
/// timer whose last handle is dropped still fires. Two handles are equal when they are of the same
/// timer.
pub struct SharedTimer<G: WheelGeometry = Linux> {
    pub(super) node: Arc<Node<G>>,
}

/// What a handle refers to: the word, what only the holder of the shard's lock may touch, and the
/// callback.
pub(super) struct Node<G: WheelGeometry, C: ?Sized = Callback<G>> {
    /// See [`Word`](super::word::Word).
    pub(super) word: AtomicU64,
    /// The number of its shard. Written under the locks of the shard that it leaves and of the one
    /// that it enters.
    pub(super) shard: AtomicU32,
    pub(super) deferrable: bool,
    /// A shadow of the timer for the loom models; without `cfg(loom)` it has no size and no code.
    pub(super) ghost: Ghost,
    pub(super) set: Arc<Set<G>>,
    /// The wheel's record. Only the holder of the lock touches it, of the shard in whose wheel the
    /// node is.
    pub(super) record: Cell<RecordOf<G>>,
    pub(super) callback: C,
}

// With the two counts of its `Arc`: 88 bytes and the callback.
#[cfg(all(target_pointer_width = "64", not(loom)))]
const _: () = assert!(size_of::<Node<Linux, ()>>() == 72);

/// The record of a node.
pub(super) type RecordOf<G> = geometry::RecordOf<G, Link<G>>;

// SAFETY: 1. Of the fields only `record` is not `Sync` by itself. 2. It is reached through
// `Records` alone, which lives inside a shard's lock, and only for nodes in that shard's wheels. 3.
// A node is in the wheels of one shard at a time (invariant 1 of `docs/rearm.md`). So its record is
// never reached under two locks at once.
unsafe impl<G: WheelGeometry, C: Send + Sync + ?Sized> Sync for Node<G, C> {}

// SAFETY: 1. a node moves only before it is shared; 2. its record then holds no handle;
// 3. everything else in it is `Send`.
unsafe impl<G: WheelGeometry, C: Send + Sync + ?Sized> Send for Node<G, C> {}

/// A node as the wheels see it. Made from a counted reference; a shard keeps a count for each link
/// in its wheels.
pub(super) struct Link<G: WheelGeometry>(NonNull<Node<G>>);

impl<G: WheelGeometry> Link<G> {
    /// Names a node, without a count of its own.
    pub(super) fn of(node: &Arc<Node<G>>) -> Self {
        // From the counted reference itself and not from a borrow of the node: the count lies
        // before the node, and `from_raw` reaches for it.
        // SAFETY: 1. a counted reference is never null.
        Self(unsafe { NonNull::new_unchecked(Arc::as_ptr(node).cast_mut()) })
    }

    /// Names a node, and keeps it alive until `Locked::release`.
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

// Addresses only: one type may have several tables of functions.
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

// SAFETY: 1. A link is a name. Only the holder of a shard's lock follows it, for a node that is
// linked there, to a node that is `Send` and `Sync`.
unsafe impl<G: WheelGeometry> Send for Link<G> {}

// SAFETY: as for `Send`.
unsafe impl<G: WheelGeometry> Sync for Link<G> {}

/// Access to the records of the nodes in this shard's wheels. There is one, behind the shard's
/// lock.
struct Records<G: WheelGeometry>(PhantomData<fn() -> G>);

impl<G: WheelGeometry> Records<G> {
    #[inline]
    fn node(&self, p: Link<G>) -> &Node<G> {
        // SAFETY: 1. A wheel is asked only about links that were inserted and not taken out since.
        // Promise 1 of `Discipline` says so, and `Locked` for what it passes in. 2. For such a link
        // the shard holds a counted reference (`Link::retain`), so the node lives. 3. The one other
        // link is that of a callback that runs. Its pass holds a counted reference, and so does the
        // pass of a thread that a fork left behind.
        unsafe { p.pointer().as_ref() }
    }
}

impl<G: WheelGeometry> Nodes<Link<G>, RecordOf<G>> for Records<G> {
    #[inline]
    fn record(&self, p: Link<G>) -> &RecordOf<G> {
        // SAFETY: 1. The node is in a wheel of this shard, and in no other shard's (invariant 1 of
        // `docs/rearm.md`). 2. The shard is locked and `self` is borrowed from it, so no thread
        // writes the record.
        unsafe { &*self.node(p).record.read() }
    }

    #[inline]
    fn record_mut(&mut self, p: Link<G>) -> &mut RecordOf<G> {
        // SAFETY: 1. as in `record`; 2. `self` is borrowed mutably for as long as the result, so no
        // other reference to a record of this shard is alive.
        unsafe { &mut *self.node(p).record.write() }
    }
}

// SAFETY: 1. Apart from handles a wheel and its records are `Send` (promise 4 of `Discipline`), and
// so are links. 2. Everything else in it is `Send` by itself.
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
            statistics: Statistics::default(),
            outside: Outside::NONE,
        }
    }

    /// The counted reference that this shard held for a timer that has left its wheels.
    pub(super) fn release(p: Link<G>) -> SharedTimer<G> {
        // SAFETY: 1. `Link::retain` put the count aside when the node was linked, from a counted
        // reference of this very type. 2. It is given back once, since the node is in no wheel now.
        SharedTimer { node: unsafe { Arc::from_raw(p.pointer().as_ptr()) } }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
