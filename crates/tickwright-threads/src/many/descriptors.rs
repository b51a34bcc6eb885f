//! Threads of one worker that wait for descriptors.

use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::BorrowedFd;

use polling::{Event, Events, Poller};

use super::remote::Remote;
use crate::id::ThreadId;

/// Which threads wait for what. Waiting and waking are O(1) beside the system calls, and O(k) where
/// k threads wait for one descriptor.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    /// The poller knows just these, each by its own number.
    waiting: HashMap<i32, Waiting>,
    events: Option<Events>,
}

/// The threads that wait for one descriptor: at least one.
#[derive(Debug, Default)]
struct Waiting {
    readers: Vec<ThreadId>,
    writers: Vec<ThreadId>,
}

impl Waiting {
    fn side(&mut self, writable: bool) -> &mut Vec<ThreadId> {
        if writable { &mut self.writers } else { &mut self.readers }
    }

    /// What the poller is to look for.
    fn interest(&self, fd: i32) -> Event {
        Event::new(fd as usize, !self.readers.is_empty(), !self.writers.is_empty())
    }
}

impl Descriptors {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A thread waits from now on, beside others that wait for the same descriptor. On an error it
    /// does not.
    pub(super) fn add(&mut self, remote: &Remote, fd: i32, writable: bool, id: ThreadId) -> io::Result<()> {
        let poller = match remote.poller.get() {
            Some(poller) => poller,
            None => {
                let made = Poller::new()?;
                remote.poller.get_or_init(|| made)
            }
        };
        match self.waiting.entry(fd) {
            Entry::Occupied(mut there) => {
                let waiting = there.get_mut();
                waiting.side(writable).push(id);
                // SAFETY: 1. Whoever waits for it borrows it until this is done.
                let changed = poller.modify(unsafe { BorrowedFd::borrow_raw(fd) }, waiting.interest(fd));
                if changed.is_err() {
                    waiting.side(writable).pop();
                }
                changed
            }
            Entry::Vacant(place) => {
                let mut waiting = Waiting::default();
                waiting.side(writable).push(id);
                // SAFETY: 1. Taken out again before `add`'s caller returns to the owner of the
                // descriptor; its borrow lasts as long.
                unsafe { poller.add(fd, waiting.interest(fd)) }?;
                place.insert(waiting);
                Ok(())
            }
        }
    }

    /// Whether that thread's descriptor is not ready yet.
    pub(super) fn waits(&self, fd: i32, writable: bool, id: ThreadId) -> bool {
        let waiting = self.waiting.get(&fd);
        waiting.is_some_and(|there| if writable { &there.writers } else { &there.readers }.contains(&id))
    }

    /// Waits for so long at most, and says whose descriptors are ready. They wait no longer.
    pub(super) fn look(&mut self, remote: &Remote, most: Option<Duration>) -> Vec<ThreadId> {
        let mut ready = Vec::new();
        let Some(poller) = remote.poller.get().filter(|_| !self.waiting.is_empty()) else { return ready };
        let events = self.events.get_or_insert_with(Events::new);
        events.clear();
        // An error is an interrupted wait, or one without events: the worker looks again.
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
            // SAFETY: 1. Whoever waits for it borrows it until this is done.
            let source = unsafe { BorrowedFd::borrow_raw(fd) };
            let rest = waiting.interest(fd);
            // An event switches the poller's interest off. Threads whose descriptors cannot be
            // watched go on, and look themselves.
            if (rest.readable || rest.writable) && poller.modify(source, rest).is_ok() {
                continue;
            }
            let mut rest = there.remove();
            ready.append(&mut rest.readers);
            ready.append(&mut rest.writers);
            let _ = poller.delete(source);
        }
        ready
    }
}
