//! A timer that threads share, its callback, and what a callback is given.

use core::fmt;
use core::ptr::{self, NonNull};

use tickwright_core::Tick;
use tickwright_core::storage::{Discipline, Handle};

use super::base::Set;
use super::ghost::Ghost;
use super::specimen::Posting;
use super::variant::Variant;
use super::word::{State, Word};
use super::{LockFree, Shards};
use crate::sync::{Arc, AtomicU32, AtomicU64, Cell, Ordering};

/// What a timer does when it fires. Closures over [`Firing`] are callbacks; data that they capture lives inside the timer, in the one
/// allocation that it has. Implement it for a type of your own to have a name for it.
///
/// It runs on the thread that advances the shard, with no lock held, never twice at once for one timer. It may do anything
/// with any timer, its own included, except wait for itself.
pub trait Callback<V: Variant = LockFree>: Send + Sync + 'static {
    /// The timer has expired.
    fn fire(&self, firing: &Firing<'_, V>);
}

impl<V: Variant, F> Callback<V> for F
where
    F: Fn(&Firing<'_, V>) + Send + Sync + 'static,
{
    fn fire(&self, firing: &Firing<'_, V>) {
        self(firing);
    }
}

/// What a callback is told.
#[derive(Debug)]
pub struct Firing<'a, V: Variant = LockFree> {
    pub(super) timer: &'a SharedTimer<V>,
    pub(super) deadline: Tick,
    pub(super) expiry: Tick,
    pub(super) now: Tick,
    pub(super) shard: usize,
}

impl<'a, V: Variant> Firing<'a, V> {
    /// The timer that fires. It is not pending, unless somebody armed it again since; re-arming it here makes a
    /// periodic timer.
    #[must_use]
    pub fn timer(&self) -> &'a SharedTimer<V> {
        self.timer
    }

    /// The deadline of the last re-arm before it fired; as [`SharedTimer::deadline`] gives it.
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

    /// The shard on which it fires.
    #[must_use]
    pub fn shard(&self) -> usize {
        self.shard
    }
}

/// A handle to a timer that threads share. Clones are handles to the same timer.
///
/// Made by [`Shards::timer`]. While it is pending the shard holds it too: a timer whose last handle is dropped still fires.
/// Two handles are equal when they are of the same timer.
pub struct SharedTimer<V: Variant = LockFree> {
    pub(super) node: Arc<Node<V>>,
}

/// What a handle refers to: the word, what only the holder of the shard's lock may touch, and the callback.
pub(super) struct Node<V: Variant, C: ?Sized = dyn Callback<V>> {
    /// See [`Word`].
    pub(super) word: AtomicU64,
    /// The shard that it belongs to. Written with the locks of the shard that it leaves and of the one that it enters held.
    pub(super) shard: AtomicU32,
    pub(super) deferrable: bool,
    pub(super) posted: V::Posted,
    pub(super) ghost: Ghost,
    pub(super) set: Arc<Set<V>>,
    /// The wheel's record. Only behind the lock of the shard in whose wheel it stands.
    pub(super) record: Cell<RecordOf<V>>,
    pub(super) callback: C,
}

// With the two counts of its `Arc`: 88 bytes and the callback.
#[cfg(all(target_pointer_width = "64", not(loom)))]
const _: () = assert!(size_of::<Node<LockFree, ()>>() == 72);

pub(super) type RecordOf<V> = <<V as Variant>::Wheel<Link<V>> as Discipline<Link<V>>>::Record;

// SAFETY: 1. of the fields only `record` is not `Sync` by itself; 2. it is reached through `Records` alone, which lives inside a shard's
// lock, and only for nodes in that shard's wheels; 3. a node is in the wheels of one shard at a time (invariant 1 of the module), so its
// record is never reached under two locks at once.
unsafe impl<V: Variant, C: Callback<V> + ?Sized> Sync for Node<V, C> {}

// SAFETY: 1. a node moves only before it is shared; 2. its record then holds no handle; 3. everything else in it is `Send`.
unsafe impl<V: Variant, C: Callback<V> + ?Sized> Send for Node<V, C> {}

/// A node as the wheels see it. Made from a counted reference; a shard keeps a count for each one that is linked.
pub(super) struct Link<V: Variant>(NonNull<Node<V>>);

