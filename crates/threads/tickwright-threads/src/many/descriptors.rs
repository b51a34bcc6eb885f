//! The threads of one worker that wait for descriptors.

use core::num::NonZero;
use core::time::Duration;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, TryReserveError};
use std::io;
use std::os::fd::BorrowedFd;

use polling::{Event, Events, Poller};

use super::remote::Remote;
use crate::error;
use crate::id::ThreadId;

/// The threads that wait for descriptors. Beginning a wait and waking a thread take O(1) plus the
/// system calls, or O(k) if k threads wait for the same descriptor.
///
/// Memory is allocated only when a thread begins to wait, and the thread gets an error if there is
/// none. The worker allocates no memory while it polls.
#[derive(Debug)]
pub(super) struct Descriptors {
    /// The descriptors that the poller watches, by their numbers.
    waiting: HashMap<i32, Waiting>,
    /// The number of threads in `waiting`.
    threads: usize,
    events: Events,
    /// An empty list with room for all threads in `waiting`. `look` returns this list filled, and
    /// `give_back` takes it back.
    ready: Vec<ThreadId>,
}

/// The largest number of events that a single poll returns.
const EVENTS: NonZero<usize> = NonZero::new(256).unwrap();

/// The threads that wait for one descriptor. There is at least one such thread.
#[derive(Debug, Default)]
struct Waiting {
    readers: Vec<ThreadId>,
    writers: Vec<ThreadId>,
}

impl Waiting {
    fn side(&mut self, writable: bool) -> &mut Vec<ThreadId> {
        if writable { &mut self.writers } else { &mut self.readers }
    }

    /// Makes room for one more thread.
    fn reserve(&mut self, writable: bool) -> io::Result<()> {
        self.side(writable).try_reserve(1).map_err(refused)
    }

    /// Returns the event for which the poller must watch.
    fn interest(&self, fd: i32) -> Event {
        Event::new(fd as usize, !self.readers.is_empty(), !self.writers.is_empty())
    }
}

fn refused(_: TryReserveError) -> io::Error {
    error::no_memory()
}

impl Descriptors {
    pub(super) fn new() -> Self {
        Self { waiting: HashMap::new(), threads: 0, events: Events::with_capacity(EVENTS), ready: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a thread to the threads that wait for a descriptor. If there is an error, the thread is
    /// not added.
    pub(super) fn add(&mut self, remote: &Remote, fd: i32, writable: bool, id: ThreadId) -> io::Result<()> {
        let poller = match remote.poller.get() {
            Some(poller) => poller,
            None => {
                let made = Poller::new()?;
                remote.poller.get_or_init(|| made)
            }
        };
        self.ready.try_reserve(self.threads + 1).map_err(refused)?;
        self.waiting.try_reserve(1).map_err(refused)?;
        match self.waiting.entry(fd) {
            Entry::Occupied(mut there) => {
                let waiting = there.get_mut();
                waiting.reserve(writable)?;
                waiting.side(writable).push(id);
                // SAFETY: 1. The threads that wait for the descriptor borrow it until this call
                // returns.
                let changed = poller.modify(unsafe { BorrowedFd::borrow_raw(fd) }, waiting.interest(fd));
                if changed.is_err() {
                    waiting.side(writable).pop();
                }
                changed?;
            }
            Entry::Vacant(place) => {
                let mut waiting = Waiting::default();
                waiting.reserve(writable)?;
                waiting.side(writable).push(id);
                // SAFETY: 1. The descriptor is removed from the poller before `add`'s caller
                // returns to its owner, whose borrow lasts until then.
                unsafe { poller.add(fd, waiting.interest(fd)) }?;
                place.insert(waiting);
            }
        }
        self.threads += 1;
        Ok(())
    }

    /// Returns whether the thread still waits for the descriptor.
    pub(super) fn waits(&self, fd: i32, writable: bool, id: ThreadId) -> bool {
        let waiting = self.waiting.get(&fd);
        waiting.is_some_and(|there| if writable { &there.writers } else { &there.readers }.contains(&id))
    }

    /// Waits for at most `most`, and returns the threads whose descriptors are ready. These threads
    /// no longer wait. The caller must return the list with `give_back`.
    pub(super) fn look(&mut self, remote: &Remote, most: Option<Duration>) -> Vec<ThreadId> {
        let mut ready = core::mem::take(&mut self.ready);
        let Some(poller) = remote.poller.get().filter(|_| !self.waiting.is_empty()) else { return ready };
        let events = &mut self.events;
        events.clear();
        // The error is ignored, because it means that the wait was interrupted or returned no
        // events, and the worker polls again later.
        let _ = poller.wait(events, most);
        for event in events.iter() {
            let fd = event.key as i32;
            let Entry::Occupied(mut there) = self.waiting.entry(fd) else { continue };
            let waiting = there.get_mut();
            if event.readable {
                ready.append(&mut waiting.readers);
            }
            if event.writable {
                ready.append(&mut waiting.writers);
            }
            // SAFETY: 1. The threads that wait for the descriptor borrow it until this call
            // returns.
            let source = unsafe { BorrowedFd::borrow_raw(fd) };
            let rest = waiting.interest(fd);
            // After an event the poller no longer watches the descriptor. If it cannot watch the
            // descriptor again, the remaining threads are woken, and each tries its operation
            // again.
            if (rest.readable || rest.writable) && poller.modify(source, rest).is_ok() {
                continue;
            }
            let mut rest = there.remove();
            ready.append(&mut rest.readers);
            ready.append(&mut rest.writers);
            let _ = poller.delete(source);
        }
        self.threads -= ready.len();
        ready
    }

    /// Takes back the memory of a list that `look` returned.
    pub(super) fn give_back(&mut self, mut list: Vec<ThreadId>) {
        if list.capacity() > self.ready.capacity() {
            list.clear();
            self.ready = list;
        }
    }
}
