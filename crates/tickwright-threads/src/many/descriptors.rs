//! Threads of one worker that wait for descriptors.

use core::time::Duration;
use std::io;
use std::os::fd::BorrowedFd;

use polling::{Event, Events, Poller};

use super::post::Post;
use crate::id::ThreadId;

/// Who waits for what.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    waiting: Vec<Option<(ThreadId, i32)>>,
    count: usize,
    events: Option<Events>,
    /// Whose descriptors became ready while the worker slept.
    told: Vec<ThreadId>,
}

impl Descriptors {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A thread waits from now on. The key is its place. O(waiting) to find a free one, next to a system call.
    pub(super) fn add(&mut self, post: &Post, fd: i32, writable: bool, id: ThreadId) -> io::Result<usize> {
        let poller = match post.poller.get() {
            Some(poller) => poller,
            None => {
                let made = Poller::new()?;
                post.poller.get_or_init(|| made)
            }
        };
        let key = self.waiting.iter().position(Option::is_none).unwrap_or(self.waiting.len());
        let event = if writable { Event::writable(key) } else { Event::readable(key) };
        // SAFETY: 1. Taken out again before `add`'s caller returns to who owns the descriptor; its borrow lasts as long.
        unsafe { poller.add(fd, event) }?;
        if key == self.waiting.len() {
            self.waiting.push(None);
        }
        if let Some(slot) = self.waiting.get_mut(key) {
            *slot = Some((id, fd));
            self.count += 1;
        }
        Ok(key)
    }

    /// Whether that thread's descriptor is not ready yet.
    pub(super) fn waits(&self, key: usize, id: ThreadId) -> bool {
        self.waiting.get(key).is_some_and(|slot| slot.is_some_and(|(other, _)| other == id))
    }

    /// Waits for so long at most, and says whose descriptors are ready. They wait no longer.
    pub(super) fn look(&mut self, post: &Post, most: Option<Duration>) -> Vec<ThreadId> {
        let mut ready = Vec::new();
        let Some(poller) = post.poller.get().filter(|_| self.count > 0) else { return ready };
        let events = self.events.get_or_insert_with(Events::new);
        events.clear();
        // An error is an interrupted wait, or one without events: the worker looks again.
        let _ = poller.wait(events, most);
        for event in events.iter() {
            if let Some((id, fd)) = self.waiting.get_mut(event.key).and_then(Option::take) {
                // SAFETY: 1. Whoever waits for it borrows it until this is done.
                let _ = poller.delete(unsafe { BorrowedFd::borrow_raw(fd) });
                self.count -= 1;
                ready.push(id);
            }
        }
        ready
    }

    pub(super) fn keep_told(&mut self, told: Vec<ThreadId>) {
        self.told = told;
    }

    /// Tells those whose descriptors became ready during the last sleep. Answers whether there were any.
    pub(super) fn take_told(&mut self, tell: impl FnMut(ThreadId)) -> bool {
        let any = !self.told.is_empty();
        self.told.drain(..).for_each(tell);
        any
    }
}