impl<V: Variant> Link<V> {
    /// The name of a node, without a count of its own.
    pub(super) fn of(node: &Arc<Node<V>>) -> Self {
        // From the counted reference itself and not from a borrow of the node: the count lies before the node, and `from_raw` reaches for it.
        // SAFETY: 1. a counted reference is never null.
        Self(unsafe { NonNull::new_unchecked(Arc::as_ptr(node).cast_mut()) })
    }

    /// The name of a node, which keeps it alive until [`release`](Self::release).
    pub(super) fn retain(node: &Arc<Node<V>>) -> Self {
        core::mem::forget(Arc::clone(node));
        Self::of(node)
    }

    pub(super) fn pointer(self) -> NonNull<Node<V>> {
        self.0
    }
}

impl<V: Variant> Clone for Link<V> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: Variant> Copy for Link<V> {}

// Addresses only: one type may have several tables of functions.
impl<V: Variant> PartialEq for Link<V> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        ptr::addr_eq(self.0.as_ptr(), other.0.as_ptr())
    }
}

impl<V: Variant> Eq for Link<V> {}

impl<V: Variant> Handle for Link<V> {}

impl<V: Variant> fmt::Debug for Link<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// SAFETY: 1. a link is a name; it is followed only by the holder of a shard's lock, for a node that is linked there, to
// a node that is `Send` and `Sync`.
unsafe impl<V: Variant> Send for Link<V> {}

// SAFETY: as for `Send`.
unsafe impl<V: Variant> Sync for Link<V> {}

impl<V: Variant> SharedTimer<V> {
    pub(super) fn new(set: &Arc<Set<V>>, shard: u32, deferrable: bool, callback: impl Callback<V>) -> Self {
        let node = Node {
            word: AtomicU64::new(Word::IDLE.0),
            shard: AtomicU32::new(shard),
            deferrable,
            posted: V::Posted::default(),
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

    /// Whether it was pending a moment ago: a hint, since others may arm, cancel and fire it meanwhile.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.word().state() == State::Pending
    }

    /// Whether it was shut down, which is for ever.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.word().state() == State::Dead
    }

    /// The deadline that it was pending for a moment ago. Takes the shard's lock only for a deadline beyond the last level. One from
    /// 2^58 - 1 on that had passed when it was armed reads as the shard's clock at that time, and one to which a timer was reduced that
    /// was due already, as the one before.
    #[must_use]
    pub fn deadline(&self) -> Option<Tick> {
        let word = self.word();
        if word.state() != State::Pending {
            return None;
        }
        match word.whole() {
            Some((deadline, _)) => Some(self.node.posted.deadline().unwrap_or(deadline)),
            None => {
                let held = self.node.set.lock_timer(&self.node, None);
                (self.word().state() == State::Pending).then(|| held.home.deadline(&self.node))
            }
        }
    }

    /// The shard that it belonged to a moment ago.
    #[must_use]
    pub fn shard(&self) -> usize {
        self.node.shard.load(Ordering::Relaxed) as usize
    }

    /// Whether it does not wake a driver: see [`Shards::deferrable_timer`].
    #[must_use]
    pub fn is_deferrable(&self) -> bool {
        self.node.deferrable
    }

    /// What a model's shadow says that it is pending for, or what went wrong.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn verdict(&self) -> Result<Option<Tick>, String> {
        self.node.ghost.verdict()
    }

    /// Whether it belongs to these shards.
    #[must_use]
    pub fn belongs_to(&self, shards: &Shards<V>) -> bool {
        Arc::ptr_eq(&self.node.set, &shards.set)
    }
}

impl<V: Variant> Clone for SharedTimer<V> {
    fn clone(&self) -> Self {
        Self { node: Arc::clone(&self.node) }
    }
}

impl<V: Variant> PartialEq for SharedTimer<V> {
    fn eq(&self, other: &Self) -> bool {
        Link::of(&self.node) == Link::of(&other.node)
    }
}

impl<V: Variant> Eq for SharedTimer<V> {}

impl<V: Variant> fmt::Debug for SharedTimer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTimer")
            .field("word", &self.word())
            .field("shard", &self.shard())
            .field("deferrable", &self.node.deferrable)
            .finish_non_exhaustive()
    }
}
