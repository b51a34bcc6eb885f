//! The schedulers of 2009, rebuilt from their description, so that one call does the same work as
//! in 2009.
//!
//! A [`Context`] locks a mutex in each call and finds an entry by its id in a hash table of chained
//! nodes. The context allocates each entry and each node of the table, and keeps up to 128 freed
//! entries for the next adds. The structure that orders the entries is a parameter: the sorted
//! doubly linked list, or the binary heap that replaced it.
//!
//! Differences from 2009:
//! - The mutex is not recursive.
//! - The clock is monotonic and counts microseconds. Reading it costs as little as reading the wall
//!   clock did in 2009.
//! - The heap puts the earliest entry first. In 2009, the heap had the reverse order during the
//!   first six days.
//! - The heap sifts a moved entry in both directions. For fifteen months, the heap of 2009 sifted
//!   an entry only down after a removal from the middle.
//! - Entries carry a reference count.

mod heap;
mod ids;
mod linked;

use core::cell::Cell;
use core::fmt;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use heap::Heap;
pub(crate) use linked::List;

use ids::Ids;

/// The maximum number of freed entries that a context keeps.
const KEPT: usize = 128;

/// A callback, which returns the ms until its next run. If the entry has a fixed interval, the
/// scheduler ignores the number and reuses the interval. 0 means that the callback does not run
/// again.
type Call = fn(usize) -> i32;

/// A scheduled entry. `P` is the entry's position in the order.
#[derive(Default)]
pub(crate) struct Entry<P> {
    place: P,
    when: Cell<u64>,
    id: Cell<i32>,
    /// The delay in ms until the next run of a repeating entry.
    interval: Cell<i32>,
    variable: Cell<bool>,
    call: Cell<Option<Call>>,
    data: Cell<usize>,
}

impl<P> fmt::Debug for Entry<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A collection of entries, ordered by time.
pub(crate) trait Order: Default {
    /// The position of an entry.
    type Place: Default;

    fn add(&mut self, entry: Rc<Entry<Self::Place>>);
    /// Removes an entry that is in the collection.
    fn remove(&mut self, entry: &Rc<Entry<Self::Place>>);
    fn first(&self) -> Option<Rc<Entry<Self::Place>>>;
}

/// A scheduler context. `now` gives the time in µs.
pub(crate) struct Context<O: Order, C> {
    inner: Mutex<Inner<O>>,
    now: C,
}

struct Inner<O: Order> {
    order: O,
    len: usize,
    ids: Ids<Rc<Entry<O::Place>>>,
    freed: Vec<Rc<Entry<O::Place>>>,
    issued: i32,
}

impl<O: Order, C> fmt::Debug for Context<O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

impl<O: Order, C: Fn(u64) -> u64> Context<O, C> {
    /// Creates an empty context. `now(n)` returns the time n µs from now.
    pub(crate) fn new(now: C) -> Self {
        let inner = Inner { order: O::default(), len: 0, ids: Ids::new(), freed: Vec::new(), issued: 0 };
        Self { inner: Mutex::new(inner), now }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<O>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Schedules `call(data)` in `delay` ms. Returns the id of the entry.
    pub(crate) fn add(&self, delay: u32, call: Call, data: usize) -> i32 {
        let mut inner = self.lock();
        let entry = inner.freed.pop().unwrap_or_default();
        inner.issued = inner.issued.wrapping_add(1);
        let id = inner.issued;
        entry.id.set(id);
        entry.interval.set(i32::try_from(delay).unwrap_or(i32::MAX));
        entry.variable.set(false);
        entry.call.set(Some(call));
        entry.data.set(data);
        entry.when.set((self.now)(u64::from(delay) * 1000));
        inner.ids.insert(id, Rc::clone(&entry));
        inner.order.add(entry);
        inner.len += 1;
        id
    }

    /// Removes an entry. Returns whether the entry was pending.
    pub(crate) fn del(&self, id: i32) -> bool {
        let mut inner = self.lock();
        let Some(entry) = inner.find(id) else { return false };
        inner.release(&entry);
        drop(inner);
        true
    }

    /// Returns the time, in µs.
    pub(crate) fn time(&self) -> u64 {
        (self.now)(0)
    }

    /// Returns the due time of an entry; `None` if the entry is not pending.
    pub(crate) fn when(&self, id: i32) -> Option<u64> {
        self.lock().find(id).map(|entry| entry.when.get())
    }

    /// Removes the earliest entry, whether or not it is due. Returns its data and its due time.
    pub(crate) fn pop(&self) -> Option<(usize, u64)> {
        let mut inner = self.lock();
        let first = inner.order.first()?;
        let found = (first.data.get(), first.when.get());
        inner.release(&first);
        Some(found)
    }

    /// Returns the number of pending entries.
    pub(crate) fn len(&self) -> usize {
        self.lock().len
    }
}

impl<O: Order> Inner<O> {
    fn find(&self, id: i32) -> Option<Rc<Entry<O::Place>>> {
        self.ids.get(id).map(Rc::clone)
    }

    fn release(&mut self, entry: &Rc<Entry<O::Place>>) {
        self.ids.remove(entry.id.get());
        self.order.remove(entry);
        self.len -= 1;
        if self.freed.len() < KEPT {
            self.freed.push(Rc::clone(entry));
        }
    }
}

#[cfg(test)]
mod tests;
