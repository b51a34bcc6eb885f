//! Plain locks, for systems without forks and for tools that cannot follow forks.

use core::ops::Deref;

use super::Order;
use crate::sync::{Mutex, ThreadId, this_thread};

pub(super) fn forks() -> u32 {
    0
}

/// Does nothing, because there are no forks.
pub(super) fn notice_forks() -> bool {
    true
}

/// Never called, because there are no forked children here.
pub(crate) fn forker() -> (ThreadId, ThreadId) {
    (this_thread(), this_thread())
}

pub(crate) struct Slot<T>(Mutex<T>);

impl<T> Slot<T> {
    pub(crate) fn new(value: T, _forget: fn(&mut T)) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn register(&self, _order: Order) -> bool {
        true
    }

    pub(crate) fn unregister(&self) {}
}

impl<T> Deref for Slot<T> {
    type Target = Mutex<T>;

    fn deref(&self) -> &Mutex<T> {
        &self.0
    }
}
