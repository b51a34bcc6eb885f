//! A timer that threads share, its callback, and what a callback is given.

use core::fmt;
use core::ptr::{self, NonNull};

use tickwright_core::Tick;
use tickwright_core::storage::Handle;

use super::Shards;
use super::base::Set;
use super::geometry::{self, Linux, WheelGeometry};
use super::ghost::Ghost;
use super::word::{State, Word};
use crate::sync::{Arc, AtomicU32, AtomicU64, Cell, Ordering};

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

impl<'a, G: WheelGeometry> Firing<'a, G> {
    /// The timer that fires. It is not pending, unless it was armed again since. Re-arming it here
    /// makes a periodic timer.
    #[must_use]
    pub fn timer(&self) -> &'a SharedTimer<G> {
        self.timer
    }

    /// The deadline of the last re-arm before it fired, as [`SharedTimer::deadline`] returns it.
    #[must_use]
    pub fn deadline(&self) -> Tick {
        self.deadline
    }

    /// The end of its bucket: the tick at which it was due.
    #[must_use]
    pub fn expiry(&self) -> Tick {
        self.expiry
    }

    /// The shard's clock in this pass.
    #[must_use]
    pub fn now(&self) -> Tick {
        self.now
    }

    /// The number of the shard on which it fires.
    #[must_use]
    pub fn shard(&self) -> usize {
        self.shard
    }
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
    /// See [`Word`].
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

// SAFETY: 1. of the fields only `record` is not `Sync` by itself; 2. it is reached through
// `Records` alone, which lives inside a shard's lock, and only for nodes in that shard's wheels; 3.
// a node is in the wheels of one shard at a time (invariant 1 of `docs/rearm.md`), so its record is
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

// SAFETY: 1. a link is a name; only the holder of a shard's lock follows it, for a node that is
// linked there, to a node that is `Send` and `Sync`.
unsafe impl<G: WheelGeometry> Send for Link<G> {}

// SAFETY: as for `Send`.
unsafe impl<G: WheelGeometry> Sync for Link<G> {}

impl<G: WheelGeometry> SharedTimer<G> {
    pub(super) fn new(
        set: &Arc<Set<G>>,
        shard: u32,
        deferrable: bool,
        callback: impl Fn(&Firing<'_, G>) + Send + Sync + 'static,
    ) -> Self {
        let node = Node {
            word: AtomicU64::new(Word::IDLE.0),
            shard: AtomicU32::new(shard),
            deferrable,
            ghost: Ghost::new(),
            set: Arc::clone(set),
            record: Cell::new(tickwright_core::storage::Record::IDLE),
            callback,
        };
        Self { node: Arc::new(node) }
    }

    #[inline]
    pub(super) fn word(&self) -> Word {
        Word(self.node.word.load(Ordering::Relaxed))
    }

    /// Whether it was pending a moment ago: a hint, since other threads may arm, cancel and fire
    /// it.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.word().state() == State::Pending
    }

    /// Whether it was shut down, which is for ever.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.word().state() == State::Dead
    }

    /// Returns the deadline, or `None` if the timer is not pending. Another thread may change it at
    /// any time. Takes the shard's lock only for a deadline beyond the last level.
    ///
    /// Two deadlines from 2^58 - 1 on read otherwise. One that had passed when it was armed reads
    /// as the shard's clock at that time. One to which a due timer was reduced reads as the one
    /// before.
    #[must_use]
    pub fn deadline(&self) -> Option<Tick> {
        let word = self.word();
        if word.state() != State::Pending {
            return None;
        }
        match word.whole() {
            Some((deadline, _)) => Some(deadline),
            None => {
                let held = self.node.set.lock_timer(&self.node, None);
                (self.word().state() == State::Pending).then(|| held.home.deadline(&self.node))
            }
        }
    }

    /// The number of the shard that it belonged to a moment ago.
    #[must_use]
    pub fn shard(&self) -> usize {
        self.node.shard.load(Ordering::Relaxed) as usize
    }

    /// Whether it does not wake a driver: see
    /// [`Shard::deferrable_timer`](super::Shard::deferrable_timer).
    #[must_use]
    pub fn is_deferrable(&self) -> bool {
        self.node.deferrable
    }

    /// The deadline of a model's shadow, or what went wrong.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn verdict(&self) -> Result<Option<Tick>, String> {
        self.node.ghost.verdict()
    }

    /// Whether it belongs to these shards.
    #[must_use]
    pub fn belongs_to(&self, shards: &Shards<G>) -> bool {
        Arc::ptr_eq(&self.node.set, &shards.set)
    }
}

impl<G: WheelGeometry> Clone for SharedTimer<G> {
    fn clone(&self) -> Self {
        Self { node: Arc::clone(&self.node) }
    }
}

impl<G: WheelGeometry> PartialEq for SharedTimer<G> {
    fn eq(&self, other: &Self) -> bool {
        Link::of(&self.node) == Link::of(&other.node)
    }
}

impl<G: WheelGeometry> Eq for SharedTimer<G> {}

impl<G: WheelGeometry> fmt::Debug for SharedTimer<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTimer")
            .field("word", &self.word())
            .field("shard", &self.shard())
            .field("deferrable", &self.node.deferrable)
            .finish_non_exhaustive()
    }
}
