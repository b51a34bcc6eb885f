//! `Store`: the memory that holds the timers of a queue, and the names of these timers.

use core::fmt::Debug;

use crate::contract::{KeyError, Rejected, Tick, Violation};
use crate::structure::{Discipline, Family, Handle, Nodes};

/// Holds the timers of a [`Queue`](crate::Queue), and the structure that orders them:
/// [`Slab`](super::slab::Slab) or [`Hooks`](super::hook::Hooks).
///
/// A store knows which timers belong to it, and the structure knows which of these timers leaves
/// first. The queue passes each change to the store and to the structure. Code outside this crate
/// can neither reach nor create a store, so a store receives only its own handles.
pub trait Store: sealed::Sealed {
    /// The family of the structure.
    type Family: Family;

    /// Names a record in the store.
    type Handle: Handle;

    /// The records of all timers.
    type Nodes: Nodes<Self::Handle, RecordOf<Self>>;

    /// The key that the queue returns for a pending timer.
    type Key: Copy + Eq + Debug;

    /// The value that the caller passes to an insert.
    type Value;

    /// The name by which the caller refers to a timer: a key, or a reference to the caller's own
    /// timer.
    type Name<'n>: Copy
    where
        Self: 'n;

    /// The queue's name in debug output.
    const QUEUE: &'static str;

    /// Returns the greatest `now` that was passed to the queue.
    fn now(&self) -> Tick;

    /// Advances [`now`](Self::now).
    fn update_now(&mut self, now: Tick);

    /// Returns the structure and the records.
    fn parts(&self) -> (&OrderOf<Self>, &Self::Nodes);

    /// Returns mutable references to the structure and to the records, and also [`now`](Self::now).
    fn parts_mut(&mut self) -> (&mut OrderOf<Self>, &mut Self::Nodes, Tick);

    /// Returns the number of pending timers.
    fn count(&self) -> usize;

    /// Returns the [`Name`](Self::Name) of the timer that `key` names.
    fn name(key: &Self::Key) -> Self::Name<'_>;

    /// Returns the handle of the pending timer that `name` names.
    ///
    /// # Errors
    /// [`KeyError`] when the timer is not pending in this store.
    fn find(&self, name: Self::Name<'_>) -> Result<Self::Handle, KeyError>;

    /// Returns the key of a linked timer.
    fn key(&self, p: Self::Handle) -> Option<Self::Key>;

    /// Makes room in the structure, and then stores a value. The caller must link the new handle.
    ///
    /// # Errors
    /// [`Rejected`] with the reason and the value. When this error is returned, nothing has
    /// changed.
    fn take_in(&mut self, value: Self::Value) -> Result<Named<Self>, Rejected<Self::Value>>;

    /// Returns an unlinked timer to the caller.
    fn give_back(&mut self, p: Self::Handle) -> Option<(Self::Key, Self::Value)>;

    /// Returns an idle timer to the caller, if `key` names an idle timer of this store.
    fn give_back_idle(&mut self, key: Self::Key) -> Option<Self::Value>;

    /// Calls `when` with the value of a linked timer. Returns the timer's key and the result of
    /// `when`.
    fn ask<R>(&self, p: Self::Handle, when: impl FnOnce(&Self::Value) -> R) -> Option<(Self::Key, R)>;

    /// Unlinks every timer, and drops it or returns it to its owner.
    fn give_back_all(&mut self);

    /// Does what [`give_back_all`](Self::give_back_all) does, but idle timers stay in the store.
    fn give_back_pending(&mut self) {
        self.give_back_all();
    }

    /// Verifies the store, after the structure's links were verified. `all_ours` tells whether each
    /// linked timer has a key that names this timer.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    fn check(&self, all_ours: bool) -> Result<(), Violation>;
}

/// The structure of a store's queue.
pub type OrderOf<S> = <<S as Store>::Family as Family>::Of<<S as Store>::Handle>;

/// A timer's handle and its key.
pub type Named<S> = (<S as Store>::Handle, <S as Store>::Key);

/// The record that the store's structure has for each timer.
pub type RecordOf<S> = <OrderOf<S> as Discipline<<S as Store>::Handle>>::Record;

pub(crate) mod sealed {
    pub trait Sealed {}
}
