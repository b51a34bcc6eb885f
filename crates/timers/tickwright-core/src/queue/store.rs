//! Where the timers of a queue lie, and what names them.

use core::fmt::Debug;

use crate::contract::{KeyError, Rejected, Tick, Violation};
use crate::structure::{Discipline, Family, Handle, Nodes};

/// Holds the timers of a [`Queue`](crate::Queue), and the structure that orders them:
/// [`Slab`](super::slab::Slab) or [`Hooks`](super::hook::Hooks).
///
/// A store knows which timers are its own; the structure knows which of them leaves first. The
/// queue passes each change to both. Nothing outside this crate reaches the store of a queue, or
/// makes one, so the handles that it is given are its own.
pub trait Store: sealed::Sealed {
    /// The family of the structure.
    type Family: Family;

    /// Names a record inside the store.
    type Handle: Handle;

    /// The records of all timers.
    type Nodes: Nodes<Self::Handle, RecordOf<Self>>;

    /// What the queue returns to name a pending timer.
    type Key: Copy + Eq + Debug;

    /// What the caller gives to the queue.
    type Value;

    /// What the caller names a timer by: a key, or a reference to the caller's own timer.
    type Name<'n>: Copy
    where
        Self: 'n;

    /// The queue's name in debug output.
    const QUEUE: &'static str;

    /// The greatest `now` that was passed to the queue.
    fn now(&self) -> Tick;

    /// Advances [`now`](Self::now).
    fn update_now(&mut self, now: Tick);

    /// The structure and the records.
    fn parts(&self) -> (&OrderOf<Self>, &Self::Nodes);

    /// The structure and the records, for writing, and [`now`](Self::now).
    fn parts_mut(&mut self) -> (&mut OrderOf<Self>, &mut Self::Nodes, Tick);

    /// The number of pending timers.
    fn count(&self) -> usize;

    /// The name of the timer that `key` names.
    fn name(key: &Self::Key) -> Self::Name<'_>;

    /// Returns the handle of the pending timer that `name` names.
    ///
    /// # Errors
    /// [`KeyError`] when the timer is not pending in this store.
    fn find(&self, name: Self::Name<'_>) -> Result<Self::Handle, KeyError>;

    /// The key of a linked timer.
    fn key(&self, p: Self::Handle) -> Option<Self::Key>;

    /// Takes a value in, once the structure has room for it. The caller links the new handle.
    ///
    /// # Errors
    /// [`Rejected`] with the reason and the value; nothing has changed then.
    fn take_in(&mut self, value: Self::Value) -> Result<Named<Self>, Rejected<Self::Value>>;

    /// Returns an unlinked timer to the caller.
    fn give_back(&mut self, p: Self::Handle) -> Option<(Self::Key, Self::Value)>;

    /// Returns an idle timer to the caller, if `key` names one that the store owns.
    fn give_back_idle(&mut self, key: Self::Key) -> Option<Self::Value>;

    /// Asks the caller's closure when a linked timer is due again.
    fn ask<R>(&self, p: Self::Handle, when: impl FnOnce(&Self::Value) -> R) -> Option<(Self::Key, R)>;

    /// Unlinks every timer, and drops it or returns it to its owner.
    fn give_back_all(&mut self);

    /// As [`give_back_all`](Self::give_back_all), but idle timers stay.
    fn give_back_pending(&mut self) {
        self.give_back_all();
    }

    /// Verifies the store, after all links were found right. `all_ours`: each linked timer has a
    /// key, and the key names it.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    fn check(&self, all_ours: bool) -> Result<(), Violation>;
}

/// The structure of a store's queue.
pub type OrderOf<S> = <<S as Store>::Family as Family>::Of<<S as Store>::Handle>;

/// A timer's handle and its key.
pub type Named<S> = (<S as Store>::Handle, <S as Store>::Key);

/// The record that this structure keeps for each timer.
pub type RecordOf<S> = <OrderOf<S> as Discipline<<S as Store>::Handle>>::Record;

pub(crate) mod sealed {
    pub trait Sealed {}
}
