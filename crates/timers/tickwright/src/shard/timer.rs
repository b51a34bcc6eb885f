//! Creates timers, and reads the state of timers and of firings.

use core::fmt;

use tickwright_core::Tick;

use super::geometry::WheelGeometry;
use super::ghost::Ghost;
use super::node::{Link, Node, Set, SharedFiring, SharedTimer};
use super::word::{State, Word};
use crate::sync::{Arc, AtomicU32, AtomicU64, Cell, Ordering};

impl<'a, G: WheelGeometry> SharedFiring<'a, G> {
    /// Returns the timer that is firing. The timer is not pending, unless it was armed again since
    /// then. A callback can make its timer periodic by arming it again.
    #[must_use]
    pub fn timer(&self) -> &'a SharedTimer<G> {
        self.timer
    }

    /// Returns the deadline that the timer had when it fired. The exceptions of
    /// [`SharedTimer::deadline`] apply.
    #[must_use]
    pub fn deadline(&self) -> Tick {
        self.deadline
    }

    /// Returns the end of the timer's bucket: the tick at which it was due.
    #[must_use]
    pub fn expiry(&self) -> Tick {
        self.expiry
    }

    /// Returns the shard's time in this pass.
    #[must_use]
    pub fn now(&self) -> Tick {
        self.now
    }

    /// Returns the number of the shard on which the timer fires.
    #[must_use]
    pub fn shard(&self) -> usize {
        self.shard
    }
}

impl<G: WheelGeometry> SharedTimer<G> {
    pub(super) fn new(
        set: &Arc<Set<G>>,
        shard: u32,
        deferrable: bool,
        callback: impl Fn(&SharedFiring<'_, G>) + Send + Sync + 'static,
    ) -> Self {
        let node = Node {
            word: AtomicU64::new(Word::IDLE.0),
            shard: AtomicU32::new(shard),
            deferrable,
            ghost: Ghost::default(),
            set: Arc::clone(set),
            record: Cell::new(tickwright_core::structure::Record::IDLE),
            callback,
        };
        Self { node: Arc::new(node) }
    }

    #[inline]
    pub(super) fn word(&self) -> Word {
        Word(self.node.word.load(Ordering::Relaxed))
    }

    /// Returns whether the timer was pending a moment ago. This is only a hint, because other
    /// threads can arm, cancel and fire the timer.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.word().state() == State::Pending
    }

    /// Returns whether the timer is shut down. A shutdown is permanent.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.word().state() == State::Dead
    }

    /// Returns the deadline in ticks of the shard, or `None` if the timer is not pending. Another
    /// thread can change the deadline at any time. The call takes the shard's lock only if the
    /// timer's word does not hold the deadline, for example because it is beyond the last level.
    ///
    /// For deadlines of 2^58 - 1 or later, there are two exceptions. If the deadline had passed
    /// when the timer was armed, the result is the shard's time at the arm. If the timer was
    /// reduced to this deadline when it was already due, the result is its previous deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Tick> {
        let word = self.word();
        match word.whole() {
            Some((deadline, _)) => Some(deadline),
            None if word.state() != State::Pending => None,
            None => {
                let held = self.node.set.lock_timer(&self.node, None);
                let word = self.word();
                (word.state() == State::Pending).then(|| held.home.deadline(Link::of(&self.node), word))
            }
        }
    }

    /// Returns the number of the shard to which the timer belonged a moment ago.
    #[must_use]
    pub fn shard(&self) -> usize {
        self.node.shard.load(Ordering::Relaxed) as usize
    }

    /// Returns whether the timer wakes no driver: see
    /// [`Shard::deferrable_timer`](super::Shard::deferrable_timer).
    #[must_use]
    pub fn is_deferrable(&self) -> bool {
        self.node.deferrable
    }

    /// In a model, returns the deadline of the timer's shadow, or the first error that the shadow
    /// recorded.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn verdict(&self) -> Result<Option<Tick>, String> {
        self.node.ghost.verdict()
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
