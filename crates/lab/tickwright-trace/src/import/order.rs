//! Keeps events in the order of their lines, although sometimes a later line decides what a line
//! means.
//!
//! `timer_cancel` is written when a timer is detached: to expire, to be started again, or because
//! it was cancelled. The next line about the same timer shows which of the three it was. Until that
//! line is read, later events wait.

use std::collections::{HashMap, VecDeque};

use crate::event::{Event, Ns, What};

/// A timer that stays detached for longer than this was cancelled. The line of an expiry follows
/// the detachment within microseconds, unless an interrupt or a hypervisor delays it.
const DETACHED: Ns = 10_000_000;

/// The most events that wait.
const MOST: usize = 1 << 16;

/// Events that wait for their order.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The events, in the order of their lines. A detachment is stored as a cancellation until
    /// another line decides.
    events: VecDeque<Waiting>,
    /// The number of the first of `events`.
    first: u64,
    /// The numbers of the detachments, by timer.
    detached: HashMap<u64, u64>,
}

#[derive(Debug)]
struct Waiting {
    event: Event,
    is_open: bool,
    /// Whether the line turned out not to be an event.
    is_void: bool,
}

impl Pending {
    /// Appends an event.
    pub(super) fn push(&mut self, event: Event) {
        self.append(event, false);
    }

    /// Appends a detachment.
    pub(super) fn detach(&mut self, event: Event) {
        self.close(event.timer);
        self.detached.insert(event.timer, self.first + self.events.len() as u64);
        self.append(event, true);
    }

    fn append(&mut self, event: Event, is_open: bool) {
        self.events.push_back(Waiting { event, is_open, is_void: false });
    }

    /// Removes the detachment of this timer, because it was the first half of another event.
    /// Returns whether there was a detachment.
    pub(super) fn take_back(&mut self, timer: u64) -> bool {
        let waiting = self.detached.remove(&timer).and_then(|number| self.get(number));
        if let Some(waiting) = waiting {
            (waiting.is_open, waiting.is_void) = (false, true);
            return true;
        }
        false
    }

    /// Decides that this timer's detachment, if one is open, was a cancellation.
    pub(super) fn close(&mut self, timer: u64) {
        let waiting = self.detached.remove(&timer).and_then(|number| self.get(number));
        if let Some(waiting) = waiting {
            waiting.is_open = false;
        }
    }

    fn get(&mut self, number: u64) -> Option<&mut Waiting> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.events.get_mut(at)
    }

    /// Returns the next event whose order is known. `now` is the time of the last line, or `None`
    /// at the end of the source.
    pub(super) fn next(&mut self, now: Option<Ns>) -> Option<Event> {
        while let Some(front) = self.events.front() {
            let waits = now.is_some_and(|now| now.saturating_sub(front.event.time) < DETACHED);
            if front.is_open && waits && self.events.len() < MOST {
                return None;
            }
            if front.is_open {
                self.detached.remove(&front.event.timer);
            }
            let (is_void, event) = (front.is_void, front.event);
            let _ = self.events.pop_front();
            self.first += 1;
            if !is_void {
                return Some(event);
            }
        }
        None
    }
}

/// Returns the cancellation that stands for a detachment.
pub(super) const fn detachment(event: Event) -> Event {
    Event { what: What::Cancel, ..event }
}
